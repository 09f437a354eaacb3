"""Datasets of reasoning-gym as envs of ours: one question, one answer, the dataset's own score."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from quintain.envs.adapters.game import Manner, PeerError, Shown, by_level, options_of
from quintain.envs.adapters.packages import peer
from quintain.envs.adapters.peer_env import playing
from quintain.ports import SOLO, Env
from quintain.registry import UnknownName, register, unknown
from quintain.types import Stop, Task

LONGEST = 20_000  # characters of an answer


class ReasoningGame:
    """Matches `game.Game`: the question of a task is entry 0 of the dataset with the task's seed and a size of 1.

    Args:
        ids: name of a dataset, or one for each level.
        config: of the dataset, or one for each level.
    """

    ask = "Your answer alone, as the question asks for it."

    def __init__(self, ids: Any, config: Any) -> None:
        self.ids, self.config = ids, config
        self.seats: tuple[str, ...] = (SOLO,)
        self.dataset: Any = None
        self.entry: dict[str, Any] = {}

    def start(self, task: Task) -> Shown:
        """Make the entry that the seed determines.

        Raises:
            UnknownName: there is no such dataset.
            PeerError: the dataset does not take such a config.
        """
        name, config = by_level(self.ids, task), options_of(by_level(self.config, task, object), "seed", "size")
        factory = peer("reasoning_gym.factory")
        if name not in factory.DATASETS:
            raise UnknownName(unknown("dataset of reasoning-gym", name, factory.DATASETS))
        try:
            self.dataset = factory.create_dataset(name, **{**config, "seed": task.seed % 2**32, "size": 1})
        except (TypeError, AssertionError, ValueError) as error:
            raise PeerError(f"reasoning-gym's {name} cannot be made of {dict(config)!r}: {error}") from error
        self.entry = self.dataset[0]
        return Shown(texts={SOLO: self.entry["question"]}, movers=(SOLO,))

    def read(self, text: str, seat: str) -> Any:
        """Every text that is not empty is an answer; its first 20,000 characters count."""
        return text.strip()[:LONGEST] or None

    def play(self, moves: Mapping[str, Any]) -> Shown:
        """Score the answer; the component `success` is 1 where the score is."""
        score = float(self.dataset.score_answer(moves[SOLO], entry=self.entry))
        success = float(score >= 1.0)
        rewards = {"success": success, "partial": score - success} if 0.0 < score < 1.0 else {"success": success}
        return Shown(texts={SOLO: ""}, rewards={SOLO: rewards}, stop=Stop.done)

    def close(self) -> None:
        """There is nothing to free."""


@register("env", "reasoning_gym", seeds=True, example={"id": "leg_counting"})
def reasoning_gym(
    id: str | Sequence[str],
    config: Mapping[str, Any] | Sequence[Mapping[str, Any]] | None = None,
    manner: Mapping[str, Any] | None = None,
) -> Callable[[Task], Env]:
    """Questions of a dataset of reasoning-gym without end: the seed of a task is the seed of the dataset.

    The reward is the dataset's `score_answer`: `success` for a whole one, `partial` for part of one.

    Args:
        id: name of a dataset; a list has one for each level.
        config: of the dataset; a list has one for each level, as in `[{max_animals = 3}, {max_animals = 9}]`.
        manner: options of `game.Manner`; `turns` is 1 unless told: an answer that cannot be read ends the episode.

    Raises:
        MissingExtra: reasoning-gym is not installed.
    """
    peer("reasoning_gym")
    return playing(lambda: ReasoningGame(id, config), Manner.of({"turns": 1, **(manner or {})}))
