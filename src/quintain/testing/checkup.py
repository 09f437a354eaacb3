"""What a world of one's own gets wrong without an error: its methods are asked on many states, and what they give is compared with what a
world promises (`quintain.worlds.kernel`). `quintain doctor FILE.py` prints it."""

from __future__ import annotations

import contextlib
import io
import json
import math
import re
import statistics
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, field, fields
from typing import Any

from quintain.codec import decode, digest_of, dumps, hints
from quintain.envs.course import same
from quintain.envs.world import world_of
from quintain.registry import line_of, unknown
from quintain.testing.fuzz import trouble
from quintain.testing.worlds import acting, constant_player, first_player, play, random_player, shown, task_of
from quintain.worlds.kernel import LEVELS, Facts, Move, Outcome, Plan, Unsolvable, quoted
from quintain.worlds.noise import Rng
from quintain.worlds.own import BadWorld, check_gifts, check_outcome, check_start, solved
from quintain.worlds.painter import painted
from quintain.worlds.splits import SPLITS, split_of

SEEDS = 3  # instances of each level
TURNS = 12  # turns of each that are looked at one by one
MIDDLE, STARTS = 5, 100  # at which level starts are counted, and how many
TEXTS = 200  # that nobody should send
SLOW_S = 1.0  # of a start
SIGMAS = 4.5  # standard errors by which a player may be better than its ceiling
LEAK = 3  # moves of a plan that no caption may have in order
VARIETY = next(f.default for f in fields(Facts) if f.name == "variety")  # where none is declared
PLAYERS = ("random", "first", "constant", "blind")  # of whom facts have a ceiling


@dataclass
class Checkup:
    """What was found of one world, and how much was looked at."""

    name: str
    world: Any = None
    at: str = ""  # what is being looked at
    starts: dict[tuple[int, int], Any] = field(default_factory=dict)  # (level, seed) -> state
    turns: int = 0
    looked: str = "the rest is looked at once that is mended"
    found: dict[str, list[str]] = field(
        default_factory=dict
    )  # what is alike -> the first in full, and the places of all

    @contextlib.contextmanager
    def told(self, at: str = "") -> Iterator[None]:
        """What is raised inside, also an end of the program, is a finding; findings that differ in what was given are one."""
        self.at = at
        try:
            yield
        except (Exception, SystemExit) as error:
            kind = "" if isinstance(error, BadWorld) else f"{type(error).__name__}: "
            told = f"{kind}{error}{line_of(error)}".removeprefix(f"{self.name}: ")
            alike = re.sub(r"\d+", "", told.partition(" gave ")[0])
            self.found.setdefault(alike, [told]).append(self.at)

    @property
    def findings(self) -> list[str]:
        """A sentence each, with the place of the first that is like it."""
        out = []
        for told, at, *more in self.found.values():
            places = [at] * bool(at) + [f"and {len(more)} more like it"] * bool(more)
            out.append(f"{self.name}: {told}" + (f" ({', '.join(places)})" if places else ""))
        return out

    def __str__(self) -> str:
        n = len(self.found)
        what = f"{n} finding{'s' * (n != 1)}" if n else "nothing found"
        return f"{self.name}: {LEVELS} levels, {SEEDS} seeds each, {self.turns} turns: {what}; {self.looked}"


def examine(name: str) -> Checkup:
    """Look at a registered world: its facts, starts, random play, oracle and players, until something is found."""
    of, said = Checkup(name), io.StringIO()
    with contextlib.redirect_stdout(said):
        for stage in ((_facts,), (_starts,), (_walks,), (_oracle, _blind, _variety, _fuzzed)):
            for check in () if of.found else stage:
                with of.told():
                    check(of)
    with of.told():
        first = quoted(said.getvalue().split("\n")[0])
        _due(not said.getvalue(), f"standard output, where verbs write data, was printed to: it gave {first}")
    return of


def _due(kept: bool, broken: str) -> None:
    if not kept:
        raise BadWorld(broken)


def _facts(of: Checkup) -> None:
    fine = re.fullmatch(r"[A-Za-z]\w*", of.name) is not None
    _due(fine, f"it is registered as {of.name!r}; a name has letters, digits and _ alone")
    of.world = world_of(of.name)
    facts: Facts = of.world.facts
    for seat in facts.seats:
        read = of.world.read(facts.example, seat)
        fine = isinstance(read, Move)
        _due(fine, f"`read` gave {quoted(read)} for `facts.example`, {facts.example!r}; it should give a Move")
    for kind, ceiling in facts.ceilings.items():
        _due(kind in PLAYERS, f"`facts.ceilings`: {unknown('player', kind, PLAYERS)}")
        _due(0 <= ceiling <= 1, f"`facts.ceilings` gave {kind}={quoted(ceiling)}; it should give means from 0 to 1")


def _starts(of: Checkup) -> None:
    for level in range(LEVELS):
        for seed, split in (*enumerate(SPLITS), *((seed, SPLITS[0]) for seed in range(1, SEEDS))):
            with of.told(f"level {level}, seed {seed}, split {split}"):
                begun = time.process_time()
                state = of.world.start(seed, level, split=split)
                took = time.process_time() - begun
                _due(took <= SLOW_S, f"`start` gave a state after {took:.1f} s; {SLOW_S:g} s is the most")
                _written(of.world, "start", state)
                check_start(of.world, state, first=False)
                again = digest_of(of.world.start(seed, level, split=split))
                _due(digest_of(state) == again, "`start` gave two states for one seed: draw from an Rng of it alone")
                if split == SPLITS[0]:
                    of.starts[level, seed] = state


def _written(world: Any, method: str, state: Any) -> None:
    """Raises BadWorld where a state is none, or does not come back from a snapshot as it was; the field is named."""
    is_one = isinstance(state, world.schema)
    _due(is_one, f"`{method}` gave the state {quoted(state)}; it should give a {world.schema.__name__}, the `schema`")
    for f in fields(state):
        value, told = getattr(state, f.name), f"the field `{f.name}` of the state that `{method}` gave"
        try:
            back = decode(hints(world.schema)[f.name], json.loads(dumps(value)))
        except Exception as error:
            raise BadWorld(f"{told} cannot be written and read back: {error}") from error
        fine = not f.compare or same(back, value)
        _due(
            fine, f"{told}, {quoted(value)}, is read back as {quoted(back)}: annotate it as tuple[int, ...] or the like"
        )


def _walks(of: Checkup) -> None:
    """Random play: each state on the way is looked at, and what a seat earns."""
    for (level, seed), state in of.starts.items():
        with of.told(f"level {level}, seed {seed}"):
            earned, rng, outcome = dict.fromkeys(of.world.facts.seats, 0.0), Rng("doctor", seed, level), Outcome(state)
            _shown(of.world, state, level)
            turns = of.world.turns(state)
            for _ in range(min(turns, TURNS)):
                outcome = _turn(of.world, outcome.state, rng)
                of.turns += 1
                _shown(of.world, outcome.state, level)
                for seat, rewards in outcome.rewards.items():
                    earned[seat] += sum(rewards.values())
                    told = f"`step` gave {earned[seat]:g} to {seat!r} in one episode; it should give from 0 to 1 in all"
                    _due(-1e-9 <= earned[seat] <= 1 + 1e-9, told)
                if outcome.done:
                    break


def _turn(world: Any, state: Any, rng: Rng) -> Outcome[Any]:
    """What a random turn gives, made twice; its moves, and others that are offered, are read from their texts."""
    views, before, moves = acting(world, state), digest_of(state), {}
    _due(bool(views), "`view` gave no seat a View that `acts`; it should until the episode is over")
    for seat, view in views.items():
        moves[seat] = view.sample(rng)
        for method, move in (("sample", moves[seat]), *(("legal", move) for move in view.legal()[:9])):
            again = world.read(move.key, seat)
            fine = isinstance(again, Move) and again.key == move.key
            _due(fine, f"`{method}` gave the move {move.key!r}, and `read` of that {quoted(again)}, which is another")
    outcome = world.step(state, moves)
    check_outcome(world, outcome)
    _written(world, "step", outcome.state)
    twice = digest_of(tuple(outcome)) == digest_of(tuple(world.step(state, moves)))
    _due(twice, "`step` gave two outcomes for one state and one move: a state should hold the noise that is to come")
    kept = digest_of(state) == before
    _due(kept, "`view`, `legal`, `sample` or `step` changed the state that it was given; give replace(state, ...)")
    return outcome


def _shown(world: Any, state: Any, level: int) -> None:
    """Raises where what seats are shown is not what it should be, or cannot be made."""
    check_gifts(world, state)
    before, known = digest_of(state), set(world.words(level)) if hasattr(world, "words") else None
    for seat in world.facts.seats:
        seen = shown(world, state, seat)
        seen["full"].encode()  # half a surrogate pair is no text
        painted(seen["scene"], 64)
        for method in ("static", "moving"):
            strange = [word for word in seen[method] if known is not None and word not in known]
            _due(not strange, f"`{method}` gave {strange[:1]}; it should give words of `words({level})`")
    _due(digest_of(state) == before, "`view`, or what it shows, changed the state that it was given")


def _oracle(of: Checkup) -> None:
    """A sure plan of a single seat is what leads to the end, and no caption has it."""
    world, seat = of.world, of.world.facts.seats[0]
    for (level, seed), state in of.starts.items() if hasattr(world, "solve") else ():
        with of.told(f"level {level}, seed {seed}"):
            plan = solved(world, state, seat)
            lost = isinstance(plan, Unsolvable) and world.facts.exact
            _due(not lost, f"`solve` gave {quoted(plan)} for a start; it should give a Plan")
            if isinstance(plan, Plan) and plan.exact and len(world.facts.seats) == 1:
                _kept(of, state, plan)
                keys = [move.key for move in plan.moves]
                in_order = r"\W{1,4}".join(map(re.escape, keys))
                leaked = re.search(rf"\b{in_order}\b", world.view(state, seat).caption())
                chance = len(keys) < LEAK or len("".join(keys)) < 3 * LEAK  # three letters are soon found in a list
                _due(chance or not leaked, f"`caption` gave the oracle's whole plan, {leaked and quoted(leaked[0])}")


def _kept(of: Checkup, state: Any, plan: Plan) -> None:
    """Raises where a plan is not what happens when it is played: `demos --why` announces it."""
    (seat,), total, played, turns = of.world.facts.seats, 0.0, 0, of.world.turns(state)
    done, told = False, f"`solve` of a start gave a plan of {len(plan.moves)} move{'s' * (len(plan.moves) != 1)}"
    _due(len(plan.moves) <= turns, f"{told}, and `turns` {turns}")
    for move in plan.moves:
        if not done:
            state, rewards, done, _ = of.world.step(state, {seat: move})
            total, played = total + sum(rewards.get(seat, {}).values()), played + 1
    of.turns += played
    _due(bool(done), f"{told}, which does not end the episode; `demos --why` would announce it")
    _due(played == len(plan.moves), f"{told}, and the episode ends after {played}; `demos --why` would announce all")
    _due(total >= plan.value - 1e-9, f"{told}, which earns {total:g}; it promises {plan.value:g}")


def _blind(of: Checkup) -> None:
    """Players who do not look earn no more than is declared."""
    rng, moves = Rng("constant", of.name), {}
    for state in list(of.starts.values())[2 * SEEDS :]:
        for view in acting(of.world, state).values():
            move = view.sample(rng)
            moves.setdefault(move.key, move)
    constant = [("constant", constant_player(move)) for move in list(moves.values())[:3]]
    judged = [task_of(of.name, 1000 + seed, level) for level in range(2, LEVELS) for seed in range(SEEDS)]
    for kind, player in (("random", random_player(of.name)), ("first", first_player), *constant):
        mean, n = statistics.mean(play(task, player).reward for task in judged), len(judged)
        ceiling = of.world.facts.ceilings.get(kind, 1.0)
        room = SIGMAS * math.sqrt(ceiling * (1 - ceiling) / n) + 1 / n
        told = f"the {kind} player earns {mean:.2f} in {n} episodes; `facts.ceilings` gave {ceiling:g}"
        _due(mean <= ceiling + room, told)


def _variety(of: Checkup) -> None:
    """Starts of one level differ, as many as is declared, and where a world knows splits they share none."""
    facts, start, kinds = of.world.facts, of.world.start, type(of.world).__mro__[:-1]
    train = {digest_of(start(seed, MIDDLE, split="train")) for seed in range(STARTS)}
    of.looked = f"{len(train)} of {STARTS} starts of level {MIDDLE} differ"
    if facts.shared_starts:
        return
    declared = facts.variety * STARTS / 10_000 if facts.variety != VARIETY else 0.0
    least = max(2, declared - SIGMAS * math.sqrt(declared))
    _due(len(train) >= least, f"{of.looked}; `facts.variety` gave {facts.variety} of 10,000")
    there = [value for kind in kinds for value in vars(sys.modules[kind.__module__]).values()]
    if any(getattr(value, "__module__", "") == split_of.__module__ for value in there):  # it knows splits
        both = train & {digest_of(start(seed, MIDDLE, split="test")) for seed in range(STARTS // 4)}
        _due(not both, f"{len(both)} starts of level {MIDDLE} are in the splits train and test; they should share none")


def _fuzzed(of: Checkup) -> None:
    for told in trouble(of.name, TEXTS)[:1]:
        raise BadWorld(f"of what nobody should say, {told.removeprefix(f'{of.name}: ')}")
