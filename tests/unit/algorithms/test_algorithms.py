"""Aliases, presets, and configs that replace single chains."""

from __future__ import annotations

import gc

import pytest

from quintain import registry
from quintain.algorithms import assemble, dapo, dr_grpo, grpo, ppo, preset, reinforce, rloo
from quintain.algorithms.record import Algorithm
from quintain.config import make
from quintain.parts import PartError, stateless
from quintain.registry import Entry, UnknownName, entries, provenance, stamp
from quintain.runtime.assemble import make_algorithm
from quintain.types import QuintainError


def links(algorithm: Algorithm, which: str) -> list[str]:
    return [link["name"] for link in algorithm.expand()[which]]


def test_the_chains_of_the_first_set() -> None:
    assert links(reinforce(), "objective") == ["policy_gradient", "sequence_sum"]
    assert links(grpo(), "objective") == ["token_ratio", "clip", "sequence_mean"]
    assert links(dr_grpo(), "objective") == ["token_ratio", "clip", "constant_length"]
    assert links(rloo(), "objective") == ["policy_gradient", "sequence_sum"]
    assert links(dapo(), "objective") == ["token_ratio", "clip", "token_mean"]
    assert links(ppo(), "objective") == ["token_ratio", "clip", "fit_values", "token_mean"]
    assert links(ppo(kl=0.1), "advantage") == ["charge_kl", "gae", "whiten"]
    assert links(dapo(), "gate") == ["zero_variance"] and links(grpo(), "gate") == []
    assert links(dapo(limit=0), "advantage") == ["normalise"]
    compared = {make: make().expand()["advantage"][-1] for make in (grpo, dr_grpo, rloo, reinforce)}
    names = {make.__name__: (link.get("baseline", "mean"), link.get("scale", "std")) for make, link in compared.items()}
    assert names == {
        "grpo": ("mean", "std"),
        "dr_grpo": ("mean", "none"),
        "rloo": ("leave_one_out", "none"),
        "reinforce": ("mean", "none"),
    }
    assert compared[reinforce]["key"] == "batch"


@pytest.mark.parametrize("make", [grpo, dr_grpo, reinforce])
def test_nothing_is_asked_of_the_learner_until_it_is_used(make) -> None:
    assert make().needs == frozenset()
    assert make(kl=0.1).needs == {"ref"}
    assert make(entropy=0.1).needs == {"entropy"}


def test_needs_of_all_three_parts_are_joined() -> None:
    assert ppo(anchor="old", kl=0.1).needs == {"old", "ref", "values"}
    assert rloo(kl=0.1).needs == {"old", "ref"}
    assert dapo(anchor="old").needs == {"old"}


def test_options_reach_their_parts() -> None:
    ratio, clip, kl, entropy, mean = grpo(
        anchor="old", low=0.1, high=0.3, kl=0.2, entropy=0.4, mean="token_mean"
    ).expand()["objective"]
    assert ratio["anchor"] == "old" and (clip["low"], clip["high"]) == (0.1, 0.3)
    assert kl["coef"] == 0.2 and entropy["coef"] == 0.4 and mean["name"] == "token_mean"
    assert dapo(empty="drop").expand()["gate"][0]["mode"] == "drop"
    assert reinforce(gamma=0.9).expand()["advantage"][0]["unit"] == {"kind": "unit", "name": "turn", "gamma": 0.9}
    ratio, clip, value, _ = ppo(bound=0.1, value=0.5).expand()["objective"]
    assert (clip["low"], clip["high"], value["coef"], value["clip"]) == (0.1, 0.1, 0.5, 0.1)


def test_a_preset_is_the_published_form_and_takes_options() -> None:
    assert preset("grpo", "as_paper").needs == {"ref"}
    released = preset("grpo", "as_released", high=0.28)
    assert provenance(released)["mean"] == "token_mean" and provenance(released)["high"] == 0.28
    assert released.expand()["advantage"][0]["baseline"]["lone"] == "raw"
    assert preset("reinforce", "as_paper").expand()["advantage"][0]["baseline"] == "none"
    with pytest.raises(QuintainError, match="did you mean 'as_paper'"):
        preset("grpo", "as_papers")


@pytest.mark.parametrize("entry", entries("algorithm"), ids=lambda e: e.name)
def test_every_alias_pays_for_entropy_when_asked_to(entry: Entry) -> None:
    options = entry.tags.get("example", {})
    plain = links(assemble(entry.name, options), "objective")
    if "smooth_entropy" in plain:
        with pytest.raises(PartError, match="'smooth_entropy' already"):
            assemble(entry.name, {**options, "entropy": 0.02})
        return
    made = assemble(entry.name, {**options, "entropy": 0.02})
    (bonus,) = (link for link in made.expand()["objective"] if link["name"] == "reward_entropy")
    assert bonus["coef"] == 0.02 and "entropy" in made.needs
    assert [n for n in links(made, "objective") if n != "reward_entropy"] == plain
    assert links(assemble(entry.name, {**options, "entropy": 0.0}), "objective") == plain


def test_a_config_chooses_a_preset_and_another_alias_forgets_it() -> None:
    asked = ["algorithm=dppo", "algorithm.preset=topk_kl", "algorithm.options.cap=5"]
    _, score, mask, _ = make_algorithm(make("tiny", overrides=asked)).expand()["objective"]
    assert (score["cap"], mask["divergence"]) == (5, "topk_kl")
    forgets = make({"algorithm": {"name": "dppo", "preset": "topk_kl"}}, overrides=["algorithm.name=gspo"])
    assert forgets.algorithm.preset == ""
    with pytest.raises(QuintainError, match="did you mean 'topk_kl'"):
        make_algorithm(make("tiny", overrides=["algorithm=dppo", "algorithm.preset=topkl"]))


def test_written_chains_replace_the_alias_one_by_one() -> None:
    objective = [{"name": "token_ratio", "anchor": "old"}, {"name": "clip", "low": 0.1}, "token_mean"]
    made = assemble(
        "grpo", {"kl": 0.1}, objective=objective, gate=["zero_variance", {"name": "drop_stale", "limit": 2}]
    )
    assert links(made, "objective") == ["token_ratio", "clip", "token_mean"]
    assert links(made, "gate") == ["zero_variance", "drop_stale"]
    assert links(made, "advantage") == ["normalise"] and made.needs == {"old"}
    assert assemble("grpo", **made.expand()).expand() == made.expand()


def test_mistakes_are_answered_with_a_sentence() -> None:
    with pytest.raises(UnknownName, match="did you mean 'grpo'"):
        assemble("grp")
    with pytest.raises(UnknownName, match="did you mean 'high'"):
        assemble("grpo", {"hihg": 0.3})
    with pytest.raises(UnknownName, match="did you mean 'clip'"):
        assemble("grpo", objective=["clipp"])
    with pytest.raises(PartError, match="ratio part stands after a mean part"):
        assemble("grpo", objective=["token_mean", {"name": "token_ratio", "anchor": "old"}])
    with pytest.raises(QuintainError, match="no registered factory"):
        Algorithm(advantage=stateless(lambda x: x), objective=grpo().objective).expand()


def test_an_algorithm_is_forgotten_with_its_stamp() -> None:
    made = grpo()
    key = id(made)
    assert provenance(made) is not None
    del made
    gc.collect()
    from quintain.registry import _stamps

    assert key not in _stamps or _stamps[key][0]() is None


@pytest.mark.parametrize("name", ["fcp", "variational", "prerl_guess", "arpo_gui", "dart_gui"])
def test_a_gate_that_makes_an_algorithm_what_it_is_is_not_replaced(name: str) -> None:
    own = assemble(name).expand()["gate"]
    with pytest.raises(PartError, match=rf"{own[0]['name']}.*algorithm\.gate=\[\]"):
        assemble(name, gate=["zero_variance"])
    assert [link["name"] for link in assemble(name, gate=[*own, "zero_variance"]).expand()["gate"]][1:] == [
        "zero_variance"
    ]
    assert [link["name"] for link in assemble("dapo", gate=["zero_variance"]).expand()["gate"]] == ["zero_variance"]


def test_what_is_no_part_and_no_algorithm_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def bare(groups: object) -> object:
        return groups

    stamp(bare, {"kind": "gate", "name": "bare_gate"})
    with pytest.raises(PartError, match="the gate 'bare_gate' is <function.*; it should be a Transform"):
        assemble("grpo", gate=[bare])
    entry = Entry(kind="algorithm", name="bare_algorithm", make=lambda: (bare, bare))
    monkeypatch.setitem(registry._entries, ("algorithm", "bare_algorithm"), entry)
    with pytest.raises(PartError, match="algorithm 'bare_algorithm' made .*; it should be an Algorithm"):
        assemble("bare_algorithm")
