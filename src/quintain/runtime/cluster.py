"""What a cluster block asks for, without any cluster: places of actors, whether nodes have them, the token."""

from __future__ import annotations

import os
import secrets
import shutil
import socket
import stat
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from quintain.config import ClusterSection, Config, ConfigError
from quintain.registry import require_extra
from quintain.types import QuintainError

GIB = 1 << 30
PLAYS = ("any", "prefill", "decode")  # labels of pools whose actors play


class ClusterError(QuintainError):
    """The cluster cannot be reached, refuses the token, has not what is asked for, or is lost; the message says what to do."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Slot:
    """The place of one actor: its pool and label, what it takes of a node, and the labels that the node must have."""

    pool: str
    label: str
    bundle: Mapping[str, float]
    selector: Mapping[str, str] = field(default_factory=dict)


def slots(section: ClusterSection, labels: Iterable[str] = PLAYS) -> list[Slot]:
    """The places of all actors whose pools have one of the labels, in the order of the file."""
    wanted, out = set(labels), []
    for name, pool in section.pools.items():
        named = {"CPU": pool.cpus, "GPU": pool.gpus, "memory": pool.memory_gb * GIB, **pool.resources}
        bundle = {k: v for k, v in named.items() if v}
        slot = Slot(pool=name, label=pool.label, bundle=bundle, selector=pool.selector)
        out += [slot] * (pool.count if pool.label in wanted else 0)
    return out


def check(config: Config) -> None:
    """Refuse a cluster block that contradicts itself or the rest of the config.

    Raises:
        ConfigError: names the keys and the fix.
    """
    section = config.cluster
    if not section.pools:
        if section.address or section.reward_tasks:
            key = "address" if section.address else "reward_tasks"
            raise ConfigError(
                f"cluster.{key} is {getattr(section, key)!r}, but cluster.pools is empty, so that nothing would run there; "
                "add a pool, such as [cluster.pools.play] with count = 2"
            )
        return
    for key, one in (("actors", 0), ("processes", 1), ("spares", 0)):
        value = getattr(config.runtime, key)
        if value != one:
            raise ConfigError(
                f"runtime.{key} is {value} and there is a cluster block, whose pools say who plays; set runtime.{key}={one}"
            )
    if not slots(section):
        raise ConfigError(
            f"no pool of cluster.pools plays: their labels are {', '.join(sorted({p.label for p in section.pools.values()}))}; "
            "give one of them the label any, prefill or decode"
        )
    for slot in slots(section, (*PLAYS, "cpu", "learner")):
        if not slot.bundle:
            raise ConfigError(f"cluster.pools.{slot.pool} asks for no resource at all; set cpus, gpus or memory_gb")
    if config.env.workers and slots(section, ("cpu",)):
        raise ConfigError(
            f"env.workers is {config.env.workers} and there is a pool with the label cpu: envs live in one or the other; set "
            "env.workers=0, or remove the pool"
        )
    _check_address(section)


def _check_address(section: ClusterSection) -> None:
    address = section.address
    if address in ("", "auto"):
        return
    host, colon, port = address.rpartition(":")
    if "://" in address or not colon or not host or not port.isdigit() or not 0 < int(port) < 65536:
        raise ConfigError(
            f"cluster.address is {address!r}; it must be empty (a Ray of its own), auto, or host:port of the head's GCS, such as "
            "10.0.0.1:6379; run this on a node of the cluster, not through a ray:// client"
        )


# -- does it fit -------------------------------------------------------------------------------------------------------


def misfit(wanted: Sequence[Slot], nodes: Sequence[Mapping[str, Any]], strategy: str) -> str:
    """Why no placement of the slots on the nodes can exist; empty where nothing speaks against it.

    Args:
        wanted: the slots.
        nodes: of the cluster, each with `resources` (totals) and `labels`.
        strategy: PACK, SPREAD, STRICT_PACK or STRICT_SPREAD.

    Example:
        >>> gpu = Slot(pool="play", label="any", bundle={"CPU": 1.0, "GPU": 8.0})
        >>> misfit([gpu], [{"resources": {"CPU": 16.0, "GPU": 4.0}, "labels": {}}], "PACK")
        'an actor of cluster.pools.play wants 8 GPU; the most that a node has is 4'
    """
    for slot in dict.fromkeys((s.pool, *sorted(s.bundle.items()), *sorted(s.selector.items())) for s in wanted):
        one = next(s for s in wanted if s.pool == slot[0])
        if reason := _alone(one, nodes):
            return reason
    total: dict[str, float] = {}
    for each in wanted:
        for name, value in each.bundle.items():
            total[name] = total.get(name, 0.0) + value
    if strategy == "STRICT_PACK" and not any(_holds(n["resources"], total) for n in nodes):
        return f"cluster.strategy is STRICT_PACK, and no node holds all actors together: they want {_told(total)}"
    if strategy == "STRICT_SPREAD" and len(wanted) > len(nodes):
        return f"cluster.strategy is STRICT_SPREAD: {len(wanted)} actors want a node each, and there are {len(nodes)}"
    for name, value in total.items():
        have = sum(n["resources"].get(name, 0.0) for n in nodes)
        if value > have:
            return f"all actors together want {_told({name: value})}; the cluster has {_told({name: have})}"
    return ""


def _alone(slot: Slot, nodes: Sequence[Mapping[str, Any]]) -> str:
    """Why no node holds this slot even alone."""
    who = f"an actor of cluster.pools.{slot.pool} wants"
    fit = [n for n in nodes if all(n["labels"].get(k) == v for k, v in slot.selector.items())]
    if not fit:
        labels = ", ".join(f"{k}={v}" for k, v in slot.selector.items())
        return f"{who} a node with {labels}; none of the {len(nodes)} nodes has these labels"
    for name, value in slot.bundle.items():
        most = max(n["resources"].get(name, 0.0) for n in fit)
        if value > most:
            return f"{who} {_told({name: value})}; the most that a node has is {_told({name: most}).split(' ')[0]}"
    if not any(_holds(n["resources"], slot.bundle) for n in fit):
        return f"{who} {_told(slot.bundle)}; no single node has all of it"
    return ""


def _holds(have: Mapping[str, float], want: Mapping[str, float]) -> bool:
    return all(have.get(k, 0.0) >= v for k, v in want.items())


def _told(resources: Mapping[str, float]) -> str:
    shown = {k: f"{v / GIB:g} GiB" if k == "memory" else f"{v:g}" for k, v in resources.items()}
    return ", ".join(f"{v} {k}" for k, v in shown.items())


# -- the token ---------------------------------------------------------------------------------------------------------


def token(section: ClusterSection, room: Path) -> Path | None:
    """The file with the token of the cluster; a new one in the private folder `room` for a Ray of our own.

    Raises:
        ClusterError: there is none for a running cluster, it is empty, or others can read it.
    """
    if not section.auth:
        return None
    named = section.token_file or os.environ.get("RAY_AUTH_TOKEN_PATH", "")
    if not named:
        path = room / "token"
        if given := os.environ.get("RAY_AUTH_TOKEN", ""):
            return _write(path, given)
        if section.address:
            raise ClusterError(
                f"cluster.address is {section.address!r} and there is no token for it: set cluster.token_file, or the environment "
                "variable RAY_AUTH_TOKEN_PATH, to the file with the token that the cluster was started with"
            )
        return _write(path, secrets.token_hex(32))
    path = Path(named).expanduser()
    if not path.is_file() or not path.read_text().strip():
        raise ClusterError(
            f"the token file {path} is {'empty' if path.is_file() else 'not there'}; see cluster.token_file"
        )
    mode = stat.S_IMODE(path.stat().st_mode)
    if mode & 0o077:
        raise ClusterError(
            f"the token file {path} has mode {mode:04o}, so that others can read it; run: chmod 600 {path}"
        )
    return path


def _write(path: Path, text: str) -> Path:
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as file:
        file.write(text)
    return path


def environment(path: Path | None) -> dict[str, str]:
    """What Ray reads of the environment, here and in the processes that it starts."""
    auth = {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN_PATH": str(path)} if path else {"RAY_AUTH_MODE": "disabled"}
    # actors work as hard as the learner: at the usual niceness of 15 they starve beside it; and nothing that is asked of Ray
    # by a thread once the run has left it may start or join another one
    return {**auth, "RAY_USAGE_STATS_ENABLED": "0", "RAY_worker_niceness": "0", "RAY_ENABLE_AUTO_CONNECT": "0"}


def transport(config: Config, folder: Path) -> Any:
    """The transport of a run with a cluster block: its private folder, the token, and what Ray reads of the environment.

    Raises:
        MissingExtra: Ray is not installed.
        ClusterError: there is no token where one is needed.
    """
    require_extra("ray", "ray", "grpc", "psutil")
    from quintain.runtime.reaper import MARK

    room = Path(tempfile.mkdtemp(prefix="quintain-ray-"))  # mode 0700; short, since the sockets of Ray lie in it
    try:
        path = token(config.cluster, room)
    except ClusterError:
        shutil.rmtree(room)
        raise
    for name in ("RAY_AUTH_TOKEN", "RAY_AUTH_TOKEN_PATH"):
        os.environ.pop(name, None)
    os.environ.update(environment(path), **{MARK: str(room)})  # Ray reads it when it is imported
    from quintain.runtime.ray import Cluster

    return Cluster(config, folder, room, path)


def reachable(address: str, deadline_s: float = 5.0) -> None:
    """Refuse an address where nobody listens.

    Raises:
        ClusterError: names it.
    """
    host, _, port = address.rpartition(":")
    try:
        socket.create_connection((host.strip("[]"), int(port)), timeout=deadline_s).close()
    except OSError as error:
        raise ClusterError(
            f"nobody answers at cluster.address {address} ({error}); start the head there with "
            f"`ray start --head --port={port}`, or leave cluster.address empty for a Ray of its own"
        ) from error
