"""What a named algorithm is: three parts, and how a config replaces them one by one."""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from quintain.objectives import clip, penalise_kl, reward_entropy, token_ratio
from quintain.parts import Advantage, Gate, Objective, PartError, Transform, chain
from quintain.registry import build, entry, provenance, resolve, unknown
from quintain.types import QuintainError

ESSENTIAL = {"rewrites", "replays"}  # tags of algorithms that are nothing without their gate


@dataclass(frozen=True, slots=True, kw_only=True, weakref_slot=True, eq=False)
class Algorithm:
    """A paper as parts: `advantage` on the groups of a step, `gate` on finished groups, `objective` on terms.

    `gate` reads rewards only, and is None when every group is kept. Filters that need more than rewards stand in the
    advantage chain.
    """

    advantage: Advantage
    objective: Objective
    gate: Gate | None = None

    @property
    def needs(self) -> frozenset[str]:
        """What its parts ask of the learner: `old`, `ref`, `values`, `entropy`..."""
        return self.advantage.needs | self.objective.needs | (self.gate.needs if self.gate else frozenset())

    def expand(self) -> dict[str, list[dict[str, Any]]]:
        """The parts written out, as `assemble` reads them: {advantage: [...], gate: [...], objective: [...]}."""
        return {name: _links(getattr(self, name)) for name in ("advantage", "gate", "objective")}


def _links(part: Transform[Any] | None) -> list[dict[str, Any]]:
    if part is None:
        return []
    data = provenance(part)
    if data is None:
        raise QuintainError(
            "a part that no registered factory made cannot be written down; put @register above its factory"
        )
    links = data["parts"] if data["kind"] == "chain" else [data]
    return [{"kind": link["kind"], **link} for link in links]


def assemble(
    name: str,
    options: Mapping[str, Any] | None = None,
    *,
    form: str = "",
    advantage: Sequence[Any] = (),
    gate: Sequence[Any] = (),
    objective: Sequence[Any] = (),
) -> Algorithm:
    """The algorithm `name` with `options`, and with the chains that are written out in place of its own.

    Each link is a part, a name, or a mapping of name and options; `form` is a preset, whose values `options` change. The
    option `entropy` is every algorithm's: the strength of an entropy bonus, which stands before the mean of the objective
    where the alias has no such option of its own. This is what the config section `algorithm` becomes.

    Raises:
        UnknownName: no such algorithm, part or option; the nearest match is named.
        PartError: the links stand in an order that means nothing, the objective has a bonus for entropy already, or a gate is
            replaced that makes the algorithm what it is.
        QuintainError: the algorithm has no such preset.

    Example:
        >>> grpo = assemble("grpo", {"low": 0.1}, gate=["zero_variance"])
        >>> grpo.expand()["gate"][0]["name"]
        'zero_variance'
        >>> [link["name"] for link in assemble("gspo", {"entropy": 0.01}).expand()["objective"]]
        ['sequence_ratio', 'clip', 'reward_entropy', 'sequence_mean']
    """
    options = {**(presets(name, form) if form else {}), **(options or {})}
    own = inspect.signature(inspect.unwrap(entry("algorithm", name).make)).parameters
    bonus = options.pop("entropy", 0.0) if "entropy" not in own else 0.0
    made: Algorithm = build("algorithm", {"name": name, **options})
    if not isinstance(made, Algorithm):
        raise PartError(
            f"algorithm {name!r} made {made!r:.80}; it should be an Algorithm(advantage=..., objective=...)"
        )
    if bonus:
        made = replace(made, objective=_explored(name, made, bonus))
    given = {"advantage": advantage, "gate": gate, "objective": objective}
    chains = {kind: _join(kind, links) for kind, links in given.items() if links}
    written = replace(made, **chains) if chains else made
    if gate and ESSENTIAL & entry("algorithm", name).tags.keys():
        _keep_gate(name, made, written)
    return written


def _keep_gate(name: str, made: Algorithm, written: Algorithm) -> None:
    """Refuse gates that are written out in place of the one that makes an algorithm what it is."""
    own, there = ([link["name"] for link in a.expand().get("gate", ())] for a in (made, written))
    if missing := [link for link in own if link not in there]:
        raise PartError(
            f"algorithm.gate is {there}, which would replace the gate {missing[0]!r} that makes {name} what it is; set algorithm.gate=[] "
            f"to take its own, or write {missing[0]!r} out among them (a recipe's gate stays in place; algorithm={name} begins anew)"
        )


def _explored(name: str, made: Algorithm, bonus: float) -> Objective:
    """The objective of an algorithm with a bonus for entropy before its mean."""
    *links, mean = made.expand()["objective"]
    for link in links:
        if "entropy" in link["name"]:
            raise PartError(
                f"{name} pays for entropy by its part {link['name']!r} already; leave its option entropy out"
            )
    return _join("objective", [*links, {"name": "reward_entropy", "coef": bonus}, mean])


def _join(kind: str, links: Sequence[Any]) -> Transform[Any]:
    parts = [resolve(kind, link) for link in links]
    joined = chain(*parts)  # looks at a lone one too
    return parts[0] if len(parts) == 1 else joined


def regularisers(kl: float, entropy: float) -> tuple[Objective, ...]:
    """The KL penalty and the entropy bonus, each left out when its strength is 0, so that nothing idle is computed."""
    penalty = (penalise_kl(coef=kl),) if kl else ()
    bonus = (reward_entropy(coef=entropy),) if entropy else ()
    return (*penalty, *bonus)


def clipped(
    anchor: str = "rollout", low: float = 0.2, high: float = 0.2, kl: float = 0.0, mean: Any = "sequence_mean"
) -> Objective:
    """GRPO's objective, which most rules of credit are published with: the clipped ratio, a KL penalty, a mean."""
    return chain(token_ratio(anchor), clip(low, high), *regularisers(kl, 0.0), resolve("objective", mean))


def preset(name: str, form: str, **options: Any) -> Algorithm:
    """An algorithm in a published form, such as `as_paper` or `as_released`; `options` change single values of it.

    Raises:
        UnknownName: no such algorithm or option.
        QuintainError: the algorithm has no such form.

    Example:
        >>> preset("grpo", "as_paper").needs
        frozenset({'ref'})
    """
    return assemble(name, options, form=form)


def presets(name: str, form: str) -> Mapping[str, Any]:
    """The options that make a published form of an algorithm.

    Raises:
        QuintainError: the algorithm has no such form; the nearest one is named.
    """
    forms: Mapping[str, Mapping[str, Any]] = entry("algorithm", name).tags.get("presets", {})
    if form not in forms:
        raise QuintainError(unknown(f"preset of {name}:", form, forms))
    return forms[form]
