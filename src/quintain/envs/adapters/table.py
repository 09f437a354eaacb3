"""A world of several seats with a space for each: what both shapes of PettingZoo share."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from quintain.envs.adapters.play import SEEDS, AdapterError, Heard, Play, check_seed
from quintain.envs.adapters.spaces import action_space, mask, observation_space, shown, written


class Table:
    """What both shapes share: the seats, their spaces, and what each was told last."""

    def __init__(self, play: Play, actions: str) -> None:
        self.play, self.words = play, action_space(play, actions)[1]
        self.acts = {seat: action_space(play, actions)[0] for seat in play.seats}
        self.sees = {seat: observation_space(play, len(self.words)) for seat in play.seats}
        self.heard: dict[str, Heard] = {}
        self.rng = np.random.default_rng()

    def begin(self, seed: int | None, options: Mapping[str, Any] | None) -> None:
        """Start an episode: of the seed, or of the next one drawn.

        Raises:
            AdapterError: there is no such seed or option, or the level has actions that are not numbered. The option `options` alone is
                left aside, as PettingZoo's own tests send it.
        """
        self.rng = self.rng if seed is None else np.random.default_rng(check_seed(seed))
        chosen = {name: value for name, value in (options or {}).items() if name != "options"}
        drawn = int(self.rng.integers(SEEDS)) if seed is None else seed
        self.heard = self.play.begin(drawn, chosen, bool(self.words))

    def seat(self, name: str) -> str:
        """The seat of that name.

        Raises:
            AdapterError: there is none; the message has all.
        """
        if name not in self.sees:
            raise AdapterError(f"{self.play.name} has no agent {name!r:.80}; its agents are {', '.join(self.sees)}")
        return name

    def move(self, actions: Mapping[str, Any]) -> None:
        """Play the actions of those who are to move; who gives none has said the empty text.

        Raises:
            AdapterError: the actions are no mapping by agent, or one is of somebody else.
            NoEpisode: no episode is under way.
        """
        if not isinstance(actions, Mapping):
            example = dict.fromkeys(self.sees, "...")
            raise AdapterError(f"actions are {actions!r:.80}; give them by agent: {example}")
        for name in actions:
            self.seat(name)
        said = {s: written(self.play, actions[s], self.words) if s in actions else "" for s in self.play.movers}
        self.heard = self.play.say(said)

    def sight(self, seat: str) -> dict[str, Any]:
        """The observation of a seat.

        Raises:
            AdapterError: there is no such seat.
            NoEpisode: no episode was begun.
        """
        self.play.begun()
        seen = shown(self.heard[self.seat(seat)])
        return {**seen, "action_mask": mask(self.heard[seat], self.words)} if self.words else seen

    def told(self, field: str) -> dict[str, Any]:
        """One field of what was heard last, by seat."""
        return {seat: getattr(heard, field) for seat, heard in self.heard.items()}
