"""`quintain launch slurm|kuberay FILE.toml [key=value...]`: print the file that starts a run with a cluster block there."""

from __future__ import annotations

import argparse
import itertools
import json
import math
import re
import shlex
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from quintain import config as configs
from quintain.cli.args import one_of
from quintain.cli.paths import absolute
from quintain.cli.places import setting
from quintain.config import Config, ConfigError

TEMPLATES = Path(__file__).parent / "launchers"
FILES = {"slurm": "slurm.sh.j2", "kuberay": "kuberay.yaml.j2"}
MEMORY_GB = 8  # of a pod whose pool reserves none
OWN = "ray.io/"  # prefix of labels that are Ray's own; no node of Kubernetes has them
DETECTED = OWN + "accelerator-type"  # a node of Ray finds it out by itself


def main(arguments: list[str]) -> int:
    """Print a rendered launch file."""
    parser = argparse.ArgumentParser(allow_abbrev=False, prog="quintain launch", description=__doc__)
    parser.add_argument("where", metavar="slurm|kuberay", type=one_of("launcher", list(FILES)))
    parser.add_argument("items", nargs="+", metavar="RECIPE|FILE|key=value")
    parser.add_argument("--nodes", type=int, default=1, help="slurm: nodes (1)")
    parser.add_argument("--time", default="24:00:00", help="slurm: time limit (24:00:00)")
    parser.add_argument("--partition", default="", help="slurm: partition")
    parser.add_argument("--port", type=int, default=6379, help="slurm: port of the head (6379)")
    parser.add_argument(
        "--activate",
        default=_activate(),
        metavar="LINE",
        help="slurm: shell line after which `quintain` and `ray` are found (default: the environment of this command)",
    )
    parser.add_argument("--image", default="quintain:latest", help="kuberay: image with Quintain and Ray in it")
    parser.add_argument("--claim", default="quintain-runs", help="kuberay: volume claim for the runs")
    parser.add_argument("--mount", default="/runs", help="kuberay: where the claim is mounted")
    parser.add_argument("--retries", type=int, default=3, help="kuberay: new clusters after a lost one (3)")
    parser.add_argument("--ray-version", default="2.60.0", help="kuberay: Ray in the image (2.60.0)")
    parser.add_argument(
        "--head",
        default="",
        help="kuberay: CPUs, GiB and GPUs of the head (4,16,1; 4,16,0 where it does not learn, or learns on the CPU)",
    )
    given = parser.parse_intermixed_args(arguments)
    files, overrides = setting(given.items)
    config = configs.make(*files, overrides=overrides)
    if given.where == "slurm":
        options = {key: getattr(given, key) for key in ("nodes", "time", "partition", "port", "activate")}
        if len(files) != 1 or overrides:
            raise ConfigError("a Slurm file names one TOML file or recipe; write the overrides into the file")
        file = Path(files[0])
        options["config"] = str(file.resolve()) if file.is_file() else files[0]
        print(slurm(config, options))
        return 0
    keys = ("image", "claim", "mount", "retries", "ray_version", "head")
    print(kuberay(config, {key: getattr(given, key) for key in keys}))
    return 0


def slurm(config: Config, options: Mapping[str, Any]) -> str:
    """A batch script: a head, workers, and the run on the head's node.

    Args:
        config: of the run.
        options: nodes, time, partition, port, activate, config.

    Raises:
        ConfigError: there is no cluster block, its pools want different nodes, or an option is none of Slurm's.
    """
    pools = _pools(config)
    if options["nodes"] < 1:
        raise ConfigError(f"--nodes is {options['nodes']}; it must be at least 1")
    if not 1 <= options["port"] <= 65535:
        raise ConfigError(f"--port is {options['port']}; it must be 1 to 65535")
    if not re.fullmatch(r"(\d+-)?\d+(:\d+){0,2}", options["time"]):
        raise ConfigError(f"--time is {options['time']!r}; it must be of Slurm's form, such as 24:00:00 or 2-00:00:00")
    if not re.fullmatch(r"[\w,.-]*", options["partition"]):
        raise ConfigError(
            f"--partition is {options['partition']!r}; it must be letters, digits, dots, dashes and commas"
        )
    run = absolute(config).run
    folder = str((Path(run.folder) / run.name).absolute())
    learner = _learner_gpus(config)
    actors = [pool.gpus for pool in pools.values() for _ in range(pool.count) if pool.gpus]
    gpus = {"gpus_per_node": gpus_per_node(actors, options["nodes"], learner), "learner_gpus": learner}
    more = {"name": _name(run.name), "run": folder, "offers": offers(pools), **gpus}
    return _render("slurm", {**options, **more})


def gpus_per_node(actors: Sequence[float], nodes: int, learner: int) -> int:
    """The fewest GPUs of each node with which all actors have a place, besides those of the learner on the first node.

    Args:
        actors: GPUs that each actor takes, of one node.
        nodes: how many there are, all alike.
        learner: GPUs of the first process, which actors never get.

    Example:
        >>> gpus_per_node([1.0] * 3, nodes=2, learner=1), gpus_per_node([4.0] * 2, nodes=3, learner=1)
        (2, 4)
    """

    def fit(each: int) -> bool:
        free = [float(each - learner)] + [float(each)] * (nodes - 1)
        for wanted in sorted(actors, reverse=True):
            place = min((i for i, left in enumerate(free) if left >= wanted), key=free.__getitem__, default=None)
            if place is None:
                return False
            free[place] -= wanted
        return True

    least = max(learner, math.ceil((sum(actors) + learner) / nodes))
    return next(each for each in itertools.count(least) if fit(each))


def offers(pools: Mapping[str, Any]) -> list[str]:
    """What `ray start` says of every node of a Slurm job, since all are alike: the labels that any pool selects, and as much of a
    custom resource as all actors together ask for, so that none waits for it wherever the others are.

    Args:
        pools: of the cluster block, by name.

    Raises:
        ConfigError: two pools select different values of a label, or what a pool asks for cannot be offered.
    """
    labels: dict[str, str] = {}
    whose: dict[str, str] = {}
    resources: dict[str, float] = {}
    for name, pool in pools.items():
        for key, value in _labels(name, pool.selector).items():
            if labels.setdefault(key, value) != value:
                raise ConfigError(
                    f"cluster.pools.{whose[key]} selects {key}={labels[key]} and cluster.pools.{name} {key}={value}, but the nodes of "
                    "a Slurm file are all alike; give both pools one value, or use `quintain launch kuberay`"
                )
            whose.setdefault(key, name)
        for key, value in _resources(name, pool.resources).items():
            resources[key] = resources.get(key, 0.0) + pool.count * value
    told = [f"--labels={','.join(f'{k}={v}' for k, v in labels.items())}"] if labels else []
    whole = {key: math.ceil(value) for key, value in resources.items()}
    return [*told, f"--resources={json.dumps(whole)}"] if whole else told


def _labels(name: str, selector: Mapping[str, str]) -> dict[str, str]:
    """The labels that a node is given for the selector of a pool.

    Raises:
        ConfigError: the selector is a condition of Ray's, such as `!spot`, or no label.
    """
    word = r"[a-zA-Z0-9]([a-zA-Z0-9_.-]{0,61}[a-zA-Z0-9])?"
    for key, value in selector.items():
        if not re.fullmatch(rf"([a-zA-Z0-9.-]+/)?{word}", key) or not re.fullmatch(word, value):
            raise ConfigError(
                f"cluster.pools.{name}.selector has {key} = {value!r}; in a launch file it must be one label of a node, of letters, "
                "digits and .-_ between them, and no condition"
            )
    return {key: value for key, value in selector.items() if key != DETECTED}


def _resources(name: str, resources: Mapping[str, float]) -> dict[str, float]:
    """The custom resources of one actor of a pool.

    Raises:
        ConfigError: a name that cannot stand in a command.
    """
    for key in resources:
        if not re.fullmatch(r"[\w.:/-]+", key):
            raise ConfigError(
                f"cluster.pools.{name}.resources has {key!r}; in a launch file it must be letters, digits and .:/-_"
            )
    return dict(resources)


def kuberay(config: Config, options: Mapping[str, Any]) -> str:
    """A ConfigMap with the config and a RayJob with a worker group for each pool.

    Args:
        config: of the run.
        options: image, claim, mount, retries, ray_version, head.

    Raises:
        ConfigError: there is no cluster block, or an option or what a pool asks for cannot stand in a manifest.
    """
    for key in ("image", "claim", "mount", "ray_version"):
        if not re.fullmatch(r"[\w./:@-]+", options[key]):
            raise ConfigError(f"--{key.replace('_', '-')} is {options[key]!r}; it must be letters, digits and ./:@-_")
    if not options["mount"].startswith("/"):
        raise ConfigError(f"--mount is {options['mount']!r}; it must be an absolute path, such as /runs")
    if options["retries"] < 0:
        raise ConfigError(f"--retries is {options['retries']}; it must be at least 0")
    wanted = options["head"] or f"4,16,{_learner_gpus(config)}"
    if not re.fullmatch(r"\d+,\d+,\d+", wanted):
        raise ConfigError(f"--head is {wanted!r}; it must be CPUs, GiB and GPUs, such as 4,16,0")
    head = dict(zip(("head_cpus", "head_memory_gb", "head_gpus"), map(int, wanted.split(",")), strict=True))
    pools = [
        {
            "name": _name(name),
            "count": pool.count,
            "cpus": max(1, math.ceil(pool.cpus)),
            "gpus": math.ceil(pool.gpus),
            "memory_gb": math.ceil(pool.memory_gb) or MEMORY_GB,
            "resources": _inline({k: math.ceil(v) for k, v in _resources(name, pool.resources).items()}),
            "labels": _labels(name, pool.selector),
            "nodes": {k: v for k, v in _labels(name, pool.selector).items() if not k.startswith(OWN)},
        }
        for name, pool in _pools(config).items()
    ]
    names = {"name": _name(config.run.name), "run_name": _name(config.run.name)}
    sent = config.model_copy(deep=True)
    sent.run.name = names["run_name"]
    return _render("kuberay", {**options, **head, **names, "pools": pools, "toml": sent.toml()})


def _inline(resources: Mapping[str, int]) -> str:
    """JSON as KubeRay puts it behind `ray start --resources=`, into a shell; empty for none."""
    return json.dumps(json.dumps(resources)) if resources else ""


def _pools(config: Config) -> Mapping[str, Any]:
    from quintain.runtime import cluster, learner_pool

    cluster.check(config)
    learner_pool.check(config)
    if not config.cluster.pools:
        raise ConfigError("there is no cluster block: add pools, such as [cluster.pools.play] with count = 2")
    return config.cluster.pools


def _learner_gpus(config: Config) -> int:
    """GPUs of the first process: one where it learns, and the config does not keep it to the CPU."""
    from quintain.runtime.learner_pool import learner_pool

    device = config.learner.device
    wanted = device.startswith("cuda") or (device == "auto" and any(p.gpus for p in config.cluster.pools.values()))
    return int(wanted and learner_pool(config) is None)


def _activate() -> str:
    """The line that makes this Python's commands known to a shell on a node that sees the same folder."""
    script = Path(sys.prefix) / "bin" / "activate"
    return f"source {shlex.quote(str(script))}" if script.is_file() else f"PATH={shlex.quote(sys.prefix)}/bin:$PATH"


def _name(text: str) -> str:
    """A name that Slurm and Kubernetes take."""
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")[:50] or "run"


def _render(where: str, values: Mapping[str, Any]) -> str:
    import jinja2

    loader = jinja2.FileSystemLoader(TEMPLATES)
    made = jinja2.Environment(loader=loader, undefined=jinja2.StrictUndefined, autoescape=False)
    made.filters |= {"sh": shlex.quote, "yaml": json.dumps}
    return made.get_template(FILES[where]).render(values)
