"""What is told of answers about chess, read by a small chess of its own: attacks, flights and replies."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable

import pytest
from tests.reasons import explained

Cell = tuple[int, int]  # column and rank, from 0
LINES = {"r": [(0, 1), (1, 0), (0, -1), (-1, 0)], "b": [(1, 1), (1, -1), (-1, 1), (-1, -1)]}
LINES["q"] = LINES["k"] = LINES["r"] + LINES["b"]
LINES["n"] = [(a, b) for a in (-2, -1, 1, 2) for b in (-2, -1, 1, 2) if abs(a) != abs(b)]
Men = dict[Cell, str]  # column and rank from 0 -> sign, capitals white


def square(text: str) -> Cell:
    return ord(text[0]) - 97, int(text[1]) - 1


def hits(men: Men, spot: Cell) -> set[Cell]:
    """The cells that a man attacks."""
    sign, (x, y) = men[spot], spot
    if sign in "Pp":
        return {(x + d, y + (1 if sign == "P" else -1)) for d in (1, -1)}
    out = set()
    for dx, dy in LINES[sign.lower()]:
        for k in range(1, 2 if sign in "KkNn" else 8):
            to = x + k * dx, y + k * dy
            if not (0 <= to[0] < 8 and 0 <= to[1] < 8):
                break
            out.add(to)
            if to in men:
                break
    return out


def goals(men: Men, spot: Cell) -> set[Cell]:
    """The cells that a man can go to, whatever becomes of its king."""
    sign, (x, y) = men[spot], spot
    free = {to for to in hits(men, spot) if to not in men or men[to].isupper() != sign.isupper()}
    if sign not in "Pp":
        return free
    way = 1 if sign == "P" else -1
    steps = [(x, y + way), (x, y + 2 * way)][: 2 if y == (1 if sign == "P" else 6) else 1]
    return {to for to in free if to in men} | {*itertools.takewhile(lambda to: to not in men, steps)}


def threats(men: Men, white: bool) -> set[str]:
    """The men that attack the king of a side, as `q b1`."""
    king = next(c for c, sign in men.items() if sign == ("K" if white else "k"))
    return {f"{s} {chr(97 + c[0])}{c[1] + 1}" for c, s in men.items() if s.isupper() != white and king in hits(men, c)}


def moved(men: Men, spot: Cell, to: Cell, kind: str = "") -> Men:
    after = {c: s for c, s in men.items() if c != spot}
    return after | {to: kind or men[spot]}


def legal(caption: str, reason: str, answer: str) -> None:
    side, marked, note = re.match(r"(W|B) is to move, (\w\d) is marked: (.*)", caption).groups()
    men = {square(c): s for s, c in re.findall(r"^[WB] (\w) (\w\d)\.$", caption, re.MULTILINE)}
    white, spot, passing = side == "W", square(marked), re.search(r"passant (\w\d)", note)
    king = next(c for c, sign in men.items() if sign == ("K" if white else "k"))
    head, reached = re.match(r"[Kk] \w\d is (.*?)\. \w \w\d reaches (.*?)\. ", reason).groups()
    check = threats(men, white)
    assert (
        reason.startswith(f"{men[king]} {chr(97 + king[0])}{king[1] + 1} is ")
        and f". {men[spot]} {marked} reaches" in reason
    )
    assert head == "not in check" if not check else {*head.removeprefix("in check by ").split(" and ")} == check
    told = {
        square(c): (what, how)
        for c, what, how in re.findall(r"(\w\d)(?: \(takes (\w)\))?(?: \((passing)\))?(?:, |$)", reached)
    }
    ways = goals(men, spot)
    if passing and men[spot] in "Pp" and square(passing[1]) in hits(men, spot):
        ways.add(square(passing[1]))
        assert told[square(passing[1])] == ("", "passing")
    assert set(told) == ways and all(men.get(c, "") == what for c, (what, _) in told.items())
    shut = {
        square(c): {*by.split(" and ")}
        for cs, by in re.findall(r"Not ([a-h1-8 ]+): (.*?) would attack the king\.", reason)
        for c in cs.split()
    }
    for to in ways:
        after = moved(men, spot, to)
        if told[to][1]:
            del after[to[0], spot[1]]
        assert shut.get(to, set()) == threats(after, white), to
    left = {to for to in ways if to not in shut}
    for no, cell, why in re.findall(r"(No c|C)astling to (\w\d): (.*?)\.", reason):
        x, rank = square(cell)
        path = [(x, rank), ((x + king[0]) // 2, rank)]
        risks = set().union(*(threats(moved(men, king, to), white) for to in path if to not in men))
        held = {
            f"{men[c, rank]} {chr(97 + c)}{rank + 1}"
            for c in (range(5, 7) if x == 6 else range(1, 4))
            if (c, rank) in men
        }
        assert bool(no == "No c") == bool(check or risks or held)
        if why.endswith("in between"):
            assert {*why.removesuffix(" in between").split(" and ")} == held
        elif why.endswith("would attack the king"):
            assert {*why.removesuffix(" would attack the king").split(" and ")} == risks
        left |= {square(cell)} if no == "C" else set()
    assert {square(c) for c in answer.split()} == left and reason.endswith(f"That leaves {answer}.")


PIECES = {"queen": "q", "rook": "r", "bishop": "b", "knight": "n"}


def played(men: Men, told: str) -> Men:
    spot, to, *piece = told.split(" ")
    kind = PIECES[piece[0]] if piece else ""
    return moved(men, square(spot), square(to), kind.upper() if men[square(spot)].isupper() else kind)


def replies(men: Men) -> set[str]:
    """Black's legal moves."""
    out = set()
    for spot in [c for c, s in men.items() if s.islower()]:
        for to in goals(men, spot):
            if not threats(moved(men, spot, to), False):
                text = f"{chr(97 + spot[0])}{spot[1] + 1} {chr(97 + to[0])}{to[1] + 1}"
                out |= {f"{text} {p}" for p in PIECES} if men[spot] == "p" and to[1] == 0 else {text}
    return out


def mated(men: Men, told: str) -> None:
    king, by, cells, rest = re.fullmatch(
        r"k (\w\d) is attacked by (.*?) and cannot go to (.*\))( and no man can .*)?: mate", told
    ).groups()
    spot = square(king)
    assert men[spot] == "k" and {*by.split(" and ")} == threats(men, False) and not replies(men)
    shut = {square(c): why for names, why in re.findall(r"([a-h1-8 ]+) \((.*?)\)", cells) for c in names.split()}
    around = {(spot[0] + d, spot[1] + r) for d in (-1, 0, 1) for r in (-1, 0, 1) if d or r}
    assert set(shut) == {(x, y) for x, y in around if 0 <= x < 8 and 0 <= y < 8}
    assert bool(rest) == any(s in "qrbnp" for s in men.values())
    for to, why in shut.items():
        assert men[to].islower() if why == "held" else {*why.split(" and ")} == threats(moved(men, spot, to), False)


def mate(caption: str, reason: str, answer: str) -> None:
    rows = [line.split() for line in caption.split("\n")[2:10]]
    men = {(x, int(row[0]) - 1): sign for row in rows for x, sign in enumerate(row[1:]) if sign != "."}
    after = played(men, answer)
    if not reason.startswith("After "):
        key, _, told = reason.removesuffix(".").partition(": ")
        assert key == answer
        return mated(after, told)
    key, body, first, told = re.fullmatch(
        r"After (.*?) each reply is met on the way to mate: (.*?)\. So after (.*?): (.*)\.", reason
    ).groups()
    met = {
        reply: then
        for group in body.split("; ")
        for names, _, then in [group.partition(" by ")]
        for reply in names.split(", ")
    }
    assert key == answer and set(met) == replies(after)
    for reply, then in met.items():
        end = played(played(after, reply), then)
        assert threats(end, False) and not replies(end) and not threats(end, True)
    return mated(played(played(after, first), met[first]), told)


READERS: dict[str, Callable[[str, str, str], None]] = {"ChessLegal": legal, "ChessMate": mate}


@pytest.mark.parametrize("level", range(10))
@pytest.mark.parametrize("world", READERS)
def test_reasons_are_true_and_lead_to_the_answer(world: str, level: int) -> None:
    for seed in range(16):
        caption, reason, answer = explained(world, seed, level)
        READERS[world](caption, reason, answer)


def test_castling_and_passing_are_told() -> None:
    told = [explained("ChessLegal", seed, 9) for seed in range(150)]
    for caption, reason, answer in told:
        legal(caption, reason, answer)
    for words in ("Castling to", "No castling to", "(passing)", "in between", "in check by"):
        assert any(words in reason for _, reason, _ in told), words


@pytest.mark.parametrize("world", READERS)
@pytest.mark.parametrize("level", [4, 9])
def test_readers_notice_what_is_not_true(world: str, level: int) -> None:
    """A reason in which one cell is another is not believed."""
    caption, reason, answer = explained(world, 1, level)
    spots = list(re.finditer(r"\b[a-h][1-8]\b", reason))
    for found in spots:
        text = found[0][0] + "12345678"[int(found[0][1]) % 8]
        with pytest.raises((AssertionError, AttributeError, KeyError, ValueError)):
            READERS[world](caption, reason[: found.start()] + text + reason[found.end() :], answer)
    assert spots
