"""What a trajectory said, as text: the last answer, the conversation, the number of tokens."""

from __future__ import annotations

from quintain.types import Kind, Role, Trajectory


def answer_of(trajectory: Trajectory) -> str:
    """The text of the last message of the policy, or an empty string when it never spoke."""
    spoken = (Kind.sampled, Kind.external, Kind.forced)
    return next((n.text for n in reversed(trajectory.nodes) if n.kind in spoken and n.role is Role.assistant), "")


def conversation(trajectory: Trajectory) -> list[dict[str, str]]:
    """The messages of the newest path as `{"role", "content"}`, opening included."""
    if not trajectory.nodes:
        return []
    path = trajectory.path(len(trajectory.nodes) - 1)
    return [{"role": str(trajectory.nodes[i].role), "content": trajectory.nodes[i].text} for i in path]
