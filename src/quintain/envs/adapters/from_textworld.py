"""Games of TextWorld as envs of ours: what is typed goes to the game, and what the game prints is the observation."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from quintain.envs.adapters.game import ILLEGAL, PeerError, Shown, are, by_level
from quintain.envs.adapters.packages import peer
from quintain.envs.adapters.peer_env import playing
from quintain.ports import SOLO, Env
from quintain.registry import register
from quintain.types import Stop, Task

BANNER = re.compile(r"^[ $|\\/_>]*[$|\\_][ $|\\/_>]*$\n?", re.M)  # the title, drawn in letters
PROMPT = re.compile(r"\s*>\s*(-=.*=-\s*\d*(/\d+)?)?\s*$")  # and the line of status behind it

# verbs of the interpreter, as it cuts them: they carry a state into other episodes, write files or begin anew; `tw-...` tell what is hidden
OUTSIDE = {
    "save",
    "restore",
    "restart",
    "quit",
    "q",
    "undo",
    "script",
    "noscript",
    "unscript",
    "transcrip",
    "verify",
    "oops",
    "o",
}


class TextWorldGame:
    """Matches `game.Game`: one game file, loaded with each episode.

    Args:
        files: a game that `tw-make` has made (`.z8` or `.ulx`, its `.json` beside it), or one for each level.
        commands: list the commands that the game takes now.
    """

    ask = "A command of the game, such as: look."

    def __init__(self, files: Any, commands: bool) -> None:
        self.files, self.commands = files, commands
        self.seats: tuple[str, ...] = (SOLO,)
        self.env: Any = None
        self.score = 0.0

    def start(self, task: Task) -> Shown:
        """Load the game and show how it begins; the seed is that of what the game itself draws.

        Raises:
            PeerError: there is no such file, or it is not whole.
        """
        file = by_level(self.files, task, (str, Path))
        if wrong := lacking(Path(file)):
            raise PeerError(f"{wrong}; make a game: tw-make tw-simple --rewards dense --goal brief --output {file}")
        self.close()
        textworld = peer("textworld")
        self.env = textworld.start(str(file), textworld.EnvInfos(admissible_commands=self.commands))
        self.env.seed(task.seed % 2**31)
        self.score = 0.0
        return self._shown(self.env.reset())

    def read(self, text: str, seat: str) -> Any:
        """The first line that is not empty is for the game to judge; what is for its interpreter is illegal.

        One with control characters, some of which break the interpreter and with it this process, is no command.
        """
        line = next((line.strip() for line in text.splitlines() if line.strip()), "")
        if not line or not line.isprintable():
            return None
        verbs = [clause.split() for clause in re.split(r"[.,]|\bthen\b", line.lower())]
        return ILLEGAL if any(v[0][:9] in OUTSIDE or v[0].startswith("tw-") for v in verbs if v) else line

    def play(self, moves: Mapping[str, Any]) -> Shown:
        """Type it; the reward is what it adds to the score."""
        state, score, done = self.env.step(moves[SOLO])
        earned, self.score = float(score) - self.score, float(score)
        return self._shown(state, {SOLO: {"reward": earned}}, Stop.done if done else None)

    def _shown(self, state: Any, rewards: Mapping[str, Any] | None = None, stop: Stop | None = None) -> Shown:
        text = PROMPT.sub("", BANNER.sub("", state.feedback)).strip()
        if self.commands and not stop:
            text += f"\n\nYou can: {', '.join(state.admissible_commands)}."
        return Shown(texts={SOLO: text}, movers=() if stop else (SOLO,), rewards=rewards or {}, stop=stop)

    def close(self) -> None:
        """End the interpreter of the game."""
        if self.env is not None:
            self.env.close()
        self.env = None


def lacking(file: Path) -> str:
    """Why a file is no game that can be played, "" where it is one: the interpreter ends the whole process at a broken one."""
    if not file.is_file():
        return f"there is no game {str(file)!r}"
    data = file.read_bytes()
    if (
        data[:1] == b"\x08"
    ):  # a story of version 8, with its length in eights of bytes and the sum of all behind the header
        size, total = (int.from_bytes(data[at : at + 2], "big") for at in (0x1A, 0x1C))
        whole = len(data) >= 8 * size > 0x40 and sum(data[0x40 : 8 * size]) % (1 << 16) == total
    else:
        whole = data[:4] == b"Glul"
    if not whole:
        return f"{str(file)!r} is no game, or a broken one"
    facts = file.with_suffix(".json")
    return "" if facts.is_file() else f"there is no {str(facts)!r} beside the game, which says what it is about"


@register("env", "textworld", seeds=True, example={"id": "game.z8"})
def textworld(
    id: str | Sequence[str], commands: bool = False, manner: Mapping[str, Any] | None = None
) -> Callable[[Task], Env]:
    """A game of TextWorld; the reward of a turn is what it adds to the score, and the game ends when it is won or lost.

    Commands to the interpreter are refused: to save, restore or begin anew, to write transcripts, and TextWorld's own for testing.

    Args:
        id: the file of a game, as `tw-make` makes them; a list has one for each level.
        commands: list the commands that the game takes now with every observation.
        manner: options of `game.Manner`; `win` is the game's highest score, where an episode that reaches it is to be a success.

    Raises:
        MissingExtra: textworld is not installed.
        PeerError: `commands` is neither true nor false; (when playing) there is no such file, or it is not whole.
    """
    peer("textworld")
    are("true or false", commands=commands)
    return playing(lambda: TextWorldGame(id, commands), manner)
