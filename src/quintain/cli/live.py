"""What training shows: a live table on a terminal, one line per step when piped. Both are sinks."""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping
from typing import Any, TextIO

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


class Lines:
    """One line per step, for pipes and log files."""

    def __init__(self, steps: int, out: TextIO | None = None) -> None:
        self.steps, self.out, self.start = steps, out or sys.stdout, time.perf_counter()

    def write(self, step: int, metrics: Mapping[str, float]) -> None:
        """Print the step's main numbers."""
        if "reward" not in metrics:
            told = "  ".join(f"{k} {v:.3f}" for k, v in metrics.items() if isinstance(v, float | int))
            self.say(f"{told}")
            return
        cells = [f"{SHORT.get(k, k)} {ROWS[k][1].format(metrics[k])}" for k in BRIEF if k in metrics]
        phases = {k.split("/", 1)[1]: v for k, v in metrics.items() if k.startswith("seconds/")}
        where = " ".join(f"{k} {v:.2f}" for k, v in phases.items() if v >= 0.005)
        self.say(f"step {step + 1}/{self.steps}  {'  '.join(cells)}  [{where}]")

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
        self.notes: list[str] = []
        self.step = 0
        self.live = Live(console=Console(), refresh_per_second=4, transient=False)
        self.live.start()

    def write(self, step: int, metrics: Mapping[str, float]) -> None:
        """Take the numbers of a step, or of an evaluation."""
        if "reward" not in metrics:
            told = "  ".join(f"{k} {v:.3f}" for k, v in metrics.items() if isinstance(v, float | int))
            self.say(f"after {step} steps: {told}")
            return
        self.step = step + 1
        for key, value in metrics.items():
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

        grid = Grid(title=f"{self.title}   step {self.step}/{self.steps}   {time.perf_counter() - self.start:.0f} s")
        for name, justify in (("", "left"), ("now", "right"), ("last 10", "right")):
            grid.add_column(name, justify=justify)  # pyrefly: ignore
        for key, (name, form) in ROWS.items():
            if key in self.history:
                last = self.history[key][-10:]
                grid.add_row(name, form.format(last[-1]), form.format(sum(last) / len(last)))
        phases = {k.split("/", 1)[1]: v[-1] for k, v in self.history.items() if k.startswith("seconds/")}
        total = sum(phases.values()) or 1.0
        where = "  ".join(f"{name} {100 * v / total:.0f} %" for name, v in phases.items() if v / total >= 0.01)
        course = Text(f"success  {sparkline(self.history.get('success', []))}", style="green")
        return Group(grid, course, Text(f"time     {where}"), *(Text(n, style="dim") for n in self.notes[-8:]))

    def close(self) -> None:
        """Leave the last picture on the screen."""
        self.live.stop()


def screen(steps: int, title: str) -> Lines | Table:
    """The sink that fits: a table on a terminal, lines otherwise."""
    return Table(steps, title) if sys.stdout.isatty() else Lines(steps)
