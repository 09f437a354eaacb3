"""`quintain doctor [RUN|FILE.py...|WORLD...]`: who waits for whom in a run that is going on, and why; of one that has ended, every byte
is checked and every prompt accounted for. Of a world, such as a file of yours registers, what each of its methods gives on many states is
checked: a finding has the method, the level and the seed. Without either, check this machine."""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import platform
import shlex
from pathlib import Path
from typing import Any

from quintain.registry import names
from quintain.types import QuintainError

EXTRAS = {
    "train": ("torch", "transformers", "safetensors", "peft"),
    "math": ("math_verify",),
    "track": ("tensorboard",),
    "vllm": ("vllm",),
    "ray": ("ray",),
    "serve": ("starlette", "uvicorn"),
    "adapters": ("gymnasium", "minigrid", "pettingzoo", "reasoning_gym"),
}


def main(arguments: list[str]) -> int:
    """Print the findings; 1 if something is wrong."""
    parser = argparse.ArgumentParser(allow_abbrev=False, prog="quintain doctor", description=__doc__)
    parser.add_argument(
        "items",
        nargs="*",
        metavar="RUN|FILE.py|WORLD",
        help="a run folder, files that register worlds, or worlds by name",
    )
    parser.add_argument(
        "--repair", action="store_true", help="cut damaged records out; whole ones are kept, and a copy is set aside"
    )
    parser.add_argument("--bytes", action="store_true", help="of a run that is going on, check every byte too")
    parser.add_argument("--json", action="store_true", help="print JSON")
    given = parser.parse_intermixed_args(arguments)
    if not given.items:
        found = machine()
    elif is_run(given.items):
        found = examine(Path(given.items[0]), repair=given.repair, whole=given.bytes)
    elif given.repair or given.bytes:
        raise QuintainError(f"--repair and --bytes are for a run folder, which {', '.join(given.items)} is not")
    else:
        found = examine_worlds(given.items)
    if given.json:
        print(json.dumps(found, indent=1))
    else:
        for key, value in found.items():
            if key == "status":
                continue  # for programs
            for line in value if isinstance(value, list) else [value]:
                print(f"{key:<12} {line}")
    return 0 if found["ok"] else 1


def is_run(items: list[str]) -> bool:
    """Whether the words of the command line are a run, or what should be one, and no worlds."""
    (first, *more) = items
    return not more and not first.endswith(".py") and (Path(first).exists() or first not in names("world"))


def examine_worlds(items: list[str]) -> dict[str, Any]:
    """What is wrong with worlds, and what was looked at."""
    from quintain.cli.places import places
    from quintain.testing.checkup import examine

    if strange := [item for item in items if "=" in item]:
        raise QuintainError(f"{strange[0]}: worlds are examined as their levels set them; name files and worlds alone")
    looked = [examine(name) for name in places(items).worlds]
    findings = [line for of in looked for line in of.findings]
    return {"ok": not findings, "findings": findings, "examined": [str(of) for of in looked]}


def examine(folder: Path, *, repair: bool, whole: bool) -> dict[str, Any]:
    """What a run that goes on waits for; of one that does not, its books and the last that was heard of it."""
    from quintain.cli.waits import last_words, living, look
    from quintain.ledger import RunDir

    RunDir.open(folder).close()  # refuses what is no run
    alive = living(folder)
    if alive and not repair:
        found = look(folder, alive)
        return found | {k: v for k, v in check_run(folder, False, alive=True).items() if k != "ok"} if whole else found
    return check_run(folder, repair) | last_words(folder)


def check_run(folder: Path, repair: bool, *, alive: bool = False) -> dict[str, Any]:
    """Damage in the ledger and checkpoints, and what became of every prompt."""
    from quintain.ledger import RunDir
    from quintain.ledger.doctor import verify

    told: list[str] = []
    if repair:
        from quintain.ledger.repair import repair as mend

        told = [str(line) for line in mend(folder)]
    findings = verify(folder)
    damaged = any(f.level == "error" for f in findings)
    lines = [*map(str, findings), *check_config(folder)]
    found: dict[str, Any] = {"ok": len(lines) == len(findings) and not damaged, "repaired": told, "findings": lines}
    if damaged:
        return found
    with RunDir.open(folder) as store:
        ends = list(store.events(["stopped"]))
        checkpoint = store.latest_checkpoint()
    found["checkpoint"] = f"step {checkpoint.step}, verified" if checkpoint else "none"
    none = f"none: {'the run is going on' if alive else 'it was killed, or its folder was moved while it went on'}"
    found["end"] = ends[-1].payload["reason"] if ends else none
    return found


def check_config(folder: Path) -> list[str]:
    """What is wrong with the config of a run: nothing else reads it before it is needed."""
    from quintain import config as configs
    from quintain.ledger import RunDir

    path = folder / "config.toml"
    try:
        configs.make(path)
    except QuintainError as error:
        fix = ""
        if path.exists():
            with RunDir.open(folder) as store:
                other = store.agreed and store.agreed.encode() != path.read_bytes()
            again = f"remove it, and `quintain doctor --repair {shlex.quote(str(folder))}` writes it as the run last began with it"
            fix = f"{again if other else 'mend it by hand, or restore it from a copy'}; "
        return [f"error: {path}: {error}; {fix}without it the run is neither continued nor evaluated nor reported"]
    return []


def machine() -> dict[str, Any]:
    """What this machine offers."""
    present = {name: all(importlib.util.find_spec(m) for m in modules) for name, modules in EXTRAS.items()}
    found: dict[str, Any] = {"ok": True, "python": platform.python_version(), "cores": os.cpu_count()}
    how = "missing; pip install 'quintain[{}]'"
    found["extras"] = [f"{name}: {'installed' if ok else how.format(name)}" for name, ok in present.items()]
    if present["train"]:
        from quintain.learn.precision import named, pick_device

        device = pick_device()
        found["device"] = named(device) + (" (no CUDA here; everything runs on CPU)" if device.type == "cpu" else "")
    return found
