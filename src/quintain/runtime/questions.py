"""What a learner is asked about its model, by name: the same in its own process and in another one."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from quintain import codec
from quintain.learn.canary import Reading, base_tensors, read_paths, shaken, suspected
from quintain.learn.forward import Reader
from quintain.learn.lora import has_lora
from quintain.learn.publish import tensors_of
from quintain.learn.shards import wholes
from quintain.models import plain_config
from quintain.models.fingerprint import fold
from quintain.models.sketch import compare, sketch
from quintain.runtime import verdict
from quintain.types import Ints, Sampling, Weights

FLOORS = {
    2: 2e-3,
    4: 5e-5,
    8: 1e-8,
}  # bytes of the coarsest number -> differences below this are rounding, in any model
NOISE = 8.0  # how many times the model's own rounding noise is allowed
EPS = {"bfloat16": 2.0**-7, "float16": 2.0**-10, "float32": 2.0**-23, "float64": 2.0**-52}
BYTES = {"bfloat16": 2, "float16": 2, "float32": 4, "float64": 8}
_COLUMNS = ("plain", "heated", "low", "high", "tilts")


@dataclass(frozen=True, slots=True, kw_only=True)
class Limit:
    """How far two sides may be apart, and what that was taken from."""

    value: float
    noise: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """One question: its verb and what it needs. Called with the learner's reader it gives the answer.

    Args:
        verb: `read`, `shaken`, `suspected`, `numbers`, `lora`, `prints`, `differing` or `config`.
        given: the arguments of the verb, after the reader.

    Example:
        >>> asked = Question(verb="read", given={"paths": [(1, 2)], "sampling": Sampling(top_k=5)})
        >>> Question.of(asked.plain()).given["sampling"].top_k
        5
    """

    verb: str
    given: Mapping[str, Any] = field(default_factory=dict)

    def __call__(self, reader: Reader) -> Any:
        """The answer."""
        return ANSWERS[self.verb](reader, **self.given)

    def plain(self) -> dict[str, Any]:
        """For another process; weights are named by their version."""
        given = dict(self.given)
        if "sampling" in given:
            given["sampling"] = codec.encode(given["sampling"])
        if "weights" in given:
            given["weights"] = given["weights"].version
        return {"verb": self.verb, "given": given}

    @classmethod
    def of(cls, plain: Mapping[str, Any], weights: Weights | None = None) -> Question:
        """What `plain` gave; `weights` are the newest that were published there."""
        given = dict(plain["given"])
        if "sampling" in given:
            given["sampling"] = codec.decode(Sampling, given["sampling"])
        if "paths" in given:
            given["paths"] = [tuple(p) for p in given["paths"]]
        if "weights" in given:
            given["weights"] = weights
        return cls(verb=plain["verb"], given=given)

    def told(self, answer: Any) -> Any:
        """An answer as arrays, mappings and scalars."""
        if self.verb in ("read", "shaken"):
            return [{name: getattr(r, name) for name in _COLUMNS} for r in answer]
        return answer

    def heard(self, told: Any) -> Any:
        """The answer that `told` was made from."""
        return [Reading(**columns) for columns in told] if self.verb in ("read", "shaken") else told


def _numbers(reader: Reader) -> list[str]:
    """The number formats of weights and of the forward pass."""
    weights = next(p.dtype for p in reader.model.parameters() if p.is_floating_point())
    return [str(d).removeprefix("torch.") for d in (weights, reader.precision.dtype)]


def _shaken(reader: Reader, paths: Sequence[Ints], sampling: Sampling, eps: float, way: int = 0) -> list[Reading]:
    """What the learner says with its embeddings moved by one rounding step, in one of some ways."""
    with shaken(reader, eps, way):
        return read_paths(reader, paths, sampling)


def _suspected(reader: Reader, suspicion: str, paths: Sequence[Ints]) -> list[np.ndarray] | None:
    with suspected(reader, suspicion) as changed:
        return None if changed is None else [r.plain for r in read_paths(changed, paths, Sampling())]


def _differing(reader: Reader, held: Mapping[str, Any], weights: Weights) -> str:
    merged = has_lora(reader.model) and weights.kind == "file"
    own = list(wholes(reader.model))
    wanted = _clean(sketch(tensors_of(weights) if merged else own))
    base = _clean(sketch(base_tensors(own))) if has_lora(reader.model) else None
    found = compare(_clean(held), wanted, base)
    return verdict.of_tensors(found, len(wanted))


def _clean(facts: Mapping[str, Any]) -> dict[str, Any]:
    """Names without what peft puts around and inside them."""
    return {n.removeprefix("base_model.model.").replace(".base_layer.", "."): f for n, f in facts.items()}


def _prints(reader: Reader) -> dict[str, str]:
    return fold(wholes(reader.model))


def _lora(reader: Reader) -> bool:
    return has_lora(reader.model)


def _config(reader: Reader) -> dict[str, Any]:
    return plain_config(reader.model)


ANSWERS: dict[str, Callable[..., Any]] = {
    "read": read_paths,
    "shaken": _shaken,
    "numbers": _numbers,
    "lora": _lora,
    "prints": _prints,
    "differing": _differing,
    "config": _config,
    "suspected": _suspected,
}
