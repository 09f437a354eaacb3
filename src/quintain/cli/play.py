"""`quintain play WORLD`: play in the terminal, with arrow keys where the moves are directions, else by typing the move."""

from __future__ import annotations

import argparse
import os
import sys
from typing import Any

from quintain.ports import SOLO
from quintain.types import Message, Task

ARROWS = {"\x1b[A": "up", "\x1b[B": "down", "\x1b[C": "right", "\x1b[D": "left"}
LETTERS = {"w": "up", "s": "down", "d": "right", "a": "left"}
HELP = "h hint   u undo   r restart   q quit"


def main(arguments: list[str]) -> int:
    """Play one episode after the other until the player quits or the input ends."""
    parser = argparse.ArgumentParser(allow_abbrev=False, prog="quintain play", description=__doc__)
    parser.add_argument("world", help="`quintain list worlds` names them")
    parser.add_argument("--level", type=int, default=2, help="difficulty 0-9 (default 2)")
    parser.add_argument("--seed", type=int, default=0, help="which instance")
    parser.add_argument("--split", default="train", help="train, validation or test")
    parser.add_argument("--text", action="store_true", help="captions only, no picture")
    parser.add_argument("--size", type=int, default=32, help="lines of the picture (default 32)")
    given = parser.parse_intermixed_args(arguments)
    table = Table(given.world, Task(key="play", env=given.world, seed=given.seed, level=given.level, split=given.split))
    terminal = sys.stdin.isatty() and sys.stdout.isatty()
    table.picture = 0 if given.text or not terminal else given.size
    print(table.env.facts.rules, table.env.facts.answer, HELP, sep="\n")
    with Keys(terminal and table.steerable()) as keys:
        table.show()
        while (word := keys.read()) is not None:
            if not table.hear(word):
                break
    return 0


class Table:
    """One seat of one world, with undo and hints."""

    def __init__(self, world: str, task: Task) -> None:
        from quintain.envs.scaffold import Scaffold
        from quintain.envs.world import WorldEnv, world_of

        self.env = WorldEnv(world_of(world), Scaffold(grammar="free", rules=False))
        self.task, self.picture = task, 0
        self.seat = self.env.facts.seats[0]
        self.past: list[Any] = []
        self.feedback = self.env.begin(task)
        self.total = 0.0

    def steerable(self) -> bool:
        """Whether the moves are directions, so that arrow keys serve."""
        directions = set(LETTERS.values())
        legal = {m.key for m in self.env.world.view(self.env.state, self.seat).legal()}
        return bool(legal) and legal <= directions

    def show(self) -> None:
        """Draw the state."""
        if self.picture:
            from quintain.worlds.painter import Painter

            view = self.env.world.view(self.env.state, self.seat)
            print("\x1b[2J\x1b[H" + blocks(Painter(self.picture * 8).paint(view.scene()), self.picture))
        for message in self.feedback[self.seat].messages:
            print(message.text)
        events = self.feedback[self.seat].events
        print(
            f"turn {self.env.turn}/{self.env.limit}  reward {self.total:g}"
            + (f"  {', '.join(events)}" if events else "")
        )

    def hear(self, word: str) -> bool:
        """Obey a command or play a move; False ends the game."""
        from quintain.worlds.kernel import Plan

        if word in ("q", "quit", "\x03", "\x04"):
            return False
        if word in ("h", "hint"):
            plan = self.env.world.solve(self.env.state, self.seat)
            print(f"try: {plan.moves[0].key}" if isinstance(plan, Plan) and plan.moves else f"no help: {plan}")
            return True
        if word in ("u", "undo") and self.past:
            self.env, self.feedback, self.total = self.past.pop()
        elif word in ("r", "restart") or self.env.stop is not None:
            self.feedback, self.past, self.total = self.env.begin(self.task), [], 0.0
        elif word not in ("u", "undo"):
            self.past.append((self.env.fork(), self.feedback, self.total))
            mover = next((s for s, f in self.feedback.items() if f.acts), self.seat)
            self.seat = mover
            self.feedback = self.env.advance({mover: Message.of("assistant", word)})
            self.seat = next((s for s, f in self.feedback.items() if f.acts), self.seat)
            self.total += sum(self.feedback[SOLO if SOLO in self.feedback else mover].reward.values())
        self.show()
        if self.env.stop is not None:
            won = self.total >= 1.0
            print(
                ("solved" if won else "not solved")
                + f" in {self.env.turn} turns ({self.env.stop}); any key plays again, q quits"
            )
        return True


class Keys:
    """Single keys from a terminal, or lines from anything else."""

    def __init__(self, single: bool) -> None:
        self.single = single
        self.saved: list[Any] | None = None

    def __enter__(self) -> Keys:
        if self.single:
            import termios
            import tty

            self.saved = termios.tcgetattr(sys.stdin)
            tty.setcbreak(sys.stdin)
        return self

    def __exit__(self, *error: object) -> None:
        if self.saved is not None:
            import termios

            termios.tcsetattr(sys.stdin, termios.TCSADRAIN, self.saved)

    def read(self) -> str | None:
        """The next command or move; None at the end of the input."""
        if not self.single:
            line = sys.stdin.readline()
            return line.strip() if line else None
        key = os.read(sys.stdin.fileno(), 8).decode(errors="replace")
        return ARROWS.get(key) or LETTERS.get(key) or (key or None)


def blocks(pixels: Any, lines: int) -> str:
    """A picture as half blocks in 24-bit colour: `lines` lines of 2 * lines pixels each."""
    import numpy as np
    from PIL import Image

    side = 2 * lines
    small = np.asarray(Image.fromarray(pixels).resize((side, side), Image.Resampling.BOX))
    rows = []
    for y in range(0, side, 2):
        cells = zip(small[y].tolist(), small[y + 1].tolist(), strict=True)
        rows.append(
            "".join(f"\x1b[38;2;{a[0]};{a[1]};{a[2]}m\x1b[48;2;{b[0]};{b[1]};{b[2]}m▀" for a, b in cells) + "\x1b[0m"
        )
    return "\n".join(rows)
