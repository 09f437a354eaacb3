"""Games of TextArena as envs of ours, one seat for each player."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from quintain.envs.adapters.game import PeerError, Shown, are, by_level, options_of
from quintain.envs.adapters.packages import peer
from quintain.envs.adapters.peer_env import playing
from quintain.ports import Env
from quintain.registry import UnknownName, register, unknown
from quintain.types import Stop, Task


class ArenaGame:
    """Matches `game.Game`: what a player says goes to the game as it is, and the game judges it by rules of its own.

    Args:
        ids: an id of TextArena, or one for each level.
        players: number of players.
        options: of `textarena.make`.
    """

    ask = "What the game asks for, as it says."

    def __init__(self, ids: Any, players: int, options: Mapping[str, Any]) -> None:
        self.ids, self.players, self.options = ids, players, options
        self.seats: tuple[str, ...] = tuple(f"player_{i}" for i in range(players))
        self.env: Any = None

    def start(self, task: Task) -> Shown:
        """Make the game and reset it with the task's seed.

        Raises:
            UnknownName: there is no such game.
            PeerError: it does not take so many players.
        """
        wanted = by_level(self.ids, task)
        arena = peer("textarena")
        known = peer("textarena.envs.registration").ENV_REGISTRY
        if wanted not in known:
            raise UnknownName(unknown("game of TextArena", wanted, known))
        try:
            self.env = arena.make(wanted, **self.options)
        except TypeError as error:
            raise PeerError(f"TextArena cannot make {wanted!r} of {self.options}: {error}") from error
        try:
            self.env.reset(num_players=self.players, seed=task.seed)
        except (AssertionError, ValueError) as error:
            raise PeerError(f"{wanted} with {self.players} players: {error}; set the option players") from error
        return self._shown()

    def read(self, text: str, seat: str) -> Any:
        """Every text that is not empty is for the game to judge."""
        return text or None

    def play(self, moves: Mapping[str, Any]) -> Shown:
        """Say it; what the game calls invalid is its own affair and may end it."""
        done, _ = self.env.step(action=next(iter(moves.values())))
        if not done:
            return self._shown()
        rewards, info = self.env.close()
        wrong = {seat: ("invalid",) for i, seat in enumerate(self.seats) if (info or {}).get(i, {}).get("invalid_move")}
        earned = {seat: {"reward": float((rewards or {}).get(i, 0.0))} for i, seat in enumerate(self.seats)}
        reasons = {s: str((info or {}).get(i, {}).get("reason", "")) for i, s in enumerate(self.seats)}
        return Shown(texts=reasons, rewards=earned, events=wrong, stop=Stop.done)

    def _shown(self) -> Shown:
        player, text = self.env.get_observation()
        seat = self.seats[player]
        return Shown(texts={seat: text if isinstance(text, str) else _joined(text)}, movers=(seat,))

    def close(self) -> None:
        """Let go of the game."""
        self.env = None


def _joined(said: Sequence[Any]) -> str:
    """The messages of a game without an observation wrapper: (who, text, kind) each."""
    return "\n".join(str(item[1]) for item in said)


@register("env", "textarena", seeds=True, example={"id": "TicTacToe-v0", "players": 2})
def textarena(
    id: str | Sequence[str],
    players: int = 2,
    options: Mapping[str, Any] | None = None,
    manner: Mapping[str, Any] | None = None,
) -> Callable[[Task], Env]:
    """A game of TextArena, one seat for each player; a player's whole message goes to the game.

    Args:
        id: an id of TextArena; a list has one for each level.
        players: number of players, >= 1.
        options: of `textarena.make`.
        manner: options of `game.Manner`; `grammar` is `word` unless told, which passes messages on as they are.

    Raises:
        MissingExtra: textarena is not installed.
        PeerError: `players` is no number of at least 1.
    """
    peer("textarena")
    are("a whole number", players=players)
    if players < 1:
        raise PeerError(f"players is {players}, at least 1")
    chosen = options_of(options)
    return playing(lambda: ArenaGame(id, players, chosen), {"grammar": "word", **(manner or {})})
