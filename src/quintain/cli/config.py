"""`quintain config show [RECIPE|FILE|RUN] [key=value...]`: the resolved configuration, with the expanded chain."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from quintain import config as configs
from quintain.cli.args import one_of
from quintain.cli.places import setting
from quintain.runtime.check import check
from quintain.types import QuintainError


def main(arguments: list[str]) -> int:
    """Print the configuration as TOML or JSON."""
    parser = argparse.ArgumentParser(allow_abbrev=False, prog="quintain config", description=__doc__)
    parser.add_argument(
        "action",
        type=one_of("action:", ("show", "keys")),
        metavar="show|keys",
        help="show: the resolved tree; keys: every key, its default and meaning",
    )
    parser.add_argument("items", nargs="*", metavar="RECIPE|FILE|RUN|key=value")
    parser.add_argument("--all", action="store_true", help="defaults too")
    parser.add_argument("--json", action="store_true", help="print JSON")
    given = parser.parse_intermixed_args(arguments)
    if given.action == "keys":
        rows = keys()
        print(
            json.dumps(rows, indent=1)
            if given.json
            else "\n".join(f"{r['key']:<28} {r['default']:<24} {r['help']}" for r in rows)
        )
        return 0
    files, overrides = setting(given.items)
    files = [str(Path(w) / "config.toml") if (Path(w) / "run.json").is_file() else w for w in files]
    config = configs.make(*files, overrides=overrides)
    refused = why_refused(config)
    if given.json:
        shown = {"config": config.model_dump(mode="json"), "algorithm": expanded(config), "refused": refused}
        print(json.dumps(shown, indent=1))
        return 0
    print(config.toml(full=given.all))
    print("# the algorithm, expanded")
    for family, links in expanded(config).items():
        print(f"#   {family}: " + (" -> ".join(map(describe, links)) or "none"))
    if not given.all:
        print("# every other key has its default; --all shows them too")
    if refused:
        print(f"# `quintain train` refuses it: {refused}")
    return 0


def why_refused(config: configs.Config) -> str:
    """What `train` says of a config that it does not take; "" where it does, as far as can be told before anything is made."""
    try:
        check(config)
    except QuintainError as error:
        return str(error)
    return ""


def describe(link: dict[str, object]) -> str:
    """One part as `name(option=value, ...)`.

    Example:
        >>> describe({"kind": "objective", "name": "clip", "low": 0.2})
        'clip(low=0.2)'
    """
    options = {k: v for k, v in link.items() if k not in ("kind", "name")}
    told = (f"{k}={describe(v) if isinstance(v, dict) and 'name' in v else v}" for k, v in options.items())
    return f"{link['name']}({', '.join(told)})"


def expanded(config: configs.Config) -> dict[str, list[dict[str, object]]]:
    """The parts that the algorithm of a config consists of; needs the extra `train` for the objectives."""
    from quintain.algorithms import assemble
    from quintain.registry import require_extra

    require_extra("train", "torch")
    section = config.algorithm
    chains = {"advantage": section.advantage, "gate": section.gate, "objective": section.objective}
    return assemble(section.name, section.options, form=section.preset, **chains).expand()


def keys() -> list[dict[str, str]]:
    """Every key of the tree with its default and its one-line description."""

    def walk(model: type, path: str) -> list[dict[str, str]]:
        rows = []
        for name, field in model.model_fields.items():  # pyrefly: ignore
            inner = field.annotation
            if hasattr(inner, "model_fields"):
                rows += walk(inner, f"{path}{name}.")
            else:
                default = field.get_default(call_default_factory=True)
                rows.append({"key": path + name, "default": json.dumps(default), "help": field.description})
        return rows

    return walk(configs.Config, "")
