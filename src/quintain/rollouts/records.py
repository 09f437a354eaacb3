"""The plain lists of a finished seat as a trajectory."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from quintain.rollouts.hints import SAID, filled, middles, parted, told
from quintain.rollouts.seats import Row, Seat
from quintain.types import Ints, Kind, Message, Node, Role, Stop, Text, Tool, Trajectory


def trajectory(seat: Seat, name: str, episode: int) -> Trajectory:
    """The record of a seat whose episode is over; what was heard after its last turn becomes nodes without tokens."""
    said = " ".join(m.text for m in seat.fresh)[:SAID]
    if seat.fresh:
        seat._note((), Kind.obs if seat.line else Kind.prompt)
    turn_rewards = tuple(seat.turn_rewards)
    digests = tuple(seat.digests)
    nodes, tags = _apart(seat, said, tuple([_node(row, seat.name) for row in seat.rows]))
    return Trajectory(
        id=name,
        nodes=nodes,
        stop=seat.stop or Stop.crashed,
        rewards=seat.rewards,
        turn_rewards=turn_rewards,
        digests=digests,
        next_digests=(*digests[1:], seat.digest) if digests else (),
        actions=tuple(seat.actions),
        events=tuple(seat.events),
        episode=episode,
        agent=seat.name,
        role=seat.role,
        tags=tags,
        states=tuple(seat.states),
    )


def _apart(seat: Seat, said: str, nodes: tuple[Node, ...]) -> tuple[tuple[Node, ...], dict[str, Any]]:
    """The nodes with the hint in one of its own, and as tags the token ids that may stand in its place."""
    tags: dict[str, Any] = {} if _plain(seat) else {"plain": False}
    for row, messages, tools in reversed(seat.openings):  # from the last on, as parting moves those behind
        assert seat.hint is not None and seat.hinted is not None
        first, ids = _places(seat, said, messages, tools)
        shown = seat.hint.text if seat.hint.shown else ""
        nodes = parted(nodes, row, (first, len(ids["hint" if shown else "bare"])), (seat.hinted[1].text, shown))
        tags |= ids
    return nodes, tags


def _places(seat: Seat, said: str, messages: Sequence[Message], tools: Sequence[Tool]) -> tuple[int, dict[str, Ints]]:
    """How many tokens stand before the hint, and the ids `hint`, `bare` (without one) and `critique` that may stand there."""
    assert seat.hint is not None and seat.hinted is not None
    at, message = seat.hinted
    bare = [*messages[:at], message, *messages[at + 1 :]]
    words = {"bare": "", "hint": seat.hint.text}
    if seat.hint.critique:
        facts = {**seat.hint.facts, "said": said, "reward": sum(seat.rewards.values())}
        words["critique"] = filled("critique", seat.hint.critique, facts)
    first, ids = middles([seat.renderer.open(told(bare, at, w) if w else bare, tools) for w in words.values()])
    return first, dict(zip(words, ids, strict=True))


def _plain(seat: Seat) -> bool:
    """Whether the texts of the nodes are all that the renderer saw: no tools, names, pictures or tool results."""
    return not seat.tools and not any(
        m.name or (len(m.parts) > 1) or (m.parts and type(m.parts[0]) is not Text)
        for m in seat.history
        if m.role is not Role.assistant
    )


def _node(row: Row, agent: str) -> Node:
    n, completion = len(row.tokens), row.completion
    if completion is None:
        return Node(
            parent=row.parent,
            role=row.role,
            kind=row.kind,
            tokens=row.tokens,
            mask=(False,) * n,
            logprobs=(0.0,) * n,
            agent=agent,
            turn=row.turn,
            text=row.text,
            blobs=tuple([i.hash for i in row.images]) if row.images else (),
            seconds=row.seconds,
        )
    return Node(
        parent=row.parent,
        role=row.role,
        kind=row.kind,
        tokens=row.tokens,
        mask=(row.kind is Kind.sampled,) * n,
        logprobs=completion.logprobs,
        spans=completion.spans,
        agent=agent,
        turn=row.turn,
        text=row.text,
        sampling=row.sampling,
        top_ids=completion.top_ids,
        top_logprobs=completion.top_logprobs,
        seconds=row.seconds,
    )
