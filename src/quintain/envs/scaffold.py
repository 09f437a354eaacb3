"""What stands between a world and a policy, as one value: pictures, captions, rules, and how actions are written."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from quintain.envs.grammar import GRAMMARS
from quintain.registry import UnknownName, unknown
from quintain.types import QuintainError, Stop
from quintain.worlds.kernel import CAPTION_LEVELS, Facts, View

KINDS: dict[Any, str] = {bool: "true or false", int: "an integer", float: "a number", str: "a word"}
# what style words has none of, whatever a scaffold says
UNSAID = {"history": "no past actions", "rules": "no rules", "feedback": "no sentences"}


class ScaffoldError(QuintainError):
    """A scaffold asks for something that cannot be; the message names the option and its limits."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Scaffold:
    """How a world is shown and answered: vary one field to learn what it is worth.

    Attributes:
        image: side of the picture in pixels, 32 to 2048; 0 shows none.
        caption: 0 no text, 1 the essentials, 2 all that is visible.
        rules: open with the rules and the form of an answer.
        history: how many of the seat's own last actions each observation repeats; not in words.
        turns: of an episode, where they are to be fewer than the world's own, of which its oracle knows; 0 for all; the opening tells them,
            but not in words.
        countdown: say after each turn how many are left; not in words.
        grammar: how an action is written: `free`, `tagged`, `json`, `word`, `tool`.
        feedback: say in a sentence what the last action did.
        style: `plain` for text; `words` for one word per thing, where the first message holds all and later ones only
            what can move. Words come without rules, feedback, history and countdown, and always with the full caption.
        penalty: taken from the reward, as the component `malformed`, for each unreadable or forbidden action, >= 0.
        strict: an unreadable action ends the episode.

    Raises:
        ScaffoldError: an option is of another kind or out of range.
        UnknownName: there is no such grammar or style.

    Example:
        >>> Scaffold.of({"style": "words"}).grammar
        'word'
    """

    image: int = 0
    caption: int = 2
    rules: bool = True
    history: int = 0
    turns: int = 0
    countdown: bool = False
    grammar: str = "tagged"
    feedback: bool = True
    style: str = "plain"
    penalty: float = 0.0
    strict: bool = False

    def __post_init__(self) -> None:
        for field in dataclasses.fields(self):
            value, kind = getattr(self, field.name), type(field.default)
            if type(value) is not kind and (kind is not float or type(value) is not int):
                raise ScaffoldError(f"{field.name} is {value!r}; it is {KINDS[kind]}, like {field.default!r}")
        if self.image and not 32 <= self.image <= 2048:
            raise ScaffoldError(f"image is {self.image}; it is 0 or the side of the picture in pixels, 32 to 2048")
        if self.caption not in CAPTION_LEVELS:
            raise ScaffoldError(f"caption is {self.caption}; it is one of {CAPTION_LEVELS}")
        if min(self.penalty, self.history, self.turns) < 0:
            raise ScaffoldError(f"penalty {self.penalty}, history {self.history} and turns {self.turns} must be >= 0")
        if self.grammar not in GRAMMARS:
            raise UnknownName(unknown("grammar", self.grammar, GRAMMARS))
        if self.style not in STYLES:
            raise UnknownName(unknown("style", self.style, STYLES))
        if self.countdown and self.style == "words":
            raise ScaffoldError("countdown is a sentence, and style words has none; set countdown=false or style=plain")
        if self.caption != 2 and self.style == "words":
            raise ScaffoldError(
                f"caption is {self.caption}, and style words has words in its place; leave caption out or set style=plain"
            )
        changed = [f.name for f in dataclasses.fields(self) if getattr(self, f.name) != f.default]
        if self.style == "words" and (unsaid := [name for name in changed if name in UNSAID]):
            name, value = unsaid[0], getattr(self, unsaid[0])
            told = str(value).lower() if isinstance(value, bool) else value
            raise ScaffoldError(
                f"{name} is {told}, and style words, which has {UNSAID[name]}, would be the same; leave {name} out or set style=plain"
            )
        if not self.image and not self.caption:
            raise ScaffoldError(
                "caption 0 without a picture shows nothing; set caption=1 or 2, or image=256 for a player that sees"
            )

    @classmethod
    def of(cls, options: Mapping[str, Any] | Scaffold | None = None) -> Scaffold:
        """A scaffold from its options; style `words` brings grammar `word` and `strict` unless told otherwise.

        Raises:
            UnknownName: there is no such option.
        """
        if isinstance(options, Scaffold):
            return options
        chosen: dict[str, Any] = dict(options or {})
        names = [f.name for f in dataclasses.fields(cls)]
        for name in chosen:
            if name not in names:
                raise UnknownName(unknown("scaffold option", name, names))
        if chosen.get("style") == "words":
            chosen = {"grammar": "word", "strict": True, **chosen}
        return cls(**chosen)


@dataclass(frozen=True, slots=True, kw_only=True)
class Style:
    """How text is put together: `open` the first observation, `go_on` each later one, given what was said before it."""

    open: Callable[[View[Any], Facts, Scaffold, int], str]
    go_on: Callable[[View[Any], str, Scaffold], str]


def _open_plain(view: View[Any], facts: Facts, scaffold: Scaffold, turns: int) -> str:
    shown = view.caption(scaffold.caption)
    if not scaffold.rules:
        return shown
    ask = GRAMMARS[scaffold.grammar].ask.format(answer=facts.answer, example=facts.example)
    others = len(facts.seats) - 1
    who = f"You and the other player{'s' * (others > 1)} have together" if others else "You have"
    none = "cannot be read ends them" if scaffold.strict else "cannot be read or is not allowed takes one, too"
    if facts.forfeits:
        none = _STRICT if scaffold.strict else _FORFEIT
    budget = f"{who} {turns} turns; an answer that {none}."
    budget = budget if turns > 1 else "You have one turn."
    return "\n\n".join(part for part in (facts.rules, f"{ask}\n{budget}", shown) if part)


def _go_on_plain(view: View[Any], said: str, scaffold: Scaffold) -> str:
    shown = view.caption(scaffold.caption)
    return f"{said}\n{shown}" if said and shown else said or shown


def _open_words(view: View[Any], facts: Facts, scaffold: Scaffold, turns: int) -> str:
    return " ".join((*view.static(), *view.moving()))


def _go_on_words(view: View[Any], said: str, scaffold: Scaffold) -> str:
    return " ".join(view.moving())


STYLES: dict[str, Style] = {
    "plain": Style(open=_open_plain, go_on=_go_on_plain),
    "words": Style(open=_open_words, go_on=_go_on_words),
}


def sentences(
    events: Sequence[str], facts: Facts, stop: Stop | None = None, bad: int = 0, fits: Sequence[str] = ()
) -> str:
    """What the events of a turn read like, joined by spaces; events without a sentence are left out.

    Of an answer that could not be played, `bad` counts the seat's in a contest; `fits` are some of the actions that it may be a part of.
    Where the episode is over, an action that could not be played has cost its last turn, and that is said; also that no turn is left.

    Example:
        >>> sentences(("took:a",), Facts(name="", rules="", answer="", example="", sayings={"took": "You have {}."}))
        'You have a.'
        >>> sentences(("malformed",), Facts(name="", rules="", answer="", example=""), Stop.parse_error)
        'That is not an action that can be read; the episode is over.'
    """
    said: list[str] = []
    for event in events:
        name, _, rest = event.partition(":")
        saying = facts.sayings.get(name) or _COMMON.get(name)
        if name == "illegal" and fits:
            saying = f"That does not say the whole action, which may be {' or '.join(map(repr, fits))}{_NOTHING}"
        if saying:
            said.append(saying.replace("{}", rest))
            if name in REFUSED and (stop or facts.forfeits):
                said[-1] = said[-1].removesuffix(_NOTHING).rstrip(".") + (_OVER if stop else _AGAIN.format(bad))
    if stop is Stop.truncated_turns and not any(text.endswith(_OVER) for text in said):
        said.append("The turns are used up.")
    return " ".join(said)


SPARE = 2  # answers of a seat that cannot be played, in a contest; one more forfeits
_NOTHING, _OVER = "; the turn is spent.", "; the episode is over."
_AGAIN = "; answer again, as the third such answer loses the match (bad answer {} of 3)."
_FORFEIT = "cannot be read or is not allowed takes none, but a player's third one loses the match"
_STRICT = "cannot be read loses the match, as does a player's third one that is not allowed"
REFUSED = {
    "malformed": f"That is not an action that can be read{_NOTHING}",
    "illegal": f"The rules do not allow that{_NOTHING}",
}
_COMMON = REFUSED | {
    "held": "Another player's answer could not be read, so that yours was not played.",
    "forfeit": "You have lost the match.",
    "walkover": "The other player has lost the match by answers that could not be played: you have won.",
    "walkover_of": "Lost by answers that could not be played: {}. You have won the match.",
}
