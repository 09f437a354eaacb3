"""Which trajectories a run keeps: all, some groups of every step, or none; rows and digests are kept of all."""

from __future__ import annotations

from quintain.types import Event, Group, QuintainError


class Recording:
    """Reads `all`, `sample:K` or `none` and decides event by event.

    Args:
        text: `all`; `sample:K`, the first K groups of each step, K >= 1; `none`.

    Raises:
        QuintainError: any other text.

    Example:
        >>> Recording("sample:2").limit
        2
    """

    def __init__(self, text: str) -> None:
        word, _, count = text.partition(":")
        if text == "all":
            self.limit: int | None = None
        elif text == "none":
            self.limit = 0
        elif word == "sample" and count.isdigit() and int(count) > 0:
            self.limit = int(count)
        else:
            raise QuintainError(
                f"record is {text!r}; it must be `all`, `sample:K` with K >= 1 groups a step, or `none`"
            )
        self._step, self._seen = -1, 0

    def whole(self, event: Event) -> bool:
        """Whether the trajectories in this event are kept."""
        if self.limit is None or not any(isinstance(v, Group) for v in event.payload.values()):
            return True
        if event.step != self._step:
            self._step, self._seen = event.step, 0
        self._seen += 1
        return self._seen <= self.limit
