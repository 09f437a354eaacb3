"""Word games: marks, ladders, searches and crossings, checked by other means than the engine's own."""

from __future__ import annotations

import itertools
from collections import Counter

import networkx
import pytest

from quintain.envs.world import world_of
from quintain.testing.worlds import shown, walk
from quintain.worlds.engines.words.cross import UNFILLED, cells_of, solution
from quintain.worlds.engines.words.guess import Guessing, marked
from quintain.worlds.engines.words.ladder import way_of
from quintain.worlds.engines.words.lexicon import words_of
from quintain.worlds.kernel import Plan, Unsolvable
from quintain.worlds.noise import Rng


@pytest.mark.parametrize(("length", "least"), [(3, 250), (4, 500), (5, 500), (6, 150)])
def test_the_list_holds_words_of_their_length(length: int, least: int) -> None:
    words = words_of(length)
    assert len(words) >= least and list(words) == sorted(set(words))
    assert all(len(w) == length and w.isascii() and w.islower() and w.isalpha() for w in words)


def test_marks_count_as_pegs_do() -> None:
    """In place: equal signs. In all: the size of the common multiset. Which sign gets which mark is checked by its own rule."""
    for hidden, tried in itertools.product(["".join(p) for p in itertools.product("abc", repeat=4)], repeat=2):
        marks = marked(hidden, tried)
        both = sum((Counter(hidden) & Counter(tried)).values())
        assert marks.count("+") == sum(a == b for a, b in zip(hidden, tried, strict=True))
        assert marks.count("+") + marks.count("o") == both
        for sign in "abc":
            rest = "".join(m for m, t in zip(marks, tried, strict=True) if t == sign and m != "+")
            assert rest == "".join(sorted(rest, reverse=True)), "earlier letters are marked first"


@pytest.mark.parametrize("name", ["Mastermind", "WordleBox"])
def test_only_the_marks_tell_of_what_is_hidden(name: str) -> None:
    world = world_of(name)
    for seed in range(5):
        for state in walk(world, world.start(seed, 4), Rng("hidden", seed), 3):
            twin = Guessing(state.form, "z" * state.form.length, state.tried, state.marks)
            assert shown(world, state, "agent") == shown(world, twin, "agent")
            assert world.solve(state, "agent") == world.solve(twin, "agent") or state.hidden in state.tried


@pytest.mark.parametrize("name", ["Mastermind", "WordleBox"])
def test_the_oracle_tries_what_the_marks_allow(name: str) -> None:
    world = world_of(name)
    for seed in range(12):
        state = world.start(seed, seed % 10)
        answer = world.solve(state, "agent")
        assert isinstance(answer, Plan)
        tried = answer.moves[0].key.removeprefix("try ").replace(" ", "")
        for old, marks in zip(state.tried, state.marks, strict=True):
            now = marked(tried, old)
            assert (now if name == "WordleBox" else "".join(sorted(now))) == marks


def test_ladders_are_shortest_ways_of_a_graph() -> None:
    world = world_of("WordLadder")
    for seed in range(20):
        state = world.start(seed, seed % 10)
        graph = networkx.Graph()
        graph.add_nodes_from(state.words)
        for a, b in itertools.combinations(state.words, 2):
            if sum(x != y for x, y in zip(a, b, strict=True)) == 1:
                graph.add_edge(a, b)
        for word in state.words:
            way = way_of(state.words, word, state.goal)
            assert way is not None and len(way) == networkx.shortest_path_length(graph, word, state.goal)
        legal = {m.value for m in world.view(state, "agent").legal()}
        assert legal == set(graph[state.way[0]])


def test_every_word_of_a_search_stands_where_the_oracle_says() -> None:
    world = world_of("WordSearch")
    for seed in range(20):
        state = world.start(seed, seed % 10)
        plan = world.solve(state, "agent")
        assert isinstance(plan, Plan) and len(plan.moves) == len(state.words)
        read = set()
        for move in plan.moves:
            (y, x), (v, u) = move.value
            steps = max(abs(v - y), abs(u - x))
            dy, dx = (v - y) // steps, (u - x) // steps
            read.add("".join(state.letters[(y + i * dy) * state.side + x + i * dx] for i in range(steps + 1)))
        assert read == set(state.words)


def test_the_words_to_find_stand_apart_from_the_letters() -> None:
    world = world_of("WordSearch")
    for level in range(10):
        state = world.start(1, level)
        scene, wide = world.view(state, "agent").scene(), state.side + 1
        rows = [scene.cells[at : at + wide] for at in range(0, len(scene.cells), wide)]
        assert not any(rows[wide]) and all(map(any, rows[wide + 1 :])) and scene.height == len(rows) > wide + 1


def test_a_word_may_be_marked_from_either_end_but_only_once() -> None:
    world = world_of("WordSearch")
    state = world.start(1, 3)
    first = world.solve(state, "agent").moves[0]
    back = world.read("-".join(reversed(first.key.split("-"))), "agent")
    after = world.step(state, {"agent": back})
    assert len(after.state.found) == 1
    assert world.step(after.state, {"agent": first}).events["agent"] == ("nothing",)


def test_crossings_agree_and_any_placing_counts() -> None:
    world = world_of("CrossFill")
    for seed in range(20):
        state = world.start(seed, seed % 10)
        found, _ = solution(state.plan)
        signs: dict[tuple[int, int], set[str]] = {}
        assert found is not None and sorted(found) == sorted(state.plan.words)
        for word, cells in zip(found, cells_of(state.plan.places), strict=True):
            for cell, sign in zip(cells, word, strict=True):
                signs.setdefault(cell, set()).add(sign)
        assert all(len(s) == 1 for s in signs.values())
        assert any(sum(c in cells for cells in cells_of(state.plan.places)) == 2 for c in signs)


def test_every_listed_word_can_be_written() -> None:
    """`down` is one, and `2 down` is a place without a word all the same."""
    for name, said in (("CrossFill", "2="), ("WordLadder", "to "), ("WordleBox", "try ")):
        for word in (w for length in range(3, 7) for w in words_of(length)):
            move = world_of(name).read(said + word, "agent")
            assert move is not None and move.key == said + word, f"{name} does not read {said}{word}"
    read = world_of("CrossFill").read
    assert [read(text, "agent") for text in ("2 down", "2: down", "2-down", "2 across")] == [None] * 4
    assert {read(text, "agent") for text in ("2 down: down", "down in 2")} == {read("2=down", "agent")}


def test_no_listed_word_reads_like_a_place_that_holds_nothing() -> None:
    world = world_of("CrossFill")
    state = world.start(1, 2, split="test")
    assert "empty" in state.plan.words
    after = world.step(state, {"agent": world.read("1=empty", "agent")}).state
    caption = world.view(after, "agent").caption(2)
    assert caption != world.view(state, "agent").caption(2)
    assert world.rebuild(caption, "agent").filled == after.filled == ("empty", "", "", "", "")
    assert not any(words_of(len(UNFILLED))), "whatever may be listed"


def test_a_crossing_that_cannot_be_filled_is_called_so() -> None:
    world = world_of("CrossFill")
    state = world.start(3, 4)
    plan = type(state.plan)(state.plan.places, (*state.plan.words[:-1], "x" * len(state.plan.words[-1])))
    assert isinstance(world.solve(type(state)(plan, state.filled), "agent"), Unsolvable)


@pytest.mark.parametrize(("level", "last"), [(4, "F"), (9, "H")])
def test_the_picture_of_a_code_shows_the_colours_in_use(level: int, last: str) -> None:
    world = world_of("Mastermind")
    seat, state = world.facts.seats[0], world.start(1, level)
    text = world.view(state, seat).caption(2)
    assert f"from A to {last}." in text
    shown = {c: world.view(world.rebuild(text.replace(f"to {last}.", f"to {c}."), seat), seat).scene() for c in "EFGH"}
    assert len({scene.cells for scene in shown.values()}) == 4


@pytest.mark.parametrize(("name", "other"), [("Mastermind", "a b c d e"), ("WordleBox", "try abc")])
def test_what_is_no_try_uses_none_up(name: str, other: str) -> None:
    """The turns left are more than the tries, so that a caption's tries can all be made after an answer of another length."""
    world = world_of(name)
    (seat,) = world.facts.seats
    state = world.start(3, 0)
    outcome = world.step(state, {seat: world.read(other, seat)})
    assert outcome.state == state and outcome.events == {seat: ("illegal",)}
    left = int(world.view(state, seat).caption(2).partition("Tries left: ")[2].partition(" ")[0])
    assert world.turns(state) == left + 3
