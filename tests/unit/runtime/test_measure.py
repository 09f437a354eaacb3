"""What a step is said to have played."""

from __future__ import annotations

from dataclasses import replace

from quintain.runtime.failures import Cut, cut_of
from quintain.runtime.measure import played, seen
from quintain.types import Completion, Group, Kind, Node, Role, Sampling, Span, Stop, Task, Trajectory


def group(ticket: int, reward: float) -> Group:
    drawn = Completion(tokens=(1, 2), logprobs=(-1.0, -1.0), finish="stop", spans=(Span(start=0, stop=2, version=3),))
    path = (Node.given(None, (5, 6, 7)), Node.sampled(0, drawn))
    one = Trajectory(id=f"{ticket}.0", nodes=path, stop=Stop.done, rewards={"success": reward})
    return Group(task=Task(key=str(ticket), env="none"), trajectories=(one,), ticket=ticket, version=3)


def test_means_are_those_of_the_tickets_of_the_step():
    fresh, shown = [seen(group(1, 0.0))], [seen(group(0, 1.0)), seen(group(1, 0.0))]
    row = played(fresh, shown, [group(0, 1.0)], 4)
    assert row["success"] == 0.5 and row["episodes"] == 1 and row["groups_trained"] == 1 and row["lag_max"] == 1
    assert row["tokens_sampled"] == 2 and row["tokens_context"] == 5 and row["stop/done"] == 1


def test_a_step_that_waited_for_nothing_shows_its_tickets():
    row = played([], [seen(group(0, 1.0)), seen(group(1, 1.0))], [group(0, 1.0), group(1, 1.0)], 4)
    assert row["success"] == row["reward"] == 1.0 and row["solved_some"] == 1 and row["stop/done"] == 1
    assert row["episodes"] == row["tokens_sampled"] == row["tokens_context"] == row["groups_played"] == 0


def test_a_step_without_anything_is_all_zeros():
    assert not any(played([], [], [], 0).values())


def test_answers_of_agents_that_nothing_scored_are_counted():
    (one,) = (scored := group(0, 0.0)).trajectories
    said = Node.given(1, (), role=Role.assistant, kind=Kind.forced, text="42")
    silent = replace(one, rewards={})
    members = (one, silent, replace(one, nodes=(*one.nodes, said)), replace(silent, nodes=(*one.nodes, said)))
    row = played([seen(replace(scored, trajectories=members))], [], [], 4)
    assert row["unscored"] == 1 and "unscored" not in played([seen(scored)], [], [], 4)


def test_answers_that_end_at_the_limit_and_not_by_themselves_are_counted():
    (one,) = (said := group(0, 0.0)).trajectories

    def limited(most: int, *stop: int) -> Trajectory:
        return replace(one, nodes=(one.nodes[0], replace(one.nodes[1], sampling=Sampling(max_tokens=most, stop=stop))))

    members = (limited(2, 9), limited(2, 9), limited(3, 9), limited(2, 2), limited(2), one)
    assert cut_of(members) == Cut(2, 6, 2) and not cut_of([limited(2, 2)]).told()
    row = played([seen(replace(said, trajectories=members))], [], [], 4)
    assert row["answers_cut"] == 2 and "answers_cut" not in played([seen(said)], [], [], 4)
