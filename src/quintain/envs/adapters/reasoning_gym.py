"""Our worlds as datasets in the shape of reasoning-gym: `dataset[i]` is a question, `score_answer` plays the answer."""

from __future__ import annotations

import operator
from collections.abc import Iterator, Mapping
from typing import Any

from quintain.envs.adapters.play import SEEDS, AdapterError, Heard, Play, check_seed
from quintain.envs.asking import ASKS, too_few
from quintain.envs.scaffold import Scaffold
from quintain.registry import unknown
from quintain.samplers.draws import mixed

TRIES = 1000  # instances that are tried for an entry


class WorldDataset:
    """Has what a `reasoning_gym.ProceduralDataset` has (`len`, indexing, iteration, `score_answer`, `seed`, `size`); needs no peer.

    Entry i is the instance of the seed hash(seed, i): equal arguments, equal entries, on every machine. An answer is written as the
    scaffold's grammar says, and the oracle's stands in `answer`; others that are as good score as well. Where an episode has several turns
    the answer is the whole plan, one action a line. With a picture in the scaffold an entry has `image`, uint8 [side, side, 3].

    Args:
        world: a registered world of one seat, whose episodes have one turn, as MiniSudoku's, or can be planned, as KeyDoor's; or any
            whose actions are a list, or whose oracle is sure how to end an episode, where it `asks` for that.
        level: 0-9.
        seed: chooses the instances.
        size: number of entries.
        scaffold: how it is shown and answered; unless told, an answer is written alone.
        split: `train`, `validation` or `test`.
        asks: for the `plan`, for the `moves` that are possible at the start, or for the `last` action of an episode that is played for you.

    Raises:
        AdapterError: the world cannot be asked about in one question (see `asking.ASKS`), or the size is negative.

    Example:
        >>> dataset = WorldDataset("MiniSudoku", level=1, seed=7, size=3)
        >>> entry = dataset[0]
        >>> dataset.score_answer(entry["answer"], entry), dataset.score_answer("no idea", entry)
        (1.0, 0.0)
    """

    def __init__(
        self,
        world: str,
        level: int = 0,
        *,
        seed: int = 0,
        size: int = 500,
        scaffold: Mapping[str, Any] | Scaffold | None = None,
        split: str = "train",
        asks: str = "plan",
    ) -> None:
        self.play, self.seed = Play(world, level, scaffold, split), check_seed(seed)
        if asks not in ASKS:
            raise AdapterError(unknown("question", asks, ASKS))
        self.ask = ASKS[asks]
        if not hasattr(size, "__index__") or size < 0:
            raise AdapterError(f"size is {size!r}; it is a whole number of at least 0")
        self.size = operator.index(size)
        if why := self.ask.unfit(self.play, [self.play.level]):
            fits = [name for name, ask in ASKS.items() if not ask.unfit(self.play, [self.play.level])]
            raise AdapterError(f"{why}; asks={fits[0]!r} fits" if fits else why)

    def __len__(self) -> int:
        return self.size

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return (self[i] for i in range(self.size))

    def __getitem__(self, index: int) -> dict[str, Any]:
        index = operator.index(index)  # NumPy's integers too, which wrap around
        if not -self.size <= index < self.size:
            raise IndexError(f"entry {index} of {self.size}")
        index %= self.size
        seed, heard = self._posed(mixed(self.seed, index))
        metadata = {
            "source_dataset": self._name(),
            "source_index": index,
            "seed": seed,
            "split": self.play.split,
            "difficulty": {"level": self.play.level},
        }
        shown = {} if heard.image is None else {"image": heard.image}
        return {"question": heard.text, **shown, "answer": self.ask.best(self.play), "metadata": metadata}

    def _posed(self, first: int) -> tuple[int, Heard]:
        """The first seed of a row of them whose instance has the question, and what is told."""
        for again in range(TRIES):
            seed = (mixed(first, again) if again else first) % SEEDS
            told = self.play.begin(seed)
            heard = self.ask.pose(self.play, told[self.play.movers[0]])
            if heard is not None:
                return seed, heard
        raise AdapterError(
            f"none of {TRIES} instances of {self.play.name} can be asked so{too_few(self.play)}; choose another of {', '.join(ASKS)}"
        )

    def score_answer(self, answer: str | None, entry: Mapping[str, Any]) -> float:
        """What the answer earns in [0, 1]: 0 for None and for what cannot be read. The entry says its level and split.

        Raises:
            AdapterError: the entry does not say which instance it is, or is one of another world, or its difficulty is none.
        """
        facts = entry.get("metadata") if isinstance(entry, Mapping) else None
        if not isinstance(facts, Mapping) or "seed" not in facts:
            raise AdapterError(
                f"the entry is {entry!r:.80} and has no seed in its metadata; give an entry of this dataset"
            )
        if (of := facts.get("source_dataset", self._name())) != self._name():
            raise AdapterError(f"the entry is of {of!r:.80}, this dataset {self._name()}; give an entry of this one")
        chosen = facts.get("difficulty", {})
        if not isinstance(chosen, Mapping):
            raise AdapterError(
                f"the difficulty of the entry is {chosen!r:.80}; it is a mapping such as {{'level': 3}}: give an entry of this dataset"
            )
        options = {"level": chosen.get("level", self.play.level), "split": facts.get("split", self.play.split)}
        told = self.play.begin(facts["seed"], options)
        posed = self.ask.pose(self.play, told[self.play.movers[0]])
        return self.ask.grade(self.play, answer) if posed is not None else 0.0

    def _name(self) -> str:
        return f"quintain/{self.play.name}"
