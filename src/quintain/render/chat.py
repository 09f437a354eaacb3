"""Chat templates to tokens and back, for pretrained tokenizers: token in, token out."""

from __future__ import annotations

import re
import warnings
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from quintain.render import toolcalls
from quintain.render.errors import RenderError
from quintain.render.hub import load_tokenizer, stop_ids
from quintain.types import Image, Ints, Message, Text, Tool, ToolCall, ToolResult

_STAND_IN = "Zq7fK2xW"  # stands for the assistant's words; plain letters, so no template treats it in a special way
_OPENED, _CLOSED = "\ue000", "\ue001"  # private-use characters around control tokens that a message quotes
_KEPT = 1024  # rendered conversations that are remembered
_TEXTS, _SHORT = 8192, 4000  # tokenised texts that are remembered, and the longest of them in characters


class BranchWarning(UserWarning):
    """A chat template does not extend conversations, so every turn is a new branch; given once per renderer."""


class ChatRenderer:
    """Writes conversations with a Hugging Face tokenizer and its Jinja chat template.

    What the policy sampled is never rendered again. `extend` renders the conversation before and after the new
    messages and proves that the longer text begins with the shorter one followed by the sampled words (outer white
    space aside) and their end token; only the rest is tokenised and added. A template that strips or rewrites earlier
    turns fails the proof: `extend` returns None, `branches` counts it, and one `BranchWarning` is given.

    Control tokens such as `<|im_end|>` that appear inside the text of messages are tokenised as ordinary text.

    Args:
        tokenizer: a local folder with `tokenizer.json`, or a fast tokenizer object.
        template: Jinja chat template; the tokenizer's own when empty.
        options: further variables of the template, such as `enable_thinking`.

    Raises:
        RenderError: the folder has no usable tokenizer, there is no template, or the template fails on a plain
            conversation.
    """

    def __init__(
        self, tokenizer: str | Path | Any, template: str = "", options: Mapping[str, Any] | None = None
    ) -> None:
        self.tokenizer: Any = load_tokenizer(tokenizer) if isinstance(tokenizer, str | Path) else tokenizer
        self.template: str = template or _own_template(self.tokenizer)
        self.options: dict[str, Any] = dict(options or {})
        self.branches: int = 0
        self.turn_tokens: int = 0
        self._size: int = len(self.tokenizer)
        control = sorted(map(str, self.tokenizer.get_added_vocab()), key=len, reverse=True)
        self._control: Any = re.compile("|".join(map(re.escape, control))) if control else None
        self._rendered: OrderedDict[tuple[Message, ...], tuple[Sequence[Tool], str]] = OrderedDict()
        self._plain: dict[Message, list[dict[str, Any]]] = {}
        self._encoded: dict[str, Ints] = {}
        self._end: int = self._end_of_turn()
        others = stop_ids(tokenizer) if isinstance(tokenizer, str | Path) else ()
        own = (self._end, self.tokenizer.eos_token_id, *others)
        self.stop: Ints = tuple(dict.fromkeys(i for i in own if i is not None))

    @property
    def size(self) -> int:
        """Vocabulary size, added tokens included."""
        return self._size

    def _end_of_turn(self) -> int:
        """The id that the template puts after the assistant's words, or the tokenizer's end of text."""
        asked = Message.of("user", "?")
        text = self._render((asked, Message.of("assistant", _STAND_IN)), (), prompt=False)
        _, found, after = text.partition(_STAND_IN)
        if not found:
            raise RenderError("the chat template drops what the assistant says; it cannot be used for training")
        ids = self._encode(after.lstrip())
        if ids and self._control and self._control.fullmatch(self._decode(ids[:1])):
            return ids[0]
        if self.tokenizer.eos_token_id is None:
            raise RenderError(
                "nothing ends a turn: the template adds no special token and the tokenizer has no eos_token"
            )
        return int(self.tokenizer.eos_token_id)

    def open(self, messages: Sequence[Message], tools: Sequence[Tool] = ()) -> Ints:
        """Tokens of a conversation so far, ending where the policy speaks.

        Raises:
            RenderError: the template refuses the conversation, or it holds a picture.
        """
        return self._encode(self._known(tuple(messages), tools))

    def extend(
        self, history: Sequence[Message], messages: Sequence[Message], tokens: Ints, tools: Sequence[Tool] = ()
    ) -> Ints | None:
        """Tokens to add after `tokens`, or None when the template does not prove that they stay a prefix.

        A turn that was cut gets its end token first.

        Raises:
            RenderError: the template refuses the conversation, or it holds a picture.
        """
        said = _quoted(history[-1].text, self._control)
        before = self._known(tuple(history[:-1]), tools)
        after = self._known((*history, *messages), tools)
        rest = after[len(before) :] if after.startswith(before) else None
        if rest is not None:
            rest = _without(rest, said)
        if rest is not None and tokens and tokens[-1] in self.stop:
            rest = _without(rest, self._decode(tokens[-1:]))
        if rest is None:
            self._count(history)
            return None
        return self._encode(rest)

    def _count(self, history: Sequence[Message]) -> None:
        if not self.branches:
            warnings.warn(
                f"the chat template writes a conversation of {len(history)} messages anew when some are added (it "
                "strips or changes earlier turns); such turns are trained as branches of their own, which costs "
                "more prefill",
                BranchWarning,
                stacklevel=3,
            )
        self.branches += 1

    def say(self, message: Message) -> Ints:
        """The tokens with which the policy would say `message`: its text, tool calls, and the end of the turn."""
        return (*self._encode(_quoted(_spoken(message), self._control)), self._end)

    def ids(self, text: str) -> Ints:
        """The tokens of plain text; control tokens inside it count as such."""
        return self._encode(text)

    def text(self, tokens: Ints) -> str:
        """The text of `tokens`, special tokens included; ids outside the vocabulary are left out."""
        return self._decode(tuple([t for t in tokens if 0 <= t < self._size]))

    def parse(self, tokens: Ints) -> Message:
        """The assistant message that `tokens` spell, tool calls read from it; never raises."""
        body = tokens[:-1] if tokens and tokens[-1] in self.stop else tokens
        return toolcalls.said(self.text(body))

    def _known(self, messages: tuple[Message, ...], tools: Sequence[Tool]) -> str:
        """The rendered conversation with its generation prompt; conversations of episodes in flight are remembered."""
        try:
            held = self._rendered.get(messages)
        except TypeError:  # a part with a dict inside cannot be hashed
            return self._render(messages, tools)
        if held is not None and held[0] == tools:
            return held[1]
        text = self._render(messages, tools)
        self._rendered[messages] = (tools, text)
        if len(self._rendered) > _KEPT:
            self._rendered.popitem(last=False)
        return text

    def _render(self, messages: tuple[Message, ...], tools: Sequence[Tool], *, prompt: bool = True) -> str:
        chat = [turn for message in messages for turn in self._turns(message)]
        offered = [_as_schema(tool) for tool in tools] or None
        try:
            return self.tokenizer.apply_chat_template(
                chat,
                tools=offered,
                chat_template=self.template,
                add_generation_prompt=prompt,
                tokenize=False,
                **self.options,
            )
        except Exception as error:  # Jinja and templates raise whatever they like
            roles = ", ".join(m.role for m in messages)
            raise RenderError(
                f"the chat template cannot write a conversation of {len(messages)} messages ({roles}): "
                f"{type(error).__name__}: {error}; merge or rename roles in the env, or pass another template"
            ) from error

    def _turns(self, message: Message) -> list[dict[str, Any]]:
        if len(message.parts) != 1 or type(message.parts[0]) is not Text:
            return _as_chat(message, self._control)
        turns = self._plain.get(message)
        if turns is None:
            if len(self._plain) >= _TEXTS:
                self._plain.clear()
            turns = self._plain[message] = _as_chat(message, self._control)
        return turns

    def _encode(self, text: str) -> Ints:
        known = self._encoded.get(text)
        if known is None:
            known = self._tokenise(text)
            if len(text) <= _SHORT:
                if len(self._encoded) >= _TEXTS:
                    self._encoded.clear()
                self._encoded[text] = known
        return known

    def _tokenise(self, text: str) -> Ints:
        ids: list[int] = []
        encode = self.tokenizer.encode
        for i, piece in enumerate(re.split(f"{_OPENED}(.*?){_CLOSED}", text) if _OPENED in text else (text,)):
            if piece:  # odd pieces are control tokens that a message quotes
                ids.extend(encode(piece, add_special_tokens=False, split_special_tokens=bool(i % 2)))
        return tuple(ids)

    def _decode(self, tokens: Ints) -> str:
        return self.tokenizer.decode(list(tokens), skip_special_tokens=False, clean_up_tokenization_spaces=False)


def _own_template(tokenizer: Any) -> str:
    template = getattr(tokenizer, "chat_template", None)
    if isinstance(template, Mapping):
        template = template.get("default")
    if not template:
        raise RenderError(
            "the tokenizer has no chat template; put one into the model folder as chat_template.jinja, "
            "for example what quintain.render.CHATML holds"
        )
    return template


def _without(text: str, start: str) -> str | None:
    """`text` after `start` (outer white space of `start` aside), or None if it begins with something else."""
    for form in (start, start.strip()):
        if text.startswith(form):
            return text[len(form) :]
    return None


def _quoted(text: str, control: Any) -> str:
    """`text` with the control tokens inside it marked, so that they become ordinary text."""
    if control is None or control.search(text) is None:
        return text
    return control.sub(lambda found: f"{_OPENED}{found.group()}{_CLOSED}", text)


def _spoken(message: Message) -> str:
    text = message.text
    if message.tool_calls and toolcalls.OPEN not in text:
        calls = toolcalls.write(message.tool_calls)
        return f"{text}\n{calls}" if text else calls
    return text


def _as_chat(message: Message, control: Any) -> list[dict[str, Any]]:
    """The message as chat templates take it; every tool result is a message of its own."""
    turns: list[dict[str, Any]] = []
    texts: list[str] = []
    calls: list[dict[str, Any]] = []
    for part in message.parts:
        if isinstance(part, Text):
            texts.append(part.text)
        elif isinstance(part, ToolCall):
            function = {"name": part.name, "arguments": dict(part.arguments)}
            calls.append({"type": "function", "id": part.id, "function": function})
        elif isinstance(part, ToolResult):
            turns.append({"role": "tool", "content": _quoted(part.text, control), "tool_call_id": part.id})
        elif isinstance(part, Image):
            raise RenderError("this renderer writes text only and a message holds a picture; show the world as text")
    if texts or calls or not turns:
        text = "".join(texts)
        turn: dict[str, Any] = {"role": str(message.role), "content": _quoted(text, control)}
        if calls and toolcalls.OPEN not in text:  # else the words hold the calls already, exactly as they were said
            turn["tool_calls"] = calls
        turns.append(turn)
    if message.name:
        for turn in turns:
            turn["name"] = message.name
    return turns


def _as_schema(tool: Tool) -> dict[str, Any]:
    parameters = dict(tool.parameters) or {"type": "object", "properties": {}}
    function = {"name": tool.name, "description": tool.description, "parameters": parameters}
    return {"type": "function", "function": function}
