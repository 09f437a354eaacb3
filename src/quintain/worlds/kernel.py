"""The kernel of all worlds: a World is a pure reducer over a frozen state made of plain data.

A world has no clock, no I/O and no random state: `step` is a function of the state and the moves, so fork is a pointer copy, replay is
exact, and an oracle can start anywhere. Engines under `worlds/engines` match `World`; declarations under `worlds/suite` make one of them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, fields, is_dataclass
from operator import index
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

from quintain.codec import digest_of, encode
from quintain.ports import SOLO
from quintain.registry import unknown
from quintain.types import QuintainError
from quintain.worlds.noise import Rng
from quintain.worlds.scene import Scene

S = TypeVar("S")
Seen = TypeVar("Seen", contravariant=True)

LEVELS = 10
SEED_BITS = 128  # of a seed
CAPTION_LEVELS = (0, 1, 2)
Rewards = Mapping[str, Mapping[str, float]]  # seat -> name -> value
Events = Mapping[str, tuple[str, ...]]  # seat -> what happened to it
NOTHING: Mapping[str, Any] = {}
WON: Mapping[str, float] = {"success": 1.0}


class UnknownLevel(QuintainError):
    """A difficulty outside 0..9 was asked for."""


class BadSeed(QuintainError):
    """A seed that is no integer of at most `SEED_BITS` bits."""


class UnknownSeat(QuintainError):
    """A seat that a world does not have, or moves of others than those that are to move."""


class GenerationError(QuintainError):
    """No instance with the wanted property was found."""


class BadChoice(QuintainError):
    """Action words that are no words or not apart, or a word that is none of them."""


def quoted(value: object, most: int = 80) -> str:
    """A value as an error names it: cut where it is long; integers of thousands of digits, which Python does not write, by their size.

    Example:
        >>> quoted(10**5000), quoted("a" * 100, 9)
        ('an integer of 16610 bits', "'aaaaaaaa...")
    """
    try:
        text = repr(value)
    except ValueError:
        kind = type(value).__name__
        return f"an integer of {value.bit_length()} bits" if isinstance(value, int) else f"a long {kind}"
    return text if len(text) <= most else f"{text[:most]}..."


def check_level(level: int) -> int:
    """The level that a value is, if it is one of 0..9: an integer, NumPy's too.

    Raises:
        UnknownLevel: it is not.

    Example:
        >>> check_level(3)
        3
    """
    with suppress(TypeError):
        if not isinstance(level, bool) and 0 <= index(level) < LEVELS:
            return index(level)
    raise UnknownLevel(f"there is no level {quoted(level)}; levels are the integers 0 to {LEVELS - 1}")


def levels_of(knobs: str | Sequence[str], table: Sequence[Sequence[Any]], **shared: Any) -> list[dict[str, Any]]:
    """Mappings of knobs from the rows of a table, one per level; `shared` knobs are the same at all.

    Example:
        >>> levels_of("size walls", [(5, 2), (6, 3)], top=9)
        [{'size': 5, 'walls': 2, 'top': 9}, {'size': 6, 'walls': 3, 'top': 9}]
    """
    names = knobs.split() if isinstance(knobs, str) else knobs
    return [{**dict(zip(names, row, strict=True)), **shared} for row in table]


@dataclass(frozen=True, slots=True)
class Move:
    """One well-formed action: `key` is its normal form in words, `value` whatever the engine reads from it.

    Equal actions have equal keys: `up`, `3 2 5`, a whole answer. What is `named`, as `e4`, counts where nothing else is said.
    """

    key: str
    value: Any = None
    named: bool = field(default=False, repr=False, compare=False)


class Outcome(NamedTuple, Generic[S]):
    """What a step did: the new state, named rewards and typed events by seat, and whether the episode is over.

    A move that the rules forbid leaves the state as it was and gives its seat the event `illegal`.
    """

    state: S
    rewards: Rewards = NOTHING
    done: bool = False
    events: Events = NOTHING


@dataclass(frozen=True, slots=True)
class Plan:
    """A way to the best reward: `moves` of one seat from here, and how sure that is.

    `proof` is `construction` (the generator kept it), `solver` (exact; the shortest where the engine says so) or
    `policy` (stochastic worlds: the best next moves by estimate, so ask again after each step). `first` holds every
    first move that is as good as `moves[0]`; `value` is the total reward to expect; `because` says in a line how the solver came to it,
    where it can be said. Turns are the env's: late in an episode a plan may be longer than what is left of them.
    """

    moves: tuple[Move, ...]
    proof: str = "solver"
    first: tuple[Move, ...] = ()
    value: float = 1.0
    because: str = ""

    @property
    def exact(self) -> bool:
        """Whether the plan is sure, not an estimate."""
        return self.proof != "policy"


@dataclass(frozen=True, slots=True)
class Unsolvable:
    """No sequence of moves reaches any further reward from here; `reason` says why in a few words."""

    reason: str = ""


@dataclass(frozen=True, slots=True)
class Unknown:
    """The oracle gave up after `nodes` search nodes."""

    nodes: int


Answer = Plan | Unsolvable | Unknown


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """What a declaration says about its world, for policies (rules), tests (ceilings) and generated pages.

    Attributes:
        name: the registered name.
        rules: the rules and the caption's legend, as the policy reads them.
        answer: how an action is written, one sentence.
        example: one well-formed action, as `World.read` takes it.
        seats: who plays; a world with its opponent built in has the one seat `SOLO`.
        contest: several seats play against each other, and are paid at the end alone; one of which too many answers cannot be
            played forfeits. Where they play together it is False, and such answers cost turns that all share.
        proof: class of the oracle: `construction`, `solver` or `policy`.
        ceilings: highest mean reward, levels 2 to 9, of the players `random`, `constant`, `first` (first legal move)
            and `blind` (sees no state); tests hold the world to them.
        floor: lowest mean reward of a `policy` oracle over levels 0, 5 and 9; exact oracles must reach 1.
        sayings: event -> sentence, for scaffolds with text feedback; `{}` takes what follows `:` in the event.
        variety: least number of different instances among 10,000 seeds at level 5; small games have few.
        shared_starts: the start state does not depend on the seed, so splits cannot differ in layout.
    """

    name: str
    rules: str
    answer: str
    example: str
    seats: tuple[str, ...] = (SOLO,)
    contest: bool = True
    proof: str = "solver"
    ceilings: Mapping[str, float] = field(default_factory=dict)
    floor: float = 1.0
    sayings: Mapping[str, str] = field(default_factory=dict)
    variety: int = 9_000
    shared_starts: bool = False

    @property
    def exact(self) -> bool:
        """Whether the oracle's plans are sure, not estimates."""
        return self.proof != "policy"

    @property
    def forfeits(self) -> bool:
        """Whether a seat can lose to the others by answers that cannot be played."""
        return self.contest and len(self.seats) > 1


class Lens(Protocol[Seen]):
    """How one seat sees a state: pure methods that show only what the seat may know. Engines are their own lens."""

    def caption(self, state: Seen, seat: str, level: int) -> str:
        """Lines of text joined by newlines: level 1 the essentials, level 2 enough to rebuild all that is visible."""
        ...

    def legal(self, state: Seen, seat: str) -> tuple[Move, ...]:
        """The moves that change the state, or () where answers cannot be listed (use `sample`)."""
        ...

    def sample(self, state: Seen, seat: str, rng: Rng) -> Move:
        """A random well-formed move: uniform over the legal ones where they can be listed."""
        ...

    def scene(self, state: Seen, seat: str) -> Scene:
        """The picture as data."""
        ...

    def static(self, state: Seen, seat: str) -> tuple[str, ...]:
        """One word per thing that cannot change during the episode."""
        ...

    def moving(self, state: Seen, seat: str) -> tuple[str, ...]:
        """One word per thing that can change."""
        ...


class View(Generic[S]):
    """What a seat is shown: whether it is to move, its caption, legal moves, scene and words, all made when asked."""

    __slots__ = ("acts", "lens", "seat", "state")

    def __init__(self, lens: Lens[S], state: S, seat: str, acts: bool = True) -> None:
        self.lens = lens
        self.state = state
        self.seat = seat
        self.acts = acts

    def caption(self, level: int = 2) -> str:
        """The state in text; see `Lens.caption`."""
        if level not in CAPTION_LEVELS:
            raise UnknownLevel(f"there is no caption level {quoted(level)}; they are 0, 1 and 2")
        return self.lens.caption(self.state, self.seat, level) if level else ""

    def legal(self) -> tuple[Move, ...]:
        """The moves that change the state; see `Lens.legal`."""
        moves = self.lens.legal(self.state, self.seat)
        fine = type(moves) is tuple and (not moves or type(moves[0]) is Move)
        return moves if fine else self._looked_at("legal", moves)

    def sample(self, rng: Rng) -> Move:
        """A random well-formed move."""
        move = self.lens.sample(self.state, self.seat, rng)
        return move if type(move) is Move else self._looked_at("sample", move)

    def _looked_at(self, method: str, gave: Any) -> Any:
        from quintain.worlds.own import check_moves  # which stands on this module

        check_moves(self.lens, method, gave)
        return gave

    def scene(self) -> Scene:
        """The picture as data."""
        return self.lens.scene(self.state, self.seat)

    def static(self) -> tuple[str, ...]:
        """One word per thing that cannot change."""
        return self.lens.static(self.state, self.seat)

    def moving(self) -> tuple[str, ...]:
        """One word per thing that can change."""
        return self.lens.moving(self.state, self.seat)


class World(Protocol[S]):
    """A pure reducer over states of the frozen dataclass `schema`, made of ints, floats, strings, tuples and bytes.

    Rewards lie in [0, 1] in total per seat and episode; success is the component `success` = 1.
    """

    @property
    def facts(self) -> Facts:
        """Rules, seats, ceilings."""
        ...

    @property
    def schema(self) -> type[S]:
        """The dataclass of the state."""
        ...

    def start(self, seed: int, level: int, *, split: str = "train", **knobs: Any) -> S:
        """The instance that (seed, level, split, knobs) determine; knobs override what the level sets.

        Raises:
            UnknownLevel: the level lies outside 0..9.
            GenerationError: the knobs admit no instance.
        """
        ...

    def view(self, state: S, seat: str) -> View[S]:
        """What `seat` is shown."""
        ...

    def step(self, state: S, moves: Mapping[str, Move]) -> Outcome[S]:
        """Apply the moves of the seats that act. Never raises on a move that `read` made."""
        ...

    def solve(self, state: S, seat: str) -> Answer:
        """The oracle, from any reachable state."""
        ...

    def read(self, text: str, seat: str) -> Move | None:
        """The move that `text` spells (case and outer space ignored), or None. Never raises, whatever the text."""
        ...

    def rebuild(self, caption: str, seat: str) -> S:
        """A state that looks to `seat` like the one with this level-2 caption: same caption, scene, words, legal moves.

        What the seat cannot see holds any value. Tests use it to prove that captions leave nothing visible out.
        """
        ...

    def turns(self, state: S) -> int:
        """The turn budget of an episode that starts in `state`."""
        ...

    def words(self, level: int) -> tuple[str, ...]:
        """The whole lexicon of a level: every word of observations and actions, each once, in a fixed order."""
        ...


class Choices:
    """The moves of a world in which an action is one of a few words.

    Args:
        names: the action words, in their order; they are read in any case.
        synonyms: other spelling -> action word.

    Raises:
        BadChoice: two names are read alike, one is no text, or a synonym is of none of them.

    Example:
        >>> Choices("up", "down", synonyms={"north": "up"}).read(" North ")
        Move(key='up', value=None)
    """

    def __init__(self, *names: str, synonyms: Mapping[str, str] = NOTHING) -> None:
        if strange := [name for name in names if not isinstance(name, str)]:
            raise BadChoice(f"Choices: {quoted(strange[0])} is no text; write the action words one by one")
        self.moves = tuple(Move(name) for name in names)
        self._by_text = {m.key.strip().lower(): m for m in self.moves}
        if len(self._by_text) < len(names):
            raise BadChoice(f"Choices: of {quoted(names)} two are read alike; each action needs a word of its own")
        self._by_text.update({m.key: m for m in self.moves})
        self._by_text.update({other.lower(): self[name] for other, name in synonyms.items()})

    def __getitem__(self, name: str) -> Move:
        try:
            return self._by_text[name]
        except KeyError:
            raise BadChoice(unknown("action word", name, [m.key for m in self.moves])) from None

    def read(self, text: str) -> Move | None:
        """The move that `text` names, or None."""
        return self._by_text.get(text) or self._by_text.get(text[:64].strip().lower())


def digest(state: Any) -> str:
    """Equal states, equal digests (see `codec.digest_of`)."""
    return digest_of(state)


def diff(old: Any, new: Any, path: str = "") -> dict[str, tuple[Any, Any]]:
    """What changed between two states: path -> (old value, new value), as JSON values. Shared subtrees cost nothing.

    Example:
        >>> diff({"at": (1, 2), "keys": (3,)}, {"at": (1, 4), "keys": (3,)})
        {'at.1': (2, 4)}
    """
    if old is new:
        return {}
    one, two = _children(old), _children(new)
    if one is None or two is None or type(old) is not type(new) or one.keys() != two.keys():
        return {} if old == new else {path: (encode(old), encode(new))}
    out: dict[str, tuple[Any, Any]] = {}
    for key, value in one.items():
        out.update(diff(value, two[key], f"{path}.{key}" if path else str(key)))
    return out


def _children(value: Any) -> dict[Any, Any] | None:
    if is_dataclass(value):
        return {f.name: getattr(value, f.name) for f in fields(value)}
    if isinstance(value, Mapping):
        return dict(value)
    return dict(enumerate(value)) if isinstance(value, tuple | list) else None
