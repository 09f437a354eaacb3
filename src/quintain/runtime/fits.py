"""Whether the answers of an oracle have room in a turn of a model with a tokenizer: looked at before anything is played."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from quintain.config import Config, ConfigError
from quintain.envs.grammar import GRAMMARS
from quintain.envs.scaffold import Scaffold
from quintain.envs.world import world_of
from quintain.ports import Renderer
from quintain.runtime.demos import more_room
from quintain.runtime.words import Place, turn_tokens
from quintain.worlds.kernel import Plan
from quintain.worlds.knobs import started
from quintain.worlds.own import solved

LOOKS = 4  # instances of a place, of the easiest and of the hardest level


def cramped(config: Config, renderer: Renderer, where: Iterable[Place], split: str = "train") -> str:
    """What to say where an answer of the oracle has more tokens than a turn; "" where none of those looked at has.

    The end of a turn may be cut off: an answer is read without it.

    Args:
        config: of who plays.
        renderer: of the policy.
        where: the worlds that are played; those without an oracle are passed over.
        split: whose instances are looked at.

    Raises:
        ConfigError: in every instance that was looked at the oracle says something that has no room.
    """
    if not config.model.folder:  # a model of words is refused where its renderer is made
        return ""
    room, grammar = turn_tokens(config), GRAMMARS[Scaffold.of(config.env.scaffold).grammar]
    looked, long = 0, list[tuple[int, str, str]]()
    for place, keys in _said(where, split):
        said = [(len(renderer.say(grammar.write(key))), grammar.write(key).text or key, place) for key in keys]
        looked += 1
        long += [max(said)] if said and max(said)[0] - 1 > room else []
    if not long:
        return ""
    size, text, place = max(long)
    told = f"{place}: {more_room(room, text, size)}"
    if len(long) == looked:
        raise ConfigError(f"{told}: without it no episode could be played as the oracle plays it")
    return f"{told}: it had no room in {len(long)} of {looked} instances that were looked at"


def _said(where: Iterable[Place], split: str) -> Iterator[tuple[str, set[str]]]:
    """The place and what the oracle says there in each of some instances, as far as its plan goes."""
    for place in where:
        world: Any = world_of(place.world)
        levels = sorted({min(place.levels), max(place.levels)}) if hasattr(world, "solve") else []
        for level in levels:
            for seed in range(LOOKS // len(levels)):
                state = started(world, seed, level, split, place.knobs)
                try:
                    plans = [solved(world, state, seat) for seat in world.facts.seats if world.view(state, seat).acts]
                except (
                    Exception
                ):  # of one's own: it tells of itself where it is asked to play, and a run may do without
                    continue
                yield place.world, {move.key for plan in plans if isinstance(plan, Plan) for move in plan.moves}
