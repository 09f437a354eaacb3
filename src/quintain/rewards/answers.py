"""Comparing the policy's answer with the task's: as text, as a number, as mathematics."""

from __future__ import annotations

import re
import threading
import unicodedata
from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal, InvalidOperation
from fractions import Fraction
from typing import Any

from quintain.parts import Reward
from quintain.registry import register, require_extra
from quintain.rewards.env import RewardError, rewarded
from quintain.rewards.said import answer_of
from quintain.types import Group

MATH_S = 5
_TAG = re.compile(r"<answer>(.*?)</answer>", re.DOTALL | re.IGNORECASE)
_HASHES = re.compile(r"####\s*(.+)")
_SAYS = re.compile(r"(?:final answer|answer)\s*(?:is|:|=)\s*(.+)", re.IGNORECASE)
_NUMBER = re.compile(r"[-+]?(?:\d{1,3}(?:,\d{3})+|\d+)?(?:\.\d+)?(?:[eE][-+]?\d+)?(?:\s*/\s*[-+]?\d+)?%?")


def final_answer(text: str) -> str:
    r"""The part of `text` that is offered as the answer.

    That is what stands in the last `\boxed{}`, in `<answer>` tags, after `####` or "answer is", else the whole text.

    Text up to the last `</think>` does not count.

    Example:
        >>> final_answer(r"so \boxed{\frac{1}{2}} it is"), final_answer("1 + 1\n#### 2"), final_answer(" 7 ")
        ('\\frac{1}{2}', '2', '7')
    """
    text = text.rpartition("</think>")[2]
    boxed = _boxed(text)
    if boxed is not None:
        return boxed
    for form in (_TAG, _HASHES, _SAYS):
        found = form.findall(text)
        if found:
            return found[-1].strip().splitlines()[0].strip() if found[-1].strip() else ""
    return text.strip()


def _boxed(text: str) -> str | None:
    start = text.rfind("\\boxed{")
    if start < 0:
        return None
    depth, first = 1, start + len("\\boxed{")
    for i in range(first, len(text)):
        depth += {"{": 1, "}": -1}.get(text[i], 0)
        if depth == 0:
            return text[first:i].strip()
    return None


def plain(text: str) -> str:
    """Text without what does not matter when answers are compared: case, outer punctuation, repeated white space."""
    return " ".join(unicodedata.normalize("NFKC", text).casefold().split()).strip(" .,;:!?\"'$")


def number(text: str) -> Fraction | None:
    """The last number that `text` holds, exactly, or None; thousands commas, fractions and percent signs are read.

    Example:
        >>> number("it costs $1,250.50"), number("3/4"), number("none")
        (Fraction(2501, 2), Fraction(3, 4), None)
    """
    found = [m.group() for m in _NUMBER.finditer(text) if any(c.isdigit() for c in m.group())]
    if not found:
        return None
    digits = found[-1].replace(",", "").replace(" ", "")
    value, percent = digits.removesuffix("%"), digits.endswith("%")
    above, _, below = value.partition("/")
    try:
        if abs(Decimal(above).adjusted()) > 400:  # an exact fraction of 1e999999 would fill the memory
            return None
        exact = Fraction(above) / (Fraction(below) if below else 1)
    except (InvalidOperation, ValueError, ZeroDivisionError):
        return None
    return exact / 100 if percent else exact


def _reward(label: str, column: str, right: Callable[[str, Any], bool]) -> Reward:
    async def score(group: Group) -> Group:
        if column not in group.task.params:
            raise RewardError(
                f"task {group.task.key} has no column {column!r} to compare with; it has {sorted(group.task.params)}: "
                "map the column of the answer, for example columns.answer=solution"
            )
        wanted = group.task.params[column]
        done = (rewarded(group, t, {label: float(right(answer_of(t), wanted))}) for t in group.trajectories)
        return replace(group, trajectories=tuple(done))

    return score


@register("reward", "exact")
def exact(column: str = "answer", label: str = "correct") -> Reward:
    r"""1 if the final answer is the task's, compared as plain text, else 0: for choices, words and short strings.

    The final answer is what stands in the last `\boxed{}`, `<answer>` tags, after `####` or "answer is", else the
    whole text. Case, outer punctuation and repeated white space do not count; a list of accepted answers may stand in
    the column.

    Args:
        column: the task's column that holds the answer.
        label: name of the reward.

    Raises:
        RewardError: (when scoring) the task has no such column.
    """

    def right(said: str, wanted: Any) -> bool:
        accepted = wanted if isinstance(wanted, list | tuple) else [wanted]
        return plain(final_answer(said)) in {plain(final_answer(str(w))) for w in accepted}

    return _reward(label, column, right)


@register("reward", "number")
def number_answer(tolerance: float = 1e-6, column: str = "answer", label: str = "correct") -> Reward:
    """1 if the last number of the final answer equals the task's, else 0: for grade-school mathematics and counting.

    Right means |said - wanted| <= tolerance * max(1, |wanted|), computed exactly. The task's answer may be a number,
    or text whose final answer holds one (`... #### 42`).

    Args:
        tolerance: relative above 1, absolute below, >= 0.
        column: the task's column that holds the answer.
        label: name of the reward.

    Raises:
        RewardError: the tolerance is negative; or (when scoring) the task has no number in that column.
    """
    if not tolerance >= 0:
        raise RewardError(f"number: tolerance is {tolerance}; it must be >= 0")
    slack = Fraction(tolerance)

    def right(said: str, wanted: Any) -> bool:
        target = number(final_answer(str(wanted)))
        if target is None:
            raise RewardError(f"the column {column!r} holds {wanted!r}, which has no number; use the reward `exact`")
        value = number(final_answer(said))
        return value is not None and abs(value - target) <= slack * max(1, abs(target))

    return _reward(label, column, right)


@register("reward", "math_verify")
def math_answer(column: str = "answer", label: str = "correct") -> Reward:
    """1 if the answer equals the task's as mathematics (LaTeX, fractions, sets, equations), else 0.

    Args:
        column: the task's column that holds the answer, in LaTeX or plain.
        label: name of the reward.

    Raises:
        MissingExtra: the package math-verify is not installed.

    Special cases: reading and comparing take at most `MATH_S` seconds each in the main thread (an alarm signal ends
    them); in other threads there is no limit.
    """
    require_extra("math", "math_verify")
    from math_verify import parse, verify  # pyrefly: ignore

    def right(said: str, wanted: Any) -> bool:
        limit = MATH_S if threading.current_thread() is threading.main_thread() else None
        latex = f"${wanted}$" if "\\" in str(wanted) and "$" not in str(wanted) else str(wanted)
        given = parse(said.rpartition("</think>")[2], parsing_timeout=limit)
        return bool(verify(parse(latex, parsing_timeout=limit), given, timeout_seconds=limit))

    return _reward(label, column, right)
