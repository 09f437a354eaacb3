"""Our worlds in the shape of TextArena: `reset`, `get_observation`, `step`, `close` over strings and numbered players."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from quintain.envs.adapters.play import SEEDS, Heard, Play
from quintain.envs.scaffold import Scaffold
from quintain.envs.world import NoEpisode
from quintain.types import QuintainError
from quintain.worlds.noise import Rng


class WrongPlayers(QuintainError):
    """A world was asked to seat another number of players than it has."""


class Arena:
    """A world as TextArena plays games; it needs no peer, as TextArena asks for methods only.

    Players are the seats by number. Seats that move at once are asked one after the other. Unless told, the grammar is `free`.

    Args:
        world: a registered name.
        level: 0-9.
        scaffold: how it is shown and answered.
        split: `train`, `validation` or `test`.
        knobs: of the world, beside the level.

    Example:
        >>> arena = Arena("NimDuel", level=1)
        >>> arena.reset(num_players=2, seed=3)
        >>> player, text = arena.get_observation()
        >>> arena.step("pass")
        (False, {'events': ('malformed',)})
    """

    def __init__(
        self,
        world: str,
        level: int = 0,
        scaffold: Mapping[str, Any] | Scaffold | None = None,
        split: str = "train",
        knobs: Mapping[str, Any] | None = None,
    ) -> None:
        chosen = scaffold if isinstance(scaffold, Scaffold) else Scaffold.of({"grammar": "free", **(scaffold or {})})
        self.play, self.count = Play(world, level, chosen, split, knobs), 0
        self.heard: dict[str, Heard] = {}
        self.unread: dict[str, list[str]] = {}
        self.waiting: dict[str, str] = {}
        self.rewards: dict[str, float] = {}
        self.malformed: dict[str, bool] = {}

    def reset(self, num_players: int = 1, seed: int | None = None) -> None:
        """Start an episode; without a seed, instances follow each other in a fixed order.

        Raises:
            WrongPlayers: the world has another number of seats.
        """
        seats = self.play.seats
        if num_players != len(seats):
            raise WrongPlayers(
                f"{self.play.name} has {len(seats)} players, not {num_players}; call reset(num_players={len(seats)})"
            )
        self.heard = self.play.begin(Rng("textarena", self.count).below(SEEDS) if seed is None else seed)
        self.count, self.waiting = self.count + 1, {}
        self.unread = {seat: [heard.text] for seat, heard in self.heard.items()}
        self.rewards, self.malformed = dict.fromkeys(seats, 0.0), dict.fromkeys(seats, False)

    def get_observation(self) -> tuple[int, str]:
        """The player that is to move, and all that it has not been told yet.

        Raises:
            NoEpisode: no episode was begun.
        """
        self.play.begun()
        seat = self._mover()
        told, self.unread[seat] = "\n".join(self.unread[seat]), []
        return self.play.seats.index(seat), told

    def step(self, action: str) -> tuple[bool, dict[str, Any]]:
        """Play the string of the player that is to move: (whether it is over, what happened to that player).

        Raises:
            NoEpisode: the episode is over, or none was begun.
        """
        if not self.play.movers:
            raise NoEpisode(f"{self.play.name}: the episode is over or was never begun; call reset first")
        seat = self._mover()
        self.waiting[seat] = action
        if set(self.waiting) != set(self.play.movers):
            return False, {"events": ()}
        self.heard, self.waiting = self.play.say(self.waiting), {}
        for name, heard in self.heard.items():
            self.rewards[name] += heard.reward
            self.malformed[name] = "malformed" in heard.info["events"]
            if name in self.play.movers:
                self.unread[name].append(heard.text)
        return self.play.env.stop is not None, {"events": self.heard[seat].info["events"]}

    def close(self) -> tuple[dict[int, float], dict[int, dict[str, Any]]]:
        """What each player earned, and how its game ended.

        Raises:
            NoEpisode: no episode was begun.
        """
        self.play.begun()
        seats, turn = self.play.seats, self.play.env.turn
        info = {
            i: {
                "role": seat,
                "invalid_move": self.malformed[seat],
                "turn_count": turn,
                "reason": self.heard[seat].info["stop"],
            }
            for i, seat in enumerate(seats)
        }
        return {i: self.rewards[seat] for i, seat in enumerate(seats)}, info

    def _mover(self) -> str:
        return next((seat for seat in self.play.movers if seat not in self.waiting), self.play.seats[0])
