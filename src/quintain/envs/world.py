"""A world as an env: one value, the scaffold, says how it is shown and how it is answered."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import Any

from quintain.codec import decode, encode
from quintain.envs.grammar import GRAMMARS, Grammar, act_tool
from quintain.envs.scaffold import REFUSED, SPARE, STYLES, Scaffold, sentences
from quintain.envs.snapshots import BadSnapshot as BadSnapshot
from quintain.envs.snapshots import sealed, verify
from quintain.envs.spelling import agreed, fitting, spelt
from quintain.messages import Image, Message, Role, Text, ToolResult
from quintain.ports import Env
from quintain.registry import build, register
from quintain.types import Feedback, QuintainError, Stop, Task
from quintain.worlds.kernel import NOTHING, WON, Events, Move, Rewards, World
from quintain.worlds.knobs import started
from quintain.worlds.own import check_gifts, check_outcome, check_start, checked, of_ones_own
from quintain.worlds.painter import Painter, painted

KEPT, STARTS = 4096, 512  # readings of short messages, and first states (some of 100 kB), that are remembered
SHORT = 200  # characters of a message whose reading is remembered
MALFORMED = ("malformed",)
HELD = ("held",)  # an answer that was read, and not played: that of a seat that moves at the same time was not
# what an env of the same world takes over as it is
CARRIED = ("task", "state", "turn", "limit", "stop", "past", "unheard", "refused")


class NoEpisode(QuintainError):
    """A world env was asked to step or to be stepped by the wrong seats."""


class Reader:
    """Starts episodes, reads moves, puts events into words, and remembers all three; envs of one world share it.

    Args:
        world: says what an action's text means.
        scaffold: says how actions are written.
    """

    def __init__(self, world: World[Any], scaffold: Scaffold) -> None:
        self.world = world
        self.own = of_ones_own(world)
        self.grammar: Grammar = GRAMMARS[scaffold.grammar]
        self.known: dict[tuple[str, str], Move | None] = {}
        self.spoken: dict[tuple[Any, ...], str] = {}
        self.starts: dict[tuple[Any, ...], Any] = {}

    def read(self, message: Message, seat: str) -> Move | None:
        """The move of `seat` that the message holds, or None."""
        parts = message.parts
        if len(parts) != 1 or type(parts[0]) is not Text:
            return self.look(message, seat)
        key = (parts[0].text, seat)
        try:
            return self.known[key]
        except KeyError:
            move = self.look(message, seat)
            if len(key[0]) <= SHORT:
                if len(self.known) >= KEPT:
                    self.known.clear()
                self.known[key] = move
            return move

    def start(self, task: Task) -> Any:
        """The first state of a task; the members of a group share one, as states never change."""
        plain = type(task.seed) is type(task.level) is int  # True and 1.0 are equal to 1, and none of a world's
        params = task.params
        key = (task.seed, task.level, task.split, repr(params) if params or type(params) is not dict else "")
        state = self.starts.get(key) if plain else None
        if state is None:
            state = started(self.world, task.seed, task.level, task.split, params)
            if self.own:
                check_start(self.world, state, first=not self.starts)
            if len(self.starts) >= STARTS:
                self.starts.clear()
            self.starts[key] = state
        return state

    def say(self, events: tuple[str, ...], stop: Stop | None = None, bad: int = 0, fits: tuple[str, ...] = ()) -> str:
        """What the events of a turn read like, also of the one in which the episode stopped; see `sentences`."""
        key = events, stop, bad, fits
        if key not in self.spoken:
            if len(self.spoken) >= KEPT:
                self.spoken.clear()
            said = sentences(events, self.world.facts, stop, bad, fits)
            wanting = stop is None and MALFORMED[0] in events
            self.spoken[key] = f"{said} {self.grammar.want}".rstrip() if wanting else said
        return self.spoken[key]

    def look(self, message: Message, seat: str) -> Move | None:
        """Try the candidates of the grammar in turn, each in its spellings; then single words, if they name one action alone."""
        for found in self.grammar.find(message):
            move = spelt(found, lambda text: self.world.read(text, seat))
            if move is not None:
                return move
        return agreed(self.grammar.words(message), lambda word: self.world.read(word, seat))


class WorldEnv:
    """Plays one world through one scaffold; matches `ports.Env`. Forking it costs a few pointers.

    A move that cannot be read leaves the state as it is, costs a turn and the scaffold's penalty, and is the event
    `malformed`; one that the world's rules forbid is the event `illegal`. In a contest such answers are no turns: each seat may
    give two, and the third (the first unreadable one where the scaffold is strict) is the event `forfeit` and ends the episode,
    which the other seats win; for them it is `done`. What seats say at once is played together or not at all: who could be read while
    another could not has the event `held`.

    Args:
        world: what is played.
        scaffold: how it is shown and answered.
        reader: one that another env of the same world and scaffold has.

    Example:
        >>> import asyncio
        >>> env = WorldEnv(build("world", "KeyDoor"), Scaffold.of({"style": "words"}))
        >>> first = asyncio.run(env.reset(Task(key="demo", env="KeyDoor", seed=1, level=2)))
        >>> first["agent"].messages[0].text.split()[-3:]
        ['P44', 'a33', 'A42']
    """

    def __init__(self, world: World[Any], scaffold: Scaffold | None = None, reader: Reader | None = None) -> None:
        self.world = world
        self.scaffold = scaffold or Scaffold()
        self.facts = world.facts
        self.reader = reader or Reader(world, self.scaffold)
        self.style = STYLES[self.scaffold.style]
        self.tools = (act_tool(self.facts.answer),) if self.reader.grammar.tools else ()
        self.painters = {seat: Painter(self.scaffold.image) for seat in self.facts.seats} if self.scaffold.image else {}
        self.task: Task | None = None
        self.state: Any = None
        self.turn = 0
        self.limit = 0
        self.stop: Stop | None = None
        self.movers: set[str] = set()
        self.past: Mapping[str, tuple[str, ...]] = NOTHING  # what each seat did last; nobody is told what another did
        self.unheard: Mapping[str, tuple[str, ...]] = NOTHING  # events of who did not act, to be told when it does
        self.refused: Mapping[str, int] = NOTHING  # answers of each seat that could not be played, in a contest
        self.calls: dict[str, str] = {}

    async def reset(self, task: Task) -> Mapping[str, Feedback]:
        """Start the episode of a task: its params are knobs of the world."""
        return self.begin(task)

    async def step(self, moves: Mapping[str, Message]) -> Mapping[str, Feedback]:
        """Apply the moves of the seats that act."""
        return self.advance(moves)

    def begin(self, task: Task) -> dict[str, Feedback]:
        """`reset` without a coroutine."""
        self.task, self.turn, self.stop, self.past, self.unheard, self.calls = task, 0, None, NOTHING, NOTHING, {}
        self.refused = NOTHING
        self.state = self.reader.start(task)
        try:
            own = self.world.turns(self.state)
            self.limit = min(own, self.scaffold.turns or own)
            out = self.seen()
        except (Exception, SystemExit):
            check_gifts(self.world, self.state)
            raise
        self.movers = {seat for seat, said in out.items() if said.acts}
        return out

    def seen(self) -> dict[str, Feedback]:
        """What every seat is shown of the present state: at the start the opening, later an observation in which nothing happened."""
        out, scaffold = {}, self.scaffold
        for seat in self.facts.seats:
            view = self.world.view(self.state, seat)
            if self.turn:
                text = self.style.go_on(view, self._said("", seat), scaffold)
            else:
                text = self.style.open(view, self.facts, scaffold, self.limit)
            out[seat] = Feedback(
                messages=(self._message(text, seat, view),),
                stop=self.stop,
                acts=view.acts and self.stop is None,
                tools=self.tools,
                state=self.state,
            )
        return out

    def advance(self, moves: Mapping[str, Message]) -> dict[str, Feedback]:
        """`step` without a coroutine.

        Raises:
            NoEpisode: no episode is under way, or other seats are to move.
        """
        if self.stop is not None or self.task is None:
            raise NoEpisode(f"{self.facts.name}: the episode is over or was never begun; call reset first")
        if moves.keys() != self.movers:
            raise NoEpisode(f"{self.facts.name}: {sorted(self.movers)} are to move, not {sorted(moves)}")
        read, before = self.reader.read, self.state
        readings: dict[str, Any] = {}
        try:
            for seat, message in moves.items():
                readings[seat] = read(message, seat)
                if self.tools:
                    self.calls[seat] = next((call.id for call in message.tool_calls), "")
            self.turn += 1
            if None in readings.values():
                rewards, events = NOTHING, {s: MALFORMED if move is None else HELD for s, move in readings.items()}
                self.stop = Stop.parse_error if self.scaffold.strict else None
            else:
                outcome = self.world.step(before, readings)
                if self.reader.own:
                    check_outcome(self.world, outcome)
                self.state, rewards, done, events = outcome
                self.stop = Stop.done if done else None
                if most := self.scaffold.history:
                    did = {seat: (*self.past.get(seat, ()), move.key)[-most:] for seat, move in readings.items()}
                    self.past = {**self.past, **did}
            if self.facts.forfeits and self.stop is not Stop.done:
                rewards, events = self._held(rewards, events, before)
            if self.stop is None and self.turn >= self.limit:
                self.stop = Stop.truncated_turns
            return self._answers(readings, rewards, events)
        except (Exception, SystemExit):
            check_gifts(self.world, before, readings)
            raise

    def _held(self, rewards: Rewards, events: Events, before: Any) -> tuple[Rewards, Events]:
        """Hold answers that could not be played against their seats: they take no turn, and one too many ends the episode."""
        wrong = [seat for seat, said in events.items() if not REFUSED.keys().isdisjoint(said)]
        if not wrong:
            return rewards, events
        self.refused = {**self.refused, **{seat: self.refused.get(seat, 0) + 1 for seat in wrong}}
        self.turn -= self.state is before
        lost = wrong if self.stop else [seat for seat in wrong if self.refused[seat] > SPARE]
        if not lost:
            return rewards, events
        self.stop = self.stop or Stop.done
        others = [seat for seat in self.facts.seats if seat not in lost]
        won = "walkover" if len(self.facts.seats) == 2 else f"walkover_of:{' and '.join(lost)}"
        ends = dict.fromkeys(lost, "forfeit") | dict.fromkeys(others, won)
        return dict.fromkeys(others, WON), {seat: (*events.get(seat, ()), end) for seat, end in ends.items()}

    def _answers(self, readings: Mapping[str, Move | None], rewards: Rewards, events: Events) -> dict[str, Feedback]:
        out, stop, scaffold = {}, self.stop, self.scaffold
        self.movers.clear()
        for seat in self.facts.seats:
            view = self.world.view(self.state, seat)
            happened = events.get(seat, ())
            reward = rewards.get(seat, NOTHING)
            move = readings.get(seat)
            if happened and scaffold.penalty and not REFUSED.keys().isdisjoint(happened):
                reward = {**reward, "malformed": -scaffold.penalty}
            acts = view.acts and stop is None
            if acts:
                self.movers.add(seat)
            messages: tuple[Message, ...] = ()
            if acts or stop is not None:
                heard = self._heard(seat, happened)
                fits = fitting(move, view) if move is not None and "illegal" in happened else ()
                speaks = scaffold.feedback and (heard or stop is not None)
                said = self.reader.say(heard, stop, self.refused.get(seat, 0), fits) if speaks else ""
                messages = (self._message(self.style.go_on(view, self._said(said, seat), scaffold), seat, view),)
            elif happened:
                self.unheard = {**self.unheard, seat: (*self.unheard.get(seat, ()), *happened)}
            out[seat] = Feedback(
                messages=messages,
                reward=reward,
                stop=Stop.done if happened and happened[-1].startswith("walkover") else stop,
                acts=acts,
                events=happened,
                action=move.key if move is not None else "",
                state=self.state,
            )
        return out

    def _heard(self, seat: str, happened: tuple[str, ...]) -> tuple[str, ...]:
        """What a seat is told of now: also what happened while it had nothing to say."""
        if seat not in self.unheard:
            return happened
        happened = (*self.unheard[seat], *happened)
        self.unheard = {other: events for other, events in self.unheard.items() if other != seat}
        return happened

    def _said(self, said: str, seat: str) -> str:
        if seat in self.past:
            said = f"{said}\nLast actions: {', '.join(self.past[seat])}.".lstrip()
        if self.scaffold.countdown and self.stop is None:
            said = f"{said}\nTurns left: {self.limit - self.turn}.".lstrip()
        return said

    def _message(self, text: str, seat: str, view: Any) -> Message:
        call = self.calls.get(seat) if self.calls else None
        body: Any = Text(text=text) if call is None else ToolResult(text=text, id=call)
        role = Role.user if call is None else Role.tool
        if not self.painters:
            return Message(role, (body,))
        if self.stop is None:
            return Message(role, (body, Image(pixels=self.painters[seat].paint(view.scene()))))
        side = self.scaffold.image
        # no policy answers to the last picture, so it is painted only for those who look at it
        return Message(role, (body, Image.late(lambda: painted(view.scene(), side))))

    def snapshot(self) -> Any:
        """The episode as a JSON value.

        Raises:
            NoEpisode: none was begun.
        """
        if self.task is None:
            raise NoEpisode(f"{self.facts.name}: no episode was begun; call reset first")
        held = {
            "task": encode(self.task),
            "state": encode(self.state),
            "turn": self.turn,
            "limit": self.limit,
            "stop": self.stop,
            "past": {seat: list(keys) for seat, keys in self.past.items()},
            "unheard": {seat: list(events) for seat, events in self.unheard.items()},
            "refused": dict(self.refused),
            "calls": dict(self.calls),
        }
        return sealed(self.facts.name, self.world.schema, held)

    def restore(self, snapshot: Any) -> None:
        """Go back to what `snapshot` gave, in this or another env of the same world and scaffold.

        Raises:
            BadSnapshot: it is none of this world, its states had another schema when it was made, or it was changed since; the env stays
                as it was.
        """
        verify(self.facts.name, self.world.schema, snapshot)
        other = WorldEnv(self.world, self.scaffold, self.reader)
        try:
            other._take(snapshot)
        except Exception as error:  # whatever a state that is no state of the world makes its code do
            what = f"{type(error).__name__}: {error}"
            raise BadSnapshot(
                f"{self.facts.name}: the snapshot cannot be read ({what:.200}); give back what snapshot() gave"
            ) from error
        for name in (*CARRIED, "calls", "movers"):
            setattr(self, name, getattr(other, name))

    def _take(self, snapshot: Mapping[str, Any]) -> None:
        self.task = decode(Task, snapshot["task"])
        self.state = decode(self.world.schema, snapshot["state"])
        self.turn, self.limit = int(snapshot["turn"]), int(snapshot["limit"])
        self.stop = Stop(snapshot["stop"]) if snapshot["stop"] else None
        self.past = {seat: tuple(map(str, keys)) for seat, keys in snapshot["past"].items()}
        self.calls = dict(snapshot["calls"])
        self.unheard = {seat: tuple(map(str, events)) for seat, events in snapshot["unheard"].items()}
        self.refused = {seat: int(count) for seat, count in snapshot["refused"].items()}
        if self.task is None:
            raise ValueError("there is no task")
        views = {seat: self.world.view(self.state, seat) for seat in self.facts.seats}
        for view in views.values():
            for look in (view.caption, view.legal, view.scene):  # most that is no state of the world fails here
                look()
        self.movers = {seat for seat, view in views.items() if self.stop is None and view.acts}

    def fork(self) -> WorldEnv:
        """A second env in the same state; the two go on apart."""
        other = WorldEnv(self.world, self.scaffold, self.reader)
        for name in CARRIED:
            setattr(other, name, getattr(self, name))
        other.calls, other.movers = dict(self.calls), set(self.movers)
        return other

    async def close(self) -> None:
        """There is nothing to free."""


@functools.lru_cache(maxsize=256)
def world_of(name: str) -> World[Any]:
    """The registered world of that name; worlds are values, so one is enough."""
    return checked(build("world", name), name)


@register("env", "world")
def world(scaffold: Mapping[str, Any] | Scaffold | None = None) -> Callable[[Task], Env]:
    """Envs of the worlds that tasks name, all through one scaffold; a task's params are knobs of its world.

    Args:
        scaffold: a `Scaffold` or its options.

    Raises:
        UnknownName: there is no such option, grammar or style; (when playing) no such world.
    """
    chosen = Scaffold.of(scaffold)
    readers: dict[str, Reader] = {}

    def make(task: Task) -> Env:
        reader = readers.get(task.env)
        if reader is None:
            reader = readers[task.env] = Reader(world_of(task.env), chosen)
        return WorldEnv(reader.world, chosen, reader)

    return make
