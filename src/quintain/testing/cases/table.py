"""Which function runs which numeric case."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from quintain.types import QuintainError

Case = Mapping[str, Any]
Runner = Callable[[Case], dict[str, Any]]

BY_ID: dict[str, Runner] = {}
BY_METHOD: dict[str, Runner] = {}


class NoRunner(QuintainError):
    """A numeric case of a method that is not known here."""


def runs(*ids: str, method: str = "") -> Callable[[Runner], Runner]:
    """Have a function run the cases whose id begins with one of `ids`, and those of `method` that no id claims."""

    def enter(runner: Runner) -> Runner:
        for name in ids:
            if name in BY_ID:
                raise QuintainError(f"two functions run the numeric cases {name!r}")
            BY_ID[name] = runner
        if method:
            BY_METHOD[method.lower()] = runner
        return runner

    return enter


def runner_of(case: Case) -> Runner:
    """The function that runs a case.

    Raises:
        NoRunner: neither its id nor its method is known.
    """
    name, method = str(case.get("id") or case.get("name") or ""), str(case.get("method", "")).lower()
    begins = [known for known in BY_ID if name.startswith(known)]
    if begins:
        return BY_ID[max(begins, key=len)]
    methods = [known for known in BY_METHOD if method == known or method.startswith(known)]
    if methods:
        return BY_METHOD[max(methods, key=len)]
    raise NoRunner(f"no part is known for the numeric case {name!r} of method {case.get('method')!r}")
