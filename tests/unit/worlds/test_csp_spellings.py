"""How answers to puzzle pages may be written, and what is not taken for one."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from tests.spelled import key_of

from quintain.envs.scaffold import Scaffold
from quintain.envs.world import WorldEnv, world_of
from quintain.messages import Message
from quintain.ports import SOLO
from quintain.worlds.cells import name_of
from quintain.worlds.engines.csp.page import BLANK, DOT, Work
from quintain.worlds.kernel import Outcome, Plan

ROWS = ("3 1 2 4", "4 2 1 3", "1 3 4 2", "2 4 3 1")


@pytest.mark.parametrize("name", ["KenKen", "MiniSudoku", "Survo"])
def test_grids_are_read_with_titles_labels_and_lines(name: str) -> None:
    counted, plain = list(enumerate(ROWS, 1)), "\n".join(ROWS)
    barred = [f"| {row.replace(' ', ' | ')} |" for row in ROWS]
    texts = [
        f"Solved grid:\n{plain}",
        f"**Grid:** {' / '.join(ROWS)}",
        f"The completed grid is:\n```\n{plain}\n```",
        "\n".join(f"R{i}: {row}" for i, row in counted),
        "\n".join(f"- **Row {i}:** {row}" for i, row in counted),
        "\n".join(f"{i}. {row}" for i, row in counted),
        "; ".join(f"{i}: {row}" for i, row in counted),
        "\n".join(
            ["| | a | b | c | d |", "|---|---|---|---|---|", *(f"| {i} {row}" for i, row in enumerate(barred, 1))]
        ),
        "\n".join(["+---+---+", *barred, "+---+---+"]),
        "\n".join([*ROWS[:2], "-----", *ROWS[2:]]),
        "\n".join(f"{row[:3]} | {row[4:]}" for row in ROWS),
    ]
    assert {key_of(name, text) for text in texts} == {" / ".join(ROWS)}
    for text in ("\n".join(f"{i}. {row}" for i, row in counted[::-1]), f"Wrong grid: {' / '.join(ROWS)}"):
        assert key_of(name, text) is None


@pytest.mark.parametrize(
    "name, texts, key",
    [
        (
            "Tents",
            (
                "Tents at e1, c2 and d4",
                "1. e1\n2. c2\n3. d4",
                "Place tents at e1, c2, d4",
                "The tents are at e1, c2, d4.",
                "Mark the cells e1, c2, d4",
                "Row 1: e1\nRow 2: c2\nRow 4: d4",
                '{"tents": ["e1", "c2", "d4"]}',
                "**Tents:** e1, c2, d4",
            ),
            "e1 c2 d4",
        ),
        (
            "CircuitSat",
            (
                "c and d are on",
                "Turn on c and d",
                "Switches c and d",
                "a=0 b=0 c=1 d=1",
                "d: on, c: on, b: off",
                '{"a": false, "c": true, "d": true}',
                "on: c, d; off: a, b",
            ),
            "c d",
        ),
        ("CircuitSat", ("b: on", "b=1", "only switch b"), "only b"),
        ("KnightsKnaves", ("a knight, b knave, c knight, d knave", "b and d are knaves"), "b d"),
        (
            "ZebraHouses",
            ("Colours: B G / Pets: D C / Drinks: T K", "Colors: B G\nPets: D C\nDrinks: T K"),
            "B G / D C / T K",
        ),
        (
            "ZebraHouses",
            (
                "| House | Colour | Pet | Drink |\n|---|---|---|---|\n| 1 | R | C | T |\n| 2 | G | D | J |\n| 3 | B | F | K |",
                "House | Colours | Pets | Drinks\nHouse a | R | C | T\nHouse b | G | D | J\nHouse c | B | F | K",
                "| Color | Pet | Drink |\n|---|---|---|\n| R | C | T |\n| G | D | J |\n| B | F | K |",
                "| House | 1 | 2 | 3 |\n|---|---|---|---|\n| **Colours** | R | G | B |\n| Pets | C | D | F |\n| Drinks | T | J | K |",
                "| a | b | c |\n|---|---|---|\n| R | G | B |\n| C | D | F |\n| T | J | K |",
            ),
            "R G B / C D F / T J K",
        ),
        *(
            (name, ("put 3 in b1", "place 3 at b1", "3 in b1", "set b1 to 3", "row 1, column b: 3", "b1 := 3"), "b1=3")
            for name in ("SudokuStep", "MiniSudokuSteps")
        ),
        ("Mastermines", ("column c, row 1", "row 1, column c", "column 3, row 1", "reveal c1", "click c1"), "c1"),
    ],
)
def test_answers_are_read_as_sentences_and_lists(name: str, texts: tuple[str, ...], key: str) -> None:
    assert {key_of(name, text) for text in texts} == {key}


@pytest.mark.parametrize(
    "name, text",
    [
        ("Tents", "Empty cells: e1, c2"),
        ("Tents", "Trees: e1, c2"),
        ("Hitori", "Unmarked cells: a1 b2"),
        ("Nurikabe", "Islands: a1 b2"),
        ("Tents", "Row 2: e1"),
        ("CircuitSat", "off: c d"),
        ("CircuitSat", "c=0 d=0"),
        ("CircuitSat", "turn off c and d"),
        ("KnightsKnaves", "a knave"),
        ("ZebraHouses", "Pets: D C / Colours: B G / Drinks: T K"),
        ("ZebraHouses", "| a | b | c | d | e |\n|---|---|---|---|---|"),
        ("ZebraHouses", "| House | Colour | Pet |\n|---|---|---|\n| 2 | R | C |\n| 1 | G | D |"),
        ("ZebraHouses", "| House | Pet | Colour |\n|---|---|---|\n| 1 | C | R |\n| 2 | D | G |"),
        ("SudokuStep", "b1 is not 3"),
        ("SudokuStep", "b1 3 in c2"),
    ],
)
def test_what_names_others_is_no_answer(name: str, text: str) -> None:
    assert key_of(name, text) is None


@pytest.mark.parametrize(
    "name, text, key",
    [
        ("Slitherlink", "a1 to d1, a2", "a1 b1 c1 d1 a2"),
        ("Slitherlink", "the cells from a1 to b2", "a1 b1 a2 b2"),
        ("Slitherlink", "cell a1 to the cell a3 and the cell b1", "a1 b1 a2 a3"),
        ("CircuitSat", "a to c", "a b c"),
        ("Slitherlink", "a1-d1", None),
        ("Battleships", "a1-d1", "a1 b1 c1 d1"),
        ("Battleships", "a1-d2", None),  # a block, or a line
        ("Hitori", "c1, r1, c2", "c1 r1 c2"),
        ("Thermometers", "cell a1 to cell c1", "cell a1 to cell c1"),
        ("Thermometers", "a1-c1", None),
        ("Thermometers", "a1 to b1, c4", "a1 to b1, c4"),  # which no page has, as a thermometer may bend there
        ("Thermometers", "a1, b1, c4", "a1 b1 c4"),
    ],
)
def test_ranges_of_cells_are_not_read_as_their_ends(name: str, text: str, key: str | None) -> None:
    assert key_of(name, text) == key


GRIDS = ["KenKen", "Survo", "Kakuro", "Binairo", "Futoshiki", "MiniSudoku", "ZebraHouses", "FlowLinks", "Hidato"]


def _solved_as(name: str, write: Callable[[list[str], list[list[str]]], str]) -> bool:
    """Whether the solution is taken as `write` writes it: cells that were blank as `a1=3`, and its rows."""
    env, world = WorldEnv(world_of(name), Scaffold()), world_of(name)
    for seed in range(3):
        state = world.start(seed, 2)
        plan = world.solve(state, SOLO)
        assert isinstance(plan, Plan)
        rows = [row.split() for row in plan.moves[0].key.split(" / ")]
        given = state.form.given if name == "MiniSudoku" else [DOT if v == BLANK else "" for v in state.page.given]
        cells = [f"{name_of(y, x)}={sign}" for y, row in enumerate(rows) for x, sign in enumerate(row)]
        told = [cell for cell, sign in zip(cells, given, strict=True) if sign == DOT]
        move = env.reader.read(Message.of("assistant", f"<action>{write(told, rows)}</action>"), SOLO)
        if move is None or not world.step(state, {SOLO: move}).rewards:
            return False
        assert key_of(name, move.key) == move.key
    return True


@pytest.mark.parametrize("name", GRIDS)
def test_grids_are_read_with_the_numbers_of_rows_as_they_are_printed(name: str) -> None:
    assert _solved_as(name, lambda _, rows: "\n".join(f" {i} {' '.join(row)}" for i, row in enumerate(rows, 1)))
    assert _solved_as(name, lambda _, rows: " / ".join(f"{i} {' '.join(row)}" for i, row in enumerate(rows, 1)))


@pytest.mark.parametrize("name", GRIDS)
def test_grids_are_read_cell_by_cell_as_they_are_told_at_the_end(name: str) -> None:
    assert _solved_as(name, lambda told, _: " ".join(told))
    assert _solved_as(name, lambda told, _: ", ".join(told).replace("=", ": "))
    assert not _solved_as(name, lambda told, _: " ".join(told[1:]))


@pytest.mark.parametrize(
    "name, text, key",
    [
        ("Slitherlink", "c2=1 d2=1 a1=0", "c2 d2"),
        ("Slitherlink", '{"c2": 1, "d2": 1, "a1": 0}', "c2 d2"),
        ("Slitherlink", "c2=1 d2=1 c2=0", None),
        ("Slitherlink", "c2=1 d2=3", None),
        ("Slitherlink", "c2=0 d2=0", None),
        ("KenKen", "a1=1 a1=2 b1=1 b2=2", None),
    ],
)
def test_marks_are_read_cell_by_cell(name: str, text: str, key: str | None) -> None:
    assert key_of(name, text) == key


@pytest.mark.parametrize(
    "name, text, key",
    [
        ("Kakuro", ". . . / . 1 2 / . 3 .", "# # # / # 1 2 / # 3 #"),
        ("Kakuro", "- - -\n- 1 2\n- 3 1", "# # # / # 1 2 / # 3 1"),
        ("Kakuro", "X X X / X 1 2 / X 3 1", "# # # / # 1 2 / # 3 1"),
        ("Kakuro", "# # # / # 1 . / # 3 1", None),
        ("KenKen", ". 1 2 / 1 2 3 / 3 1 2", None),
        ("KnightsKnaves", "a=0 b=1 c=0 d=1 e=0", "b d"),
        ("Nonogram", "paint A1", "paint a1"),
        ("Nonogram", "fill A1", "paint a1"),
        ("GinRummy", "take the discard", "pile"),
        ("Nonogram", "clear the cell a1", "clear a1"),
        ("Nonogram", "leave b2 blank", "clear b2"),
        ("Nonogram", "b2 is white", "clear b2"),
        ("Nonogram", "paint b2 white", "clear b2"),
        ("Nonogram", "cross out b2", "clear b2"),
        ("Nonogram", "paint", None),
        ("Battleships", "- b1\n- E1\n- e2", "b1 e1 e2"),  # a list, and no ranges
        ("CircuitSat", "a b c' d e'", "a b d"),
        ("CircuitSat", "'a' 'b' 'd'", "a b d"),
        ("KnightsKnaves", "honest: a b", None),
        ("KnightsKnaves", "knights = {a, b}", None),
        ("KnightsKnaves", "true: a b", None),
        ("KnightsKnaves", "Possible solution: a c", "a c"),
        ("Tents", "Tents on grass cells: a1 c1", "a1 c1"),
        (
            "TriadList",
            "| A | B | C |\n|---|---|---|\n| A | D | E |\n| B | D | F |\n| C | E | F |",
            "A B C / A D E / B D F / C E F",
        ),
        (
            "FlowLinks",
            "| a | b | c |\n|---|---|---|\n| A | A | B |\n| A | B | B |\n| A | B | B |",
            "A A B / A B B / A B B",
        ),
        ("Tents", "Wrong: c1, e2", None),
        ("Tents", "candidates: c1, e2", None),
        ("LiarsDice", "I raise to three twos", "3x2"),
        (
            "KenKen",
            "| 1 | 2 | 3 |\n|---|---|---|\n| 3 | 1 | 2 |\n| 1 | 2 | 3 |\n| 2 | 3 | 1 |",
            "3 1 2 / 1 2 3 / 2 3 1",
        ),
        (
            "KenKen",
            "| 1 | 2 | 3 |\n|---|---|---|\n| 3 | 1 | 2 |\n| 2 | 3 | 1 |",
            "1 2 3 / 3 1 2 / 2 3 1",
        ),  # its first row
        (
            "ReflectRay",
            "| 1 | 2 |\n|---|---|\n| 3 | 4 |\n| 5 | 6 |",
            "1 2 3 4 5 6",
        ),  # three rows, of which none is a heading
        ("KenKen", "- 3 1 2\n- 1 2 3\n- 2 3 1", "3 1 2 / 1 2 3 / 2 3 1"),
        ("KenKen", "grid = [[3, 1, 2], [1, 2, 3], [2, 3, 1]]", "3 1 2 / 1 2 3 / 2 3 1"),
        ("CutMin", "T = {A-B, B-C}", "A-B B-C"),
        ("Tents", "row 1 column 3, row 2 column 5", "c1 e2"),
        ("TreeWalk", r"A \to B ⟶ C", "A B C"),
        ("CliqueMax", r"\{A, B, C\}", "A B C"),
        ("AngleChase", r"\boxed{119^{\circ}}", "119"),
    ],
)
def test_signs_and_words_of_the_rules_are_read(name: str, text: str, key: str | None) -> None:
    assert key_of(name, text) == key


def test_what_is_to_be_painted_is_not_cleared() -> None:
    world = world_of("Nonogram")
    state = world.start(0, 0)
    cell = name_of(*divmod(state.page.blanks[0], state.page.width))

    def said(verb: str, now: Work) -> Outcome[Work]:
        move = world.read(f"{verb}{cell}", SOLO)
        assert move is not None
        return world.step(now, {SOLO: move})

    painted = said("paint ", state).state
    assert painted == said("", state).state
    assert said("clear ", painted).state == said("", painted).state == state
    for verb, now in (("clear ", state), ("paint ", painted)):
        assert said(verb, now) == Outcome(now, events={SOLO: ("illegal",)})


def test_a_full_sheet_is_not_said_to_change_given_digits_where_they_cannot_be() -> None:
    assert "given" not in world_of("MiniSudokuSteps").facts.sayings["wrong"]
    assert "given" in world_of("MiniSudoku").facts.sayings["wrong"]


@pytest.mark.parametrize(
    "name, said",
    [
        *((name, "a blue cell in the picture") for name in ("Hitori", "Nurikabe", "ParityGrid")),
        ("Thermometers", "a black disc in the picture"),
        ("KnightsKnaves", "1 for a knave and 0 for a knight"),
    ],
)
def test_rules_say_what_printed_marks_look_like(name: str, said: str) -> None:
    assert said in world_of(name).facts.rules
