"""Actions that nobody should send: whatever a policy says, a world answers; what cannot be read changes nothing and earns nothing."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Any

from quintain.envs.grammar import GRAMMARS
from quintain.envs.scaffold import Scaffold
from quintain.envs.world import WorldEnv, world_of
from quintain.registry import names
from quintain.testing.worlds import acting, task_of
from quintain.types import Message, QuintainError, Stop
from quintain.worlds.kernel import LEVELS
from quintain.worlds.noise import Rng

ODD = (
    *"\0\t\n\r \x1b\x7f\u00a0\u202e\u2028\ufeff\ufffd\U0001f642é中٣²½−“”’…",
    *"{}[]()<>\"'`\\/|,;:.-+*=#%&@!?~^_$",
    *"0123456789abcxyzABCXYZ",
)
PIECES = (
    "<action>",
    "</action>",
    '{"action": ',
    '"',
    "}",
    "NaN",
    "1e999",
    "-0",
    "none",
    "null",
    "true",
    "\\u0000",
    "%s",
    "../",
)
LONG = 2000  # repeats of a piece in the longest texts
STARTS = 5  # instances of each level
TOLD = 5  # findings of one world before its fuzzing ends


def texts(name: str, seed: int) -> Iterator[str]:
    """Actions without end: odd characters, answers of this world and of others bent in one to four places, and far too much of both."""
    rng = Rng("fuzz", name, seed)
    others = [world_of(other).facts.example for other in names("world")]
    world = world_of(name)
    states = [world.start(0, level) for level in range(LEVELS)]
    views = [world.view(state, next(iter(acting(world, state)), world.facts.seats[0])) for state in states]
    while True:
        good = rng.pick(views).sample(rng).key
        kind = rng.below(10)
        if kind < 6:
            yield _bent(rng, rng.pick((good, good, world.facts.example)))
        elif kind == 6:
            yield _bent(rng, rng.pick(others))
        elif kind == 7:
            yield "".join(rng.pick(ODD) for _ in range(rng.below(40)))
        elif kind == 8:
            yield "".join(rng.pick((*PIECES, good)) for _ in range(1 + rng.below(8)))
        else:
            yield rng.pick((*PIECES, *ODD, good, f"{good} ", f"{good};")) * (2 + rng.below(LONG))


def _bent(rng: Rng, text: str) -> str:
    for _ in range(1 + rng.below(4)):
        at = rng.below(len(text) + 1)
        what = rng.below(5)
        piece = rng.pick(ODD) if what < 3 else rng.pick(PIECES)
        end = at if what in (0, 3) else at + 1 + rng.below(3)
        text = text[:at] + ("" if what == 2 else piece) + text[end:]
    return text


def trouble(name: str, count: int, seed: int = 0) -> list[str]:
    """What goes wrong when `count` such texts, and legal moves among them, are played through every grammar of text and at every level.

    Returns:
        A sentence each: an exception, a reward or a changed state for what cannot be read, more than 1 earned in an episode. Texts
        that happen to be moves are played as such.
    """
    plain = [grammar for grammar, facts in GRAMMARS.items() if not facts.tools]
    envs = [WorldEnv(world_of(name), Scaffold(grammar=grammar, caption=1, rules=False)) for grammar in plain]
    earned: list[dict[str, float]] = [{} for _ in envs]
    rng, found = Rng("fuzzed", name, seed), list[str]()
    for text in islice(texts(name, seed), count):
        at = rng.below(len(envs))
        env = envs[at]
        if env.stop is not None or env.task is None or rng.below(30) == 0:
            env.begin(task_of(name, rng.below(STARTS), rng.below(LEVELS)))
            earned[at] = {}
        if rng.below(4) == 0 and env.movers:  # a move of this very state, so that episodes get on
            text = _now(env, rng)
        try:
            found += _played(env, text, earned[at])
        except QuintainError as error:
            found.append(f"{text[:200]!r} raises {error!r}")
        except Exception as error:  # any other is worse
            found.append(f"{text[:200]!r} makes {type(error).__name__}: {error}")
        if len(found) >= TOLD:
            break
    return [f"{name}: {one}" for one in found]


def _now(env: WorldEnv, rng: Rng) -> str:
    """A legal move of the present state, as the grammar writes it."""
    view = env.world.view(env.state, sorted(env.movers)[0])
    return env.reader.grammar.write(view.sample(rng).key).text


def _played(env: WorldEnv, text: str, earned: dict[str, float]) -> Iterator[str]:
    """One text said by every seat that is to move; `earned` adds up an episode."""
    before, said = env.state, {seat: Message.of("assistant", text) for seat in env.movers}
    unread = [seat for seat, message in said.items() if env.reader.read(message, seat) is None]
    heard: dict[str, Any] = env.advance(said)
    for seat in unread:
        if heard[seat].reward or heard[seat].events[:1] != ("malformed",):
            yield f"{text[:200]!r} cannot be read and has the reward {heard[seat].reward}, the events {heard[seat].events}"
    if unread and env.state is not before:
        yield f"{text[:200]!r} cannot be read and changes the state"
    for seat, feedback in heard.items():
        earned[seat] = earned.get(seat, 0.0) + sum(feedback.reward.values())
        if earned[seat] > 1 + 1e-9:
            yield f"{text[:200]!r} brings {seat} to {earned[seat]:.3g} in one episode"
    if env.stop is Stop.parse_error:
        yield f"{text[:200]!r} ends an episode that is not strict"
