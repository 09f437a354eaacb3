import json
import os
import subprocess
import sys

import pytest

from quintain.render import CHATML, ChatRenderer, RenderError, write_tokenizer
from quintain.render.hub import load_tokenizer

CORPUS = [
    f"you see the {c} key {d} of the door {i}" for c in ("red", "blue") for d in ("left", "right") for i in range(9)
]
TRAIN = """
import sys, json
from quintain.render import write_tokenizer
write_tokenizer(sys.argv[1], json.load(sys.stdin), 320)
"""


def test_the_folder_is_what_transformers_load_and_round_trips_every_byte(tmp_path):
    from transformers import AutoTokenizer

    folder = write_tokenizer(tmp_path / "model", CORPUS, 320)
    assert {p.name for p in folder.iterdir()} == {"tokenizer.json", "tokenizer_config.json", "chat_template.jinja"}
    loaded = AutoTokenizer.from_pretrained(str(folder))
    assert loaded.chat_template == CHATML and loaded.eos_token == "<|im_end|>" and loaded.pad_token == "<|pad|>"
    assert len(loaded) <= 320
    for text in ("you see the red key", "Zürich\t☃\x00 \U0001f600", "  two  spaces ", "don't . , !"):
        ids = loaded.encode(text, add_special_tokens=False)
        assert loaded.decode(ids, clean_up_tokenization_spaces=False) == text
    assert len(loaded.encode("you see the red key")) <= 7  # merges were learned


def test_training_is_deterministic_across_processes_and_corpus_order(tmp_path):
    files = []
    for i, (corpus, threads) in enumerate([(CORPUS, "1"), (CORPUS[::-1], "2"), (CORPUS, "2")]):
        folder = tmp_path / str(i)
        env = {**os.environ, "PYTHONHASHSEED": str(i), "RAYON_NUM_THREADS": threads, "TOKENIZERS_PARALLELISM": "true"}
        command = [sys.executable, "-c", TRAIN, str(folder)]
        subprocess.run(command, input=json.dumps(corpus), text=True, check=True, env=env, timeout=120)
        files.append((folder / "tokenizer.json").read_bytes())
    assert files[0] == files[1] == files[2]


def test_bad_folders_are_named(tmp_path):
    with pytest.raises(RenderError, match=r"vocab_size is 100; it must be >= 260"):
        write_tokenizer(tmp_path, CORPUS, 100)
    with pytest.raises(RenderError, match="no such folder"):
        load_tokenizer(tmp_path / "none")
    (tmp_path / "weights.safetensors").touch()
    with pytest.raises(RenderError, match=r"no tokenizer\.json \(weights\.safetensors\)"):
        load_tokenizer(tmp_path)
    (tmp_path / "tokenizer.json").write_text("{")
    with pytest.raises(RenderError, match="cannot be read"):
        load_tokenizer(tmp_path)


def test_stop_ids_of_a_generation_config_are_used(tmp_path):
    folder = write_tokenizer(tmp_path, CORPUS, 300)
    assert ChatRenderer(folder).stop == (2,)
    (folder / "generation_config.json").write_text('{"eos_token_id": [2, 3]}')
    assert ChatRenderer(folder).stop == (2, 3)
    (folder / "generation_config.json").write_text("[]")
    with pytest.raises(RenderError, match="not a JSON object"):
        ChatRenderer(folder)
