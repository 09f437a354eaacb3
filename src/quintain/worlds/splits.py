"""Train, validation and test instances that share no layout, not even turned or mirrored.

A world reduces an instance to its layout, the layout to a canonical form under the symmetries of its board, and the
hash of that decides the split: one tenth is reserved for `test` and one tenth for `validation`.
"""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from operator import itemgetter
from typing import Generic, TypeVar

from quintain.registry import unknown
from quintain.worlds.kernel import GenerationError
from quintain.worlds.noise import Rng, spend

Instance = TypeVar("Instance")

SPLITS = ("train", "validation", "test")
TRIES = 200_000  # the rarest instances take some thousand draws, those of one split ten times as many
TRY = 300  # draws that one try counts for beside its own, where they are counted
ALL = "all"  # no split: every layout


@functools.lru_cache(maxsize=256)
def symmetries(width: int, height: int) -> tuple[tuple[int, ...], ...]:
    """The symmetries of a board as permutations of its row-major cells: 8 of a square, 4 of any other rectangle.

    Example:
        >>> len(symmetries(3, 3)), len(symmetries(4, 3)), symmetries(2, 1)
        (8, 4, ((0, 1), (1, 0), (0, 1), (1, 0)))
    """
    rows, columns = range(height), range(width)
    cell = [[y * width + x for x in columns] for y in rows]
    boards = [cell, [r[::-1] for r in cell], cell[::-1], [r[::-1] for r in cell[::-1]]]
    if width == height:
        boards += [[list(r) for r in zip(*b, strict=True)] for b in boards]
    return tuple(tuple(i for r in b for i in r) for b in boards)


def canonical(cells: Sequence[str], width: int, height: int) -> str:
    """The least text among the symmetric images of a row-major board.

    Example:
        >>> canonical("#..k", 2, 2) == canonical("k..#", 2, 2)
        True
    """
    return min(["".join(turned(cells)) for turned in _turnings(width, height)])


@functools.lru_cache(maxsize=256)
def _turnings(width: int, height: int) -> tuple[Callable[[Sequence[str]], Sequence[str]], ...]:
    """What takes the cells of a board to each of its symmetric images."""
    return tuple(itemgetter(*order) for order in symmetries(width, height))


def split_of(layout: str) -> str:
    """The split to which a canonical layout belongs."""
    bucket = int.from_bytes(hashlib.blake2b(layout.encode(), digest_size=8).digest(), "little") % 10
    return "test" if bucket == 0 else "validation" if bucket == 1 else "train"


def check_split(split: str) -> None:
    """Raises GenerationError where there is no such split."""
    if split not in SPLITS and split != ALL:
        raise GenerationError(unknown("split", split, (*SPLITS, ALL)))


@dataclass(frozen=True, slots=True)
class Draft(Generic[Instance]):
    """An instance whose layout is final, and what proves or completes it (None: rejected) once the split is known to be right.

    `finish` draws nothing, so that what is drawn next does not depend on whether it was called.
    """

    instance: Instance
    finish: Callable[[], Instance | None]


def drawn(
    make: Callable[[Rng], Instance | Draft[Instance] | None],
    layout: Callable[[Instance], str],
    rng: Rng,
    split: str,
    tries: int = TRIES,
) -> Instance:
    """The first instance that `make` gives (None: rejected) and whose canonical `layout` belongs to `split`.

    A `Draft` is finished only if its layout belongs to `split`: nine of ten proofs need not be made.

    Raises:
        GenerationError: there is no such split, or `tries` draws gave no instance.
    """
    check_split(split)
    others = unproved = 0
    for _ in range(tries):
        spend(TRY)
        made = make(rng)
        instance = made.instance if isinstance(made, Draft) else made
        if instance is None:
            continue
        if split == ALL or split_of(layout(instance)) == split:
            instance = made.finish() if isinstance(made, Draft) else made
            if instance is not None:
                return instance
            unproved += 1
        else:
            others += 1
    why = "there are too few layouts to split" if others and not unproved else "none could be made at all"
    raise GenerationError(f"no instance of split {split!r} in {tries} draws: {why}")
