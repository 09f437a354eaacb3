"""The rules and the solver against plain enumeration, and sheets against a plain backtracker."""

from __future__ import annotations

import itertools

import pytest

from quintain.ports import SOLO
from quintain.types import QuintainError
from quintain.worlds.engines.csp import rules as csp_rules
from quintain.worlds.engines.csp.fill import read_entry, read_whole, whole
from quintain.worlds.engines.csp.rules import Distinct, Total, holds
from quintain.worlds.engines.csp.sheet import Form, Sheet, layout_of, parse_caption
from quintain.worlds.engines.csp.solve import Solver
from quintain.worlds.kernel import GenerationError, Move, Plan, Unsolvable
from quintain.worlds.noise import Rng
from quintain.worlds.suite.logic import paths
from quintain.worlds.suite.logic.mini_sudoku import mini_sudoku, mini_sudoku_steps, regions, rules

WHOLE, STEPS = mini_sudoku(), mini_sudoku_steps()


def values(domain: int) -> list[int]:
    return [v for v in range(domain.bit_length()) if domain >> v & 1]


def keeps(rule, assignment) -> bool:
    """What the rule means, in plain words."""
    chosen = [assignment[c] for c in rule.cells]
    if isinstance(rule, Total):
        return sum(chosen) == rule.total
    return len(set(chosen)) == len(chosen) and set(values(rule.values)) <= set(chosen)


def by_enumeration(rules_, domains) -> set[tuple[int, ...]]:
    return {a for a in itertools.product(*map(values, domains)) if all(keeps(r, a) for r in rules_)}


def random_rule(rng: Rng, count: int):
    cells = tuple(rng.sample(range(count), 2 + rng.below(count - 1)))
    if rng.below(2):
        return Total(cells, rng.below(3 * len(cells)))
    return Distinct(cells, (1 << len(cells)) - 1 if rng.below(2) else 0)


@pytest.mark.parametrize("seed", range(300))
def test_narrowing_loses_no_solution(seed: int) -> None:
    rng = Rng("narrow", seed)
    rule = random_rule(rng, 4)
    domains = [1 + rng.below(15) for _ in range(4)]
    before = by_enumeration([rule], domains)
    after = domains.copy()
    changed = rule.narrow(after)
    if changed is None:
        assert not before
        return
    assert by_enumeration([rule], after) == before
    assert set(changed) == {c for c in range(4) if after[c] != domains[c]}
    assert all(a and a & ~d == 0 for a, d in zip(after, domains, strict=True))


@pytest.mark.parametrize("seed", range(100))
def test_a_rule_is_broken_exactly_when_it_says_so(seed: int) -> None:
    rng = Rng("broken", seed)
    rule = random_rule(rng, 4)
    for assignment in itertools.product(range(3), repeat=4):
        assert holds([rule], assignment) == keeps(rule, assignment)


@pytest.mark.parametrize("seed", range(120))
def test_the_solver_finds_what_enumeration_finds(seed: int) -> None:
    rng = Rng("solver", seed)
    found_rules = [random_rule(rng, 6) for _ in range(1 + rng.below(4))]
    domains = [1 + rng.below(15) for _ in range(6)]
    solver, truth = Solver(found_rules, 6), by_enumeration(found_rules, domains)
    every = solver.search(domains, limit=10_000)
    assert every.complete and set(every.solutions) == truth and len(every.solutions) == len(truth)
    shuffled = solver.search(domains, limit=10_000, first=(5, 4, 3), rng=Rng(seed))
    assert set(shuffled.solutions) == truth
    assert len(solver.search(domains, limit=2).solutions) == min(len(truth), 2)


def test_the_solver_gives_up_at_its_limit() -> None:
    solver = Solver([Total(tuple(range(12)), 6)], 12)
    found = solver.search([3] * 12, limit=10_000, nodes=50)
    assert not found.complete and found.nodes > 50
    assert len(solver.search([3] * 12, limit=10_000).solutions) == 924  # 12 over 6


def test_there_are_288_small_sudoku_grids() -> None:
    assert len(Solver(rules(4), 16).search([0b11110] * 16, limit=1000).solutions) == 288


def fillings(given: str, size: int, limit: int = 2) -> list[str]:
    """Ways to fill a sudoku by plain backtracking in reading order, with the rules written out once more."""
    boxes, found, cells = regions(size), [], list(given)

    def fits(cell: int, digit: str) -> bool:
        for other in range(size * size):
            together = other // size == cell // size or other % size == cell % size or boxes[other] == boxes[cell]
            if other != cell and together and cells[other] == digit:
                return False
        return True

    def fill(cell: int) -> None:
        while cell < size * size and cells[cell] != ".":
            cell += 1
        if cell == size * size:
            found.append("".join(cells))
            return
        for digit in "123456"[:size]:
            if len(found) < limit and fits(cell, digit):
                cells[cell] = digit
                fill(cell + 1)
                cells[cell] = "."

    fill(0)
    return found


@pytest.mark.parametrize("level", range(10))
def test_a_sheet_has_one_solution_and_the_oracle_knows_it(level: int) -> None:
    for seed in range(4):
        start = WHOLE.start(seed, level)
        found = fillings(start.form.given, start.form.size)
        assert len(found) == 1
        plan = WHOLE.solve(start, SOLO)
        assert isinstance(plan, Plan) and "".join(map(str, plan.moves[0].value)) == found[0]
        assert start.form.given.count(".") == WHOLE.levels[level]["blanks"]


@pytest.mark.parametrize("level", [0, 4, 9])
def test_wrong_grids_are_refused(level: int) -> None:
    for seed in range(6):
        rng, start = Rng("wrong", level, seed), WHOLE.start(seed, level)
        size = start.form.size
        answer = list(WHOLE.solve(start, SOLO).moves[0].value)
        won = WHOLE.step(start, {SOLO: whole(answer, size)})
        assert won.done and won.rewards == {SOLO: {"success": 1.0}} and not won.events
        wrong = []
        while len(wrong) < 20:
            changed = answer.copy()
            for cell in rng.sample(range(size * size), 1 + rng.below(3)):
                changed[cell] = 1 + rng.below(size)
            wrong += [changed] if changed != answer else []
        shift = [d % size + 1 for d in answer]  # keeps every rule, but not the printed digits
        row = answer[size:] + answer[:size]  # every row and column holds, boxes and printed digits do not
        for digits in (*wrong, shift, row):
            lost = WHOLE.step(start, {SOLO: whole(digits, size)})
            assert lost.done and not lost.rewards and lost.events == {SOLO: ("wrong",)}
            assert isinstance(WHOLE.solve(lost.state, SOLO), Unsolvable)


def test_a_grid_of_another_size_is_illegal() -> None:
    start = WHOLE.start(0, 0)
    outcome = WHOLE.step(start, {SOLO: whole([1] * 36, 6)})
    assert outcome.state is start and not outcome.done and outcome.events == {SOLO: ("illegal",)}


def test_equal_answers_are_one_move() -> None:
    start = WHOLE.start(3, 2)
    digits = WHOLE.solve(start, SOLO).moves[0].value
    signs = "".join(map(str, digits))
    rows = [signs[i : i + 4] for i in range(0, 16, 4)]
    spellings = [
        signs,
        "/".join(rows),
        "\n".join(rows),
        " ".join(signs),
        ", ".join(signs),
        str([list(r) for r in rows]),
    ]
    spellings = [s.replace("'", "") for s in spellings] + ["| " + " | ".join(" ".join(r) for r in rows) + " |"]
    spellings.append("\n".join(f"Row {i}: {row}" for i, row in enumerate(rows, 1)))
    spellings.append("\n".join(["   a b c d", *(f" {i} {' '.join(row)}" for i, row in enumerate(rows, 1))]))
    moves = {read_whole(s) for s in spellings}
    assert moves == {whole(digits, 4)} and len(spellings) == 9


@pytest.mark.parametrize(
    "text", ["", "1", "12", "1234", "1 2 3 4 / 3 4 1 5 / 2 1 4 3 / 4 3 2 1", "x" * 16, "1" * 15, "0" * 16, "1" * 5000]
)
def test_other_texts_are_no_grid(text: str) -> None:
    assert read_whole(text) is None or text == "1234"


@pytest.mark.parametrize(
    "text, key",
    [("b3=4", "b3=4"), ("B3: 4", "b3=4"), ("r3c2 = 4", "b3=4"), ("write b3 4", "b3=4"), ("(3, 2) 4", "b3=4")],
)
def test_entries_are_read(text: str, key: str) -> None:
    assert read_entry(text) == Move(key, (2, 1, 4))


@pytest.mark.parametrize(
    "text", ["", "b3", "b3=0", "b3=x", "=4", "b3==", "k3=1", "b12=1", "b3=44", "b3=4" + " " * 70 + "!"]
)
def test_other_texts_are_no_entry(text: str) -> None:
    assert read_entry(text) is None


def test_a_wrong_entry_can_be_written_over() -> None:
    start = STEPS.start(1, 3)
    plan = STEPS.solve(start, SOLO)
    assert isinstance(plan, Plan) and len(plan.moves) == 9 and set(plan.first) == set(plan.moves)
    row, column, digit = plan.moves[0].value
    bad = digit % 4 + 1
    state = start
    for move in (Move("", (row, column, bad)), *plan.moves[1:]):
        outcome = STEPS.step(state, {SOLO: move})
        state = outcome.state
        assert not outcome.done and not outcome.rewards
    assert outcome.events == {SOLO: ("wrong",)} and "." not in state.cells
    again = STEPS.solve(state, SOLO)
    assert isinstance(again, Plan) and again.moves == plan.moves[:1]
    won = STEPS.step(state, {SOLO: again.moves[0]})
    assert won.done and won.rewards == {SOLO: {"success": 1.0}}
    assert isinstance(STEPS.solve(won.state, SOLO), Unsolvable) and STEPS.legal(won.state, SOLO) == ()


def test_printed_cells_and_strange_digits_are_illegal() -> None:
    start = STEPS.start(1, 3)
    printed = next(i for i, sign in enumerate(start.cells) if sign != ".")
    blank = start.cells.index(".")
    for value in ((*divmod(printed, 4), 1), (*divmod(blank, 4), 5), (5, 0, 1), (0, 5, 1)):
        outcome = STEPS.step(start, {SOLO: Move("", value)})
        assert outcome.state is start and outcome.events == {SOLO: ("illegal",)}
    legal = {m.value for m in STEPS.legal(start, SOLO)}
    assert len(legal) == 9 * 4 and (*divmod(printed, 4), 1) not in legal


def units(size: int) -> list[list[int]]:
    """The cells of each row, column and box."""
    boxes, cells = regions(size), range(size * size)
    groups = [[c for c in cells if c // size == i] for i in range(size)]
    groups += [[c for c in cells if c % size == i] for i in range(size)]
    return groups + [[c for c in cells if boxes[c] == sign] for sign in set(boxes)]


def test_steps_come_in_an_order_in_which_each_follows() -> None:
    """The digit of a step is the only one that fits its cell, or fits no other cell of a row, column or box."""
    groups = units(6)
    for seed in range(8):
        state = STEPS.start(seed, 5)
        plan = STEPS.solve(state, SOLO)
        assert isinstance(plan, Plan) and len(plan.moves) == 12
        for move in plan.moves:
            row, column, digit = move.value
            cell, fits = row * 6 + column, {}
            for c in (i for i, sign in enumerate(state.cells) if sign == "."):
                fits[c] = set("123456") - {state.cells[o] for group in groups if c in group for o in group}
            alone = any(sum(str(digit) in fits.get(o, ()) for o in group) == 1 for group in groups if cell in group)
            assert alone or fits[cell] == {str(digit)}
            state = STEPS.step(state, {SOLO: move}).state


def test_a_sheet_that_breaks_a_rule_is_unsolvable() -> None:
    sheet = Sheet(Form(4, "11" + "." * 14), "11" + "." * 14)
    assert isinstance(STEPS.solve(sheet, SOLO), Unsolvable) and isinstance(WHOLE.solve(sheet, SOLO), Unsolvable)


def test_layouts_are_equal_up_to_symmetry_and_names_of_digits() -> None:
    sheet = WHOLE.start(5, 2)
    given = sheet.form.given
    rows = [given[i : i + 4] for i in range(0, 16, 4)]
    turned = "".join("".join(r) for r in zip(*rows[::-1], strict=True))
    renamed = turned.translate(str.maketrans("1234", "3142"))
    other = given[:15] + ("1" if given[15] == "." else ".")
    assert layout_of(Sheet(Form(4, renamed), renamed)) == layout_of(sheet) != layout_of(Sheet(Form(4, other), other))


def test_printed_and_written_digits_look_different() -> None:
    start = STEPS.start(2, 1)
    move = STEPS.solve(start, SOLO).moves[0]
    row, column, digit = move.value
    written = STEPS.step(start, {SOLO: move}).state
    printed = Sheet(Form(4, written.cells), written.cells)
    at = (row + 1) * 5 + column + 1
    assert STEPS.scene(written, SOLO).cells[at].endswith(f"entry-{digit}")
    assert STEPS.scene(printed, SOLO).cells[at].endswith(f"given-{digit}")
    assert STEPS.caption(written, SOLO, 2) != STEPS.caption(printed, SOLO, 2)
    assert move.key[:2] in STEPS.caption(start, SOLO, 1) and move.key[:2] not in STEPS.caption(written, SOLO, 1)


@pytest.mark.parametrize("text", ["", "a b\n1 . .", "   a b c d\n 1 5 . . .\n 2 . . . .\n 3 . . . .\n 4 . . . ."])
def test_other_captions_are_refused(text: str) -> None:
    with pytest.raises(QuintainError, match="no full caption"):
        parse_caption(text)


def test_too_many_blanks_are_refused() -> None:
    with pytest.raises(GenerationError, match="no instance"):
        WHOLE.start(0, 0, blanks=14)


def test_a_table_does_not_grow_without_end(monkeypatch) -> None:
    monkeypatch.setattr(csp_rules, "MOST", 8)
    table = csp_rules._Table(lambda key: key * key)
    for key in (*range(100), *range(3)):
        assert table[key] == key * key and len(table) <= 8


def test_the_cells_beside_a_set_are_worked_out_once(monkeypatch) -> None:
    near = paths.Near(4, True)
    assert near[1 << 5 | 1 << 15] == sum(1 << c for c in (0, 1, 2, 4, 6, 8, 9, 10, 11, 14))
    assert list(near) == [1 << 5 | 1 << 15]
    monkeypatch.setattr(paths, "KEPT", 3)
    assert len([near[n] for n in range(1, 20)]) == 19 and len(near) <= 3
