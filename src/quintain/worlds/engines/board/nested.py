"""Ultimate tic-tac-toe: nine small boards in a large one; where a move goes says where the next one must be."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from operator import itemgetter

from quintain.types import Ints
from quintain.worlds.art import tiles
from quintain.worlds.engines.board.men import Board, MenGame
from quintain.worlds.scene import Box, Shape

SIDE = 9
ANY = 9  # instead of a small board: any that is open
ROWS = ((0, 1, 2), (3, 4, 5), (6, 7, 8), (0, 3, 6), (1, 4, 7), (2, 5, 8), (0, 4, 8), (2, 4, 6))
PLACES = tuple(f"{up} {left}" for up in ("upper", "middle", "lower") for left in ("left", "centre", "right"))
NOTES = (*(f"Play in the {place} board." for place in PLACES), "Play in any open board.", "The game is over.")
FULL = 3  # a small board that nobody has won and that has no free cell
KINDS = {"open": "floor", "here": "mint", "X": "frost", "O": "sand", "full": "seam"}
CALM = (1, 5, 7, 3, 0, 2, 6, 8, 4)  # cells of a small board from the weakest on


def _ground(fill: str, row: int, column: int) -> tuple[Shape, ...]:
    """A cell with thick lines where its small board ends."""
    left, top = 0.07 if not column else 0.02, 0.07 if not row else 0.02
    right, foot = 0.07 if column == 2 else 0.02, 0.07 if row == 2 else 0.02
    edges = [Box(x=x, y=0, width=0.05, height=1, fill="slate") for x, at in ((0, 0), (0.95, 2)) if column == at]
    edges += [Box(x=0, y=y, width=1, height=0.05, fill="slate") for y, at in ((0, 0), (0.95, 2)) if row == at]
    inner = Box(x=left, y=top, width=1 - left - right, height=1 - top - foot, fill=fill, radius=0.04)
    return (Box(x=0, y=0, width=1, height=1, fill="cloud"), inner, *edges)


tiles({f"nested-{k}-{i}": _ground(fill, i // 3, i % 3) for k, fill in KINDS.items() for i in range(9)})


class _States(dict[Ints, tuple[int, float]]):
    """What nine cells are: won by a side, `FULL` or open (0), and how well side 0 stands there, from -1 to 1."""

    def __missing__(self, codes: Ints) -> tuple[int, float]:
        lines = [(codes[a], codes[b], codes[c]) for a, b, c in ROWS]
        won = next((line[0] for line in lines if line[0] in (1, 2) and line.count(line[0]) == 3), 0)
        total = 0.0
        for line in lines:
            a, b = line.count(1), line.count(2)
            if FULL not in line and not (a and b):
                total += (0, 1, 4, 0)[a] - (0, 1, 4, 0)[b]
        total += 0.5 * ((codes[4] == 1) - (codes[4] == 2))
        state = won or (0 if 0 in codes else FULL)
        self[codes] = (state, (0, 1, -1, 0)[state] if state else total / 20)
        return self[codes]


class UltimateTTT:
    """Nine boards of tic-tac-toe; the cell of a move names the board of the next one; three won boards in a row win."""

    def __init__(self) -> None:
        self.cells = SIDE * SIDE
        self.boards: tuple[Ints, ...] = tuple(
            tuple((b // 3 * 3 + i // 3) * SIDE + b % 3 * 3 + i % 3 for i in range(9)) for b in range(9)
        )
        self.where = {cell: (b, i) for b, cells in enumerate(self.boards) for i, cell in enumerate(cells)}
        self.parts = [itemgetter(*cells) for cells in self.boards]
        self._last: tuple[Ints, tuple[Ints, list[tuple[int, float]]]] = (), ((), [])
        self.states, self.whole = _States(), _States()
        self.board = Board(
            columns=SIDE,
            rows=SIDE,
            deep=5,
            nodes=200,
            note=lambda position: NOTES[-1 if self.over(position) else position[self.cells]],
            noted=lambda note: (min(NOTES.index(note), ANY),) if note in NOTES else None,
            vocabulary=tuple(dict.fromkeys(" ".join(NOTES).split())),
        )

    def begin(self) -> Ints:
        return (0,) * self.cells + (ANY,)

    def won(self, position: Ints) -> Ints:
        """What each small board is: 0 while it is open."""
        return self._seen(position)[0]

    def _seen(self, position: Ints) -> tuple[Ints, list[tuple[int, float]]]:
        """What each small board is, and that with how well side 0 stands there; a position is asked for this several times in a row."""
        last, seen = self._last
        if last is not position:
            found = [self.states[part(position)] for part in self.parts]
            seen = tuple([state for state, _ in found]), found
            self._last = position, seen
        return seen

    def paths(self, position: Ints) -> Iterable[Ints]:
        target = position[self.cells]
        boards = [target] if target != ANY else [b for b, state in enumerate(self.won(position)) if not state]
        return [(self.boards[b][i],) for b in boards for i in CALM if not position[self.boards[b][i]]]

    def moved(self, position: Ints, path: Ints) -> Ints:
        cells = (*position[: path[0]], position[-1] + 1, *position[path[0] + 1 : self.cells])
        target = self.where[path[0]][1]
        return (*cells, ANY if self.states[self.parts[target](cells)][0] else target)

    def ended(self, position: Ints) -> int | None:
        state = self.whole[self.won(position)][0]
        if state in (1, 2):
            return 1 if state == position[-1] + 1 else -1
        return 0 if state == FULL else None

    def over(self, position: Ints) -> bool:
        """Whether nobody is to move in a whole position, so that no board is to be played in."""
        return position[-2] <= 0 or self.ended(position) is not None

    def value(self, position: Ints) -> float:
        won, states = self._seen(position)
        total = 12 * self.whole[won][1]
        total += sum([guess for state, guess in states if not state]) + 0.5 * states[4][1]
        total = (-total if position[-1] else total) + 0.4 * (position[self.cells] == ANY)
        return total / (abs(total) + 6)


def small_boards(game: MenGame, position: Ints) -> Sequence[str]:
    """Tiles with thick lines between the small boards; those where one may play are tinted, and so are those that are won."""
    rules, target = game.rules, position[game.cells]
    assert isinstance(rules, UltimateTTT), "these are the boards of one game only"
    kinds, over = [], rules.over(position)
    for b, state in enumerate(rules.won(position)):
        here = "here" if target in (b, ANY) and not over else "open"
        kinds.append((here, "X", "O", "full")[state])
    where = [rules.where[cell] for cell in range(game.cells)]
    return [f"nested-{kinds[b]}-{i}" for b, i in where]
