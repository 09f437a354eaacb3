"""Our worlds as environments of GEM (`gem-llm`): strings in, strings out."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import Any

from quintain.envs.adapters.packages import peer
from quintain.envs.adapters.play import AdapterError, Play, Row, check_shown, scaffold_of
from quintain.envs.scaffold import Scaffold
from quintain.worlds.noise import Rng


def make(
    world: str,
    level: int = 0,
    *,
    seed: int | None = None,
    scaffold: Mapping[str, Any] | Scaffold | None = None,
    split: str = "train",
    **knobs: Any,
) -> Any:
    """A world of one seat as a `gem.Env`: `reset`, `step`, `sample_random_action`, `spawn`.

    GEM hands an env `text`; unless told, the grammar is `free`, which finds the action behind any thought. `spawn(same_state=True)`
    forks the episode. A reset without a seed takes the next instance of a row of them, which `seed`, or else the last reset with one,
    has begun.

    Args:
        world: a registered name.
        level: 0-9.
        seed: begins the row of instances of resets without a seed; `gem.make_vec` gives each env one of its own.
        scaffold: how it is shown and answered.
        split: `train`, `validation` or `test`.
        **knobs: of the world, beside the level.

    Raises:
        MissingExtra: gem-llm is not installed.
        AdapterError: the world has several seats, the seed is none, or the scaffold has a picture, which GEM does not show.
    """
    chosen = scaffold_of(scaffold, "free")
    play = Play(world, level, chosen, split, knobs, make)
    if len(play.seats) > 1:
        raise AdapterError(f"{world} has the seats {', '.join(play.seats)}, GEM's Env one; use adapters.textarena")
    check_shown(play, "GEM")
    return _class(peer("gem.core").Env)(
        play, {"world": world, "level": level, "scaffold": chosen, "split": split, **knobs}, Row(seed)
    )


def register_envs(*worlds: str) -> tuple[str, ...]:
    """Make worlds known to `gem.make` as `quintain:NAME`; returns the ids."""
    gem = peer("gem.envs.registration")
    ids = tuple(f"quintain:{world}" for world in worlds)
    for name, world in zip(ids, worlds):
        if name not in gem.ENV_REGISTRY:
            gem.register(name, entry_point=f"{__name__}:make", world=world)
    return ids


@functools.cache
def _class(base: type) -> type:
    class WorldGem(base):
        def __init__(self, play: Play, options: dict[str, Any], row: Row) -> None:
            self.play, self.options, self.row, self.resets = play, options, row, 0

        def reset(self, seed: int | None = None) -> tuple[str, dict[str, Any]]:
            self.resets += 1
            heard = self.play.begin(self.row.next(seed))[self.play.seats[0]]
            return heard.text, heard.info

        def step(self, action: str) -> tuple[str, float, bool, bool, dict[str, Any]]:
            heard = self.play.say({self.play.seats[0]: action})[self.play.seats[0]]
            return heard.text, heard.reward, heard.terminated, heard.truncated, heard.info

        def sample_random_action(self) -> str:
            seed, env = self.play.begun().seed, self.play.env
            rng = Rng("gem-action", seed, env.turn, self.resets)
            return env.reader.grammar.write(env.world.view(env.state, self.play.seats[0]).sample(rng).key).text

        def spawn(self, same_state: bool = False, **kwargs: Any) -> Any:
            options: dict[str, Any] = {**self.options, "seed": self.row.first, **kwargs}
            other = make(**options)
            if same_state:
                other.row.count, other.resets = self.row.count, self.resets
                other.play.restore(self.play.env.snapshot())
            return other

    return WorldGem
