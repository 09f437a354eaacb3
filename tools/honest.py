"""Every world on many instances: `python tools/honest.py [WORLD...]` measures the worlds whose code has changed since, or those named.

A row per world goes to claims/worlds/honest.json, with a hash of all code that the world stands on; tests fail where it is another.
Where only the form of the code has changed, `--as-at COMMIT` lets rows stand that were measured on that commit's code: those of worlds
that are the same then and now, state by state, in a sample of every level and split, what nothing measured reads aside. Where pictures
are others, of which only the speed is measured, that is measured anew; of the rest by `--paces`. What measures must be the same.
`--suites` puts on record which instances the published test suites have; a test fails where a change of code gives them others.
Exit status 1 where a world does not keep what it declares.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import fields
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
ROWS = ROOT / "claims" / "worlds" / "honest.json"
SUITES = ROOT / "claims" / "worlds" / "suites.json"
MEASURES = ("src/quintain/testing/honest.py", "src/quintain/testing/worlds.py")


def rows() -> dict[str, dict[str, Any]]:
    """What is on record, by world."""
    return json.loads(ROWS.read_text()) if ROWS.exists() else {}


def write(known: dict[str, dict[str, Any]]) -> None:
    """Put rows on record."""
    ROWS.parent.mkdir(parents=True, exist_ok=True)
    lines = [f"{json.dumps(name)}: {json.dumps(known[name], sort_keys=True)}" for name in sorted(known)]
    ROWS.write_text("{\n" + ",\n".join(lines) + "\n}\n")  # a line each, so that a change shows whose it is


def stale() -> list[str]:
    """The worlds whose row is of other code, or lacks."""
    from quintain.registry import names
    from quintain.testing.honest import digest

    there = rows()
    return [name for name in names("world") if there.get(name, {}).get("digest") != digest(name)]


def one(name: str) -> dict[str, Any]:
    """A row."""
    from quintain.testing.honest import digest, measure

    begun = time.process_time()
    row = measure(name)
    known = paced(pace(name))
    return {"digest": digest(name), **row, **known, "seconds": round(time.process_time() - begun, 1)}


def paced(found: dict[str, float]) -> dict[str, Any]:
    """Paces for a row, with how slow this core is where one lies below what is due."""
    from quintain.testing.honest import PACES, slowness

    late = any(found[kind] < due for kind, due in PACES.items())
    return {"pace": found, **({"slowness": slowness()} if late else {})}


def pace(name: str) -> dict[str, float]:
    """Steps and instances a second, with three digits."""
    from quintain.testing.speed import paces

    return {kind: float(f"{value:.3g}") for kind, value in paces(name).items()}


def begun(name: str) -> dict[str, Any]:
    """How long starts take, of a row."""
    from quintain.testing.honest import CLOCKED, WHOLE, _starts

    found = _starts(name, WHOLE._replace(starts=WHOLE.starts[: 10 * CLOCKED]))
    return {key: found[key] for key in ("starts_s", "slowness") if key in found}


def apart(what: str, name: str) -> dict[str, Any]:
    """A row (`--row`) or only its paces (`--pace`) from a process of its own."""
    done = subprocess.run([sys.executable, __file__, what, name], stdout=subprocess.PIPE, check=True)
    return json.loads(done.stdout)


def told_of(facts: Any) -> dict[str, Any]:
    """What a world declares of itself and measures go by; commits before forfeits have none."""
    said = {field.name: getattr(facts, field.name) for field in fields(facts)}
    kept = {key: value for key, value in said.items() if key not in ("rules", "sayings", "answer", "contest")}
    return kept | {"forfeits": getattr(facts, "forfeits", False)}


def conduct(name: str) -> list[str]:
    """Digests of the code of a world, of what it does and of how it looks in a sample: runs on the code of any commit, so it asks
    little of it.

    What nothing measured reads is left out: rules, sayings, how to answer, captions of level 1, and how what is over looks.
    """
    from quintain.codec import digest_of
    from quintain.envs.world import world_of
    from quintain.testing import worlds
    from quintain.testing.honest import digest
    from quintain.testing.worlds import fingerprint, oracle_player, play, task_of
    from quintain.worlds.kernel import View
    from quintain.worlds.painter import painted
    from quintain.worlds.splits import SPLITS

    world, whole, shown, looks = world_of(name), View.caption, worlds.shown, list[str]()

    @lru_cache(maxsize=4096)
    def over(state: Any) -> bool:
        return getattr(world.solve(state, world.facts.seats[0]), "reason", "").endswith("is over")

    def told(world: Any, state: Any, seat: str) -> dict[str, Any]:
        found = {} if over(state) else shown(world, state, seat)
        if "scene" in found:
            looks.append(hashlib.sha256(painted(found.pop("scene"), 128).tobytes()).hexdigest())
        return found

    View.caption, worlds.shown = lambda view, level=2: whole(view, level) if level == 2 else "", told
    played = [play(task_of(name, seed, level), oracle_player()) for level in range(10) for seed in range(2)]
    asked = {(n, level, "train") for level in range(10) for n in range(500, 510 if level != 5 else 700)}
    asked |= {(n, level, split) for n in range(3) for level in range(10) for split in SPLITS}
    seen = [
        repr((told_of(world.facts), world.levels)),
        fingerprint(name, seeds=3, levels=range(10)),
        [digest_of(world.start(n, level, split=split)) for n, level, split in sorted(asked)],
        [(one.reward, str(one.stop), [move.key for move in one.moves], digest_of(one.states[-1])) for one in played],
    ]
    return [digest(name), digest_of(seen), digest_of(looks)]


def conducts(names: list[str], root: Path) -> dict[str, list[str]]:
    """`conduct` of worlds, on the code under a root; those that it cannot make lack."""
    env = os.environ | {"PYTHONPATH": str(root / "src")}
    call = [sys.executable, __file__, "--conduct"]
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        asked = partial(subprocess.run, stdout=subprocess.PIPE, env=env)
        done = list(pool.map(lambda name: asked([*call, name]), names))
    return {name: json.loads(one.stdout) for name, one in zip(names, done, strict=True) if one.returncode == 0}


def repaced(known: dict[str, dict[str, Any]], names: list[str]) -> dict[str, dict[str, Any]]:
    """Rows with the speed of some worlds measured anew."""
    with ThreadPoolExecutor(os.cpu_count()) as pool:  # a process each: none pays for what others keep
        for name, found in zip(names, pool.map(partial(apart, "--pace"), names), strict=True):
            known[name] = {key: value for key, value in known[name].items() if key != "slowness"} | found
    return known


def let_stand(commit: str) -> int:
    """Renew the hash of rows that were measured on the code of a commit, of worlds that do the same now."""
    git, known, asked = ["git", "-C", str(ROOT)], rows(), stale()
    if subprocess.run([*git, "diff", "--quiet", commit, "--", *MEASURES]).returncode:
        print(
            f"{commit}: there is no such commit, or what measures has changed since ({', '.join(MEASURES)}); no row can stand"
        )
        return 1
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([*git, "worktree", "add", "--detach", folder, commit], check=True)
        try:
            then = conducts(asked, Path(folder))
        finally:
            subprocess.run([*git, "worktree", "remove", "--force", folder], check=True)
    now, drawn = conducts(asked, ROOT), []
    for name in asked:
        code, did, looked = then.get(name, ["", "", ""])
        if known.get(name, {}).get("digest") != code:
            print(f"{name:20} has no row of {commit}")
        elif now.get(name, ["", "", ""])[1] != did:
            print(f"{name:20} does otherwise than at {commit}")
        else:
            known[name] |= {"digest": now[name][0], "measured": known[name].get("measured", code)}
            drawn += [name] if now[name][2] != looked else []
    write(repaced(known, drawn))
    print(f"{len(drawn)} worlds look otherwise; their speed was measured anew: {' '.join(drawn) or 'none'}")
    left = stale()
    print(f"{len(asked) - len(left)} rows stand, {len(left)} are to be measured")
    return 1 if left else 0


def publish() -> int:
    """Put on record which instances the suites have, world by world, and tell which worlds have others than before."""
    from quintain.envs.suites import suites

    known = suites()
    found = {name: {world: known[name].instances(world) for world in known[name].worlds} for name in ("quick", "full")}
    before = json.loads(SUITES.read_text()) if SUITES.exists() else {}
    SUITES.write_text(json.dumps(found, indent=1) + "\n")
    changed = {w for name, there in found.items() for w in there if before.get(name, {}).get(w) != there[w]}
    print(f"other instances in {len(changed)} worlds: {', '.join(sorted(changed)) or 'none'}")
    return 0


def main() -> int:
    """Measure, write, tell."""
    from quintain.registry import names
    from quintain.testing.honest import broken

    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("worlds", nargs="*", metavar="WORLD", help="these, whether their code has changed or not")
    parser.add_argument(
        "--paces",
        action="store_true",
        help="measure only the speed of all worlds on record, and 200 starts of each level",
    )
    parser.add_argument("--as-at", metavar="COMMIT", help="let rows of that commit stand whose worlds do the same now")
    parser.add_argument("--suites", action="store_true", help="put on record which instances the test suites have now")
    parser.add_argument("--row", metavar="WORLD", help=argparse.SUPPRESS)
    parser.add_argument("--pace", metavar="WORLD", help=argparse.SUPPRESS)
    parser.add_argument("--conduct", metavar="WORLD", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.row or given.pace:
        print(json.dumps(one(given.row) if given.row else begun(given.pace) | paced(pace(given.pace))))
        return 0
    if given.conduct:
        print(json.dumps(conduct(given.conduct)))
        return 0
    if given.suites:
        return publish()
    if given.as_at:
        return let_stand(given.as_at)
    if given.paces:
        made = rows()
        write(repaced(made, [*made]))
        late = [line for name, row in made.items() for line in broken(name, row)]
        print("\n".join(late) or f"{len(made)} worlds are as fast as is due")
        return 1 if late else 0
    chosen, failed = given.worlds or stale(), 0
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        for done in as_completed(asked := {pool.submit(apart, "--row", name): name for name in chosen}):
            name, row = asked[done], done.result()
            write({k: v for k, v in (rows() | {name: row}).items() if k in names("world")})
            failed += bool(found := broken(name, row))
            print(f"{name:20} {row['seconds']:6.1f} s  " + ("; ".join(found) or "keeps what it declares"), flush=True)
    print(f"{len(chosen)} measured, {len(names('world'))} on record, {failed} do not keep what they declare")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
