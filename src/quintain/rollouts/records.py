"""The plain lists of a finished seat as a trajectory."""

from __future__ import annotations

from quintain.rollouts.seats import Row, Seat
from quintain.types import Kind, Node, Role, Stop, Text, Trajectory


def trajectory(seat: Seat, name: str, episode: int) -> Trajectory:
    """The record of a seat whose episode is over; what was heard after its last turn becomes nodes without tokens."""
    if seat.fresh:
        seat._note((), Kind.obs if seat.line else Kind.prompt)
    turn_rewards = tuple(seat.turn_rewards)
    digests = tuple(seat.digests)
    return Trajectory(
        id=name,
        nodes=tuple([_node(row, seat.name) for row in seat.rows]),
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
        tags={} if _plain(seat) else {"plain": False},
        states=tuple(seat.states),
    )


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
