"""A world played from outside: plain strings in; text, picture, one reward and a reason to stop out, without coroutines."""

from __future__ import annotations

import dataclasses
import inspect
import operator
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

from quintain.codec import decode
from quintain.envs.grammar import GRAMMARS
from quintain.envs.scaffold import Scaffold
from quintain.envs.snapshots import verify
from quintain.envs.world import NoEpisode, WorldEnv, world_of
from quintain.registry import nearest
from quintain.types import Feedback, Message, QuintainError, Stop, Task
from quintain.worlds.kernel import Plan, check_level
from quintain.worlds.knobs import BadKnob, lexicon, started
from quintain.worlds.noise import Rng
from quintain.worlds.own import solved
from quintain.worlds.painter import painted
from quintain.worlds.splits import ALL, SPLITS

SEEDS = 2**31 - 1  # instances that are drawn where nobody names a seed
MOST = 2**63  # seeds that can be named
LOOKED = 4, 40  # episodes, and turns of each, that are looked at to learn whether a list has all actions
OPTIONS = ("level", "split")  # what a reset may choose for one episode


class AdapterError(QuintainError):
    """A world cannot be played in the shape that was asked for; the message says which shape fits."""


class Heard(NamedTuple):
    """What one seat is told: `text`, `image` or None, this turn's `reward`, how it ended, and further facts as plain data."""

    text: str
    image: np.ndarray | None
    reward: float
    terminated: bool
    truncated: bool
    info: dict[str, Any]


class Row:
    """Seeds of resets: the one that is named, or the next of a row of them, which the last one that was named has begun.

    Args:
        first: begins the row until one is named.

    Raises:
        AdapterError: it is no seed.

    Example:
        >>> one, two = Row(), Row(1)
        >>> one.next(1), one.next() == two.next() != one.next()
        (1, True)
    """

    def __init__(self, first: int | None = None) -> None:
        self.first, self.count = 0 if first is None else check_seed(first), 0

    def next(self, seed: int | None = None) -> int:
        """The seed of a reset.

        Raises:
            AdapterError: it is none.
        """
        if seed is not None:
            self.first, self.count = check_seed(seed), 0
            return self.first
        self.count += 1
        return Rng("row", self.first, self.count).below(SEEDS)


def scaffold_of(given: Mapping[str, Any] | Scaffold | None, grammar: str) -> Scaffold:
    """A scaffold of its options, with a grammar that stands unless they say another.

    Raises:
        AdapterError: these are no options.
        UnknownName: there is no such option; the nearest is named.
    """
    if isinstance(given, Scaffold):
        return given
    if not isinstance(given, Mapping | None):
        raise AdapterError(f"the scaffold is {given!r:.80}; give its options, such as {{'caption': 1}}")
    return Scaffold.of({"grammar": grammar, **(given or {})})


class Play:
    """One world through one scaffold, an episode after the other.

    Args:
        world: a registered name.
        level: 0-9.
        scaffold: a `Scaffold` or its options; actions are written as the grammar `word` says unless told.
        split: `train`, `validation` or `test`.
        knobs: of the world, beside the level.
        made: what was called with the knobs beside options of its own, which are told too where a name is neither.

    Raises:
        AdapterError: the grammar wants tool calls, and here actions are strings; or there is no such split.
        UnknownName: no such world or option; the nearest is named.
        BadKnob, GenerationError: no instance has such knobs; one is made to find out, where there are any.

    Example:
        >>> play = Play("KeyDoor", level=2)
        >>> heard = play.begin(seed=1)["agent"]
        >>> heard.reward, heard.terminated, play.say({"agent": "fly"})["agent"].info["events"]
        (0.0, False, ('malformed',))
    """

    def __init__(
        self,
        world: str,
        level: int = 0,
        scaffold: Mapping[str, Any] | Scaffold | None = None,
        split: str = "train",
        knobs: Mapping[str, Any] | None = None,
        made: Callable[..., Any] | None = None,
    ) -> None:
        chosen = scaffold_of(scaffold, "word")
        if GRAMMARS[chosen.grammar].tools:
            texts = ", ".join(name for name, grammar in GRAMMARS.items() if not grammar.tools)
            raise AdapterError(
                f"grammar {chosen.grammar!r} wants tool calls, and actions are strings here; choose {texts}"
            )
        self.name, self.level, self.split, self.knobs = world, check_level(level), split, dict(knobs or {})
        self.env = WorldEnv(world_of(world), chosen)
        self.seats: tuple[str, ...] = self.env.facts.seats
        check_known(split)
        self.lists: dict[int, tuple[str, ...]] = {}  # level -> its actions where they are words, else ()
        if self.knobs:
            if made is not None:
                check_names(made, self.env.world, self.level, self.knobs)
            started(self.env.world, 0, level, split, self.knobs)

    def __reduce__(self) -> tuple[Any, ...]:
        """As its arguments and the episode: parts of a world, such as functions, can be neither pickled nor shared by copies."""
        episode = self.env.snapshot() if self.env.task is not None else None
        return _again, (self.name, self.level, self.env.scaffold, self.split, self.knobs, episode)

    def begin(self, seed: int, options: Mapping[str, Any] | None = None, numbered: bool = False) -> dict[str, Heard]:
        """Start the episode of a seed; `options` may hold another `level` or `split`. Actions may be `numbered` as `words` lists them.

        Raises:
            AdapterError: the seed or the split is none, or an option is another; the message says what there is. Or the list of numbered
                actions lacks some of the level.
            UnknownLevel: there is no such level.
        """
        if not isinstance(options, Mapping | None):
            raise AdapterError(
                f"the options of a reset are {options!r:.80}; give a mapping with some of {', '.join(OPTIONS)}"
            )
        chosen: dict[str, Any] = dict(zip(OPTIONS, (self.level, self.split))) | dict(options or {})
        if strange := [name for name in chosen if name not in OPTIONS]:
            raise AdapterError(f"a reset has no option {strange[0]!r:.80}; its options are {', '.join(OPTIONS)}")
        seed, level, split = check_seed(seed), check_level(chosen["level"]), chosen["split"]
        check_known(split)
        if numbered:
            self._check_listed(level, self.knobs)
        key = f"{self.name}/{level}/{split}/{seed}"
        task = Task(key=key, env=self.name, seed=seed, level=level, split=split, params=self.knobs)
        return self.heard(self.env.begin(task))

    def restore(self, snapshot: Any, numbered: bool = False) -> dict[str, Heard]:
        """Go back to what `env.snapshot()` gave: what each seat sees then, with no reward and no events; see `begin` on `numbered`.

        Raises:
            BadSnapshot: it is of another world, or another version made it; the episode under way goes on.
            AdapterError: the list of numbered actions lacks some of its level and knobs; the episode under way goes on.
        """
        if numbered:
            verify(self.name, self.env.world.schema, snapshot)
            task = decode(Task, snapshot["task"])
            self._check_listed(task.level, task.params)
        self.env.restore(snapshot)
        return self.heard(self.env.seen())

    def begun(self) -> Task:
        """What is played.

        Raises:
            NoEpisode: no episode was begun.
        """
        if self.env.task is None:
            raise NoEpisode(f"{self.name}: no episode was begun; call reset first")
        return self.env.task

    def say(self, actions: Mapping[str, str]) -> dict[str, Heard]:
        """Play one string for every seat that is to move; one that cannot be read is an event, never an exception.

        Raises:
            NoEpisode: the episode is over, or other seats are to move.
        """
        return self.heard(
            self.env.advance({s: Message.of("assistant", a if isinstance(a, str) else "") for s, a in actions.items()})
        )

    def heard(self, said: Mapping[str, Feedback]) -> dict[str, Heard]:
        """Feedback as plain values; a seat that is not to move is shown what it would see."""
        return {seat: self._heard(seat, feedback) for seat, feedback in said.items()}

    def _heard(self, seat: str, said: Feedback) -> Heard:
        over, view = said.stop, self.env.world.view(self.env.state, seat)
        text = said.messages[0].text if said.messages else view.caption(self.env.scaffold.caption)
        image = next((i.pixels for m in said.messages for i in m.images), None)
        if image is None and self.env.painters:
            image = self.env.painters[seat].paint(view.scene())
        info = {
            "events": said.events,
            "rewards": dict(said.reward),
            "legal": tuple(m.key for m in view.legal()) if said.acts and over is None else (),
            "stop": str(over) if over else "",
            "seed": self.begun().seed,
        }
        cut = over is Stop.truncated_turns and self.env.limit > 1  # an only answer ends the episode, no limit does
        image = None if image is None else image.copy()
        return Heard(text, image, float(sum(said.reward.values())), over is not None and not cut, cut, info)

    @property
    def movers(self) -> tuple[str, ...]:
        """The seats that are to move, in their order."""
        return tuple(seat for seat in self.seats if seat in self.env.movers)

    def best(self) -> str:
        """What the oracle would say now, as the grammar writes it; "" where it has no plan."""
        plan = solved(self.env.world, self.env.state, self.seats[0])
        if not isinstance(plan, Plan) or not plan.moves:
            return ""
        return self.env.reader.grammar.write(plan.moves[0].key).text

    def paint(self, seat: str = "") -> np.ndarray:
        """The picture of the present state as a seat sees it, whether or not the scaffold shows pictures."""
        seat = seat or self.seats[0]
        painter, scene = self.env.painters.get(seat), self.env.world.view(self.env.state, seat).scene()
        return (painter.paint(scene) if painter else painted(scene, 256)).copy()

    def words(self, level: int | None = None) -> tuple[str, ...]:
        """Every action of a level, the play's own unless told, as its lexicon words it, in a fixed order.

        Raises:
            AdapterError: an action of this world is not one word of its lexicon, or its answers cannot be listed.
        """
        world, level = self.env.world, self.level if level is None else level
        if level not in self.lists:
            words = lexicon(world, (level,), self.knobs)
            read = {word: world.read(word, self.seats[0]) for word in words}
            # a word that is said for other reasons too is read after the word of the action alone: `to done`, beside `crane`
            heads = {move.key.removesuffix(word) for word, move in read.items() if move and move.key.endswith(word)}
            more = [world.read(head + word, self.seats[0]) for word, move in read.items() if not move for head in heads]
            found = tuple(dict.fromkeys(move.key for move in (*read.values(), *more) if move is not None))
            self.lists[level] = found if found and self._all_in(found, level) else ()
        if not self.lists[level]:
            raise AdapterError(f"{self.name} has no fixed list of one-word actions; choose actions='text'")
        return self.lists[level]

    def _check_listed(self, level: int, knobs: Mapping[str, Any]) -> None:
        """Refuse a level and knobs whose actions are not all in the list of this play's."""
        other = self if knobs == self.knobs else Play(self.name, level, self.env.scaffold, self.split, knobs)
        if level == self.level and other is self:
            return
        try:
            more = next((word for word in other.words(level) if word not in self.words()), None)
        except AdapterError:
            more = "some of several words"
        if more is not None:
            raise AdapterError(
                f"{self.name}: actions are numbered as those of level {self.level}{_told(self.knobs)}, and level {level}{_told(knobs)} has "
                f"others ({more}); make another env of that, or this one with actions='text'"
            )

    def together(self) -> bool:
        """Whether all seats move in each turn, by the first one."""
        world = self.env.world
        state = started(world, 0, self.level, self.split, self.knobs)
        return all(world.view(state, seat).acts for seat in self.seats)

    def _all_in(self, words: tuple[str, ...], level: int) -> bool:
        """Whether a list has all that may be done in a few random episodes: a draw of a card game is one word, its discards two."""
        world, (episodes, turns), known = self.env.world, LOOKED, set(words)
        for seed in range(episodes):
            state, rng = started(world, seed, level, self.split, self.knobs), Rng("words", seed)
            for turn in range(turns):
                views = {seat: world.view(state, seat) for seat in self.seats}
                offers = {seat: view.legal() for seat, view in views.items() if view.acts}
                if not offers or not all(offers.values()):  # at the start: answers that cannot be listed
                    if not turn:
                        return False
                    break
                if any(move.key not in known for moves in offers.values() for move in moves):
                    return False
                outcome = world.step(state, {seat: rng.pick(moves) for seat, moves in offers.items()})
                if outcome.done:
                    break
                state = outcome.state
        return True


def _told(knobs: Mapping[str, Any]) -> str:
    return "".join(f" {name}={value!r:.40}" for name, value in knobs.items())


def _again(
    world: str, level: int, scaffold: Scaffold, split: str, knobs: Mapping[str, Any], episode: Any | None
) -> Play:
    """A play that was taken apart."""
    play = Play(world, level, scaffold, split, knobs)
    if episode is not None:
        play.env.restore(episode)
    return play


def check_shown(play: Play, where: str) -> None:
    """Refuse a picture where the player would not see it.

    Raises:
        AdapterError: the scaffold has one; the message says where pictures are shown.
    """
    if side := play.env.scaffold.image:
        raise AdapterError(
            f"the scaffold has image={side}, and {where} shows texts alone; leave image out, with caption=1 or 2, or play it through "
            "adapters.gymnasium, adapters.pettingzoo or adapters.openenv, which show pictures"
        )


def check_names(made: Callable[..., Any], world: Any, level: int, knobs: Mapping[str, Any]) -> None:
    """Refuse what is neither an option of `made`, which takes a world's knobs beside its own, nor a knob.

    Raises:
        BadKnob: a name is neither; the message has the nearest, or all. A seed or an option of the scaffold is told where it belongs.
    """
    there = getattr(world, "levels", None)
    if there is None:  # a world of somebody's own may check its knobs itself
        return
    parts = inspect.signature(made).parameters.values()
    options = [part.name for part in parts if part.kind is not part.VAR_KEYWORD and part.name not in ("self", "world")]
    scaffold = [field.name for field in dataclasses.fields(Scaffold)]
    for name in knobs:
        if name in there[level] or not isinstance(name, str):
            continue
        if name == "seed":
            raise BadKnob("seed is no option here: an instance is chosen by the reset, as in reset(seed=1)")
        if name in scaffold:
            raise BadKnob(f"{name} is an option of the scaffold; write scaffold={{{name!r}: {knobs[name]!r:.80}}}")
        ours = [*options, *there[level]]
        near = nearest(name, [*ours, *scaffold])
        meant = near if near in ours else f"scaffold={{{near!r}: ...}}"
        all_of_them = f"options are {', '.join(options)}, knobs of {world.facts.name} {', '.join(there[level])}"
        raise BadKnob(f"unknown option or knob {name!r}; {f'did you mean {meant}? ' if near else ''}{all_of_them}")


def check_known(split: Any) -> None:
    """Refuse what is no split.

    Raises:
        AdapterError: it is none; the message has all.
    """
    if split not in (*SPLITS, ALL):
        raise AdapterError(f"the split is {split!r:.80}; it is one of {', '.join((*SPLITS, ALL))}")


def check_seed(value: Any) -> int:
    """The seed that a value is: an integer, NumPy's too.

    Raises:
        AdapterError: it is none, or out of range.

    Example:
        >>> check_seed(np.int64(7))
        7
    """
    try:
        seed = -1 if isinstance(value, bool) else operator.index(value)
    except TypeError:
        seed = -1
    if not 0 <= seed < MOST:
        raise AdapterError(f"the seed is {value!r:.80}; it is a whole number from 0 to {MOST - 1}")
    return seed
