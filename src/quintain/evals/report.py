"""One self-contained HTML page for a run, made from its folder alone."""

from __future__ import annotations

import html
import itertools
import json
import math
import shlex
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from quintain import config as configs
from quintain.evals import chart
from quintain.evals.diagnose import findings
from quintain.evals.page import PAGE, STYLE
from quintain.ledger import ReadOnlyRun, RunDir
from quintain.messages import png_of
from quintain.runtime.drawn import elsewhere, titled
from quintain.runtime.drawn import where as drawn
from quintain.runtime.opponents import AGAINST, ITSELF, PLAYERS, rival
from quintain.types import Group, Kind, Message, Node, QuintainError, Trajectory

Rows = Sequence[tuple[int, Mapping[str, float]]]
SAMPLES = 6
PLACE = ("env.name", "env.levels", "env.params", "env.scaffold", "eval.against", "eval.split", "eval.temperature")
PIXELS = 192
STILLED = ("clipped", "masked", "rejected")  # what the parts of an objective note


def write_report(folder: Path, out: Path | None = None) -> Path:
    """Write the page of the run in `folder` to `out` (default: `report.html` inside it) and return its path."""
    with RunDir.open(folder) as store:
        rows = [(step, m) for step, m in store.metrics()]
        evals = [(e.step, dict(e.payload)) for e in store.events(["eval"])]
        since, moved = _moved(store)
        here = [(e.step, dict(e.payload)) for e in store.events(["eval"]) if e.time >= since]
        config = configs.make(store.path / "config.toml")
        samples = _choose(store)
        wall = _seconds(store)
        told = "".join(_finding(*f) for f in findings(store, _told(rows), _groups(config, rows)))
    page = PAGE.format(
        title=html.escape(f"{config.run.name}: {config.algorithm.name} on {titled(config)[0]}"),
        style=STYLE,
        sub=html.escape(_sub(config, rows, wall) + moved),
        tiles="".join(_tile(*t) for t in _tiles(rows, here)),
        charts=_charts(rows, evals, elsewhere(config)) or "<p>No step was trained yet.</p>",
        findings=f'<table class="found">{told}</table>'
        if told
        else "<p>Too little was trained and recorded to say more.</p>",
        chain=_chain(config),
        samples="".join(_sample(config, g, t) for g, t in samples)
        or "<p>The run kept no trajectories (run.record).</p>",
        command=html.escape(_command(folder, config)),
        config=html.escape(config.toml()),
    )
    path = out or folder / "report.html"
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(page)
    except OSError as error:
        if out is not None:
            raise
        raise ReadOnlyRun(f"{path}: {error.strerror}; say where else it should be written: --out FILE.html") from error
    return path


def _seconds(store: RunDir) -> float:
    """The time from the making of the run to its last event, without the breaks between a stop and going on.

    It goes by the order in which the first process wrote them: a clock may be set back amid a run, which then costs no time.
    """
    lines = store.lines(["issued", "trained", "eval", "sft", "stopped"], dead=True)
    # once each: a run that goes on writes the last evaluation again, as of when it was
    told = dict.fromkeys((line.event.time, line.event.kind == "stopped") for line in lines if line.rank == 0)
    begun = json.loads((store.path / "run.json").read_text())["created"]
    moments = [(begun, False), *told]
    return sum(max(0.0, after - before) for (before, stopped), (after, _) in itertools.pairwise(moments) if not stopped)


def _moved(store: RunDir) -> tuple[float, str]:
    """When the run last went on in another place, or measured by another opponent or split, and what was changed, also before."""
    moves = [line.event for line in store.lines(["changed"], dead=True)]
    told = [(e, {k: v for k, v in e.payload["settings"].items() if k == "data" or k.startswith(PLACE)}) for e in moves]
    told = [(event, pairs) for event, pairs in told if pairs]
    said = "".join(
        f" · after step {event.step}: " + ", ".join(f"{key} {was} → {now}" for key, (was, now) in pairs.items())
        for event, pairs in told
    )
    return max((event.time for event, _ in told), default=0.0), said


def _sub(config: configs.Config, rows: Rows, wall: float) -> str:
    episodes = sum(m.get("episodes", 0.0) for _, m in rows)
    where = drawn(config)
    where += f" (held out: against {against})" if (against := rival(config)) else ""
    return f"{where} · seed {config.run.seed} · {len(rows)} of {config.run.steps} steps · {episodes:,.0f} episodes · {wall:.0f} s"


def _tiles(rows: Rows, evals: Rows) -> Iterator[tuple[str, str]]:
    for kind, name in (("eval", "success, held out"), ("greedy", "greedy success, held out")):
        points = [m[f"{kind}/success"] for _, m in evals if f"{kind}/success" in m]
        if points:
            yield (f"{points[0]:.2f} → {points[-1]:.2f}" if len(points) > 1 else f"{points[0]:.2f}"), name
    if rows:
        last = [m for _, m in rows[-10:]]
        yield f"{sum(m['reward'] for m in last) / len(last):.2f}", "reward, last 10 steps"
        tokens, seconds = (sum(m.get(key, 0.0) for m in last) for key in ("tokens_context", "seconds"))
        yield (f"{tokens / seconds:,.0f}" if seconds else "-"), "tokens/s, last 10 steps"
        yield f"{max(m.get('mismatch_max', 0.0) for _, m in rows):.1e}", "largest engine/learner |Δlog p|"
        yield f"{max(m.get('lag_max', 0.0) for _, m in rows):.0f}", "largest lag"


def _trained(rows: Rows) -> Rows:
    """The steps that trained a token."""
    return [(step, m) for step, m in rows if 0 not in (m.get("groups_trained"), m.get("tokens"))]


def _told(rows: Rows) -> dict[str, list[float]]:
    """The series that diagnostics are made of, of the steps that trained."""
    return {key: _series(_trained(rows), key)[1] for key in ("entropy", "reward", "grad_cosine")}


def _groups(config: configs.Config, rows: Rows) -> float:
    """Those that an update was made of, on average; NaN where successive ones see the same groups, so that they share their noise."""
    trained = [m.get("groups_trained", config.run.groups_per_step) for _, m in _trained(rows)]
    if not trained or config.learner.epochs > 1:
        return math.nan
    return sum(trained) / len(trained) / config.learner.minibatches


def _finding(name: str, sentence: str) -> str:
    return f"<tr><th>{html.escape(name)}</th><td>{html.escape(sentence)}</td></tr>"


def _tile(value: str, name: str) -> str:
    return f'<div class="tile"><b>{html.escape(value)}</b><span>{html.escape(name)}</span></div>'


def _series(rows: Rows, key: str) -> tuple[list[float], list[float]]:
    from quintain.cli.live import LEARNED

    told = _trained(rows) if key in LEARNED else rows
    found = [(step + 1.0, m[key]) for step, m in told if key in m and math.isfinite(m[key])]
    return [x for x, _ in found], [y for _, y in found]


def _successes(rows: Rows) -> dict[str, tuple[list[float], list[float]]]:
    """Success in training; by who played the other seats in the steps in which somebody else did in some group."""
    rivals = {f"success/{who}": "itself" if who == ITSELF else who for who in sorted((ITSELF, *PLAYERS))}
    found = {"training": _series([(step, m) for step, m in rows if not rivals.keys() & m.keys()], "success")}
    found |= {f"training against {who}": _series(rows, key) for key, who in rivals.items()}
    return {name: series for name, series in found.items() if series[0]}


def _by_place(title: str, stem: str, rows: Rows) -> str:
    """Charts of a number by world or level, six lines each; of more than twelve its means over ten steps at both ends, as a table."""
    rivals, most = {f"success/{who}" for who in (ITSELF, *PLAYERS)}, len(chart.COLOURS)
    keys = sorted({k for _, m in rows for k in m if k.startswith(stem)} - rivals)
    series = {key.removeprefix(stem): _series(rows, key) for key in keys}
    if len(keys) <= 2 * most:
        each = [[*series.items()][at : at + most] for at in range(0, len(keys), most)]
        return "".join(chart.lines(title, dict(few), floor=0.0) for few in each)
    lines = [(name, sum(ys[:10]) / len(ys[:10]), sum(ys[-10:]) / len(ys[-10:])) for name, (_, ys) in series.items()]
    told = "".join(
        _finding(name, f"{first:.2f} → {last:.2f}") for name, first, last in sorted(lines, key=lambda one: one[2])
    )
    head = f"{title}: the first ten steps that have it → the last ten"
    return f'<figure class="chart"><figcaption>{head}</figcaption><table class="found">{told}</table></figure>'


def _charts(rows: Rows, evals: Rows, there: str = "") -> str:
    """All of them; evaluations are `there`, where it is not where the run trains."""
    if not rows:
        return ""
    held, where = {}, f" in {there}" * bool(there)
    for kind, name in (("eval", "held out"), ("greedy", "held out, greedy")):
        points = [(float(s), m[f"{kind}/success"]) for s, m in evals if f"{kind}/success" in m]
        if points:
            held[name + where] = ([x for x, _ in points], [y for _, y in points])
    made = [chart.lines("Success", _successes(rows), held, floor=0.0)]
    made.append(_by_place("Success in training, by world or level", "success/", rows))
    after = [(step - 1, m) for step, m in evals]  # an evaluation is told of with the step that it comes after
    made.append(_by_place("Success held out, by level", "eval/success:", after))
    for title, keys, floor in (
        ("Reward", {"reward": "reward"}, 0.0),
        ("Entropy in nats", {"entropy": "entropy"}, 0.0),
        ("Engine against learner, |Δlog p|", {"mean": "mismatch_mean", "max": "mismatch_max"}, 0.0),
        ("Gradient norm", {"norm": "grad_norm"}, 0.0),
        ("Gradient against that of the step before, cosine", {"cosine": "grad_cosine"}, None),
        ("Tokens without a gradient, share", {n: n for n in STILLED}, 0.0),
        ("Turns of an episode", {"turns": "turns"}, 0.0),
        ("Tokens per second", {"tokens/s": "tokens_per_second"}, 0.0),
        ("Lag in versions", {"mean": "lag_mean", "max": "lag_max"}, 0.0),
    ):
        series = {name: _series(rows, key) for name, key in keys.items() if _series(rows, key)[0]}
        made.append(chart.lines(title, series, floor=floor) if series else "")
    made.append(_by_place("Level of the curriculum", "level/", rows))
    made.append(_ratios(rows))
    steps = [step + 1.0 for step, _ in rows]
    for title, prefix in (("How episodes stopped", "stop/"), ("Seconds of a step", "seconds/")):
        keys = sorted(
            {k for _, m in rows for k in m if k.startswith(prefix)}, key=lambda k: -sum(m.get(k, 0.0) for _, m in rows)
        )
        named = {k.removeprefix(prefix): [m.get(k, 0.0) for _, m in rows] for k in keys[:6]}
        made.append(chart.areas(title, steps, named))
    return "".join(made)


def _ratios(rows: Rows) -> str:
    """How many tokens had which ratio to the engine, and how many of those still moved the policy."""
    told = [(step + 1.0, m) for step, m in _trained(rows) if any(k.startswith("moved_") for k in m)]
    bins = [k.removeprefix("moved_") for k in (told[0][1] if told else {}) if k.startswith("moved_")]
    made = []
    for title, stem in (
        ("Tokens by their ratio to the engine", "ratio_"),
        ("... that still moved the policy", "moved_"),
    ):
        named = {b.replace("_", " "): [m.get(stem + b, 0.0) for _, m in told] for b in bins}
        made.append(chart.areas(title, [step for step, _ in told], named) if told else "")
    return "".join(made)


def _chain(config: configs.Config) -> str:
    from quintain.cli.config import describe, expanded

    out = []
    for family, links in expanded(config).items():
        cells = [f'<span class="link">{html.escape(describe(link))}</span>' for link in links] or ["none"]
        joined = '<span class="arrow">→</span>'.join(cells)
        out.append(f'<p class="chain"><b>{family}</b> {joined}</p>')
    return "".join(out)


def _choose(store: RunDir) -> list[tuple[Group, Trajectory]]:
    """A few trajectories over the run: early and late, won and lost."""
    found = [(g, t) for g in store.groups() for t in g.trajectories]
    if len(found) <= SAMPLES:
        return found
    third = max(1, len(found) // 3)
    chosen: list[tuple[Group, Trajectory]] = []
    for part in (found[:third], found[third:-third], found[-third:]):
        won = next(((g, t) for g, t in reversed(part) if t.reward >= 1.0), None)
        lost = next(((g, t) for g, t in reversed(part) if t.reward < 1.0), None)
        chosen += [x for x in (won, lost) if x]
    return chosen[:SAMPLES]


def _sample(config: configs.Config, group: Group, t: Trajectory) -> str:
    from quintain.cli.show import role_of, turns_off

    pictures, turned = _pictures(config, group, t), turns_off(t)
    cells, turn = [], 0
    said: list[str] = []
    for i, node in enumerate(t.nodes):
        if i in turned:
            said.append(f"<p><small>{html.escape(turned[i])}</small></p>")
        if node.kind is Kind.sampled:
            turn += 1
            said.append(_spoken(node))
            picture = f'<img alt="turn {turn}" src="{pictures[turn - 1]}">' if turn <= len(pictures) else ""
            cells.append(f'<div class="turn">{picture}{"".join(said)}</div>')
            said = []
        else:
            said.append(f"<pre>{html.escape(role_of(node, turned) + node.text[:1500])}</pre>")
    if said:
        picture = f'<img alt="end" src="{pictures[turn]}">' if turn < len(pictures) else ""
        cells.append(f'<div class="turn">{picture}{"".join(said)}</div>')
    head = f"reward {t.reward:g} · {t.stop} after {t.turns} turn{'s' * (t.turns != 1)}"
    against = f"against {group.tags[AGAINST]} · " if AGAINST in group.tags else ""
    small = html.escape(f"{against}{group.task.key} · policy version {t.versions[1]} · trajectory {t.id}")
    return (
        f'<details><summary>{head} <small>{small}</small></summary><div class="turns">{"".join(cells)}</div></details>'
    )


def _spoken(node: Node) -> str:
    """What was sampled, each token on a tint from red (unlikely) to green (certain)."""
    words = node.text.split() if len(node.text.split()) == len(node.tokens) else [node.text]
    chances = [math.exp(v) for v in node.logprobs] if len(words) == len(node.tokens) else [math.exp(sum(node.logprobs))]
    cells = "".join(
        f'<span class="tok" title="p {p:.3f}" style="background:hsl({120 * p:.0f} 65% 72%)">{html.escape(w)}</span> '
        for w, p in zip(words, chances, strict=True)
    )
    version = f"v{node.spans[-1].version}" if node.spans else ""
    return f'<div class="said">{cells}<small>p {math.prod(chances):.2f} {version}</small></div>'


def _pictures(config: configs.Config, group: Group, t: Trajectory) -> list[str]:
    """What the world looked like before each move and at the end: the episode is replayed, as worlds are deterministic.

    Special cases: none where a seat was played by somebody whose moves are not on record.
    """
    from quintain.envs.scaffold import Scaffold
    from quintain.envs.world import WorldEnv, world_of
    from quintain.registry import names
    from quintain.worlds.painter import Painter

    if group.task.env not in names("world"):
        return []
    env = WorldEnv(world_of(group.task.env), Scaffold.of(config.env.scaffold))
    seats, painter = env.facts.seats, Painter(PIXELS)
    mine = t.agent if t.agent in seats else seats[0]
    rows = [row for row in group.trajectories if row.episode == t.episode] if len(seats) > 1 else [t]
    said = {row.agent if row.agent in seats else mine: _texts(row) for row in rows}
    if len(said) < len(seats):
        return []
    out: list[str] = []
    try:
        heard = env.begin(group.task)
        while env.stop is None:
            movers = [seat for seat, told in heard.items() if told.acts]
            if mine in movers:
                out.append(_png(painter, env, mine))
            moves = {seat: text for seat in movers if (text := next(said[seat], None)) is not None}
            if len(moves) < len(movers):
                return out
            heard = env.advance({seat: Message.of("assistant", text) for seat, text in moves.items()})
        return [*out, _png(painter, env, mine)]
    except QuintainError:
        return []


def _texts(t: Trajectory) -> Iterator[str]:
    """What a seat said, turn by turn."""
    return (node.text for node in t.nodes if node.kind is Kind.sampled)


def _png(painter: Any, env: Any, seat: str) -> str:
    return "data:image/png;base64," + png_of(painter.paint(env.world.view(env.state, seat).scene()))


def _command(folder: Path, config: configs.Config) -> str:
    return shlex.join(["quintain", "train", str(folder / "config.toml"), f"run.name={config.run.name}-again"])
