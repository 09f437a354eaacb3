"""Our worlds as games of TextArena: `Arena("NimDuel")`, or `textarena.make("quintain/NimDuel-v0")` after `register_envs()`."""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping
from typing import Any

from quintain.envs.adapters.packages import peer
from quintain.envs.adapters.play import Heard, Play, Row, check_shown, scaffold_of
from quintain.envs.adapters.shipped import shipped
from quintain.envs.scaffold import Scaffold
from quintain.envs.world import NoEpisode
from quintain.types import Message, QuintainError

BRACKETS = re.compile(r"\[([^\[\]]*)\]\s*\.?$")  # how ActionFormattingWrapper and most games of TextArena have actions


class WrongPlayers(QuintainError):
    """A world was asked to seat another number of players than it has."""


class Arena:
    """A world as a `textarena.Env`, which TextArena's wrappers take: `reset`, `get_observation`, `step`, `close`, `state`.

    Players are the seats by number. Seats that move at once are asked one after the other. An observation is what the player has not been
    told yet, (from whom, text, kind) each: the `PROMPT`, what it did, what came of it, the `GAME_BOARD`. Nobody is told what another did,
    unless the world tells it. An action may stand in brackets. Unless told, the grammar is `free`.

    Args:
        world: a registered name.
        level: 0-9.
        scaffold: how it is shown and answered.
        split: `train`, `validation` or `test`.
        **knobs: of the world, beside the level.

    Raises:
        MissingExtra: textarena is not installed.
        AdapterError: the scaffold has a picture, which TextArena does not show.
    """

    state: Any = None  # a `textarena.State` from the first reset on

    def __new__(cls, *args: Any, **options: Any) -> Arena:
        """An instance of a class that is TextArena's too."""
        return object.__new__(_joined(cls))

    def __init__(
        self,
        world: str,
        level: int = 0,
        *,
        scaffold: Mapping[str, Any] | Scaffold | None = None,
        split: str = "train",
        **knobs: Any,
    ) -> None:
        self.play, self.row = Play(world, level, scaffold_of(scaffold, "free"), split, knobs, Arena.__init__), Row()
        check_shown(self.play, "TextArena")
        self.waiting: dict[str, str] = {}

    def reset(self, num_players: int = 1, seed: int | None = None) -> None:
        """Start an episode; without a seed, of the next instance of a row of them, which the last seed has begun.

        Raises:
            WrongPlayers: the world has another number of seats.
        """
        seats, arena = self.play.seats, peer("textarena")
        if num_players != len(seats):
            raise WrongPlayers(
                f"{self.play.name} has {len(seats)} players, not {num_players}; call reset(num_players={len(seats)})"
            )
        said, self.waiting = self.play.begin(self.row.next(seed)), {}
        state = self.state = arena.State(num_players=num_players, max_turns=self.play.env.limit)
        task, roles = self.play.begun(), dict(enumerate(seats))
        played = {"world": task.env, "level": task.level, "split": task.split, "seed": task.seed}
        state.standard_resets(game_state=played, role_mapping=dict(roles), secret_roles=roles)
        state.rewards = dict.fromkeys(roles, 0.0)
        for player, seat in roles.items():
            self._tell(player, said[seat], arena.ObservationType.PROMPT)
        state.current_player_id = self._mover()

    def get_observation(self) -> tuple[int, list[tuple[int, str, Any]]]:
        """The player that is to move, and all that it has not been told yet.

        Raises:
            NoEpisode: no episode was begun.
        """
        self.play.begun()
        return self.state.current_player_id, self.state.get_current_player_observation()

    def step(self, action: str) -> tuple[bool, dict[str, Any]]:
        """Play the string of the player that is to move: (whether it is over, what happened to that player).

        Raises:
            NoEpisode: the episode is over, or none was begun.
        """
        if not self.play.movers:
            raise NoEpisode(f"{self.play.name}: the episode is over or was never begun; call reset first")
        kinds, state, player = peer("textarena").ObservationType, self.state, self.state.current_player_id
        seat = self.play.seats[player]
        self.waiting[seat] = self._read(action, seat)
        state.add_observation(str(action), kinds.PLAYER_ACTION, from_id=player, to_id=player)
        state.game_info[player]["turn_count"] += 1
        if set(self.waiting) != set(self.play.movers):
            state.current_player_id = self._mover()
            return False, {"events": ()}
        said, self.waiting = self.play.say(self.waiting), {}
        state.turn, state.done = self.play.env.turn, self.play.env.stop is not None
        for other, heard in enumerate(said[name] for name in self.play.seats):
            self._note(other, heard)
            if state.done or self.play.seats[other] in self.play.movers:
                self._tell(other, heard, kinds.GAME_MESSAGE)
        state.current_player_id = self._mover()
        return state.done, {"events": said[seat].info["events"]}

    def close(self) -> tuple[dict[int, float], dict[int, dict[str, Any]]]:
        """What each player earned, and how its game ended.

        Raises:
            NoEpisode: no episode was begun.
        """
        self.play.begun()
        return dict(self.state.rewards), self.state.game_info

    def get_board_str(self) -> str:
        """What the player that is to move sees, for TextArena's renderers.

        Raises:
            NoEpisode: no episode was begun.
        """
        self.play.begun()
        return self._board(self.state.current_player_id, 2)

    def _mover(self) -> int:
        seats = [seat for seat in self.play.movers if seat not in self.waiting]
        return self.play.seats.index(seats[0]) if seats else 0

    def _read(self, action: Any, seat: str) -> str:
        """What stands in brackets at the end where it is an action, else all of it."""
        found = BRACKETS.search(action.rstrip()) if isinstance(action, str) else None
        if found and self.play.env.reader.read(Message.of("assistant", found[1]), seat) is not None:
            return found[1]
        return action

    def _board(self, player: int, caption: int) -> str:
        return self.play.env.world.view(self.play.env.state, self.play.seats[player]).caption(caption)

    def _tell(self, player: int, heard: Heard, kind: Any) -> None:
        """Say what stands before the board as that kind, then the board."""
        board = self._board(player, self.play.env.scaffold.caption)
        said = heard.text.removesuffix(board).strip("\n") if board else heard.text
        if said:
            self.state.add_observation(said, kind, to_id=player)
        if said != heard.text:
            self.state.add_observation(board, peer("textarena").ObservationType.GAME_BOARD, to_id=player)

    def _note(self, player: int, heard: Heard) -> None:
        self.state.rewards[player] += heard.reward
        told = {"invalid_move": "malformed" in heard.info["events"], "reason": heard.info["stop"]}
        self.state.game_info[player].update(told)


@functools.cache
def _joined(kind: type) -> type:
    base = peer("textarena").Env
    return kind if issubclass(kind, base) else type(base)(kind.__name__, (kind, base), {"__module__": __name__})


def register_envs() -> tuple[str, ...]:
    """Make every shipped world known to `textarena.make`, with TextArena's usual wrappers as `quintain/NAME-v0`, without as `...-raw`.

    `textarena.make("quintain/KeyDoor-v0", level=2)` takes the options of `Arena`. No world is imported by it.

    Returns:
        The ids.

    Raises:
        MissingExtra: textarena is not installed.
    """
    registration, wrappers = peer("textarena.envs.registration"), peer("textarena").wrappers
    usual = {"default": [wrappers.LLMObservationWrapper, wrappers.ActionFormattingWrapper]}
    ids = []
    for name in shipped():
        ids += [f"quintain/{name}-v0", f"quintain/{name}-v0-raw"]
        if ids[-2] not in registration.ENV_REGISTRY:
            registration.register_with_versions(ids[-2], f"{__name__}:Arena", usual, world=name)
    return tuple(ids)
