"""`quintain play WORLD`: play in the terminal, with single keys where the moves are directions, else by typing the move."""

from __future__ import annotations

import argparse
import os
import re
import shutil
import sys
from typing import Any

from quintain.cli.places import place
from quintain.types import Message, QuintainError, Task

ARROWS = {"\x1b[A": "up", "\x1b[B": "down", "\x1b[C": "right", "\x1b[D": "left"}
LETTERS = {"w": "up", "s": "down", "d": "right", "a": "left"}
FORWARD, BACK = ("up", "forward"), ("down", "back", "backward")  # what the arrows do, the first that there is
COMMANDS = {"h": "hint", "u": "undo", "r": "restart", "?": "rules", "q": "quit"}
# one key: its escape sequence, or a character
STROKE = re.compile(r"\x1b(?:[\[O][0-9;]*[^\x1b]|[^\x1b])?|.", re.DOTALL)
MOST_KEYS = 12  # actions of a world that is played with single keys
LEAST = 8  # lines of a picture that is worth showing


def main(arguments: list[str]) -> int:
    """Play one episode after the other until the player quits or the input ends."""
    parser = argparse.ArgumentParser(allow_abbrev=False, prog="quintain play", description=__doc__)
    parser.add_argument(
        "items",
        nargs="+",
        metavar="WORLD|FILE.py|env.params.KNOB=VALUE",
        help="a world (`quintain list worlds` names them), or a file of yours that registers one; knobs of its levels table",
    )
    parser.add_argument("--level", type=int, default=2, help="difficulty 0-9 (default 2)")
    parser.add_argument("--seed", type=int, default=0, help="which instance")
    parser.add_argument("--split", default="train", help="train (default), validation, test, or all: any instance")
    parser.add_argument("--text", action="store_true", help="captions only, no picture")
    parser.add_argument(
        "--size",
        type=int,
        default=32,
        help="lines of the picture (default 32), or as many as the terminal has room for; 0 shows none",
    )
    given = parser.parse_intermixed_args(arguments)
    if given.size < 0:
        raise QuintainError(f"--size is {given.size}; it is how many lines the picture has, 0 for none")
    there = place(given.items)
    task = Task(
        key="play", env=there.worlds[0], seed=given.seed, level=given.level, split=given.split, params=there.params
    )
    terminal = sys.stdin.isatty() and sys.stdout.isatty()
    table = Table(task, single=terminal)
    table.picture = 0 if given.text or not terminal else given.size
    print(table.rules())
    with Keys(bool(table.keys)) as keys:
        table.show()
        while (word := keys.read()) is not None:
            if not table.hear(word):
                break
            if table.env.stop is not None:
                keys.forget()  # a key that is held down would begin the next episode before this one's end is read
    return 0


class Table:
    """One seat of one world, with undo and hints; `single`: keys are pressed one by one, where the moves are few and go somewhere."""

    def __init__(self, task: Task, single: bool = False) -> None:
        from quintain.envs.course import Way
        from quintain.envs.scaffold import Scaffold
        from quintain.envs.world import WorldEnv, world_of
        from quintain.worlds.knobs import lexicon

        self.env = WorldEnv(world_of(task.env), Scaffold(grammar="free", rules=False))
        self.way = Way(self.env.world)
        self.task, self.picture = task, 0
        self.seat, self.warned = self.env.facts.seats[0], False
        self._begin()
        self.keys = keys_of(actions(self.env)) if single else {}
        self.words = set(lexicon(self.env.world, [task.level], task.params))

    def _begin(self) -> None:
        self.feedback = self.env.begin(self.task)
        self.past: list[Any] = []
        self.earned = dict.fromkeys(self.env.facts.seats, 0.0)
        self.said: dict[str, Message] = {}  # by seats that move at once, until the last of them has
        self._take_seat()

    def _take_seat(self) -> None:
        """Sit where the next move is made, or stay where there is none."""
        due = (seat for seat, told in self.feedback.items() if told.acts and seat not in self.said)
        self.seat = next(due, self.seat)

    def _rewards(self) -> str:
        """What was earned so far: a number, or one for each seat."""
        if len(self.earned) == 1:
            return f"{self.earned[self.seat]:g}"
        return ", ".join(f"{seat} {earned:g}" for seat, earned in self.earned.items())

    def rules(self) -> str:
        """The rules, and what is pressed or typed."""
        facts, alone = self.env.facts, len(self.env.facts.seats) == 1
        every = "" if alone else f"You play every seat in turn: {', '.join(facts.seats)}.\n"
        typed = {key: "/" if not self.keys and self._moves(key) else "" for key in COMMANDS}
        told = "   ".join(f"{typed[key]}{key} {what}" for key, what in COMMANDS.items())
        if not self.keys:
            how = "Type a move, or one of these, then Enter."
            return f"{facts.rules}\n{every}{facts.answer} {how}\n{told}"
        shown = {action: key for key, action in reversed(self.keys.items())}
        arrows = {self.keys[way]: f"{way} arrow or {key}" for key, way in LETTERS.items() if way in self.keys}
        pressed = "   ".join(f"{arrows.get(action, key)}: {action}" for action, key in reversed(shown.items()))
        return f"{facts.rules}\n{every}{pressed}\n{told}"

    def show(self) -> None:
        """Draw the state, as large as the terminal has room for; a text that leaves no room for the picture stands behind `?`."""
        texts = [message.text for message in self.feedback[self.seat].messages]
        if self.picture:
            room = shutil.get_terminal_size()
            spare = room.lines - 3 - sum(text.count("\n") + 1 for text in texts)
            if spare < min(LEAST, self.picture):
                texts, spare = ["(? shows the rules and the text)"], room.lines - 4
            self._paint(min(self.picture, max(2, spare), max(2, room.columns // 2)))
        for text in texts:
            print(text)
        events = self.feedback[self.seat].events
        print(
            f"turn {self.env.turn}/{self.env.limit}  reward {self._rewards()}"
            + (f"  {', '.join(events)}" if events else "")
        )

    def _paint(self, lines: int) -> None:
        from quintain.worlds.painter import painted

        view = self.env.world.view(self.env.state, self.seat)
        print("\x1b[2J\x1b[H" + blocks(painted(view.scene(), max(32, lines * 8)), lines))

    def _meant(self, word: str) -> str | None:
        """A command or a move; None, and a word about it, for a key that means nothing, which costs no turn."""
        command = word[:1] == "/" and word[1:] in {*COMMANDS, *COMMANDS.values()}
        if not self.keys and not command and self._moves(word):
            return word
        if not word.strip() and self.env.stop is None:
            print("nothing was typed; ? shows the rules")
            return None
        word = word.removeprefix("/")
        word = COMMANDS.get(word, word)
        if word in COMMANDS.values() or not self.keys or self.env.stop is not None:
            return word
        if word not in self.keys:
            print(f"{word!r} does nothing here; ? shows which key does what")
        return self.keys.get(word)

    def _moves(self, word: str) -> bool:
        """Whether a word is a move of this level, be it possible now or not: what a key means does not change under way."""
        move = self.env.world.read(word, self.seat) if self.env.stop is None else None
        if move is None:
            return False
        legal = self.env.world.view(self.env.state, self.seat).legal()
        return not legal or move.key in self.words or move.key in {m.key for m in legal}

    def _hint(self) -> str:
        from quintain.worlds.kernel import Plan, Unknown
        from quintain.worlds.own import BadWorld

        try:
            plan = self.way.ask(self.env.state, self.seat)
        except BadWorld as error:
            return f"no help: {error}"
        if isinstance(plan, Plan):
            return f"try: {plan.moves[0].key}" if plan.moves else "no help: there is nothing to do"
        if isinstance(plan, Unknown):
            return f"no help: the oracle gave up after {plan.nodes:,} positions"
        return f"no help: {plan.reason or 'nothing more can be earned from here'}"

    def hear(self, word: str) -> bool:
        """Obey a command or play a move; False ends the game."""
        if word in ("\x03", "\x04"):
            return False
        if (meant := self._meant(word)) is None:
            return True
        if meant == "quit":
            return False
        word, warned = meant, self.warned
        self.warned = word == "restart" and self.env.stop is None and bool(self.past) and not warned
        if word == "hint":
            print(self._hint())
            return True
        if word == "rules":
            print(self.rules(), self.env.world.view(self.env.state, self.seat).caption(2), sep="\n\n")
            return True
        if self.warned:
            print(
                f"this gives up turn {self.env.turn} of {self.env.limit}; r once more restarts, anything else goes on"
            )
            return True
        if word == "undo" and self.said:
            self.said.popitem()
            self._take_seat()
        elif word == "undo" and self.past:
            self.env, self.feedback, self.earned = self.past.pop()
            self._take_seat()
        elif word == "restart" or self.env.stop is not None:
            self._begin()
        elif word != "undo":
            self._advance(word)
        self.show()
        if self.env.stop is not None:
            alone = "solved" if max(self.earned.values()) >= 1.0 else "not solved"
            print(
                (alone if len(self.earned) == 1 else "over")
                + f" in {self.env.turn} turn{'s' * (self.env.turn != 1)} ({self.env.stop}); any key plays again, q quits"
            )
        return True

    def _advance(self, word: str) -> None:
        self.said[self.seat] = Message.of("assistant", word)
        if self.env.movers - self.said.keys():
            self._take_seat()
            return
        self.past.append((self.env.fork(), self.feedback, dict(self.earned)))
        self.feedback = self.env.advance(self.said)
        self.said = {}
        for seat, told in self.feedback.items():
            self.earned[seat] += sum(told.reward.values())
        self._take_seat()


class Keys:
    """Single keys from a terminal, or lines from anything else."""

    def __init__(self, single: bool) -> None:
        self.single = single
        self.saved: list[Any] | None = None
        self.held: list[str] = []  # keys that came while the one before was played

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
        if not self.held:
            self.held = STROKE.findall(os.read(sys.stdin.fileno(), 4096).decode(errors="replace"))
        if not self.held:
            return None
        key = self.held.pop(0)
        return ARROWS.get(key.replace("\x1bO", "\x1b["), key)

    def forget(self) -> None:
        """Drop the keys that nobody has read yet."""
        if self.single:
            import termios

            self.held = []
            termios.tcflush(sys.stdin, termios.TCIFLUSH)


def actions(env: Any) -> tuple[str, ...]:
    """Every action of an env that has just begun, if they are few words and some are directions; else none."""
    world, seat = env.world, env.facts.seats[0]
    read = (world.read(word, seat) for word in world.words(env.task.level))
    found = tuple(dict.fromkeys(move.key for move in read if move is not None))
    legal = {move.key for move in world.view(env.state, seat).legal()}
    return found if legal and legal | {"left", "right"} <= set(found) and len(found) <= MOST_KEYS else ()


def keys_of(found: tuple[str, ...]) -> dict[str, str]:
    """Which key does which action: arrows and w, a, s, d the directions, a letter of its own any other.

    Example:
        >>> keys_of(("left", "right", "forward", "take"))
        {'up': 'forward', 'right': 'right', 'left': 'left', 'w': 'forward', 'd': 'right', 'a': 'left', 't': 'take'}
        >>> keys_of(())
        {}
    """
    ways = {"up": FORWARD, "down": BACK, "right": ("right",), "left": ("left",)}
    arrows = {way: next((n for n in names if n in found), "") for way, names in ways.items()}
    arrows = {way: name for way, name in arrows.items() if name}
    keys = arrows | {letter: arrows[way] for letter, way in LETTERS.items() if way in arrows}
    for action in found:
        if action not in keys.values():
            free = (
                c for c in f"{action}1234567890" if c.isalnum() and c not in keys and c not in (*COMMANDS, *LETTERS)
            )
            keys[next(free)] = action
    return keys


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
