"""Tokenizer folders in the Hugging Face layout: reading one, and training and writing a small one."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from quintain.registry import require_extra
from quintain.render.errors import RenderError
from quintain.types import Ints

PAD, START, END, EOS = "<|pad|>", "<|im_start|>", "<|im_end|>", "<|endoftext|>"
BYTES = 256

CHATML = """\
{%- if tools %}
{{- '<|im_start|>system\\n' }}
{%- if messages[0].role == 'system' %}{{- messages[0].content + '\\n\\n' }}{%- endif %}
{{- '# Tools\\n\\nCall functions like these:\\n<tools>' }}
{%- for tool in tools %}{{- '\\n' + (tool | tojson) }}{%- endfor %}
{{- '\\n</tools>\\n\\nWrite each call as JSON in tags:\\n<tool_call>\\n' }}
{{- '{"name": <function-name>, "arguments": <object>}\\n</tool_call><|im_end|>\\n' }}
{%- elif messages[0].role == 'system' %}
{{- '<|im_start|>system\\n' + messages[0].content + '<|im_end|>\\n' }}
{%- endif %}
{%- for message in messages %}
{%- if message.role == 'tool' %}
{%- if loop.first or messages[loop.index0 - 1].role != 'tool' %}{{- '<|im_start|>user' }}{%- endif %}
{{- '\\n<tool_response>\\n' + message.content + '\\n</tool_response>' }}
{%- if loop.last or messages[loop.index0 + 1].role != 'tool' %}{{- '<|im_end|>\\n' }}{%- endif %}
{%- elif message.role != 'system' or not loop.first %}
{{- '<|im_start|>' + message.role + '\\n' + message.content }}
{%- for call in message.tool_calls or [] %}
{{- ('\\n' if message.content or not loop.first else '') + '<tool_call>\\n' }}
{{- '{"name": ' + (call.function.name | tojson) + ', "arguments": ' + (call.function.arguments | tojson) + '}' }}
{{- '\\n</tool_call>' }}
{%- endfor %}
{{- '<|im_end|>\\n' }}
{%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}{{- '<|im_start|>assistant\\n' }}{%- endif %}
"""


def load_tokenizer(folder: str | Path) -> Any:
    """The fast tokenizer of a local folder; nothing is downloaded.

    Raises:
        RenderError: the folder, or a readable `tokenizer.json` in it, is missing.
        MissingExtra: transformers is not installed.
    """
    require_extra("train", "transformers", "tokenizers")
    from transformers import PreTrainedTokenizerFast

    folder = Path(folder)
    if not (folder / "tokenizer.json").is_file():
        here = ", ".join(sorted(p.name for p in folder.iterdir())[:8]) if folder.is_dir() else "no such folder"
        raise RenderError(f"{folder} has no tokenizer.json ({here}); give a local folder of a Hugging Face model")
    try:
        return PreTrainedTokenizerFast.from_pretrained(str(folder), local_files_only=True)
    except Exception as error:  # the libraries underneath raise many kinds
        raise RenderError(f"the tokenizer of {folder} cannot be read: {type(error).__name__}: {error}") from error


def stop_ids(folder: str | Path) -> Ints:
    """The end-of-text ids that `generation_config.json` of a model folder names; none without that file."""
    path = Path(folder) / "generation_config.json"
    if not path.is_file():
        return ()
    try:
        ids = json.loads(path.read_text()).get("eos_token_id")
    except (ValueError, AttributeError) as error:
        raise RenderError(f"{path} is not a JSON object: {error}") from error
    return tuple(ids) if isinstance(ids, list) else () if ids is None else (int(ids),)


def write_tokenizer(folder: str | Path, corpus: Iterable[str], vocab_size: int = 512, template: str = CHATML) -> Path:
    """Train a byte-level byte-pair tokenizer on `corpus` and write it as a local Hugging Face folder.

    Use it to start a small model of your own on the path that pretrained models take. Any text can be written and
    read back exactly, since all 256 bytes are tokens. The same corpus gives the same file on every machine.

    Args:
        folder: made if need be; gets `tokenizer.json`, `tokenizer_config.json` and `chat_template.jinja`.
        corpus: texts, in any number; their order does not matter.
        vocab_size: tokens in all, at least 256 bytes and the 4 special ones (and those that `template` names).
        template: Jinja chat template.

    Returns:
        The folder.

    Raises:
        RenderError: `vocab_size` is below 260.
    """
    require_extra("train", "transformers", "tokenizers")
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
    from transformers import PreTrainedTokenizerFast

    special = [PAD, START, END, EOS]
    if vocab_size < BYTES + len(special):
        raise RenderError(f"vocab_size is {vocab_size}; it must be >= {BYTES + len(special)}: the bytes and {special}")
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)  # pyrefly: ignore
    tokenizer.decoder = decoders.ByteLevel()  # pyrefly: ignore
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    trainer = trainers.BpeTrainer(
        vocab_size=vocab_size, special_tokens=special, initial_alphabet=alphabet, show_progress=False
    )
    tokenizer.train_from_iterator(sorted(corpus), trainer)
    fast = PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        pad_token=PAD,
        eos_token=END,
        additional_special_tokens=[START, EOS],
        clean_up_tokenization_spaces=False,
    )
    fast.chat_template = template
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    fast.save_pretrained(str(folder))
    return folder
