"""Hints: words that some members of a group are shown with the task, kept apart so that training can take them away again."""

from __future__ import annotations

import string
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

from quintain.registry import unknown
from quintain.types import Ints, Kind, Message, Node, QuintainError, Role, Task, Text

SAID = 500  # characters of the env's last words that a critique may quote


class HintError(QuintainError):
    """A hint cannot be shown: an unknown setting, a share outside [0, 1], or a word that the task has no value for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Hint:
    """What one episode may show: its words, the template of what is said of it afterwards, and whether it does show them."""

    text: str
    critique: str
    shown: bool
    facts: Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Hinting:
    """`rollout.options.hint`: templates over the task's columns, and the share of a group's members that see the hint.

    `text` is put behind the first words of the user, after an empty line: `The answer is {answer}.`; where it comes out
    empty nothing is shown. `critique` is never shown: it is made when the episode is over, from the columns, `{said}` (the
    env's last words) and `{reward}` (the sum of the env's rewards), and its token ids are kept as the tag `critique`.
    """

    text: str
    share: float = 1.0
    critique: str = ""

    @classmethod
    def of(cls, given: Any, members: int) -> Hinting:
        """Read the option, for groups of `members`.

        Raises:
            HintError: no text, an unknown setting, a share outside [0, 1], or one that nobody of a group would be.

        Example:
            >>> Hinting.of({"text": "It is {answer}.", "share": 0.5}, 8).share
            0.5
        """
        known = [f.name for f in fields(cls)]
        if not isinstance(given, Mapping) or not given.get("text"):
            raise HintError(
                f"rollout.options.hint is {given!r}; set rollout.options.hint.text, and share and critique as you like"
            )
        for name in given:
            if name not in known:
                raise HintError(unknown("setting of rollout.options.hint", name, known))
        made = cls(**given)
        for name in ("text", "critique"):
            if not isinstance(getattr(made, name), str):
                raise HintError(
                    f"rollout.options.hint.{name} is {getattr(made, name)!r}; it must be a template in words"
                )
        if isinstance(made.share, bool) or not isinstance(made.share, int | float) or not 0 <= made.share <= 1:
            raise HintError(f"rollout.options.hint.share is {made.share!r}; it must be in [0, 1]")
        if made.share and not _sees(made.share, members):
            raise HintError(
                f"rollout.options.hint.share is {made.share:g}, with which nobody of a group of {members} sees the hint; set at least "
                f"{1 / members:.3g}, or 0 to keep the hint for training alone"
            )
        return made

    def episode(self, task: Task, member: int) -> Hint | None:
        """What `member` of the task's group may show; those that are shown it are spread evenly over the members.

        Raises:
            HintError: the template asks for what the task has not.
        """
        facts = {**task.params, "key": task.key, "level": task.level, "seed": task.seed}
        text = filled("text", self.text, facts)
        if self.critique:  # a wrong one is told of before it is played
            filled("critique", self.critique, {**facts, "said": "", "reward": 0.0})
        if not text.strip():
            return None
        shown = _sees(self.share, member + 1) > _sees(self.share, member)
        return Hint(text=text, critique=self.critique, shown=shown, facts=facts)


def _sees(share: float, members: int) -> int:
    """How many of the first members see the hint."""
    return int(members * share + 1e-9)


def filled(name: str, template: str, facts: Mapping[str, Any]) -> str:
    """The template with the facts in its braces.

    Raises:
        HintError: it asks for something else, or its braces do not match.
    """
    try:
        return string.Formatter().vformat(template, (), facts)
    except (KeyError, IndexError, ValueError, AttributeError, TypeError) as error:
        raise HintError(
            f"rollout.options.hint.{name} is {template!r}, which cannot be filled in ({error}); the task has {', '.join(facts)} "
            "(write {{ and }} for braces)"
        ) from error


def place(messages: Sequence[Message]) -> int:
    """Which message takes the hint: the last one of the user, or the last one."""
    return max((i for i, m in enumerate(messages) if m.role is Role.user), default=len(messages) - 1)


def told(messages: Sequence[Message], at: int, text: str) -> tuple[Message, ...]:
    """The messages with `text` behind the words of number `at`."""
    message = messages[at]
    parts, found = list(message.parts), [(i, part) for i, part in enumerate(message.parts) if isinstance(part, Text)]
    if found:
        last, own = found[-1]
        parts[last] = Text(text=f"{own.text}\n\n{text}")
    else:
        parts.append(Text(text=text))
    return (*messages[:at], replace(message, parts=tuple(parts)), *messages[at + 1 :])


def middles(variants: Sequence[Ints]) -> tuple[int, list[Ints]]:
    """How many tokens all variants begin with, and what each has between those and the tokens that all end with.

    Example:
        >>> middles([(1, 2, 9), (1, 2, 5, 6, 9)])
        (2, [(), (5, 6)])
    """
    first = _agreed(variants)
    rest = [ids[first:] for ids in variants]
    last = _agreed([ids[::-1] for ids in rest])
    return first, [ids[: len(ids) - last] for ids in rest]


def _agreed(rows: Sequence[Ints]) -> int:
    """How many tokens all rows begin with."""
    return next((i for i, column in enumerate(zip(*rows)) if len(set(column)) > 1), min(map(len, rows)))


def parted(nodes: Sequence[Node], number: int, tokens: tuple[int, int], texts: tuple[str, str]) -> tuple[Node, ...]:
    """The nodes with `number` split into what stands before the hint, the hint, and what stands after it.

    Args:
        nodes: of a trajectory.
        number: the node whose tokens hold the hint.
        tokens: how many stand before the hint, and how many it has.
        texts: of the message without the hint, and of the hint.
    """
    own, (first, hint) = nodes[number], tokens
    ids = (own.tokens[:first], own.tokens[first : first + hint], own.tokens[first + hint :])
    given = {"role": own.role, "agent": own.agent, "turn": own.turn}
    pieces = (
        Node.given(own.parent, ids[0], kind=own.kind, text=texts[0], blobs=own.blobs, seconds=own.seconds, **given),
        Node.given(number, ids[1], kind=Kind.hint, text=texts[1], **given),
        Node.given(number + 1, ids[2], kind=own.kind, **given),
    )
    behind = [
        n if n.parent is None or n.parent < number else replace(n, parent=n.parent + 2) for n in nodes[number + 1 :]
    ]
    return (*nodes[:number], *pieces, *behind)
