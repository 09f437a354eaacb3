"""The house rules as a program: `python tools/house.py src tests`.

Each rule reads syntax trees, so it sees what is written and imports nothing. A finding is `file:line: what; fix`.

Sizes: a file of the library has at most 400 lines (tests 600), the median file at most 150, `objectives/` and `advantages/` together at
most 4,000 besides docstrings; a function has at most 50 lines without its docstring and at most 7 parameters without `self`. Classes
inherit from no class of ours (errors: from one). Public names are annotated and have a docstring. Heavy libraries stay in their files.
Nothing unpickles.
"""

from __future__ import annotations

import ast
import builtins
import statistics
import sys
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

FILE_LINES, TEST_LINES, MEDIAN_LINES, FUNCTION_LINES, PARAMETERS, MODE_FILES = 400, 600, 150, 50, 7, 4
METHODS, METHOD_LINES = ("objectives/", "advantages/"), 4000
VAGUE = {"utils", "util", "helpers", "helper", "misc", "common", "legacy", "compat"}
DIRECT = {
    "types",
    "codec",
    "batch",
    "messages",
    "ports",
    "given",
    "parts",
    "registry",
    "config",
    "waits",
    "window",
}  # what loop.py may import
TORCH_HOMES = ("objectives/", "models/", "learn/", "engines/torch", "testing/cases/")
ONE_FILE = (
    *("ray", "vllm", "starlette", "uvicorn", "fastapi", "aiohttp", "websockets", "httpx", "requests", "gradio"),
    *("tensorboard", "tensorboardX", "wandb", "mlflow", "gymnasium", "pettingzoo", "textarena", "verifiers"),
    "playwright",
)
PICKLERS = {"pickle", "_pickle", "cPickle", "cloudpickle", "dill", "shelve", "marshal", "joblib", "jsonpickle"}
UNSAFE_CALLS = {
    "torch.load": "use safetensors",
    "torch.save": "use safetensors",
    "yaml.load": "use yaml.safe_load",
    "yaml.full_load": "use yaml.safe_load",
    "yaml.unsafe_load": "use yaml.safe_load",
}
PICKLING_COLLECTIVES = (
    *("broadcast_object_list", "scatter_object_list", "send_object_list", "recv_object_list"),
    *("all_gather_object", "gather_object"),
)
UNSAFE_NAMES = {
    **dict.fromkeys(("read_pickle", "to_pickle"), "use Parquet or JSON"),
    **dict.fromkeys(PICKLING_COLLECTIVES, "it pickles: send tensors or msgpack bytes"),
    "ProcessPoolExecutor": "it pickles: start workers with `python -m` and talk msgpack",
}
UNSAFE_ARGS = {("weights_only", False): "use safetensors", ("allow_pickle", True): "store plain arrays"}
MULTIPROCESSING = {"shared_memory", "resource_tracker", "cpu_count"}  # the rest of it talks pickle
FRAMEWORK_METHODS = {"forward", "backward", "setup_context"}
Function = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True, kw_only=True)
class Source:
    """One Python file: where it is, what it says, its syntax tree."""

    path: Path
    lines: int
    tree: ast.Module

    @cached_property
    def nodes(self) -> list[ast.AST]:
        """All nodes of the tree; a walk takes longer than the rules do, and there are many of them."""
        return list(ast.walk(self.tree))

    @property
    def library(self) -> str:
        """Path inside the package, or an empty string for a file that is not part of the library."""
        _, found, inside = self.path.as_posix().rpartition("src/quintain/")
        return inside if found else ""

    @property
    def is_test(self) -> bool:
        """Whether the file belongs to the tests."""
        return "tests" in self.path.parts

    def at(self, node: ast.AST | None, text: str) -> str:
        """A finding at a node of this file."""
        return f"{self.path}:{getattr(node, 'lineno', 1)}: {text}"


Findings = Iterator[str]


def parse(path: Path, text: str) -> Source:
    """Read one file's text into a source."""
    return Source(path=path, lines=len(text.splitlines()), tree=ast.parse(text, filename=str(path)))


def functions(source: Source) -> Iterator[tuple[Function, ast.ClassDef | None]]:
    """Every function of a file with the class it is a method of."""
    owners = {child: node for node in source.nodes if isinstance(node, ast.ClassDef) for child in node.body}
    for node in source.nodes:
        if isinstance(node, Function):
            yield node, owners.get(node)


def public(tree: ast.Module) -> Iterator[tuple[Function | ast.ClassDef, ast.ClassDef | None]]:
    """Public classes and functions of a module, and the public methods of its public classes."""
    named = (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    for node in tree.body:
        if isinstance(node, named) and not node.name.startswith("_"):
            yield node, None
            if isinstance(node, ast.ClassDef):
                for child in node.body:
                    if isinstance(child, Function) and (not child.name.startswith("_") or child.name.startswith("__")):
                        yield child, node


def parameters(function: Function, owner: ast.ClassDef | None) -> list[ast.arg]:
    """The parameters of a function, without self."""
    spec = function.args
    listed = [*spec.posonlyargs, *spec.args]
    if owner is not None and not any(dotted(d) == "staticmethod" for d in function.decorator_list):
        listed = listed[1:]
    return [*listed, *spec.kwonlyargs, *filter(None, (spec.vararg, spec.kwarg))]


def dotted(node: ast.AST) -> str:
    """`a.b.c` of a name, attribute or subscript; an empty string for anything else."""
    if isinstance(node, ast.Subscript):
        return dotted(node.value)
    if isinstance(node, ast.Attribute):
        head = dotted(node.value)
        return f"{head}.{node.attr}" if head else ""
    return node.id if isinstance(node, ast.Name) else ""


def imports(source: Source, typing_too: bool = True) -> Iterator[tuple[str, ast.stmt]]:
    """Every imported dotted name with its statement; `from a import b` gives `a.b`."""
    skipped: set[ast.AST] = set()
    for node in source.nodes:
        if isinstance(node, ast.If) and dotted(node.test).endswith("TYPE_CHECKING") and not typing_too:
            skipped.update(inner for child in node.body for inner in ast.walk(child))
        if node in skipped:
            continue
        if isinstance(node, ast.Import):
            yield from ((alias.name, node) for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield from ((f"{node.module}.{alias.name}", node) for alias in node.names)


def sizes(source: Source) -> Findings:
    """Files, functions and parameter lists stay small; names say something."""
    limit = TEST_LINES if source.is_test else FILE_LINES
    if source.lines > limit:
        yield source.at(None, f"{source.lines} lines, at most {limit}; split the file by idea")
    vague = VAGUE & {part.removesuffix(".py") for part in source.path.parts[-4:]}
    if vague:
        yield source.at(None, f"`{min(vague)}` says nothing; name the file for what it holds")
    for function, owner in functions(source):
        body = function.body
        has_text = ast.get_docstring(function, clean=False) is not None
        text = (body[0].end_lineno or 0) - body[0].lineno + 1 if has_text else 0
        length = (function.end_lineno or function.lineno) - function.lineno + 1 - text
        if length > FUNCTION_LINES:
            yield source.at(function, f"{function.name} has {length} lines, at most {FUNCTION_LINES}; split it")
        count = len(parameters(function, owner))
        if count > PARAMETERS:
            yield source.at(function, f"{function.name} has {count} parameters, at most {PARAMETERS}; group or split")


def documented(sources: list[Source]) -> Findings:
    """Modules, classes, functions and methods that users see have a docstring; a port's methods have it at the port."""
    classes = [node for source in sources for node in source.nodes if isinstance(node, ast.ClassDef)]
    protocols = [node for node in classes if any(dotted(base).endswith("Protocol") for base in node.bases)]
    methods = [child for node in protocols for child in node.body if isinstance(child, Function)]
    at_port = FRAMEWORK_METHODS | {method.name for method in methods if ast.get_docstring(method)}
    for source in sources:
        if not source.tree.body or source.is_test:
            continue
        if ast.get_docstring(source.tree) is None:
            yield source.at(None, "the module has no docstring; say what it is for in one sentence")
        if not source.library:
            continue
        for node, owner in public(source.tree):
            derived = {dotted(d).rpartition(".")[2] for d in node.decorator_list} & {"overload", "setter", "deleter"}
            inherited = owner is not None and (node.name in at_port or node.name.startswith("__"))
            if ast.get_docstring(node) is None and not inherited and not derived:
                yield source.at(
                    node, f"{node.name} is public and has no docstring; one sentence will do for a small one"
                )


def annotated(source: Source) -> Findings:
    """Every parameter and result of the public API is annotated."""
    for node, owner in public(source.tree):
        if not source.library or isinstance(node, ast.ClassDef):
            continue
        bare = [arg.arg for arg in parameters(node, owner) if arg.annotation is None]
        if bare or node.returns is None:
            yield source.at(node, f"{node.name} is public; annotate {', '.join(bare) or 'its result'}")


def shallow(sources: list[Source]) -> Findings:
    """No class of ours inherits from a class of ours; errors may, once."""
    bases: dict[str, list[str]] = {}
    where: dict[str, tuple[Source, ast.ClassDef]] = {}
    for source in sources:
        ours = {name.rpartition(".")[2] for name, _ in imports(source) if name.startswith("quintain")}
        classes = [node for node in source.nodes if isinstance(node, ast.ClassDef)]
        ours |= {node.name for node in classes}
        for node in classes if source.library else []:
            named = [dotted(base) for base in node.bases]
            bases[node.name] = [n.rpartition(".")[2] if n.partition(".")[0] in ours else f"~{n}" for n in named]
            where[node.name] = (source, node)

    def depth(name: str) -> int:
        return 1 + max((depth(base) for base in bases[name] if base in bases and base != name), default=0)

    def is_error(name: str) -> bool:
        builtin = getattr(builtins, name.lstrip("~"), None)
        known = isinstance(builtin, type) and issubclass(builtin, BaseException)
        return known or any(is_error(base) for base in bases.get(name, []) if base != name)

    for name, (source, node) in where.items():
        limit = 2 if is_error(name) else 1
        if depth(name) > limit:
            yield source.at(node, f"{name} inherits {depth(name)} deep, at most {limit}; match a Protocol or compose")


def confined(sources: list[Source]) -> Findings:
    """Heavy libraries stay in their homes; the loop sees the contracts only; nobody imports via the package root."""
    users: dict[str, list[tuple[Source, ast.stmt]]] = defaultdict(list)
    for source in (s for s in sources if s.library):
        for name, node in imports(source, typing_too=False):
            root = name.partition(".")[0]
            users[root].append((source, node))
            if root in ("torch", "torchvision") and not source.library.startswith(TORCH_HOMES):
                homes = ", ".join(TORCH_HOMES)
                yield source.at(node, f"torch may be imported in {homes} only; hand arrays over or inject the part")
        for name, node in imports(source):
            head, _, rest = name.partition(".")
            if head == "quintain" and source.library == "loop.py" and rest.partition(".")[0] not in DIRECT:
                yield source.at(node, f"loop.py imports {name}; inject it (it may see {', '.join(sorted(DIRECT))})")
            if head == "quintain" and rest and rest[0].isupper():
                yield source.at(node, f"import {rest} from the module that defines it, not through the package root")
    for library in ONE_FILE:
        files = sorted({str(source.path) for source, _ in users[library]})
        if len(files) > 1:
            yield f"{files[1]}:1: {library} is imported in {len(files)} files ({', '.join(files)}); keep it in one"


def safe(source: Source) -> Findings:
    """Nothing reads or writes pickle, in any disguise."""
    if source.is_test:
        return
    for name, node in imports(source):
        head, _, rest = name.partition(".")
        if head in PICKLERS:
            yield source.at(node, f"{head} runs code from files; use safetensors, JSON or msgpack")
        if head == "multiprocessing" and rest.partition(".")[0] not in MULTIPROCESSING:
            yield source.at(node, f"{name} talks pickle; start workers with `python -m` and talk msgpack")
        if name.startswith("torch.distributed.checkpoint") and "state_dict" not in name:
            yield source.at(node, "torch.distributed.checkpoint pickles; write safetensors with a JSON index")
        for table in (UNSAFE_CALLS.get(name), UNSAFE_NAMES.get(name.rpartition(".")[2])):
            if table:
                yield source.at(node, f"{name}: {table}")
    for node in source.nodes:
        if isinstance(node, ast.Attribute):
            advice = UNSAFE_CALLS.get(dotted(node)) or UNSAFE_NAMES.get(node.attr)
            if advice:
                yield source.at(node, f"{dotted(node) or node.attr}: {advice}")
        elif isinstance(node, ast.keyword) and isinstance(node.value, ast.Constant):
            advice = UNSAFE_ARGS.get((node.arg or "", node.value.value)) if isinstance(node.value.value, bool) else None
            if advice:
                yield source.at(node.value, f"{node.arg}={node.value.value}: {advice}")


def decided_once(sources: list[Source]) -> Findings:
    """A mode string is compared in one place, not all over the library."""
    seen: dict[str, dict[str, str]] = defaultdict(dict)
    for source in (s for s in sources if s.library):
        for node in source.nodes:
            if isinstance(node, ast.Compare) and isinstance(node.ops[0], ast.Eq | ast.NotEq):
                for side in (node.left, *node.comparators):
                    if isinstance(side, ast.Constant) and isinstance(side.value, str) and side.value.isidentifier():
                        seen[side.value].setdefault(str(source.path), source.at(node, ""))
    for text, files in seen.items():
        if len(files) > MODE_FILES:
            yield f'{min(files.values())}"{text}" is tested in {len(files)} files; decide once and pass a value'


def median(sources: list[Source]) -> Findings:
    """The typical file of the library is short."""
    lengths = [source.lines for source in sources if source.library and source.lines]
    if len(lengths) > 8 and statistics.median(lengths) > MEDIAN_LINES:
        yield f"src/quintain: the median file has {statistics.median(lengths):.0f} lines, at most {MEDIAN_LINES}"


def method_library(sources: list[Source]) -> Findings:
    """The method library stays small: its parts hold equations, and what they share stands in one place."""
    lines = 0
    for source in sources:
        if source.library.startswith(METHODS):
            told = [n for n in source.nodes if isinstance(n, ast.Module | ast.ClassDef | ast.FunctionDef)]
            texts = [n.body[0] for n in told if ast.get_docstring(n, clean=False) is not None]
            lines += source.lines - sum((text.end_lineno or 0) - text.lineno + 1 for text in texts)
    if lines > METHOD_LINES:
        homes = " and ".join(METHODS)
        yield f"src/quintain: {homes} have {lines} lines besides docstrings, at most {METHOD_LINES}; share or delete"


PER_FILE: tuple[Callable[[Source], Iterable[str]], ...] = (sizes, annotated, safe)
PER_TREE: tuple[Callable[[list[Source]], Iterable[str]], ...] = (
    documented,
    shallow,
    confined,
    decided_once,
    median,
    method_library,
)


def findings(sources: list[Source]) -> list[str]:
    """All that breaks a rule, sorted by place."""
    found = [text for rule in PER_FILE for source in sources for text in rule(source)]
    return sorted(set(found + [text for rule in PER_TREE for text in rule(sources)]))


def gather(roots: Iterable[Path]) -> list[Source]:
    """Every Python file under the given files and folders."""
    paths = sorted({path for root in roots for path in ([root] if root.is_file() else root.rglob("*.py"))})
    return [parse(path, path.read_text(encoding="utf-8")) for path in paths if "__pycache__" not in path.parts]


def main(arguments: list[str]) -> int:
    """Check the named files and folders, print the findings; 1 when there are any."""
    sources = gather([Path(name) for name in arguments] or [Path("src"), Path("tests")])
    found = findings(sources)
    print("\n".join([*found, f"house rules: {len(sources)} files, {len(found)} findings"]))
    return 1 if found or not sources else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
