"""From what an engine and the learner say to the name of a fault: pure functions on plain data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

Prints = Mapping[str, str]
SHOWN = 3  # names of tensors or buckets in a message
OTHERS = 0.5  # share of tensors with other values from which on it is another model altogether


def widest(said: Sequence[np.ndarray], wanted: Sequence[np.ndarray]) -> float:
    """The largest |difference|, infinite where lengths differ or a number is missing."""
    gaps = [apart(a, b) for a, b in zip(said, wanted, strict=False)]
    return max(gaps, default=0.0) if len(said) == len(wanted) else np.inf


def apart(said: np.ndarray, wanted: np.ndarray) -> float:
    """The same for one path; equal infinities agree."""
    if said.shape != wanted.shape:
        return np.inf
    if not len(said):
        return 0.0
    with np.errstate(invalid="ignore"):
        gap = np.where(said == wanted, 0.0, np.abs(said - wanted))
    return float(np.nan_to_num(gap, nan=np.inf).max())


def outside(said: np.ndarray, low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """How far each number lies outside its interval; an interval that ends below its beginning holds nothing."""
    with np.errstate(invalid="ignore"):
        off = np.maximum(low - said, said - high)
    off = np.where(((said == low) | (said == high)) & (low <= high), 0.0, off)  # equal infinities agree
    return np.maximum(np.nan_to_num(off, nan=np.inf, posinf=np.inf), 0.0)


def nearer(
    said: Sequence[np.ndarray], now: Sequence[np.ndarray], other: Sequence[np.ndarray], times: float = 2.0
) -> bool:
    """Whether numbers are at least `times` as near to `other`, over all tokens, as to `now`.

    The error of a healthy engine is its own noise against the present version, and that noise and the step together
    against the one before, so it is never nearer to that one.
    """
    if not other or any([len(a) for a in x] != [len(a) for a in said] for x in (now, other)):
        return False
    e, s, old = (np.concatenate([np.asarray(x, np.float64) for x in part]) for part in (said, now, other))
    far, near = (float(np.sqrt(np.mean((e - x) ** 2))) for x in (s, old))
    return bool(np.isfinite(far) and far > times * near and far > 1e-6)


def shifted(said: Sequence[np.ndarray], wanted: Sequence[np.ndarray], limit: float) -> int:
    """+1 or -1 where every number is that of the next or of the previous position of the same path, else 0."""
    for by in (1, -1):
        pairs = [(a[1:-1], b[1 + by : len(b) - 1 + by]) for a, b in zip(said, wanted, strict=True) if len(a) == len(b)]
        pairs = [(a, b) for a, b in pairs if len(a)]
        if pairs and all(apart(a, b) <= limit for a, b in pairs):
            return by
    return 0


def of_version(held: int, wanted: int) -> str:
    """Right weights under a wrong number."""
    return f"it holds the weights of version {wanted} but calls them version {held}, which it stamps on what it samples"


def of_stamps(stamped: Sequence[int], wanted: int) -> str:
    """Right weights, and tokens that are stamped with other versions too."""
    told = f"versions {', '.join(map(str, stamped))}" if len(stamped) > 1 else f"version {stamped[0]}"
    return f"it holds the weights of version {wanted} but stamps what it samples with {told}"


def of_prints(held: Prints, wanted: Prints, history: Mapping[int, Prints], says: int | None) -> tuple[str, list[str]]:
    """What fingerprints alone tell: a cause (or ""), and the buckets that differ.

    Args:
        held: of the engine.
        wanted: of the version that was published.
        history: those of earlier versions, by number.
        says: the version that the engine believes to hold.
    """
    wrong = [b for b in wanted if held.get(b) != wanted[b]] + [b for b in held if b not in wanted]
    if not wrong:
        return "", []
    for version in sorted(history, reverse=True):
        old = history[version]
        if any(held.get(b) is None or held.get(b) != old.get(b) for b in wrong):
            continue
        changed = [b for b in wanted if old.get(b) != wanted[b]]
        if len(wrong) == len(changed):
            name = f" and calls it version {says}" if says is not None and says != version else ""
            return f"the sync changed nothing: the engine still holds version {version}{name}", wrong
        cut = "; was the load cut short?" if len(wrong) > 1 else ""
        verb = "are" if len(wrong) > 1 else "is"
        share = f"{len(wrong)} of {len(changed)} buckets that changed: "
        return f"{_named([f'{b}.*' for b in wrong])} {verb} stale ({share}still of version {version}){cut}", wrong
    return "", wrong


def of_tensors(found: Mapping[str, Sequence[str]], total: int) -> str:
    """What the facts of tensors tell (see `models.sketch.compare`)."""
    base, missing = list(found.get("base", ())), list(found.get("missing", ()))
    if (base and set(found) == {"base"}) or (missing and all(".lora_" in n for n in missing)):
        return "LoRA factors are not in the engine: it runs the base weights"
    for phrase, names in found.items():
        if phrase.startswith("factors scaled"):
            return f"LoRA {phrase}: {_named(names)}; was the adapter merged more than once, or with another lora_alpha?"
    if missing:
        return f"{_named(missing)} {'are' if len(missing) > 1 else 'is'} missing in the engine"
    told = [f"{_named(names)} {_plural(phrase, len(names))}" for phrase, names in found.items() if phrase != "other"]
    other = list(found.get("other", ()))
    if len(other) >= OTHERS * total:
        return f"{len(other)} of {total} tensors are those of another model: another seed, run or checkpoint"
    if other:
        told.append(f"{_named(other)} {'hold' if len(other) > 1 else 'holds'} other values than the learner's")
    return "; ".join(told)


def of_config(held: Mapping[str, Any], wanted: Mapping[str, Any]) -> str:
    """Settings of the forward pass that differ, such as the eps of a norm or the base of rotary positions."""
    mine, theirs = _flat(wanted), _flat(held)
    differ = sorted(k for k in mine.keys() & theirs.keys() if mine[k] != theirs[k])
    told = [f"{k} is {theirs[k]!r} in the engine and {mine[k]!r} in the learner" for k in differ[:SHOWN]]
    return f"the weights agree, the configuration does not: {'; '.join(told)}" if told else ""


def of_shape(said: Sequence[np.ndarray], wanted: Sequence[np.ndarray], limit: float) -> str:
    """Where an unexplained difference begins."""
    first = [(a[1:2], b[1:2]) for a, b in zip(said, wanted, strict=True) if len(a) == len(b)]
    if first and all(apart(a, b) <= limit for a, b in first):
        return (
            "predictions from one token agree and those from a context do not: position ids, rotary settings or attention "
            "differ between engine and learner"
        )
    return "its forward pass or its weights differ from the learner's in a way that no known fault explains"


def _flat(config: Mapping[str, Any], stem: str = "") -> dict[str, Any]:
    out: dict[str, Any] = {}
    for key, value in config.items():
        if isinstance(value, Mapping):
            out |= _flat(value, f"{stem}{key}.")
        else:
            out[f"{stem}{key}"] = list(value) if isinstance(value, tuple) else value
    return out


def _named(names: Sequence[str]) -> str:
    shown = ", ".join(names[:SHOWN])
    return f"{shown} and {len(names) - SHOWN} more" if len(names) > SHOWN else shown


def _plural(phrase: str, count: int) -> str:
    if count == 1:
        return phrase
    for one, many in (("is ", "are "), ("has ", "have ")):
        if phrase.startswith(one):
            return many + phrase[len(one) :]
    return phrase
