"""The search of the games whose frames are many: best first along legs that a game proposes, then turn by turn through its rules."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from quintain.worlds.engines.arcade.loop import GOAL, Frame, Rules
from quintain.worlds.kernel import Answer, Plan, Unknown, Unsolvable

Leg = tuple[tuple[str, ...], Frame]  # action words, and the frame after them
Legs = Callable[[Frame], Iterable[Leg]]
Path = tuple[Any, str] | None  # the path before, and the action after it
LIMIT = 4000  # frames that the search turn by turn opens before it gives up; generators need none


def words_of(path: Path) -> tuple[str, ...]:
    """The actions of a path, the first one first."""
    out = []
    while path:
        path, word = path
        out.append(word)
    return tuple(out[::-1])


def played(rules: Rules, frame: Frame, words: Iterable[str]) -> Frame:
    """The frame after some actions, or that in which the game ended."""
    for word in words:
        if frame.over:
            break
        frame = rules.advance(frame, word)
    return frame


def quest(
    start: Frame, legs: Legs, worth: Callable[[Frame], Any], limit: int, least: Callable[[Frame], int] | None = None
) -> tuple[str, ...] | int:
    """The actions of a way to win, least `worth` first; if none was found, how many frames may be opened, or, negative, how many were all.

    With `least`, the fewest legs that a frame still needs, it gives up as soon as too few may be opened. The legs of a frame must
    then come in order of `worth`, and a frame of less `worth` must not need more legs: each leg is made when it is the next to look at.
    """
    heap: list[tuple[Any, int]] = [(worth(start), 0)]
    made: list[tuple[int, tuple[str, ...], Frame]] = [(-1, (), start)]
    later: dict[int, Iterator[Leg]] = {}  # of frames made twice: the legs that come after the one that led there
    seen, nodes = {start}, 0
    while heap:
        index = heapq.heappop(heap)[1]
        ways = later.pop(index, None)
        if ways is not None:
            index = made[index][0]
        elif nodes + (least(made[index][2]) if least else 1) > limit:
            return limit
        else:
            nodes, ways = nodes + 1, iter(legs(made[index][2]))
        for words, after in ways:
            if after.over == GOAL:
                out = [words]
                while index > 0:
                    out.append(made[index][1])
                    index = made[index][0]
                return tuple(word for part in reversed(out) for word in part)
            if not after.over and after not in seen:
                seen.add(after)
                made.append((index, words, after))
                heapq.heappush(heap, (worth(after), len(made) - 1))
                if least:
                    made.append(made[-1])
                    later[len(made) - 1] = ways
                    heapq.heappush(heap, (worth(after), len(made) - 1))
                    break
    return -nodes


def answered(
    rules: Rules,
    frame: Frame,
    legs: Legs,
    worth: Callable[[Frame], Any],
    limit: int,
    last: int = LIMIT,
    least: Callable[[Frame], int] | None = None,
) -> Answer:
    """A plan along `legs` if there is one in `limit` frames, otherwise what the search turn by turn says, of `last` frames at most.

    `least` is as in `quest`.
    """
    if frame.over:
        return Unsolvable("the episode is over")
    actions = rules.actions

    def steps(now: Frame) -> Iterator[Leg]:
        for move in actions.moves:
            yield (move.key,), rules.advance(now, move.key)

    found = quest(frame, legs, worth, limit, least)
    if isinstance(found, int):
        found = quest(frame, steps, lambda now: now.turn, last)
    if isinstance(found, int):
        return Unknown(found) if found > 0 else Unsolvable("every way was tried")
    return Plan(tuple([actions[word] for word in found]))
