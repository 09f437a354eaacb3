"""The registry: `@register(kind, name)` sits on a factory, beside its code; calling the factory stamps provenance on the value.

`build("objective", {"name": "clip", "low": 0.2})` makes a part from data and `provenance(part)` gives the data back, so
code -> TOML -> code is a round trip and a run's ledger says exactly what ran.
"""

from __future__ import annotations

import difflib
import functools
import hashlib
import importlib
import importlib.util
import inspect
import pkgutil
import sys
import traceback
import weakref
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any, TypeVar

from quintain.types import QuintainError

Factory = TypeVar("Factory", bound=Callable[..., Any])


class UnknownName(QuintainError):
    """A part, world, option or key that does not exist was named; the message holds the nearest match."""


class MissingOption(QuintainError):
    """A part was named without an option that it has no default for; the message names it."""


class BadOption(QuintainError):
    """A part cannot be made of the options that are given: one is of the wrong type."""


class MissingExtra(QuintainError):
    """A feature needs an optional package that is not installed; the message holds the command that installs it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One registered factory: kind, name, the function, arXiv id of its paper, tags."""

    kind: str
    name: str
    make: Callable[..., Any]
    paper: str = ""
    tags: Mapping[str, Any] = field(default_factory=dict)

    @property
    def summary(self) -> str:
        """The first line of the factory's docstring."""
        return (inspect.getdoc(self.make) or "").split("\n", 1)[0]


_entries: dict[tuple[str, str], Entry] = {}
_stamps: dict[int, tuple[Any, dict[str, Any]]] = {}  # id -> (weak or strong reference, provenance)
_lacking: dict[str, MissingExtra] = {}  # kind -> what some of its modules need that is not installed

# packages of the extra `train`
TRAIN = ("peft", "psutil", "pyarrow", "safetensors", "tokenizers", "torch", "transformers")
# kinds that `quintain list parts` has
LISTED = ("sampler", "rollout", "reward", "advantage", "gate", "objective", "memory", "algorithm", "engine", "merge")

# where the factories of a kind live: imported on first use, so that `import quintain` stays light
HOMES = {
    "world": ("quintain.worlds.suite",),
    "sampler": ("quintain.samplers",),
    "rollout": ("quintain.rollouts",),
    "reward": ("quintain.rewards",),
    "advantage": ("quintain.advantages", "quintain.gates", "quintain.rewards"),
    **dict.fromkeys(("unit", "key", "baseline", "scale"), ("quintain.advantages",)),
    "gate": ("quintain.gates",),
    "objective": ("quintain.objectives",),
    "memory": ("quintain.memory",),
    "algorithm": ("quintain.algorithms",),
    "engine": ("quintain.engines",),
    "env": ("quintain.envs",),
    "gateway": ("quintain.serve",),
    **dict.fromkeys(("optimizer", "schedule", "precision"), ("quintain.learn",)),
    "merge": ("quintain.models",),
}


def register(kind: str, name: str, *, paper: str = "", **tags: Any) -> Callable[[Factory], Factory]:
    """Put a factory into the registry under `kind` and `name`.

    Args:
        kind: family, such as `objective`, `advantage`, `world`.
        name: what users write in a config.
        paper: arXiv id of the source, if any.
        **tags: further facts for generated pages (`domain`, `status`...).

    Raises:
        QuintainError: another factory holds the name already, or an option is called `kind` or `name`, which a part that is written
            down says of itself.

    Example:
        >>> @register("example", "double")
        ... def double(x: int = 1):
        ...     return (x, x)
        >>> build("example", {"name": "double", "x": 3})
        (3, 3)
    """

    def decorate(make: Factory) -> Factory:
        for taken in sorted({"kind", "name"} & inspect.signature(make).parameters.keys()):
            raise QuintainError(
                f"{kind} {name!r} has an option {taken!r}, which a part that is written down says of itself; rename it"
            )
        old = _entries.get((kind, name))
        if old and inspect.unwrap(old.make).__qualname__ != make.__qualname__:
            raise QuintainError(f"{kind} {name!r} is registered twice: by {old.make.__module__} and {make.__module__}")

        @functools.wraps(make)
        def stamped(*args: Any, **kwargs: Any) -> Any:
            value = make(*args, **kwargs)
            bound = inspect.signature(make).bind(*args, **kwargs)
            options = {k: v for k, v in bound.arguments.items() if k not in ("args", "kwargs")}
            if value is None and kind not in ("world", "env"):  # those who take these look at them
                raise QuintainError(f"the factory of {kind} {name!r} gave None; let it return the part that it makes")
            stamp(value, {"kind": kind, "name": name, **options, **bound.arguments.get("kwargs", {})})
            return value

        _entries[kind, name] = Entry(kind=kind, name=name, make=stamped, paper=paper, tags=tags)
        return stamped  # pyrefly: ignore

    return decorate


def stamp(value: Any, provenance_: Mapping[str, Any]) -> None:
    """Remember how `value` was made."""
    key = id(value)
    try:
        reference: Any = weakref.ref(value, lambda _: _stamps.pop(key, None))
    except TypeError:  # tuples cannot be weakly referenced: keep them alive, there are few
        reference = value
    _stamps[key] = (reference, dict(provenance_))


def provenance(value: Any) -> dict[str, Any] | None:
    """{kind, name, option: value...} of a registered part, nested parts included, or None for anything else."""
    reference, data = _stamps.get(id(value), (None, None))
    alive = reference() if isinstance(reference, weakref.ref) else reference
    if data is None or alive is not value:
        return None
    return {k: _plain(v) for k, v in data.items()}


def _plain(value: Any) -> Any:
    if (made := provenance(value)) is not None:
        return made
    if isinstance(value, Mapping):
        return {k: _plain(v) for k, v in value.items()}
    return [_plain(v) for v in value] if isinstance(value, tuple | list) else value


def load(kind: str) -> None:
    """Import every module in which factories of `kind` live, but for those that need what is not installed."""
    for home in filter(importlib.util.find_spec, HOMES.get(kind, ())):
        for info in pkgutil.walk_packages(getattr(importlib.import_module(home), "__path__", ()), f"{home}."):
            try:
                if not info.name.rsplit(".", 1)[-1].startswith("_"):
                    importlib.import_module(info.name)
            except ModuleNotFoundError as error:
                if (lacks := missing(error)) is None:
                    raise
                _lacking[kind] = lacks


def entry(kind: str, name: str) -> Entry:
    """The entry of `kind` and `name`.

    Raises:
        UnknownName: there is none; the message names the nearest match.
        MissingExtra: there is none among those that can be imported here.
    """
    found = _entries.get((kind, name))
    if found is None:
        load(kind)
        found = _entries.get((kind, name))
    if found is None and kind in _lacking:
        raise MissingExtra(
            f"no {kind} {name!r} among those that load here ({', '.join(names(kind))}); {_lacking[kind]}"
        )
    if found is None:
        raise UnknownName(unknown(kind, name, names(kind)))
    return found


def entries(kind: str) -> list[Entry]:
    """Every entry of a kind, by name; of "", every one that was registered so far."""
    load(kind)
    return sorted((e for (k, _), e in _entries.items() if kind in (k, "")), key=lambda e: e.name)


def names(kind: str) -> list[str]:
    """Every registered name of a kind."""
    return [e.name for e in entries(kind)]


def nearest(name: str, known: Iterable[str]) -> str:
    """The known name that is spelled most like one, "" where none is near.

    Example:
        >>> nearest("KeyDor", ["KeyDoor", "Sokoban"]), nearest("Nope", ["openenv"])
        ('KeyDoor', '')
    """
    lower = {k.lower(): k for k in known}
    asked = str(name).lower()
    near = [k for k in lower if sorted(k) == sorted(asked)]  # two letters that changed places
    near = near or difflib.get_close_matches(asked, lower, n=1, cutoff=0.6 if len(asked) > 3 else 0.5)
    return lower[near[0]] if near else ""


def unknown(what: str, name: str, known: Iterable[str]) -> str:
    """The sentence for an unknown name: what was asked for, the nearest match, or all that there is.

    Example:
        >>> unknown("world", "KeyDor", ["KeyDoor", "Sokoban"])
        "unknown world 'KeyDor'; did you mean 'KeyDoor'?"
        >>> unknown("algorithm", "gpro", ["hgpo", "grpo"])
        "unknown algorithm 'gpro'; did you mean 'grpo'?"
    """
    known = list(known)
    if near := nearest(name, known):
        return f"unknown {what} {name!r}; did you mean {near!r}?"
    return f"unknown {what} {name!r}; there are: {', '.join(known) or 'none'}"


def build(kind: str, spec: Mapping[str, Any] | str) -> Any:
    """Make a part from its name and options, nested parts included (an option that is a mapping with `kind` and `name`).

    Raises:
        UnknownName: no such part, or no such option; the nearest match is named.
        MissingOption: the name, or an option without a default, is not given.
        BadOption: an option is of the wrong type.
    """
    spec = {"name": spec} if isinstance(spec, str) else dict(spec)
    spec.pop("kind", None)
    found = entry(kind, named(kind, spec))
    del spec["name"]
    signature = inspect.signature(inspect.unwrap(found.make))
    args: list[Any] = []
    variadic = next((p for p in signature.parameters.values() if p.kind is p.VAR_POSITIONAL), None)
    if variadic is not None and variadic.name in spec:
        args = [_rebuild(v) for v in spec.pop(variadic.name)]
    if not any(p.kind is p.VAR_KEYWORD for p in signature.parameters.values()):
        for key in spec:
            if key not in signature.parameters:
                raise UnknownName(unknown(f"option of {kind} {found.name!r}:", key, signature.parameters))
    own = [p for p in signature.parameters.values() if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)]
    if lacking := [p.name for p in own if p.default is p.empty and p.name not in spec]:
        raise MissingOption(
            f"{kind} {found.name!r} needs the option {' and '.join(lacking)}, which has no default; give it a value"
        )
    options = {k: _rebuild(v) for k, v in spec.items()}
    try:
        return found.make(*args, **options)
    except (TypeError, ValueError, AttributeError) as error:
        given = ", ".join(f"{k}={v!r}"[:80] for k, v in options.items())
        own = kind not in LISTED or found.make.__module__.startswith(_USER)  # no list has it
        more = line_of(error) if own else f"; `quintain list parts {found.name}` says what each option is"
        raise BadOption(f"{kind} {found.name!r} cannot be made of {given or 'no options'}: {error}{more}") from error


def named(kind: str, spec: Mapping[str, Any]) -> str:
    """The name in the data of a part.

    Raises:
        MissingOption: it has none.
    """
    if "name" not in spec:
        told = ", ".join(f"{k}={v!r}"[:80] for k, v in spec.items())
        raise MissingOption(
            f"a {kind} of {told or 'no options'} has no name; say which one with name=, `quintain list parts {kind}` has them"
        )
    return spec["name"]


def resolve(kind: str, part: Any) -> Any:
    """A part as it is, or the one that a name, or a mapping of name and options, stands for."""
    return build(kind, part) if isinstance(part, str | Mapping) else part


def user_object(where: str) -> Any:
    """What `FILE.py:name` or `package.module:name` names: how users hand in functions of their own.

    Raises:
        UnknownName: no such file, module or name; the nearest name is given.
        QuintainError: the file fails when it is imported; the message has the line and the error.
    """
    source, colon, name = where.rpartition(":")
    if not colon and where.endswith(".py"):
        module = _user_file(Path(where))
        own = [n for n, v in vars(module).items() if callable(v) and getattr(v, "__module__", "") == module.__name__]
        told = " or ".join(f"{where}:{n}" for n in own if not n.startswith("_")) or f"{where}:FUNCTION"
        raise UnknownName(f"{where} is a file, and one function of it is wanted: {told}")
    if not colon or not source or not name:
        raise UnknownName(f"{where!r} names no object; write FILE.py:name or package.module:name")
    module = _user_file(Path(source)) if source.endswith(".py") else _user_module(source)
    if not hasattr(module, name):
        known = [n for n, v in vars(module).items() if callable(v) and not n.startswith("_")]
        raise UnknownName(unknown(f"name in {source}:", name, known))
    return getattr(module, name)


_USER = "quintain_user_"  # begins the names of modules that are files of the user's


def import_file(path: str | Path) -> ModuleType:
    """Run a Python file of the user's once, so that what it registers can be named.

    Raises:
        UnknownName: there is no such file; the nearest name is given.
        QuintainError: it fails; the message has the line and the error.
    """
    return _user_file(Path(path))


def _user_file(path: Path) -> ModuleType:
    path = path.expanduser().resolve()
    if not path.is_file():
        near = difflib.get_close_matches(path.name, [p.name for p in path.parent.glob("*.py")], n=1)
        raise UnknownName(f"there is no file {path}" + (f"; did you mean {near[0]}?" if near else ""))
    digest = hashlib.blake2b(str(path).encode(), digest_size=6).hexdigest()
    title = f"{_USER}{digest}_{path.stem}"
    if title in sys.modules:
        return sys.modules[title]
    spec = importlib.util.spec_from_file_location(title, path)
    assert spec is not None and spec.loader is not None  # a .py file always has a loader
    module = importlib.util.module_from_spec(spec)
    sys.modules[title] = module  # before running it: dataclasses look their module up
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        del sys.modules[title]
        lines = [f.lineno for f in traceback.extract_tb(error.__traceback__) if f.filename == str(path)]
        line = getattr(error, "lineno", None) or (lines[-1] if lines else 1)
        raise QuintainError(f"{path}:{line}: {type(error).__name__}: {error}") from error
    return module


def imported() -> list[str]:
    """The files of the user's that were run, in their order."""
    return [str(module.__file__) for title, module in sys.modules.items() if title.startswith(_USER)]


def line_of(error: BaseException) -> str:
    """Where an error last went through a file of the user's, as " (CornerWalk.step, FILE:LINE)"; "" if through none.

    One that an env worker met brings it along as `user_line`.
    """
    if told := getattr(error, "user_line", ""):
        return str(told)
    own = set(imported())
    lines = [(f.f_code, line) for f, line in traceback.walk_tb(error.__traceback__) if f.f_code.co_filename in own]
    return "".join(f" ({code.co_qualname}, {code.co_filename}:{line})" for code, line in lines[-1:])


def _user_module(name: str) -> ModuleType:
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise UnknownName(f"module {name!r} cannot be imported: {error}") from error


def _rebuild(value: Any) -> Any:
    if isinstance(value, Mapping):
        part = "kind" in value and "name" in value
        return build(value["kind"], value) if part else {k: _rebuild(v) for k, v in value.items()}
    return [_rebuild(v) for v in value] if isinstance(value, list) else value


def require_extra(extra: str, *modules: str) -> None:
    """Check that the packages of an optional extra are installed.

    Raises:
        MissingExtra: one is not; the message says how to install it.
    """
    lacks = [m for m in modules if importlib.util.find_spec(m) is None]
    if lacks:
        raise _lacks(", ".join(lacks), extra)


def missing(error: ModuleNotFoundError) -> MissingExtra | None:
    """How to install what an import did not find; None for a package that the extra `train` does not have."""
    package = (error.name or "").split(".")[0]
    return _lacks(package, "train") if package in TRAIN else None


def _lacks(packages: str, extra: str) -> MissingExtra:
    verb = "are" if ", " in packages else "is"
    return MissingExtra(f"this needs {packages}, which {verb} not installed; run: pip install 'quintain[{extra}]'")
