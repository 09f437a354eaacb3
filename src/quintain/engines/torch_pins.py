"""Which policy version each session of an engine goes on with, where episodes keep the one that they began with."""

from __future__ import annotations

from collections import Counter


class Pin:
    """The version of one session."""

    __slots__ = ("version",)

    def __init__(self, version: int) -> None:
        self.version = version


class Pins:
    """The versions that sessions are pinned to, from their first token until they are aborted.

    Args:
        most: versions in use at once, the newest included, >= 1: each costs a copy of the weights.

    Example:
        >>> pins = Pins(2)
        >>> pins.of("a", 0).version, pins.of("b", 1).version, pins.of("a", 1).version
        (0, 1, 0)
        >>> pins.make_room(coming=2)
        >>> pins.of("a", 2).version, pins.moved
        (1, 1)
        >>> pins.end("a"), pins.end("b"), pins.end("b")
        (None, 1, None)
    """

    def __init__(self, most: int) -> None:
        self.most = most
        self.moved = 0  # sessions that had to go on with a newer version
        self._pins: dict[str, Pin] = {}
        self._users: Counter[int] = Counter()

    @property
    def versions(self) -> list[int]:
        """Versions that sessions are pinned to, the oldest first."""
        return sorted(self._users)

    def of(self, session: str, newest: int) -> Pin:
        """The pin of a session; one that begins gets the newest version."""
        pin = self._pins.get(session)
        if pin is None:
            pin = self._pins[session] = Pin(newest)
            self._users[newest] += 1
        return pin

    def inherit(self, session: str, into: str) -> None:
        """`into` goes on with the version of `session`, if that has begun."""
        pin = self._pins.get(session)
        if pin is not None:
            self.end(into)
            self.of(into, pin.version)

    def end(self, session: str) -> int | None:
        """A session is over; the version that nobody uses any more, if it was the last of its version."""
        pin = self._pins.pop(session, None)
        if pin is None:
            return None
        self._users[pin.version] -= 1
        if self._users[pin.version]:
            return None
        del self._users[pin.version]
        return pin.version

    def make_room(self, coming: int) -> None:
        """Before version `coming` is loaded: sessions of the oldest versions go on with the next one until there is room."""
        while len(self._users) >= self.most:
            oldest, following = (*self.versions, coming)[:2]
            for pin in self._pins.values():
                if pin.version == oldest:
                    pin.version = following
                    self.moved += 1
            self._users[following] += self._users.pop(oldest)
            if following == coming:
                break
