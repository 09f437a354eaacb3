"""`quintain new world|reward|algorithm NAME`: a file of your own that works, with a test that passes.

`quintain new model FOLDER [RECIPE|key=value...]`: a small Hugging Face folder with a tokenizer trained on the world's or the data's texts.
"""

from __future__ import annotations

import argparse
import importlib.util
import keyword
import re
import shlex
import sys
from pathlib import Path

from quintain import config as configs
from quintain.cli.args import one_of
from quintain.cli.catalogue import written
from quintain.cli.paths import empty
from quintain.cli.places import setting
from quintain.cli.templates import TEMPLATES
from quintain.registry import names, require_extra
from quintain.types import QuintainError


class BadName(QuintainError):
    """A name that cannot be a Python module, or a file that exists already."""


def main(arguments: list[str]) -> int:
    """Write two files and say how to use them."""
    parser = argparse.ArgumentParser(allow_abbrev=False, prog="quintain new", description=__doc__)
    kinds = (*sorted(TEMPLATES), "model")
    parser.add_argument("what", type=one_of("thing to make:", kinds), metavar="|".join(kinds))
    parser.add_argument("name", help="a Python name, such as corner_walk; for a model, its folder")
    parser.add_argument(
        "items", nargs="*", metavar="RECIPE|FILE|key=value", help="for a model: what it will read, and its sizes"
    )
    parser.add_argument("--vocab", type=int, default=512, help="for a model: tokens of the tokenizer (default 512)")
    parser.add_argument("--into", type=Path, default=Path(), help="folder (default: here)")
    given = parser.parse_intermixed_args(arguments)
    if given.what == "model":
        return _model(given.into / given.name, given.items, given.vocab)
    if given.items:
        raise configs.ConfigError(f"{given.items[0]!r}: only a new model is told what it reads; leave it out")
    for line in write(given.what, given.name, given.into):
        print(line)
    return 0


def _model(folder: Path, items: list[str], vocab: int) -> int:
    require_extra("train", "torch", "transformers", "tokenizers")
    from quintain.runtime.newmodel import write_model

    files, overrides = setting(items)
    config = configs.make(*files, overrides=overrides)
    size = write_model(config, empty(folder), vocab)
    few = "" if size == vocab else f" ({vocab} were asked for; the texts give no more)"
    print(f"wrote {folder}: a tokenizer of {size} tokens{few} and a model with random weights")
    for line in _use(config, shlex.join([*items, f"model={folder}"]), folder):
        print(line)
    return 0


def _use(config: configs.Config, words: str, folder: Path) -> list[str]:
    """The next commands: only worlds have an oracle to imitate, and data need a reward."""
    from quintain.runtime.playing import make_reward
    from quintain.runtime.stage import data_sampler, env_of
    from quintain.types import Task

    if env_of(config) in names("world"):
        return [f"teach it:  quintain sft {words} --out {shlex.quote(f'{folder}-taught')}"]
    try:
        make_reward(config)
        return [f"train it:  quintain train {words}"]
    except configs.ConfigError:  # nothing gives one yet
        sampler = data_sampler(config, "train", 0, (0, 1))
        first: Task | None = sampler.draw(sampler.init())[0]
    if first is not None and "answer" in first.params:
        return [f"train it:  quintain train {words} reward=exact"]
    return [
        "score it:  quintain new reward my_reward      # then say in my_reward.py what is good",
        f"train it:  quintain train {words} reward=my_reward.py:score",
    ]


def write(what: str, name: str, folder: Path) -> list[str]:
    """Write NAME.py and test_NAME.py, and return what to tell.

    Raises:
        BadName: the name is no Python name, or that of another module, or registered already, or one of the files exists.
    """
    if not re.fullmatch(r"[a-z][a-z0-9_]*", name) or keyword.iskeyword(name):
        raise BadName(
            f"{name!r} is no module name; use lower-case letters, digits and _, such as corner_walk, and no word of the language"
        )
    template = TEMPLATES[what]
    paths = {folder / f"{name}.py": template.code, folder / f"test_{name}.py": template.test}
    for path in paths:
        if path.exists():
            raise BadName(f"{path} exists; choose another name or folder")
    if name in sys.stdlib_module_names or _installed(name):
        raise BadName(
            f"{name!r} is a module that is installed already, which {name}.py would hide; choose another name"
        )
    title = "".join(word.capitalize() for word in name.split("_"))
    taken = title if what == "world" else name
    if what in ("world", "algorithm") and taken in {e.name for e in written(what)}:
        raise BadName(f"the {what} {taken!r} is registered already, which {name}.py would hide; choose another name")
    folder.mkdir(parents=True, exist_ok=True)
    for path, text in paths.items():
        path.write_text(text.replace("NAME", name).replace("TITLE", title))
    told = [f"wrote {path}" for path in paths] + [f"test it: python -m pytest {folder / f'test_{name}.py'}"]
    if not _installed("pytest"):
        told.append(
            "         first `pip install pytest` (in a checkout: `make setup-dev`), which is not installed here"
        )
    if what == "algorithm" and not _installed("torch"):
        told.append("         first `pip install 'quintain[train]'`: it stands on torch, which is not installed here")
    use = template.use.replace("NAME.py", str(folder / f"{name}.py"))
    return [*told, use.replace("NAME", name).replace("TITLE", title)]


def _installed(module: str) -> bool:
    found = importlib.util.find_spec(module)
    return found is not None and found.origin is not None  # a mere folder of that name hides nothing
