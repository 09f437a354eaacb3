"""`quintain train [RECIPE|FILE.toml] [key=value...]`: train an agent; `--resume RUN` continues one."""

from __future__ import annotations

import argparse
import contextlib
import itertools
import os
import shlex
import shutil
import sys
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from quintain import config as configs
from quintain.cli.args import sources
from quintain.cli.paths import absolute, unused, worthless
from quintain.cli.places import setting
from quintain.cli.restarts import EXPLAINED, FORKS, STEPPED, Supervisor
from quintain.ledger import RunDir, RunMoved
from quintain.registry import require_extra
from quintain.runtime.check import check
from quintain.runtime.drawn import titled
from quintain.runtime.opponents import heeded, rival
from quintain.runtime.transport import LearnerLost
from quintain.runtime.watch import STALLED, StallError, go_on
from quintain.runtime.words import fitted, keep_words, spelled, went_with
from quintain.serve.desk import refuse_record, spare_record
from quintain.types import QuintainError

SIZES = ("hidden", "layers", "heads", "kv_heads", "head_dim", "ffn")  # of the model that no run can change
FIXED = (  # settings that no run can change, and why
    ("run", "name", "which names its folder"),
    ("run", "folder", "where it stays"),
    ("run", "seed", "which drew its tasks and its noise so far"),
    ("model", "arch", "which its weights are of"),
    ("runtime", "processes", "which share its tasks"),
)


def main(arguments: list[str]) -> int:
    """Start or continue a run and show it."""
    parser = argparse.ArgumentParser(allow_abbrev=False, prog="quintain train", description=__doc__)
    parser.add_argument(
        "items", nargs="*", metavar="RECIPE|FILE|key=value", help="`quintain list recipes` names recipes"
    )
    parser.add_argument("--resume", metavar="RUN", type=Path, help="continue the run in this folder")
    parser.add_argument(
        "--from", dest="step", type=int, help="with --resume: continue from the checkpoint of this step"
    )
    parser.add_argument(
        "--fresh",
        action="store_true",
        help="take the place of a run of the same name, which is deleted at the first step of the new one",
    )
    parser.add_argument(
        "--restarts",
        type=int,
        default=0,
        metavar="N",
        help="go on after a crash, up to N times without a new checkpoint",
    )
    parser.add_argument("--tell-fd", dest="tell", type=int, help=argparse.SUPPRESS)
    given = parser.parse_intermixed_args(arguments)
    require_extra("train", "torch", "transformers", "safetensors")
    if given.step is not None and not given.resume:
        raise configs.ConfigError(
            f"--from {given.step} is a checkpoint of a run to go on from; say of which: --resume RUN"
        )
    if given.fresh and given.resume:
        raise configs.ConfigError("--fresh begins a new run and --resume goes on with one; give one of them")
    if given.restarts:
        return Supervisor(without(arguments, "--restarts"), given.restarts).run()
    try:
        if given.resume:
            return resume(given.resume, given.items, given.step, tell=given.tell)
        files, overrides = setting(given.items)
        return begin(heeded(configs.make(*files, overrides=overrides), overrides), fresh=given.fresh, tell=given.tell)
    except (StallError, LearnerLost) as error:  # not told: another start may go on
        print(f"quintain train: {type(error).__name__}: {error}", file=sys.stderr)
        return STALLED if isinstance(error, StallError) else 1
    except QuintainError:
        told(given.tell, EXPLAINED)
        raise


def told(fd: int | None, word: bytes) -> None:
    """Say a word (the folder first) to the supervisor of this run, if it has one."""
    if fd is not None:
        os.write(fd, word + b"\n")


class Replaced:
    """A sink that deletes the run that a new one takes the place of, once this has come to its first step or evaluation.

    Until then it is in a folder of its own, and comes back where the new run is refused.
    """

    def __init__(self, folder: Path) -> None:
        spare_record(folder)
        names = (f"{folder.name}.replaced{f'-{n}' if n else ''}" for n in itertools.count())
        self.folder, self.aside = folder, next(p for name in names if not (p := folder.with_name(name)).exists())
        RunDir.move(folder, self.aside)

    def back(self) -> None:
        """Give the old run its folder again."""
        RunDir.move(self.aside, self.folder)

    def write(self, step: int, metrics: Mapping[str, float]) -> None:
        """The new run has begun: delete the old one."""
        if self.aside.exists():
            RunDir.delete(self.aside)

    def close(self) -> None:
        """Nothing is held: where the old run is then, `begin` says."""


class Stepped:
    """A sink that tells the supervisor of this run, if it has one, of the first step or evaluation."""

    def __init__(self, tell: int | None) -> None:
        self.tell = tell

    def write(self, step: int, metrics: Mapping[str, float]) -> None:
        """Say it, once."""
        with contextlib.suppress(BrokenPipeError):  # it has ended, which ends the run too
            told(self.tell, STEPPED)
        self.tell = None

    def close(self) -> None:
        """Nothing is held."""


def without(arguments: Sequence[str], option: str) -> list[str]:
    """The arguments without an option and its value.

    Example:
        >>> without(["tiny", "--restarts", "3", "run.steps=4", "--restarts=5"], "--restarts")
        ['tiny', 'run.steps=4']
    """
    kept, skip = [], False
    for word in arguments:
        if not skip and word != option and not word.startswith(f"{option}="):
            kept.append(word)
        skip = word == option and not skip
    return kept


def begin(config: configs.Config, *, fresh: bool, tell: int | None = None) -> int:
    """Start a run; what fails before anything was learned, played or scored leaves no folder behind, and no name taken."""
    check(config)
    config = fitted(absolute(config))
    folder = Path(config.run.folder) / config.run.name
    old = Replaced(folder) if fresh and (folder / "run.json").exists() else None
    folder = unused(folder)
    config.run.name = folder.name
    try:
        RunDir.create(folder, config.toml(full=True), about={"words": spelled(config)}).close()
        told(tell, os.fsencode(folder))
        return run(config, folder, resume=False, tell=tell, sinks=[old] if old else [])
    except (StallError, LearnerLost, RunMoved):
        raise  # the run goes on, if it is started again
    except QuintainError:
        if worthless(folder):
            shutil.rmtree(folder, ignore_errors=True)
            if old and old.aside.exists():
                old.back()
                print(f"the run in {old.folder} is as it was", file=sys.stderr)
        else:
            print(f"once that is mended, {go_on(folder)}", file=sys.stderr)
        raise
    finally:
        if old and old.aside.exists():
            print(f"the run that was in {old.folder} before is in {old.aside}", file=sys.stderr)


def resume(folder: Path, items: Sequence[str], step: int | None, *, tell: int | None = None) -> int:
    """Continue a run, with other settings where `items` has key=value, kept unless it fails before it has made a checkpoint with them.

    A `config.toml` that was edited meanwhile is followed like key=value, and what it changes is said.

    Raises:
        ConfigError: a recipe or a file is given, or another value of one of `FIXED`, here or in an edited `config.toml`.
    """
    told(tell, os.fsencode(folder))
    files, overrides = sources(items)
    if files:
        raise configs.ConfigError(
            f"a run goes on with its own settings, {files[0]!r} would change all; change one with key=value, such as run.steps=200"
        )
    with RunDir.open(folder, "a") as store:
        refuse_record(store)
        there, saved = store.steps(), {e.time for e in store.events(["checkpoint"])}
        if step is not None and step not in there:
            raise configs.ConfigError(
                f"--from {step}: {folder} has no checkpoint of that step to go on from; there are: {', '.join(map(str, there)) or 'none'}"
            )
        ends = list(store.events(["stopped"]))
        done = max([*there, ends[-1].step if ends else 0])
        if step is None:
            store.newest()  # it is not gone
        elif step < done:
            print(
                f"it goes on from step {step}: what was done after it, up to step {done}, counts no longer", flush=True
            )
        path = store.path / "config.toml"
        asked = absolute(configs.make(path, overrides=overrides))
        went, before = store.agreed or store.config, store.config
        config = _agree(store, asked)
    changed = config != absolute(configs.make(path))
    ended = bool(ends) and ends[-1].payload["reason"] == "done" and not changed
    fewer = config.run.steps < absolute(configs.make(path)).run.steps
    if (ended or fewer) and done >= config.run.steps and step is None:
        print(f"nothing is left to do: {folder} has done its {done} steps")
        print(f"train on with:   quintain train --resume {shlex.quote(str(folder))} run.steps={2 * done or 100}")
        print(f"look at it with: quintain report {shlex.quote(str(folder))}")
        return 0
    if changed:
        now = edits(absolute(configs.make(path)).toml(full=True), config.toml(full=True))
        print(f"from here on: {_changes(now)}", flush=True)
        with RunDir.open(folder, "a") as store:
            store.agree(config.toml(full=True))  # the other ranks, reports and evaluations read it
    try:
        return run(config, folder, resume=True, step=step, tell=tell, changed=edits(went, config.toml(full=True)))
    except Exception:  # whatever it was, it is raised again
        if changed:
            with RunDir.open(folder, "a") as store:
                if {e.time for e in store.events(["checkpoint"])} <= saved:  # none was made with them
                    store.agree(before)
        raise


def _agree(store: RunDir, config: configs.Config) -> configs.Config:
    """The config that a run goes on with: what no run can change is refused, and what was edited by hand is followed."""
    now, path = store.config, store.path / "config.toml"
    own, edited = went_with(store), edits(store.agreed or now, now)
    if "model.words" in edited:
        raise configs.ConfigError(
            f"{path}: model.words was edited, but the model of this run has the words that it has; put it back"
        )
    config = keep_words(config, own, store.about.get("words", ""))
    warm = type(own.warm_start).model_fields if store.steps() else ()
    rules = [*FIXED, *(("warm_start", key, "and its warm start is over") for key in warm)]
    pairs = [(f"{s}.{k}", getattr(getattr(config, s), k), getattr(getattr(own, s), k), why) for s, k, why in rules]
    sizes = (config.model.sizes, own.model.sizes)
    pairs += [(f"model.sizes.{n}", *(tree.get(n) for tree in sizes), "which its weights are of") for n in SIZES]
    for key, new, was, why in pairs:
        if new != was:
            raise configs.ConfigError(f"{key} is {new!r}, but the run has {was!r}, {why}; leave it so")
    if edited:
        print(f"{path} was edited since the run last began; it goes on with {_changes(edited)}", flush=True)
        store.agree(now)
    return config


def _changes(edited: Mapping[str, tuple[Any, Any]]) -> str:
    return "; ".join(f"{key}: {was} -> {new}" for key, (was, new) in edited.items())


def edits(old: str, new: str) -> dict[str, tuple[Any, Any]]:
    """The keys whose values differ between two TOML texts, with both values; a key that is not there is None.

    Example:
        >>> edits('[run]\\nsteps = 3', '# longer\\n[run]\\nsteps = 5\\nseed = 1')
        {'run.seed': (None, 1), 'run.steps': (3, 5)}
    """
    before, after = (dict(leaves(tomllib.loads(text))) for text in (old, new))
    keys = sorted(before.keys() | after.keys())
    return {key: (before.get(key), after.get(key)) for key in keys if before.get(key) != after.get(key)}


def leaves(tree: Mapping[str, Any], stem: str = "") -> Iterator[tuple[str, Any]]:
    """Every value of a tree, by its dotted key."""
    for key, value in tree.items():
        if isinstance(value, Mapping):
            yield from leaves(value, f"{stem}{key}.")
        else:
            yield f"{stem}{key}", value


def not_begun(folder: Path, count: int) -> dict[str, Any]:
    """The end of a run that was stopped before its parts were made, also in its book."""
    from quintain.learn.ranks import Ranks
    from quintain.runtime.keeper import Keeper

    with RunDir.open(folder, "a") as store:
        end = {"reason": "drained", "step": store.newest() or 0}
        Keeper(store, Ranks(size=count)).stopped(end["step"], end["reason"])
    return end


def _where(config: configs.Config, folder: Path) -> str:
    """Where a run plays and who does, in a line."""
    from quintain.runtime.drawn import cut
    from quintain.runtime.drawn import where as played

    section = config.runtime
    actors = f", {section.actors} actor{'s' if section.actors > 1 else ''}" if section.actors else ""
    where = f"run folder {folder}: {played(config)}; {section.processes} process{'es' if section.processes > 1 else ''}{actors}"
    if shares := {name: share for name, share in config.rollout.opponents.items() if share}:
        where += f"; {', '.join(f'{name} in {100 * share:g} % of the groups' for name, share in shares.items())} in the other seats"
    if (config.eval.instances or config.eval.final_instances) and (against := rival(config)):
        where += f"; evaluated against {against} in the other seats"
    return where + cut(config)


def _on_gpu(config: configs.Config) -> str:
    """The GPU of this process, where it has one; the CPU goes without saying."""
    from quintain.learn.precision import named, pick_device

    device = pick_device(config.learner.device)
    return f"; on {named(device)}" if device.type == "cuda" else ""


def _end(folder: Path, step: int, drained: bool) -> Iterator[str]:
    """How a run ended, and what to do next."""
    yield f"{'stopped' if drained else 'done'} at step {step}: {folder}"
    run = shlex.quote(str(folder))
    yield f"continue with: quintain train --resume {run}" if drained else f"look at it with: quintain report {run}"


def _fork_server(tell: int | None) -> None:
    """Start it, and say so to whoever restarts this process."""
    from quintain.runtime import forks

    forks.ready()
    with contextlib.suppress(BrokenPipeError):  # as in `Stepped`
        told(tell, FORKS)


def _assembly(say: Callable[[str], None]) -> Callable[..., dict[str, Any]]:
    """What plays a run: to import it takes seconds, in which signals count too."""
    if "torch" not in sys.modules:
        say("loading PyTorch")
    from quintain.runtime.assemble import play

    return play


def run(
    config: configs.Config,
    folder: Path,
    *,
    resume: bool,
    step: int | None = None,
    tell: int | None = None,
    changed: Mapping[str, Any] | None = None,
    sinks: Sequence[Any] = (),
) -> int:
    """Train in this process and the ranks that the config asks for, with the live table, the config's sinks and `sinks`; see `Place`."""
    from quintain.cli.live import screen
    from quintain.cli.track import trackers
    from quintain.runtime.launch import ranks
    from quintain.runtime.signals import DRAINED, Asked, Drain, StoppedEarly

    shown = screen(config.run.steps, f"{titled(config)[0]}  {config.algorithm.name}  {folder}")
    sinks = [shown, Stepped(tell), *sinks, *trackers(config.track.sinks, folder)]
    say = shown.say
    if (count := config.runtime.processes) > 1 or config.runtime.actors:
        _fork_server(tell)
    where, asked = _where(config, folder), Asked()
    if resume:
        say(where)

    def ready(one: Any) -> None:
        # where a new run is, not before: what is refused while the parts are made leaves no folder
        if line := ("" if resume else where) + _on_gpu(config):
            say(line.removeprefix("; "))
        asked.ready(one)

    try:
        with Drain(call=asked.drain):
            play = _assembly(say)
            try:
                with ranks(folder, count, resume=resume, step=step, check_in=asked.check) as place:
                    end = play(config, folder, replace(place, changed=changed or {}), sinks=sinks, say=say, ready=ready)
            except StoppedEarly:
                say("stopped while it was started: nothing had begun")
                end = not_begun(folder, count)
        drained = end["reason"] == "drained"
        for line in _end(folder, end["step"], drained):
            say(line)
    except (StallError, LearnerLost):
        print(go_on(folder), file=sys.stderr)
        raise
    finally:
        for sink in sinks:
            sink.close()
        sys.stdout.flush()
    return DRAINED if drained else 0
