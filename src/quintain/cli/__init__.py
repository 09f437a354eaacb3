"""The command line: one small module per verb, loaded only when its verb is called, so that help is instant."""

from __future__ import annotations

import importlib
import os
import sys

from quintain import __version__
from quintain.types import QuintainError

VERBS = {
    "train": "train an agent by reinforcement learning: a recipe, a TOML file, or key=value",
    "sft": "supervised steps on a world's oracle demonstrations only",
    "demos": "write the oracle's play of worlds as chats, to fine-tune any model on",
    "export": "write worlds as a dataset of questions, pictures, answers",
    "eval": "evaluate a player: random, oracle, a run, a model folder, a URL",
    "serve": "an OpenAI-compatible endpoint of a policy that records what is said",
    "offer": "a world for other programs, over MCP or HTTP",
    "play": "play a world yourself in the terminal",
    "show": "print a trajectory of a run turn by turn",
    "report": "write the HTML page of a run",
    "list": "list worlds, parts, papers, recipes or runs",
    "config": "show the resolved configuration",
    "plan": "resolved sizes, memory and steps, before anything runs",
    "simulate": "predict throughput, staleness and cost of a cluster on a virtual clock",
    "launch": "print the Slurm or KubeRay file that starts a run over a cluster",
    "new": "write a new world, reward or algorithm with a passing test, or a small model folder",
    "doctor": "check a run folder, a world of yours, or this machine",
}
USAGE = """usage: quintain VERB [ARGUMENTS]      (quintain VERB --help for one verb)

verbs:
{verbs}

first steps:
  quintain play KeyDoor
  quintain train keydoor
  quintain report runs/keydoor
"""


def usage() -> str:
    """The help text."""
    width = max(map(len, VERBS))
    return USAGE.format(verbs="\n".join(f"  {verb:<{width}}  {line}" for verb, line in VERBS.items()))


def main(arguments: list[str] | None = None) -> int:
    """Run one verb and return the exit status: 0 done, 1 an error that was explained, 2 wrong usage, 130 interrupted."""
    arguments = sys.argv[1:] if arguments is None else arguments
    if not arguments or arguments[0] in ("-h", "--help", "help"):
        print(usage())
        return 0 if arguments else 2
    verb = arguments[0]
    if verb in ("--version", "-V"):
        print(f"quintain {__version__}")
        return 0
    try:
        if verb not in VERBS:
            from quintain.registry import UnknownName, unknown

            raise UnknownName(unknown("verb", verb, VERBS))
        return importlib.import_module(f"quintain.cli.{verb}").main(arguments[1:]) or 0
    except QuintainError as error:
        if os.environ.get("QUINTAIN_TRACEBACK"):
            raise
        print(f"quintain {verb}: {type(error).__name__}: {error}", file=sys.stderr)
        return 1
    except ModuleNotFoundError as error:
        from quintain.registry import missing

        lacks = missing(error)
        if lacks is None or os.environ.get("QUINTAIN_TRACEBACK"):
            raise
        print(f"quintain {verb}: {type(lacks).__name__}: {lacks}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        return 130
    except BrokenPipeError:  # the reader of a pipe went away: not an error of ours
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except OSError as error:
        if os.environ.get("QUINTAIN_TRACEBACK") or error.filename is None:
            raise
        print(f"quintain {verb}: {error.filename}: {error.strerror}", file=sys.stderr)
        return 1
    except Exception as error:
        from quintain.registry import line_of

        where = line_of(error)
        if os.environ.get("QUINTAIN_TRACEBACK") or not where:  # of ours, all that there is to tell is wanted
            raise
        print(f"quintain {verb}: {type(error).__name__}: {error}{where}", file=sys.stderr)
        return 1
