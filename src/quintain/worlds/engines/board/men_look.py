"""How a game of men begins, what it looks like, and how its moves are written."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from quintain.types import Ints, QuintainError
from quintain.worlds.art import tiles
from quintain.worlds.cells import LETTERS, frame, lettered, sized
from quintain.worlds.engines.board.game import Match, Setup, next_side
from quintain.worlds.engines.board.men import MenGame, Rules
from quintain.worlds.engines.turns import digit_words, digits
from quintain.worlds.kernel import GenerationError, Move
from quintain.worlds.noise import Rng
from quintain.worlds.scene import Box, Disc, Run, Scene, Shape
from quintain.worlds.splits import canonical

OPENING = ("rounds", "more", "limit")  # knobs of every game of men
LONGEST = 400  # moves of both sides in a match
_HEAD = re.compile(r"You play (\w); (\w|nobody) is to move; (\d+) moves? (?:are|is) left\.(?: (.+))?")
_TAKES = re.compile(r"(?<=\d)\s*x\s*(?=[a-z]\d)")
_GAPS = re.compile(r"\s*(?:->|→|[-–—>,:;/=()\[\]&+]|\bto\b|\bthen\b|\band\b)\s*|\s+")
_TURNED = re.compile(r"\d{1,2}[a-z]", re.ASCII)  # a cell with its row first
_CELL = re.compile(r"[a-z][1-9]\d?", re.ASCII)
# words beside a move that say nothing more, where they are none of the game's own
_BESIDE = re.compile(
    "x|o|w|b|castle|white|black|pawn|man|piece|king|builder|disc|pins?|flat|stone|draw|line|takes?|captures|builds?|remove|settles?"
    "|moves?|goes|steps?|jumps?|leaps?|slides?|sow|seeds|empty|pit|put|place|marks?|cells?|point|away|promot(?:es?|ing)|becomes"
    "|check|(?:check)?mate|i|my|new|an?|the|of|at|in|on|into|with|as|say|must"
)
_OTHER_WAY = re.compile(  # what comes last is told first
    r"\b(?:build|remove|take)s?\b[^\d]*\d(?:.*\b(?:steps?|moves?)\b|\W*(?:[,;]|\band\b|\bthen\b).*\bto\b)|\bbuilds?\b.*\d.*[a-z]\d"
    r"|\bflat\b.*\bwall\b|\bwall\b.*\bflat\b"
)
LONG = 120  # characters after which a text is no move
_LOOSE = re.compile(r"([a-z]\d{1,2})(?=[a-z])")


def _badge(sign: str, left: int, color: str) -> tuple[Shape, ...]:
    return (
        Box(x=0.04, y=0.04, width=0.92, height=0.92, fill="white", line="seam", thick=0.03, radius=0.15),
        Run(text=sign, x=0.5, y=0.29, size=0.44, color=color),
        Run(text=str(left), x=0.5, y=0.71, size=0.48 if left < 100 else 0.42, color="stone"),
    )


def man(fill: str, line: str, mark: str = "", ink: str = "white") -> tuple[Shape, ...]:
    """A round piece, perhaps with a letter on it."""
    disc = (
        Disc(x=0.5, y=0.56, radius=0.36, fill="seam"),
        Disc(x=0.5, y=0.5, radius=0.36, fill=fill, line=line, thick=0.08),
    )
    return (*disc, Run(text=mark, x=0.5, y=0.5, size=0.44, color=ink)) if mark else disc


tiles(
    {
        "men-light": (Box(x=0, y=0, width=1, height=1, fill="sand"),),
        "men-dark": (Box(x=0, y=0, width=1, height=1, fill="wood"),),
        "men-X": man("blue", "navy"),
        "men-O": (*man("gold", "rust"), Disc(x=0.5, y=0.5, radius=0.15, line="rust", thick=0.06)),
        **{
            f"men-{side}-{left}": _badge(side, left, color)
            for side, color in (
                ("X", "blue"),
                ("O", "brick"),
                ("W", "stone"),
                ("B", "ink"),
                ("1", "blue"),
                ("2", "brick"),
            )
            for left in range(LONGEST + 1)
        },
    }
)


@dataclass(eq=False)
class MenLook:
    """A game of men as `board.game.Look`.

    Knobs: before the first move each side has made `rounds` random ones, and up to `more` besides; a match has `limit` moves of
    both sides after that; with a knob `lead` the side to move is so much better off at first sight, from -1 to 1; the other
    knobs are the numbers of the game, in the order of `numbers`.

    Args:
        make: the rules that the numbers stand for.
        numbers: knobs that are numbers of the game.
        art: sign -> tile, drawn over the cell; `.` may have one. Signs without one are not drawn.
        fits: whether an opening will do, beside that nobody can end the game at once.
        dark: draw the cells like a chess board; otherwise all are light.
        specials: words of answers beside cells, of any of the games.
        ground: the tile below whatever stands on each cell, where `dark` is not enough.
        shape: the numbers of the game that columns, rows and note of a caption show, where those are more than columns and rows.
        tidy: what makes one of the spellings of an answer the normal one; the text it gets has small letters.
        badge: what the names of the corner's tiles begin with, which show the own side and the moves that are left.
        shown: a note as it is written below the picture.
        alone: a move that a text names in other ways.
    """

    make: Callable[..., Rules]
    numbers: Sequence[str]
    art: Mapping[str, str]
    fits: Callable[[MenGame, Ints, Mapping[str, Any]], bool] | None = None
    dark: bool = False
    specials: Sequence[str] = ()
    ground: Callable[[MenGame, Ints], Sequence[str]] | None = None
    shape: Callable[[int, int, str], Ints | None] | None = None
    tidy: Callable[[str], str] = str.strip
    badge: str = "men"
    shown: Callable[[str], str] = str
    alone: Callable[[str], Move | None] = lambda text: None

    def __post_init__(self) -> None:
        self._game = functools.lru_cache(maxsize=32)(lambda *numbers: MenGame(self.make(*numbers)))
        self._tile = functools.cache(lambda ground, sign: f"{ground}+{self.art[sign]}" if sign in self.art else ground)
        self._specials = frozenset(self.specials)

    def game(self, options: Ints) -> MenGame:
        return self._game(*options)

    def options(self, knobs: Mapping[str, Any]) -> Ints:
        if not 1 <= knobs["limit"] <= LONGEST:
            raise GenerationError(f"limit {knobs['limit']}: a match has 1 to {LONGEST} moves of both sides")
        return tuple([knobs[name] for name in self.numbers])

    def varied(self, knobs: Mapping[str, Any]) -> bool:
        return True

    def opening(self, rng: Rng, knobs: Mapping[str, Any]) -> Ints | None:
        """A position after random moves in which nobody can win at once."""
        game = self.game(self.options(knobs))
        lasts = game.board.lasts - 2 * knobs["rounds"]
        if knobs["limit"] < lasts:  # the rules say that the moves are always enough
            raise GenerationError(
                f"a match after {knobs['rounds']} rounds can last {lasts} moves; limit {knobs['limit']} is less"
            )
        position = (*game.rules.begin(), LONGEST, 0)
        for _ in range(2 * (knobs["rounds"] + rng.below(knobs["more"] + 1))):
            if game.worth(position) is not None or not game.legal(position):
                return None
            position = game.play(position, rng.pick(game.legal(position)))
        position = (*position[:-2], knobs["limit"], position[-1])
        return position if game.worth(position) is None else None

    def suits(self, position: Ints, knobs: Mapping[str, Any]) -> bool:
        game = self.game(self.options(knobs))
        if self.fits is not None:
            return self.fits(game, position, knobs)
        return knobs.get("lead", -1) <= game.peak(position) < 1 and game.peak((*position[:-1], 1 - position[-1])) < 1

    def layout(self, match: Match) -> str:
        game = self.game(match.setup.options)
        return (
            f"{canonical(_signs(game, match), game.board.columns, game.board.rows)} {match.position[game.cells : -2]}"
        )

    def longest(self, match: Match) -> int:
        return match.position[-2]

    def caption(self, match: Match, me: int, level: int) -> str:
        game, left = self.game(match.setup.options), match.position[-2]
        mover = game.board.sides[match.mover] if game.worth(match.position) is None else "nobody"
        head = f"You play {game.board.sides[me]}; {mover} is to move; "
        head += f"{left} {'move is' if left == 1 else 'moves are'} left."
        note = game.board.note(match.position)
        head += f" {note}" if note else ""
        signs = _signs(game, match)
        if level == 2:
            return f"{head}\n{_written(game, signs)}"
        where: dict[str, list[str]] = {}
        for name, sign in zip(game.names, signs, strict=True):
            if sign != ".":
                where.setdefault(sign, []).append(name)
        placed = [f"{sign}: {', '.join(names)}" for sign, names in where.items()]
        stop = "." if note and note[-1] != "." else ""
        size = sized(game.board.columns, game.board.rows)
        return f"{head}{stop} {size} {'. '.join(placed) or 'It is empty'}."

    def rebuild(self, caption: str) -> Match:
        head, _, *lines = caption.split("\n")
        said = _HEAD.fullmatch(head)
        rows = [line.split()[1:] for line in lines]
        options = self.of_shape(len(rows[0]) if rows else 0, len(rows), (said[4] or "") if said else "")
        game = self.game(options) if options is not None else None
        signs = "".join(["".join(row) for row in rows])
        own = game.board.noted(said[4] or "") if game and said else None
        if not game or not said or own is None or len(signs) != game.cells or set(signs) - set(game.board.signs):
            raise QuintainError(f"this is no full caption of this game: {caption[:60]!r}")
        told = (*[game.board.signs.index(sign) for sign in signs], *own, int(said[3]))
        side = game.board.sides.index(said[2]) if len(said[2]) == 1 else next_side(game, (*told, 0), (*told, 1))
        return Match(Setup(options or ()), (*told, side), side)

    def of_shape(self, columns: int, rows: int, note: str) -> Ints | None:
        """The numbers of the game that a caption shows, or None."""
        if self.shape is not None:
            return self.shape(columns, rows, note)
        return {0: (), 1: (columns,), 2: (columns, rows)}.get(len(self.numbers))

    def grounds(self, game: MenGame, position: Ints) -> Sequence[str]:
        """The tile below whatever stands on each cell."""
        if self.ground is not None:
            return self.ground(game, position)
        return _chequered(game.board.columns, game.board.rows) if self.dark else ("plain",) * game.cells

    def scene(self, match: Match, me: int) -> Scene:
        game = self.game(match.setup.options)
        cells = [f"{self.badge}-{game.board.sides[me]}-{match.position[-2]}", *_columns(game.board.columns)]
        placed = [*map(self._tile, self.grounds(game, match.position), _signs(game, match))]
        for row in range(game.board.rows):
            cells.append(f"label-{game.board.rows - row if game.board.upward else row + 1}")
            cells += placed[row * game.board.columns : (row + 1) * game.board.columns]
        note, width, height = self.shown(game.board.note(match.position)), game.board.columns + 1, game.board.rows + 1
        shown = (
            (Run(text=note, x=width / 2, y=height + 0.45, size=min(0.5, 1.7 * width / max(len(note), 1))),)
            if note
            else ()
        )
        return Scene(width=width, height=height + bool(note), cells=tuple(cells), columns=width, shapes=shown)

    def static(self, match: Match, me: int) -> tuple[str, ...]:
        return (
            f"play-{self.game(match.setup.options).board.sides[me]}",
            *map(str.__add__, self.numbers, map(str, match.setup.options)),
        )

    def moving(self, match: Match) -> tuple[str, ...]:
        game = self.game(match.setup.options)
        placed = zip(_signs(game, match), game.names, strict=True)
        note = game.board.note(match.position).split()
        return (*digits("left", match.position[-2]), *note, *[sign + name for sign, name in placed if sign != "."])

    def words(self, knobs: Mapping[str, Any], sides: int) -> tuple[str, ...]:
        options = self.options(knobs)
        game = self.game(options)
        fixed = [f"play-{side}" for side in game.board.sides[:sides]] + [
            n + str(v) for n, v in zip(self.numbers, options, strict=True)
        ]
        men = [sign + name for sign in game.board.signs[1:] for name in game.names]
        known = (*game.lexicon, *fixed, *digit_words("left", 3), *game.board.vocabulary, *men)
        return tuple(dict.fromkeys(known))  # a note may hold a word of a move

    def read(self, text: str) -> Move | None:
        text = text.strip()
        if not 0 < len(text) <= LONG:
            return None
        if move := self.alone(text.lower()):
            return move
        text = _LOOSE.sub(r"\1 ", _TAKES.sub(" ", self.tidy(lettered(text.lower()))))
        words = [word for word in _GAPS.split(text) if word and (word in self._specials or not _BESIDE.fullmatch(word))]
        if len(words) == 1 and _TURNED.fullmatch(words[0]):
            words = [words[0][-1] + words[0][:-1]]
        if not words or _OTHER_WAY.search(text) or not all(w in self._specials or _CELL.fullmatch(w) for w in words):
            return None
        # of leaps that are written in pairs, `f1 d3, d3 b5`, each but the first begins where the one before it ended
        return _move(" ".join([word for word, before in zip(words, ["", *words], strict=False) if word != before]))

    def move(self, index: int, options: Ints) -> Move:
        return _move(self.game(options).spell(index))

    def index(self, move: Move, options: Ints) -> int:
        return self.game(options).spelled(move.key)


def _signs(game: MenGame, match: Match) -> str:
    return "".join([game.board.signs[code] for code in match.position[: game.cells]])


def _written(game: MenGame, signs: str) -> str:
    """The board with column letters above and row numbers before."""
    lines = [frame(game.board.columns)]
    for row in range(game.board.rows):
        number = game.board.rows - row if game.board.upward else row + 1
        lines.append(f"{number:2d} " + " ".join(signs[row * game.board.columns : (row + 1) * game.board.columns]))
    return "\n".join(lines)


@functools.lru_cache(maxsize=4096)
def _move(key: str) -> Move:
    return Move(key)


@functools.lru_cache(maxsize=32)
def _columns(width: int) -> tuple[str, ...]:
    return tuple([f"label-{sign}" for sign in LETTERS[:width]])


@functools.lru_cache(maxsize=32)
def _chequered(width: int, height: int) -> tuple[str, ...]:
    return tuple(
        ["men-dark" if (row + column) % 2 else "men-light" for row in range(height) for column in range(width)]
    )
