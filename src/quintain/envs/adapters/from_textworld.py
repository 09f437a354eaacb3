"""Games of TextWorld as envs of ours: what is typed goes to the game, and what the game prints is the observation."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from quintain.envs.adapters.game import PeerError, Shown, by_level
from quintain.envs.adapters.packages import peer
from quintain.envs.adapters.peer_env import playing
from quintain.ports import SOLO, Env
from quintain.registry import register
from quintain.types import Stop, Task

BANNER = re.compile(r"^[ $|\\/_>]*[$|\\_][ $|\\/_>]*$\n?", re.M)  # the title, drawn in letters
PROMPT = re.compile(r"\s*>\s*(-=.*=-\s*\d*(/\d+)?)?\s*$")  # and the line of status behind it


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
            PeerError: there is no such file.
        """
        file = by_level(self.files, task)
        if not Path(file).is_file():
            raise PeerError(
                f"there is no game {file!r}; make one: tw-make tw-simple --rewards dense --goal brief --output {file}"
            )
        self.close()
        textworld = peer("textworld")
        self.env = textworld.start(str(file), textworld.EnvInfos(admissible_commands=self.commands))
        self.env.seed(task.seed % 2**31)
        self.score = 0.0
        return self._shown(self.env.reset())

    def read(self, text: str, seat: str) -> Any:
        """The first line that is not empty is for the game to judge."""
        return next((line.strip() for line in text.splitlines() if line.strip()), None)

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


@register("env", "textworld", seeds=True, example={"id": "game.z8"})
def textworld(
    id: str | Sequence[str], commands: bool = False, manner: Mapping[str, Any] | None = None
) -> Callable[[Task], Env]:
    """A game of TextWorld; the reward of a turn is what it adds to the score, and the game ends when it is won or lost.

    Args:
        id: the file of a game, as `tw-make` makes them; a list has one for each level.
        commands: list the commands that the game takes now with every observation.
        manner: options of `game.Manner`; `win` is the game's highest score, where an episode that reaches it is to be a success.

    Raises:
        MissingExtra: textworld is not installed.
        PeerError: (when playing) there is no such file.
    """
    peer("textworld")
    return playing(lambda: TextWorldGame(id, commands), manner)
