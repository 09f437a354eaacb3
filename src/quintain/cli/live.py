"""What training shows: a live table on a terminal, one line per step when piped. Both are sinks."""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping, Sequence
from typing import Any, TextIO

from quintain.runtime.opponents import ITSELF, PLAYERS

# metric key -> what people read, number format
ROWS = {
    "reward": ("reward", "{:.3f}"),
    "success": ("success", "{:.3f}"),
    "entropy": ("entropy", "{:.3f}"),
    "kl_rollout": ("KL to rollout", "{:.1e}"),
    "mismatch_mean": ("engine/learner |dlogp| mean", "{:.1e}"),
    "mismatch_max": ("engine/learner |dlogp| max", "{:.1e}"),
    "lag_max": ("lag (max)", "{:.0f}"),
    "grad_norm": ("gradient norm", "{:.2f}"),
    "lr": ("learning rate", "{:.2e}"),
    "groups_trained": ("groups trained", "{:.0f}"),
    "turns": ("turns an episode", "{:.1f}"),
    "tokens_per_second": ("tokens/s", "{:,.0f}"),
    "seconds": ("seconds a step", "{:.2f}"),
}
BRIEF = ("reward", "success", "entropy", "mismatch_max", "lag_max", "tokens_per_second", "seconds")
SHORT = {"mismatch_max": "mismatch", "tokens_per_second": "tok/s", "seconds": "s", "lag_max": "lag"}
LEARNED = (
    "entropy",
    "kl_rollout",
    "mismatch_mean",
    "mismatch_max",
    "grad_norm",
    "lag_max",
)  # what only a trained group has
SHOWN = 6  # places whose success stands in a line or in a table
BLOCKS = "▁▂▃▄▅▆▇█"


def sparkline(values: list[float], width: int = 40) -> str:
    """A line of blocks for a series in [0, 1] (longer series are averaged down to `width`).

    Example:
        >>> sparkline([0.0, 0.5, 1.0])
        '▁▄█'
    """
    if len(values) > width:
        step = len(values) / width
        cuts = [values[int(i * step) : max(int(i * step) + 1, int((i + 1) * step))] for i in range(width)]
        values = [sum(c) / len(c) for c in cuts]
    return "".join(BLOCKS[min(7, max(0, int(v * 7.999 if v < 1 else 7)))] for v in values)


def shown(metrics: Mapping[str, float]) -> dict[str, str]:
    """The numbers of a step as text; `-` for what nobody measured: of learning without a trained token, of playing without a group.

    Example:
        >>> shown({"reward": 0.0, "entropy": 0.0, "groups_trained": 0.0, "groups_played": 0.0, "tokens_per_second": 0.0})
        {'reward': '0.000', 'entropy': '-', 'groups_trained': '0', 'tokens_per_second': '-'}
    """
    unknown = set(LEARNED if 0 in (metrics.get("groups_trained"), metrics.get("tokens")) else ())
    unknown |= {"tokens_per_second"} if metrics.get("groups_played") == 0 else set()
    return {k: "-" if k in unknown else ROWS[k][1].format(v) for k, v in metrics.items() if k in ROWS}


def apart(metrics: Mapping[str, float]) -> dict[str, float]:
    """Success by who played the other seats, and by world or level: of many the two lowest and the highest.

    Example:
        >>> apart({"success": 0.5, "success/oracle": 0.1, "success/policy": 0.5, "success/KeyDoor": 0.3})
        {'against oracle': 0.1, 'against itself': 0.5, 'KeyDoor': 0.3}
        >>> apart({f"success/World{n}": n / 10 for n in range(9)})
        {'World0': 0.0, 'World1': 0.1, 'World8': 0.8}
    """
    found = {k.partition("/")[2]: v for k, v in metrics.items() if k.startswith("success/")}
    rivals = {
        f"against {'itself' if who == ITSELF else who}": found.pop(who) for who in [*found] if who in (ITSELF, *PLAYERS)
    }
    order = sorted(found, key=lambda place: found[place])
    return rivals | ({place: found[place] for place in [*order[:2], order[-1]]} if len(order) > SHOWN else found)


def left(seconds: Sequence[float], steps: int) -> str:
    """About how long so many more steps take, by the mean of the last ten; evaluations on the way come on top.

    Example:
        >>> left([99.0, *[1.0] * 10], 10)
        'steps left: 10 s'
        >>> left([9.0, 0.5, 0.7], 20), left([3.0], 100), left([40.0], 1000), left([1.0], 0)
        ('steps left: 68 s', 'steps left: 5 min', 'steps left: 11.1 h', '')
    """
    last = seconds[-10:]
    if steps <= 0 or not last:
        return ""
    rest = steps * sum(last) / len(last)
    number = (
        f"{max(rest, 1):.0f} s" if rest < 120 else f"{rest / 60:.0f} min" if rest < 7200 else f"{rest / 3600:.1f} h"
    )
    return f"steps left: {number}"


def evaluated(step: int, metrics: Mapping[str, float]) -> str:
    """One line for an evaluation: each way of playing with its numbers, success first.

    Example:
        >>> evaluated(3, {"eval/episodes": 20.0, "eval/reward": 0.5, "eval/success": 0.25})
        'evaluated after 3 steps: eval success 0.250  reward 0.500  (20 episodes)'
        >>> evaluated(1, {"eval/success": 0.25, "eval/turns": 2.0, "eval/success:0": 0.5, "eval/episodes:0": 4.0, "eval/answers_cut": 3.0})
        'evaluated after 1 step: eval success 0.250  success:0 0.500  turns 2.000  (3 answers cut at their token limit)'
    """
    ways: dict[str, dict[str, float]] = {}
    for key, value in metrics.items():
        if isinstance(value, float | int):
            way, _, name = key.rpartition("/")
            ways.setdefault(way, {})[name] = value
    told = []
    for way, numbers in ways.items():
        counts = {"episodes": "episodes", "answers_cut": "answers cut at their token limit"}
        beside = ", ".join(f"{numbers[name]:,.0f} {what}" for name, what in counts.items() if numbers.get(name))
        names = sorted(numbers, key=lambda name: not name.startswith("success"))
        cells = [f"{name} {numbers[name]:.3f}" for name in names if name.partition(":")[0] not in counts]
        cells += [f"({beside})"] if beside else []
        told.append(f"{way} {'  '.join(cells)}".strip())
    return f"evaluated after {step} step{'' if step == 1 else 's'}: {'; '.join(told)}"


class Lines:
    """One line per step, for pipes and log files."""

    def __init__(self, steps: int, out: TextIO | None = None) -> None:
        self.steps, self.out, self.start = steps, out or sys.stdout, time.perf_counter()
        self.seconds: list[float] = []

    def write(self, step: int, metrics: Mapping[str, float]) -> None:
        """Print the step's main numbers."""
        if "reward" not in metrics:
            self.say(evaluated(step, metrics))
            return
        told = shown(metrics)
        by = "  ".join(f"{name} {ROWS['success'][1].format(share)}" for name, share in apart(metrics).items())
        cells = [
            f"{SHORT.get(k, k)} {told[k]}" + f" ({by})" * (k == "success" and bool(by)) for k in BRIEF if k in told
        ]
        cells += [f"{k.replace('/', ' of ')} {v:g}" for k, v in metrics.items() if k.startswith("level/")]
        phases = {k.split("/", 1)[1]: v for k, v in metrics.items() if k.startswith("seconds/")}
        where = " ".join(f"{k} {v:.2f}" for k, v in phases.items() if v >= 0.005)
        self.seconds.append(metrics.get("seconds", 0.0))
        rest = left(self.seconds, self.steps - step - 1)
        self.say(f"step {step + 1}/{self.steps}  {'  '.join(cells)}  [{where}]  {rest}".rstrip())

    def say(self, text: str) -> None:
        """Print one line with the time since the start."""
        print(f"{time.perf_counter() - self.start:6.1f}s  {text}", file=self.out, flush=True)

    def close(self) -> None:
        """Nothing to free."""


class Table:
    """A live table on a terminal: now, mean of the last ten steps, the course of success, where the time goes."""

    def __init__(self, steps: int, title: str) -> None:
        from rich.console import Console
        from rich.live import Live

        self.steps, self.title, self.start = steps, title, time.perf_counter()
        self.history: dict[str, list[float]] = {}
        self.now: dict[str, str] = {}
        self.notes: list[str] = []
        self.step = 0
        self.live = Live(console=Console(), refresh_per_second=4, transient=False)
        self.live.start()

    def write(self, step: int, metrics: Mapping[str, float]) -> None:
        """Take the numbers of a step, or of an evaluation."""
        if "reward" not in metrics:
            self.say(evaluated(step, metrics))
            return
        self.step, self.now = step + 1, shown(metrics)
        for key, value in metrics.items():
            if self.now.get(key) != "-":
                self.history.setdefault(key, []).append(float(value))
        self.live.update(self.picture())

    def say(self, text: str) -> None:
        """Show a line under the table."""
        self.notes.append(f"{time.perf_counter() - self.start:6.1f}s  {text}")
        self.live.update(self.picture())

    def picture(self) -> Any:
        """The table as it stands."""
        from rich.console import Group
        from rich.table import Table as Grid
        from rich.text import Text

        head = Text(
            f"{self.title}   step {self.step}/{self.steps}   {time.perf_counter() - self.start:.0f} s", style="bold"
        )
        notes = [Text(n, style="dim") for n in self.notes[-8:]]
        if not self.step:
            return Group(head, Text("warming up: the table comes with the first step"), *notes)
        grid = Grid()
        for name, justify in (("", "left"), ("now", "right"), ("last 10", "right")):
            grid.add_column(name, justify=justify)  # pyrefly: ignore
        for key, (name, form) in ROWS.items():
            if key in self.now:
                last = self.history.get(key, [])[-10:]
                grid.add_row(name, self.now[key], form.format(sum(last) / len(last)) if last else "-")
        recent = {k: v[-10:] for k, v in self.history.items() if k.startswith("success/")}
        means = apart({k: sum(v) / len(v) for k, v in recent.items()})
        for name, mean in means.items():
            grid.add_row(f"success {name}", "", ROWS["success"][1].format(mean))
        phases = {k.split("/", 1)[1]: v[-1] for k, v in self.history.items() if k.startswith("seconds/")}
        total = sum(phases.values()) or 1.0
        where = "  ".join(f"{name} {100 * v / total:.0f} %" for name, v in phases.items() if v / total >= 0.01)
        course = Text(f"success  {sparkline(self.history.get('success', []))}", style="green")
        rest = left(self.history.get("seconds", []), self.steps - self.step)
        return Group(head, grid, course, Text(f"time     {where}   {rest}".rstrip()), *notes)

    def close(self) -> None:
        """Leave the last picture on the screen."""
        self.live.stop()


def screen(steps: int, title: str) -> Lines | Table:
    """The sink that fits: a table on a terminal, lines otherwise."""
    return Table(steps, title) if sys.stdout.isatty() else Lines(steps)
