"""Sessions and slots: who gets one, who gives way, how running ones come together."""

from __future__ import annotations

import hypothesis.strategies as st
from hypothesis import given

from quintain.engines.torch_seats import Seats, shared_prefix


def test_the_lowest_free_slot_is_taken_first():
    seats = Seats(4)
    first, second, third = (seats.claim(name) for name in "abc")
    assert [s.slot for s in (first, second, third)] == [0, 1, 2]
    seats.release(second)
    seats.release(first)
    assert [seats.claim(name).slot for name in "de"] == [0, 1]


def test_the_session_that_was_idle_longest_gives_way():
    seats = Seats(3)
    a, b, c = (seats.claim(name) for name in "abc")
    for seat in (a, b, c):
        seats.start(seat, "job")
    assert seats.claim("d") is None
    for seat in (c, a, b):
        seats.finish(seat, (1,))
    assert seats.claim("d", keep=c).slot == a.slot
    assert seats.claim("e").slot == c.slot
    assert set(seats.sessions) == {"b", "d", "e"} and seats.evicted == 2


def test_running_seats_side_by_side_stay():
    seats = Seats(6)
    named = [seats.claim(name) for name in "abcdef"]
    assert seats.compact(named[2:5]) == ([], [])


@given(st.data())
def test_compaction_moves_every_sequence_where_its_seat_says(data):
    count = data.draw(st.integers(1, 12))
    seats = Seats(count)
    named = [seats.claim(str(i)) for i in range(count)]
    fate = [data.draw(st.sampled_from(["run", "idle", "gone"])) for _ in named]
    fate[data.draw(st.integers(0, count - 1))] = "run"
    content: list[str | None] = [None] * count
    for seat, what in zip(named, fate, strict=True):
        content[seat.slot] = seat.session
        if what == "run":
            seats.start(seat, "job")
        elif what == "gone":
            seats.release(seat)
    running = [seat for seat, what in zip(named, fate, strict=True) if what == "run"]
    sources, targets = seats.compact(running)
    before = list(content)
    for source, target in zip(sources, targets, strict=True):
        content[target] = before[source]
    alive = [seat for seat, what in zip(named, fate, strict=True) if what != "gone"]
    assert all(content[seat.slot] == seat.session for seat in alive)
    slots = sorted(seat.slot for seat in running)
    assert slots == list(range(slots[0], slots[0] + len(slots)))
    # every free slot can be claimed once, and none that is taken
    fresh = [seats.claim(f"new{i}").slot for i in range(fate.count("gone"))]
    assert sorted(fresh + [seat.slot for seat in alive]) == list(range(count))


@given(st.lists(st.integers(0, 1), max_size=6), st.lists(st.integers(0, 1), min_size=1, max_size=6))
def test_the_shared_prefix_is_the_longest_that_leaves_a_token(held, prompt):
    n = shared_prefix(tuple(held), tuple(prompt))
    assert held[:n] == prompt[:n] and n < len(prompt)
    assert n == len(prompt) - 1 or n == len(held) or held[n] != prompt[n]
