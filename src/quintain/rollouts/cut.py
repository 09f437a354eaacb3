"""Stop strings: a completion cut where its text first holds one of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from quintain.types import Completion


def cut_at(completion: Completion, stops: Sequence[str], renderer: Any) -> tuple[Completion, str | None]:
    """The completion up to the token that completes a stop string, and the text before that string; None if there is none.

    To stop at a token that is chosen by what was said up to it changes no probability: the tokens that are left have the
    logprobs that they were sampled with.

    Example:
        >>> from quintain.render import WordRenderer
        >>> from quintain.types import Span
        >>> words = WordRenderer(["a", "b", "c"], turn_tokens=0)
        >>> said = Completion(
        ...     tokens=(3, 4, 5), logprobs=(-1.0, -2.0, -3.0), finish="length", spans=(Span(start=0, stop=3, version=0),)
        ... )
        >>> cut, text = cut_at(said, ["b"], words)
        >>> cut.tokens, cut.finish, text
        ((3, 4), 'stop', 'a ')
    """
    tokens = completion.tokens

    def first(count: int) -> int:
        text = renderer.parse(tokens[:count]).text
        return min((at for at in map(text.find, stops) if at >= 0), default=-1)

    if not stops or first(len(tokens)) < 0:
        return completion, None
    low, high = 1, len(tokens)
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if first(middle) >= 0 else (middle + 1, high)
    spans = tuple(replace(s, stop=min(s.stop, low)) for s in completion.spans if s.start < low)
    kept = replace(
        completion,
        tokens=tokens[:low],
        logprobs=completion.logprobs[:low],
        top_ids=completion.top_ids[:low],
        top_logprobs=completion.top_logprobs[:low],
        spans=spans,
        finish="stop",
    )
    return kept, renderer.parse(tokens[:low]).text[: first(low)]
