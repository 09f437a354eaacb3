"""A vocabulary of whole words: the renderer of small models that are trained from scratch."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from quintain.render.errors import RenderError
from quintain.types import Ints, Message, Role, Text, Tool

PAD, UNKNOWN, END = "<pad>", "<unk>", "<end>"
SPECIALS = (PAD, UNKNOWN, END)
_KEPT = 1 << 16  # texts whose ids are remembered; the store starts anew when it is full


class WordRenderer:
    """One token for each word between spaces; use it with worlds whose observations come from a small lexicon.

    The ids are 0 `<pad>`, 1 `<unk>`, 2 `<end>`, then the sorted words. With `turn_tokens=1` the policy says one word
    a turn and no end token is needed; with `turn_tokens=0` a turn ends with `<end>` and may hold any number of words.
    No tokens mark roles: a conversation is the words of its messages in order, so `extend` always proves its prefix.

    Args:
        words: the lexicon; repeated words count once, none may hold white space.
        turn_tokens: the exact number of words of a turn, or 0 for turns that end with `<end>`.
        strict: refuse a message with a word outside the lexicon; otherwise it becomes `<unk>`.

    Raises:
        RenderError: a word is empty, holds white space or is one of the special tokens.

    Example:
        >>> render = WordRenderer(["left", "right", "wall"], turn_tokens=1)
        >>> render.open([Message.of("user", "wall left")])
        (5, 3)
        >>> render.parse((4,)).text
        'right'
    """

    def __init__(self, words: Iterable[str], *, turn_tokens: int = 1, strict: bool = True) -> None:
        lexicon = sorted(set(words))
        for word in lexicon:
            if word.split() != [word] or word in SPECIALS:
                raise RenderError(
                    f"{word!r} cannot be a word of the lexicon; use words without white space, not {SPECIALS}"
                )
        if turn_tokens < 0:
            raise RenderError(f"turn_tokens is {turn_tokens}; it must be >= 0 (0: turns end with {END})")
        self.words: tuple[str, ...] = (*SPECIALS, *lexicon)
        self.turn_tokens: int = turn_tokens
        self.strict: bool = strict
        self._ids = {word: i for i, word in enumerate(self.words)}
        self._texts: dict[str, Ints] = {}
        self._said: dict[Ints, Message] = {}

    @property
    def size(self) -> int:
        """Vocabulary size, specials included."""
        return len(self.words)

    @property
    def stop(self) -> Ints:
        """Token ids that end a turn: none when every turn has `turn_tokens` words."""
        return () if self.turn_tokens else (2,)

    @property
    def pad(self) -> int:
        """The id of `<pad>`."""
        return 0

    def ids(self, text: str) -> Ints:
        """The ids of the words of `text`."""
        found = self._texts.get(text)
        if found is None:
            found = self._look_up(text)
            if len(self._texts) >= _KEPT:
                self._texts.clear()
            self._texts[text] = found
        return found

    def _look_up(self, text: str) -> Ints:
        ids = self._ids
        if not self.strict:
            return tuple(ids.get(word, 1) for word in text.split())
        try:
            return tuple([ids[word] for word in text.split()])
        except KeyError as missing:
            raise RenderError(
                f"the word {missing.args[0]!r} of {text[:60]!r} is not among the {len(ids) - len(SPECIALS)} words of "
                "this renderer; add it to the lexicon, or pass strict=False to read it as <unk>"
            ) from None

    def _message(self, message: Message) -> Ints:
        if message.role is Role.assistant:
            return self.say(message)
        if len(message.parts) != 1 or type(message.parts[0]) is not Text:
            self._refuse(message)
        return self.ids(message.text)

    def _refuse(self, message: Message) -> None:
        for part in message.parts:
            if type(part) is not Text:
                kind = type(part).__name__
                raise RenderError(
                    f"a WordRenderer has no tokens for a part of type {kind}; use a ChatRenderer, or text only"
                )

    def open(self, messages: Sequence[Message], tools: Sequence[Tool] = ()) -> Ints:
        """Tokens of a conversation so far, ending where the policy speaks.

        Raises:
            RenderError: an unknown word, a picture, or tools, which a word vocabulary cannot spell.
        """
        if tools:
            raise RenderError(f"a WordRenderer cannot describe the {len(tools)} tools on offer; use a ChatRenderer")
        return tuple([i for message in messages for i in self._message(message)])

    def extend(
        self, history: Sequence[Message], messages: Sequence[Message], tokens: Ints, tools: Sequence[Tool] = ()
    ) -> Ints | None:
        """Tokens to add after `tokens` for the new `messages`; a turn that was cut gets its `<end>` first."""
        if not self.turn_tokens and tokens and tokens[-1] != 2:
            return (2, *self.open(messages))
        if len(messages) == 1:
            return self._message(messages[0])
        return self.open(messages)

    def say(self, message: Message) -> Ints:
        """The tokens with which the policy would say `message`, its end token included.

        Raises:
            RenderError: a word is unknown, or there are not `turn_tokens` of them.
        """
        self._refuse(message)
        ids = self.ids(message.text)
        if not self.turn_tokens:
            return (*ids, 2)
        if len(ids) != self.turn_tokens:
            raise RenderError(
                f"{message.text[:60]!r} has {len(ids)} words; a turn has room for {self.turn_tokens}: set rollout.max_tokens={len(ids) + 1}"
            )
        return ids

    def text(self, tokens: Ints) -> str:
        """The words of `tokens`, specials included, joined by spaces."""
        words = self.words
        return " ".join([words[t] if 0 <= t < len(words) else UNKNOWN for t in tokens])

    def parse(self, tokens: Ints) -> Message:
        """The assistant message that `tokens` spell, without a final `<end>`; never raises."""
        said = self._said.get(tokens)
        if said is None:
            body = tokens[:-1] if not self.turn_tokens and tokens[-1:] == (2,) else tokens
            said = Message.of("assistant", self.text(body))
            if len(self._said) < _KEPT:
                self._said[tokens] = said
        return said
