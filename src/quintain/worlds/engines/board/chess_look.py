"""What chess looks like, and how its positions are made: openings, small armies, endings, problems."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from quintain.types import Ints
from quintain.worlds.art import tiles
from quintain.worlds.engines.board.chess import NAMES, NOBODY, SIGNS, SPECIALS, STEPS, Chess, checked
from quintain.worlds.engines.board.game import Match
from quintain.worlds.engines.board.men_look import MenLook
from quintain.worlds.engines.board.posed import Posed
from quintain.worlds.kernel import Move
from quintain.worlds.noise import Rng
from quintain.worlds.scene import Box, Disc, Point, Polygon, Shape

_LETTER = {sign: word for word, sign in zip(SPECIALS, "qrbn", strict=True)}
BRIEFEST, LONGEST = 40, 400  # characters of short notation and of an answer at most
MEN = {"king": "K", "queen": "Q", "rook": "R", "bishop": "B", "knight": "N", "pawn": "P"}
SHORT, LONG, EITHER = "short", "long", "castling"  # as answers may name it
_SHORT = re.compile(r"(?<=\d)\s*[=(]?\s*([qrbn])\s*\)?\s*[+#]?$")
_CASTLES = re.compile(r"(?:\d{1,3}\.{1,3}\s*)?[o0]-[o0](-[o0])?")
_SIDE = re.compile(r"(?:i )?(?:castles? |castling )?(?:(king|queen)[- ]?side|(short|long))(?: castling| castle)?")
_CASTLE = re.compile(r"(?:i )?castl(?:es?|ing)")
_TAKEN = re.compile(  # what is taken, before its cell
    rf"((?:takes|captures|x)\s*)(?:(?:the|on)\s+)?(?:(?:{'|'.join(MEN)})\s+(?:(?:on|at)\s+)?|[kqrbnp])(?=[a-h][1-8])",
    re.IGNORECASE,
)
_BY_NAME = re.compile(rf"(?:the )?({'|'.join(MEN)}) (?:takes|captures|x) (?:the )?({'|'.join(MEN)})")
_TWICE = re.compile(r"([^()]+)\(([^()]+)\)[.!]?")
_BRIEF = re.compile(  # the usual short notation, `Nbd7` or `exd8=Q+`, also with its words
    r"(?:\d{1,3}\.{1,3}\s*)?(?:(king|queen|rook|bishop|knight|pawn)\s+|([kqrbnp]))?([a-h](?=[a-hx1-8]|\s*(?:x|takes|captures)))?([1-8])?"
    r"\s*(?:x|(?:takes|captures)\s+(?:on\s+)?|to\s+)?\s*([a-h][1-8])"
    r"\s*(?:=?\s*(queen|rook|bishop|knight)|[=(]?\s*([qrbn])\s*\)?)?\s*(?:e\.?p\.?)?\s*[+#!?]*",
    re.IGNORECASE,
)
_MAN = re.compile(
    r"^(?:(?:move|play|the|my|i|white|black) ){0,3}"
    r"(?:king|queen|rook|bishop|knight|pawn|[kqrbnp](?=\s?[a-h][1-8]\W*x?\W*[a-h][1-8]))\s*(?:(?:on|at|from)\s+)?(?=[a-h][1-8])"
)
NONE: Mapping[int, int] = {}
CODE = {sign: code for code, sign in enumerate(SIGNS)}
LEVEL = (-0.02, 0.15)  # values of positions that may be begun with

RULES = """Chess: pieces move as usual, with castling (name the king's two cells), passing captures (en passant) and promotion.
White (W) has capital letters, P N B R Q K, and goes up; Black (B, dark) has small ones. `castling`, below the board
in a picture, names the rights that are left (K, Q White's short and long one, k, q Black's), `passant` the cell that
a pawn has just passed where a pawn of the other side can reach it, which may take it there unless that leaves its own
king in check; `no castling` means neither. Stalemate is a draw, and so are two kings alone or with one knight or
bishop; there is no rule of repetition."""
ANSWER = (
    "Name the cell that a piece leaves and the cell it goes to; for a promotion also the new piece, as in e7 e8 queen."
)
CORNER = " The corner of a picture says which side you have and how many moves of both sides are left."


THICK = 0.045
# the left half of each outline, from the top; the discs on it; strokes in the other colour
OUTLINES: dict[str, tuple[Point, ...]] = {
    "P": ((0.44, 0.5), (0.36, 0.78)),
    "R": (
        *((0.44, 0.17), (0.44, 0.25), (0.39, 0.25), (0.39, 0.17), (0.27, 0.17)),
        *((0.27, 0.37), (0.36, 0.43), (0.36, 0.66), (0.29, 0.78)),
    ),
    "B": ((0.5, 0.14), (0.29, 0.36), (0.31, 0.48), (0.42, 0.58), (0.29, 0.78)),
    "Q": ((0.5, 0.16), (0.44, 0.46), (0.33, 0.22), (0.36, 0.47), (0.17, 0.32), (0.29, 0.62), (0.28, 0.78)),
    "K": ((0.5, 0.34), (0.33, 0.28), (0.2, 0.38), (0.22, 0.5), (0.3, 0.62), (0.28, 0.78)),
}
HORSE: tuple[Point, ...] = (
    *((0.44, 0.14), (0.66, 0.24), (0.75, 0.46), (0.74, 0.78), (0.3, 0.78), (0.36, 0.62), (0.5, 0.47)),
    *((0.36, 0.49), (0.28, 0.57), (0.2, 0.5), (0.24, 0.38), (0.37, 0.24)),
)
DISCS = {
    "P": ((0.5, 0.45, 0.13),),
    "B": ((0.5, 0.1, 0.06),),
    "Q": ((0.17, 0.29, 0.05), (0.33, 0.2, 0.05), (0.5, 0.14, 0.055), (0.67, 0.2, 0.05), (0.83, 0.29, 0.05)),
}
STROKES: dict[str, tuple[Point, Point]] = {
    "B": ((0.5, 0.4), (0.6, 0.27)),
    "K": ((0.5, 0.38), (0.5, 0.66)),
    "N": ((0.4, 0.31), (0.44, 0.31)),
}
CROSS = (((0.5, 0.05), (0.5, 0.3)), ((0.4, 0.14), (0.6, 0.14)))


def _piece(kind: str, fill: str, line: str, mark: str) -> tuple[Shape, ...]:
    half = OUTLINES.get(kind, ())
    points = half + tuple([(1 - x, y) for x, y in reversed(half)]) or HORSE
    cross = [Polygon(points=ends, line=line, thick=0.08, closed=False) for ends in CROSS if kind == "K"]
    discs = [Disc(x=x, y=y, radius=r, fill=fill, line=line, thick=THICK) for x, y, r in DISCS.get(kind, ())]
    stroke = [Polygon(points=STROKES[kind], line=mark, thick=THICK, closed=False)] if kind in STROKES else []
    foot = Box(x=0.22, y=0.78, width=0.56, height=0.11, fill=fill, line=line, thick=THICK, radius=0.04)
    return (*cross, Polygon(points=points, fill=fill, line=line, thick=THICK), *discs, *stroke, foot)


ART = {sign: f"men-{'white' if sign.isupper() else 'black'}-{sign.lower()}" for sign in SIGNS[1:]}
tiles(
    {
        ART[sign]: _piece(sign.upper(), "white", "ink", "ink")
        if sign.isupper()
        else _piece(sign.upper(), "ink", "slate", "white")
        for sign in ART
    }
)


def plain(text: str) -> str:
    """`e7e8q` and `e7-e8=Q+` in the words of the game."""
    text = _MAN.sub("", text.strip().lower().rstrip("+#!").removesuffix("e.p.").rstrip())
    if castles := _CASTLES.fullmatch(text):
        return LONG if castles[1] else SHORT
    if side := _SIDE.fullmatch(text):
        return LONG if "queen" in side.groups() or "long" in side.groups() else SHORT
    if _CASTLE.fullmatch(text):
        return EITHER
    return _SHORT.sub(lambda m: " " + _LETTER[m[1]], text)


class Brief(NamedTuple):
    """What short notation says of a move: the piece (`P` a pawn), the file and the row that it leaves, its new cell, the new piece.

    The piece of a small b is `PB`, the pawn of that file or else a bishop, and `BP` where no text has capitals: whichever alone fits.
    In place of the new cell it may say the piece that is taken.
    """

    man: str
    file: str
    row: str
    to: str
    new: str
    taken: str = ""

    @property
    def key(self) -> str:
        """As it is usually written."""
        if self.taken:
            return " takes ".join(word for sign in (self.man, self.taken) for word in MEN if MEN[word] == sign)
        new = f"={self.new}" * bool(self.new)
        if self.man == "P":
            return f"{self.file}{'x' * bool(self.file)}{self.to}{new}"
        return f"{'b' if len(self.man) == 2 else self.man + self.file}{self.row}{self.to}{new}"

    def fits(self, match: Match, said: str) -> bool:
        """Whether a legal move, in the words of the game, may be meant."""
        return self.says(match.position, said)

    def says(self, position: Ints, said: str) -> bool:
        """Whether a legal move, in the words of the game, is such a one."""
        at, to, *new = said.split()
        man = SIGNS[position[NAMES.index(at)]].upper()
        file = self.file if len(self.man) == 1 or man == "P" else ""
        fits = man in self.man and at.startswith(file) and at.endswith(self.row)
        if self.taken:
            passing = "P" if man == "P" and at[0] != to[0] else "."
            return fits and self.taken == SIGNS[position[NAMES.index(to)]].upper().replace(".", passing)
        fits = fits and to == self.to
        return fits and new == [_LETTER[letter] for letter in self.new.lower()]


class Castling(NamedTuple):
    """Castling whose side is not told."""

    def fits(self, match: Match, said: str) -> bool:
        """Whether a legal move, in the words of the game, is such a one."""
        return said in ("e1 g1", "e1 c1", "e8 g8", "e8 c8") and SIGNS[match.position[NAMES.index(said[:2])]] in "Kk"


class Piece(NamedTuple):
    """A piece whose move is not told."""

    man: str

    def fits(self, match: Match, said: str) -> bool:
        """Whether a legal move, in the words of the game, is one of it."""
        return SIGNS[match.position[NAMES.index(said[:2])]].upper() == self.man


def brief(text: str) -> Brief | None:
    """A move in short notation; None for another text.

    Example:
        >>> brief("Nbd7"), brief("knight takes d7").key, brief("bxc3").man, brief("e2 e4")
        (Brief(man='N', file='b', row='', to='d7', new='', taken=''), 'Nd7', 'PB', None)
    """
    found = _BRIEF.fullmatch(text.strip()) if len(text) <= BRIEFEST else None
    if not found or (found[4] and (found[3] or (found[2] or "") in "bB")):  # its old cell is told, as in b1c3
        return None
    word, sign, file, row, to = (found[i] or "" for i in range(1, 6))
    file, to = file.lower(), to.lower()
    man = "N" if word.lower() == "knight" else (word[:1] or sign).upper() or "P"
    if sign == "b" and not file and to[0] in "ac":
        man, file = "PB", "b"
    new = {"knight": "N"}.get((found[6] or "").lower(), (found[6] or "")[:1] or found[7] or "").upper()
    return Brief(man, file, row, to, new)


def read(text: str) -> Move | None:
    """The move that a text names by its cells, by castling, or in short notation."""
    if len(text) > LONGEST:
        return None
    text = _TAKEN.sub(r"\1", text)
    if said := brief(text):
        return Move(said.key, said, True)
    if found := _BY_NAME.fullmatch(text.strip().lower()):
        said = Brief(MEN[found[1]], "", "", "", "", MEN[found[2]])
        return Move(said.key, said, True)
    if (found := _TWICE.fullmatch(text)) and (move := _agreed(read(found[1]), read(found[2]))):
        return move
    move = GAMES.read(plain(text))
    if move and move.key == EITHER:
        return Move(EITHER, Castling())
    if move and move.key in SPECIALS:
        return Move(move.key, Piece("N" if move.key == "knight" else move.key[0].upper()))
    if not move or not (rest := brief(move.key)):
        return move
    return Move(rest.key, rest, True) if rest.new else None  # one cell among other words may be that of any piece


def _agreed(one: Move | None, two: Move | None) -> Move | None:
    """The move with both cells, of two texts of which the other says the same in short notation."""
    if not one or not two or isinstance(one.value, Brief) == isinstance(two.value, Brief):
        return None
    move, said = (two, one.value) if isinstance(one.value, Brief) else (one, two.value)
    at, *to = move.key.split()
    if not (at.startswith(said.file) and at.endswith(said.row) and to[:1] == [said.to]):
        return None
    new = [_LETTER[letter] for letter in said.new.lower()]
    if len(said.man) > 1 or to[1:] not in ([], new):
        return None
    if said.man == "P":
        return Move(" ".join((at, said.to, *new)))
    whole = said if said.file or said.row else said._replace(file=at[0])  # as it is that piece which goes there
    return Move(whole.key, whole, True)


def read_small(text: str) -> Move | None:
    """`read` of a text whose capitals have become small letters."""
    move = read(text)
    if not move or not isinstance(move.value, Brief):
        return move
    said = move.value
    if said.man == "PB":
        return Move(said.key, said._replace(man="BP"), True)
    return (
        Move(f"bishop {said.key[1:]}", said, True)
        if said.man == "B" and said.to[:1] in ("a", "c") and not said.file
        else move
    )


def named(match: Match, move: Move) -> Move:
    """The one legal move that short notation names; castling as the two cells of the king; others as they are."""
    position, side = match.position, match.position[-1]
    if isinstance(move.value, Brief):
        game = GAMES.game(())
        legal = tuple(map(game.spell, game.legal(position)))
        first = move.value._replace(man=move.value.man.removesuffix("B") or "B")
        fits = next((f for b in (first, move.value) if (f := [said for said in legal if b.says(position, said)])), ())
        return Move(fits[0]) if len(fits) == 1 else move
    if position[4 if side else 60] != CODE["Kk"[side]]:
        return move
    row = 8 if side else 1
    short, long = f"e{row} g{row}", f"e{row} c{row}"
    if move.key == EITHER:
        game = GAMES.game(())
        able = [said for said in map(game.spell, game.legal(position)) if said in (short, long)]
        return Move(able[0]) if len(able) == 1 else move
    return {SHORT: Move(short), f"e{row} h{row}": Move(short), LONG: Move(long), f"e{row} a{row}": Move(long)}.get(
        move.key, move
    )


def scattered(rng: Rng, men: str, fixed: Mapping[int, int] = NONE) -> list[int]:
    """Cells of a board with these men, capitals white, on random cells, besides those that are `fixed`; kings come apart."""
    cells, uniform = [0] * 64, rng.uniform
    for cell, code in fixed.items():
        cells[cell] = code
    kings = [cell for cell, code in fixed.items() if SIGNS[code] in "Kk"]
    for sign in men:
        low, count, shut = (8, 48, ()) if sign in "Pp" else (0, 64, STEPS[kings[0]] if sign in "Kk" and kings else ())
        while cells[at := low + int(uniform() * count)] or at in shut:
            pass
        cells[at] = CODE[sign]
        if sign in "Kk":
            kings.append(at)
    return cells


def pose(rng: Rng, knobs: Mapping[str, Any]) -> Ints | None:
    """A position to begin a match with.

    Knobs: `men` is a number of men beside the king that each side keeps of the first position, the same ones, or the men of an
    ending, as `KQk`, in which White must mate; after it both sides make `rounds` random moves, up to `more` besides.
    """
    kept = knobs["men"]
    if isinstance(kept, str):
        start = (*scattered(rng, kept), 0, NOBODY, 1)
        return None if checked((*start, 0), 1) else (*start, knobs["limit"], 0)
    gone = rng.sample([c for c in range(48, 64) if c != 60], 15 - kept)
    cells = list(Chess().begin()[:64])
    for c in gone:
        cells[c] = cells[c ^ 56] = 0
    rights = sum([r for r, rook in ((1, 63), (2, 56), (4, 7), (8, 0)) if cells[rook]])
    game = GAMES.game(())
    position = (*cells, rights, NOBODY, 0, 400, 0)
    for _ in range(2 * (knobs["rounds"] + rng.below(knobs["more"] + 1))):
        if game.worth(position) is not None:
            return None
        position = game.play(position, rng.pick(game.legal(position)))
    position = (*position[:-2], knobs["limit"], 0)
    if game.worth(position) is not None or checked(position, 0) or game.peak(position) == 1:
        return None
    return position if LEVEL[0] < game.rules.value(position) < LEVEL[1] else None


GAMES = MenLook(Chess, (), ART, dark=True, specials=(*SPECIALS, SHORT, LONG, EITHER))
LOOK = Posed(GAMES, pose, reads=read)
