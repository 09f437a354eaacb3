"""Games of OpenSpiel as envs of ours, one seat for each player; chance moves are drawn from the task's seed."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from quintain.envs.adapters.game import ILLEGAL, PeerError, Shown, are, by_level
from quintain.envs.adapters.packages import peer
from quintain.envs.adapters.peer_env import playing
from quintain.ports import Env
from quintain.registry import register
from quintain.types import Stop, Task
from quintain.worlds.noise import Rng


class SpielGame:
    """Matches `game.Game`: a state of OpenSpiel. A player is shown its observation, or its information state where there is none.

    Args:
        ids: as `pyspiel.load_game` takes it, as in `kuhn_poker(players=3)`, or one for each level.
        scale: returns are divided by it.
    """

    ask = "One of the actions that you may take, as they are written there."

    def __init__(self, ids: Any, scale: float = 1.0) -> None:
        self.ids, self.scale = ids, scale
        self.seats: tuple[str, ...] = ()
        self.state: Any = None
        self.kind: Any = None
        self.rng = Rng("open_spiel")

    def start(self, task: Task) -> Shown:
        """A new initial state.

        Raises:
            PeerError: there is no such game, or it is one that no text can show.
        """
        wanted = by_level(self.ids, task)
        spiel = peer("pyspiel")
        try:
            game = spiel.load_game(wanted)
        except spiel.SpielError as error:
            raise PeerError(f"OpenSpiel cannot load {wanted!r}: {str(error)[:300]}") from error
        self.kind = game.get_type()
        if not (self.kind.provides_observation_string or self.kind.provides_information_state_string):
            raise PeerError(f"{wanted} says in no text what a player sees; choose a game with an observation string")
        if self.kind.dynamics == spiel.GameType.Dynamics.MEAN_FIELD:
            raise PeerError(f"{wanted} is a mean-field game, whose crowd no seat plays; choose one of single players")
        self.seats = tuple(f"player_{i}" for i in range(game.num_players()))
        self.rng, self.state = Rng("open_spiel", task.seed), game.new_initial_state()
        try:
            return self._shown({})
        except spiel.SpielError as error:
            raise PeerError(f"OpenSpiel cannot play {wanted!r}: {str(error)[:300]}") from error

    def _legal(self, player: int) -> dict[str, int]:
        return {self.state.action_to_string(player, a).strip(): a for a in self.state.legal_actions(player)}

    def read(self, text: str, seat: str) -> Any:
        """A legal action as it is written, in small or large letters where that names one only; or its number.

        Another number that the game has is illegal.
        """
        player, word = self.seats.index(seat), text[:200].strip()
        legal = self._legal(player)
        alike = [word] if word in legal else [name for name in legal if name.lower() == word.lower()]
        if len(alike) == 1:
            return legal[alike[0]]
        if not (word.isascii() and word.isdigit()) or len(word) > 9:
            return None
        number = int(word)
        if number in legal.values():
            return number
        return ILLEGAL if number < self.state.num_distinct_actions() else None

    def play(self, moves: Mapping[str, Any]) -> Shown:
        """Apply the action of the player to move, or of all where they move at once."""
        before = self.state.returns()
        if self.state.is_simultaneous_node():
            self.state.apply_actions([moves.get(seat, 0) for seat in self.seats])
        else:
            self.state.apply_action(next(iter(moves.values())))
        return self._shown({s: (b, i) for i, (s, b) in enumerate(zip(self.seats, before))})

    def _shown(self, before: Mapping[str, tuple[float, int]]) -> Shown:
        state = self.state
        while state.is_chance_node():
            outcomes = state.chance_outcomes()
            state.apply_action(_drawn(outcomes, self.rng))
        over, texts = state.is_terminal(), {}
        movers = () if over else self.seats if state.is_simultaneous_node() else (self.seats[state.current_player()],)
        for player, seat in enumerate(self.seats):
            shown = (
                state.observation_string if self.kind.provides_observation_string else state.information_state_string
            )
            legal = "\nYou may: " + ", ".join(self._legal(player)) + "." if seat in movers else ""
            texts[seat] = f"You are {seat}.\n{shown(player)}{legal}"
        after = state.returns()
        rewards = {s: {"reward": (after[i] - b) / self.scale} for s, (b, i) in before.items()}
        return Shown(texts=texts, movers=movers, rewards=rewards, stop=Stop.done if over else None)

    def close(self) -> None:
        """There is nothing to free."""


def _drawn(outcomes: Sequence[tuple[int, float]], rng: Rng) -> int:
    mark = rng.below(1 << 53) / (1 << 53)
    for action, chance in outcomes:
        mark -= chance
        if mark < 0:
            return action
    return outcomes[-1][0]


@register("env", "open_spiel", seeds=True, example={"id": "tic_tac_toe"})
def open_spiel(
    id: str | Sequence[str], scale: float = 1.0, manner: Mapping[str, Any] | None = None
) -> Callable[[Task], Env]:
    """A game of OpenSpiel, one seat for each player; rewards are the changes of a player's return.

    Args:
        id: as `pyspiel.load_game` takes it; a list has one for each level.
        scale: returns are divided by it, > 0.
        manner: options of `game.Manner`: `grammar`, `turns`, `penalty`, `win`.

    Raises:
        MissingExtra: open_spiel is not installed.
        PeerError: the scale is not positive; (when playing) there is no such game.
    """
    peer("pyspiel")
    are("a finite number", scale=scale)
    if not scale > 0:
        raise PeerError(f"scale is {scale:g}; it must be > 0")
    return playing(lambda: SpielGame(id, scale), manner)
