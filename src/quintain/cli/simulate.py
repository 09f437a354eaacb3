"""`quintain simulate FILE.toml|PAPER [key=value...]`: predict throughput, staleness and cost of a cluster before it is rented."""

from __future__ import annotations

import argparse
import json
import math
from collections.abc import Sequence
from typing import Any

from quintain.registry import UnknownName, unknown
from quintain.simulate import claims, search, settings, timeline
from quintain.simulate.run import once
from quintain.simulate.settings import RunPart, Scenario, ScenarioError
from quintain.simulate.summary import Summary, bottlenecks, many

ROLES = {
    "engine_busy": "engines busy",
    "engine_slots": "engine slots in use",
    "learner_busy": "learner learns",
    "learner_waits": "learner waits for groups",
    "sync": "weights on their way",
    "env_held": "environments held",
    "env_busy": "environments answering",
    "reward_busy": "reward workers busy",
}
BIG = 400_000  # events of all seeds above which the bottleneck is looked for only when asked


def main(arguments: list[str]) -> int:
    """Simulate a scenario, or compare a paper's claims."""
    given = _parser().parse_intermixed_args(arguments)
    first, *rest = given.items
    path = claims.where(first)
    tree = settings.read(path)
    is_paper = "claim" in tree
    _fits(given, path.name, claims.load(first) if is_paper else None)
    if is_paper and not given.variant:
        if rest:
            raise ScenarioError(
                f"{rest[0]}: a paper is compared as it stands; take one of its runs with --variant to change keys"
            )
        return _compare(claims.load(first), given.json)
    if is_paper:
        scenario = settings.make(claims.load(first).scenario(given.variant, given.case).model_dump(), rest)
    else:
        scenario = settings.make(tree, rest)
    if given.timeline:
        title = " ".join([path.stem, *([given.variant] if given.variant else [])])
        timeline.draw(once(scenario, scenario.run.seed, trace=True), given.timeline, title)
    if given.sweep:
        return _sweep(scenario, given.sweep, given.seeds, given.json)
    if given.best:
        return _best(scenario, given.seeds, given.json)
    return _one(scenario, given)


def _fits(given: argparse.Namespace, name: str, paper: claims.Paper | None) -> None:
    """Refuse options that the file has no use for.

    Raises:
        UnknownName: the paper has no such variant or case.
        ScenarioError: an option has no meaning here.
    """
    asked = [option for option in ("sweep", "best", "why") if getattr(given, option)]
    if len(asked) > 1:  # each is an answer of its own, and only the first would be given
        raise ScenarioError(f"--{asked[0]} and --{asked[1]} answer different questions; ask for one at a time")
    if given.timeline and (given.sweep or given.best):
        of = "--sweep" if given.sweep else "--best"
        raise ScenarioError(
            f"--timeline draws one scenario and {of} runs many; leave {of} out, and give the keys of the one to be drawn as KEY=VALUE"
        )
    if paper is None:
        for option, value in (("--variant", given.variant), ("--case", given.case)):
            if value:
                raise ScenarioError(
                    f"{option} {value}: {name} is one scenario and no paper, which alone has them; leave it out, or name a paper: "
                    f"{', '.join(claims.papers())}"
                )
        return
    for what, value, known in (("variant", given.variant, paper.variants), ("case", given.case, paper.cases)):
        if value and value not in known:
            raise UnknownName(unknown(f"{what} of {paper.name}", value, known))
    for option in ("case", "timeline", "sweep", "best", "why"):
        if getattr(given, option) and not given.variant:
            raise ScenarioError(
                f"--{option} is for one run, and a paper is compared as a whole; add --variant, one of: {', '.join(paper.variants)}"
            )


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(allow_abbrev=False, prog="quintain simulate", description=__doc__)
    parser.add_argument("items", nargs="+", metavar="FILE.toml|PAPER|key=value", help="a scenario, and keys to change")
    parser.add_argument("--seeds", type=_seeds, default=5, help="seeds to run (5)")
    parser.add_argument("--sweep", metavar="KEY=A,B,C", help="a table over the values of one key")
    parser.add_argument("--best", action="store_true", help="find good placement, lag and redundancy on the same GPUs")
    parser.add_argument("--timeline", metavar="FILE.svg|FILE.png", help="draw what every role did in the first seed")
    parser.add_argument("--why", action="store_true", help="look for the bottleneck also where it takes long")
    parser.add_argument(
        "--variant", default="", help="simulate this variant of a paper instead of comparing its claims"
    )
    parser.add_argument("--case", default="", help="... in this case")
    parser.add_argument("--json", action="store_true", help="print JSON")
    return parser


def _seeds(text: str) -> int:
    if not text.isdigit() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is no number of seeds; it must be at least 1")
    return int(text)


def _one(scenario: Scenario, given: argparse.Namespace) -> int:
    found = many(scenario, given.seeds)
    asked = given.why or found.events <= BIG
    causes = bottlenecks(scenario) if asked else []
    if given.json:
        named = [{"what": name, "gain": gain} for name, gain in causes]
        print(json.dumps({**found.json(), "bottlenecks": named}, indent=1))
        return 0
    print("\n".join(told(found)))
    if causes:
        print(f"\nbottleneck               {causes[0][0]}")
        print("  gain of easing it      " + ", ".join(f"{name} {gain:+.0%}" for name, gain in causes[:5]))
    elif asked and not found.mean("throughput"):
        print(
            "\nbottleneck               environments: no trajectory was trained on, as every one of the counted steps failed"
        )
    elif asked:
        print(
            "\nbottleneck               none that gives way by itself: easing any single thing by a fifth gains less than 1 %"
        )
    else:
        print("\nbottleneck               not looked for: the run is large; ask with --why")
    return 0


def told(found: Summary) -> list[str]:
    """A summary as lines for people."""
    run, scenario = found.scenario.run, found.scenario

    def row(label: str, name: str, unit: str, scale: float = 1.0) -> str:
        half = found.half(name) * scale
        about = f" ± {_short(half)}" if math.isfinite(half) else ""
        return f"{label:<24} {_short(found.mean(name) * scale)}{about} {unit}"

    lines = [f"{scenario.gpus} GPUs, {len(found.outcomes)} seeds, steps {run.skip} to {run.steps}, 95 % intervals"]
    if run.max_lag and run.skip <= run.max_lag:
        lines.append(f"counting begins before the window has settled: {_settled(run)} tells more")
    lines.append("")
    lines += [row("throughput", "throughput", "trajectories/s"), row("tokens trained", "tokens", "tokens/s")]
    lines += [row("step", "step_s", "s"), ""]
    lines += [f"{label:<24} {found.mean(name):6.1%}" for name, label in ROLES.items() if found.mean(name) > 0]
    lines += ["", row("lost work", "lost_tokens", "% of the tokens said", 100)]
    lines += [row("failed trajectories", "invalid", "%", 100)]
    if found.mean("late_groups"):
        lines.append(row("groups too old", "late_groups", ""))
    if found.mean("failures"):
        lines.append(row("failures of hardware", "failures", ""))
    if found.mean("cost_1k"):
        lines.append(row("cost", "cost_1k", "for 1,000 trajectories"))
    lines += ["", "staleness (steps between the first token's version and training)"]
    return [*lines, *(f"  {k:>3}  {'█' * round(share * 40):<40} {share:6.1%}" for k, share in found.staleness.items())]


def _settled(run: RunPart) -> str:
    skip = run.max_lag + 1
    return f"run.skip={skip} run.steps={run.steps + skip - run.skip}"


def _short(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"


def _sweep(scenario: Scenario, override: str, seeds: int, as_json: bool) -> int:
    rows = search.sweep(scenario, override, seeds)
    key = override.partition("=")[0]
    if as_json:
        print(json.dumps([{"value": value, **found.json()} for value, found in rows], indent=1))
        return 0
    print(
        _table(
            [key, "trajectories/s", "±", "step s", "engines", "learner", "envs", "staleness", "lost", "cost/1k"],
            [
                [
                    value,
                    _short(found.mean("throughput")),
                    _short(found.half("throughput")) if math.isfinite(found.half("throughput")) else "-",
                    _short(found.mean("step_s")),
                    *(f"{found.mean(n):.0%}" for n in ("engine_busy", "learner_busy", "env_held")),
                    f"{found.mean('staleness'):.2f}",
                    f"{found.mean('lost_tokens'):.1%}",
                    _short(found.mean("cost_1k")),
                ]
                for value, found in rows
            ],
        )
    )
    return 0


def _best(scenario: Scenario, seeds: int, as_json: bool) -> int:
    found = search.best(scenario, seeds)
    before, after = found.before.mean("throughput"), found.after.mean("throughput")
    if as_json:
        told_json: dict[str, Any] = {"overrides": list(found.overrides), "tried": found.tried, "gain": after / before}
        print(json.dumps({**told_json, "before": found.before.json(), "after": found.after.json()}, indent=1))
        return 0
    print(
        f"best of {found.tried} settings: {after / before:.2f} times the throughput, on the same {scenario.gpus} GPUs\n"
    )
    print("  " + " ".join(found.overrides) + "\n")
    print("\n".join(told(found.after)))
    return 0


def _compare(paper: claims.Paper, as_json: bool) -> int:
    rows = claims.rows(paper)
    if as_json:
        told_json = [
            {"claim": r.claim.name, "published": [r.claim.low, r.claim.high], "simulated": r.simulated, "hit": r.hit}
            for r in rows
        ]
        print(json.dumps({"paper": paper.title, "arxiv": paper.arxiv, "claims": told_json}, indent=1))
        return 0
    print(f"{paper.title} (arXiv {paper.arxiv})\n{paper.what}\n")
    print(
        _table(
            ["claim", "published", "simulated", f"within {paper.tolerance:.0%}"],
            [[r.claim.name, r.published, f"{r.simulated:.2f}", "hit" if r.hit else "miss"] for r in rows],
        )
    )
    guesses = sum("guess" in source for source in paper.sources.values())
    print(f"\n{guesses} of {len(paper.sources)} values are guesses at least in part; see {paper.path}")
    return 0


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    wide = [max(len(row[i]) for row in (head, *rows)) for i in range(len(head))]
    lines = [
        "  ".join(cell.ljust(w) if i == 0 else cell.rjust(w) for i, (cell, w) in enumerate(zip(row, wide, strict=True)))
        for row in (head, *rows)
    ]
    return "\n".join([lines[0], "-" * len(lines[0]), *lines[1:]])
