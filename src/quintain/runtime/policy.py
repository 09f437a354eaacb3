"""The policy of a run: model, renderer of its tokens, learner and engine, from the config."""

from __future__ import annotations

import copy
import inspect
from collections.abc import Collection, Iterable, Iterator
from pathlib import Path
from typing import Any

from quintain.config import Config, ConfigError, LearnerSection
from quintain.engines.resuming import ResumingEngine
from quintain.learn.checkpoint import load_weights
from quintain.learn.learner import Plan, TorchLearner
from quintain.learn.lora import add_lora
from quintain.learn.pack import Demo
from quintain.learn.precision import Precision, pick_device, set_device
from quintain.learn.precision import set_threads as set_threads
from quintain.learn.ranks import Ranks
from quintain.learn.value import value_head
from quintain.models import build_model, context_limit, load_model, recompute, self_test, text_config
from quintain.ports import Engine, Renderer
from quintain.registry import build, entry


def make_model(config: Config, renderer: Renderer) -> Any:
    """The model of a config: a local folder, or one built from sizes for the renderer's vocabulary; self-tested."""
    section, device = config.model, set_device(pick_device(config.learner.device))
    if section.folder:
        model = load_model(section.folder, device=device)
    else:
        sizes = {"vocab": renderer.size, "context": section.context, **section.sizes}
        model = build_model(section.arch, seed=config.run.seed, **sizes).to(device)
        self_test(model)
    plan = build("precision", config.learner.precision)
    if plan.quantised and config.engine.name != "torch":
        raise ConfigError(
            f"learner.precision={plan.name} is emulated in engine.name=torch only, and {config.engine.name!r} would compute in "
            "another precision than the learner; choose engine.name=torch, or fp32, bf16 or fp16"
        )
    model = plan.prepare(model)
    return add_lora(model, seed=config.run.seed, **section.lora) if section.lora else model


def make_learner(
    config: Config, model: Any, needs: frozenset[str], ranks: Ranks, published: str = "", *, whole: bool = False
) -> TorchLearner:
    """The learner of the reinforcement steps, with a value head and a frozen reference where the algorithm needs them.

    It publishes into the folder `published`, or a pointer to the live model. With `whole` all ranks are given the same batches.
    """
    section = config.learner
    plan = Plan(
        minibatches=section.minibatches,
        epochs=section.epochs,
        clip_norm=section.clip_norm,
        micro_tokens=forward_tokens(section),
        seed=config.run.seed,
        folder=published,
        shard=section.shard == "full",
        whole=whole,
    )
    if section.checkpointing:
        recompute(model)
    return TorchLearner(
        model,
        optimizer(section, config.run.steps),
        plan=plan,
        precision=build("precision", section.precision),
        ranks=ranks,
        value=value_head(text_config(model).hidden_size, needs),
        reference="ref" in needs,
    )


def make_teacher(
    config: Config, model: Any, ranks: Ranks, *, precision: Precision | None = None, whole: bool = False
) -> TorchLearner:
    """The learner of the supervised steps: constant rate after its warm-up, one update a batch, else as in `learner`.

    The `precision` of the learner of a run is shared with it, so that the loss scale that is found here is the one that the run goes on
    with. With `whole` all ranks are given the same batches.
    """
    section, like = config.warm_start, config.learner
    rate = build("schedule", {"name": "constant", "warmup": section.warmup_steps})
    options = {"lr": section.lr, "weight_decay": like.weight_decay, "schedule": rate}
    recipe = build("optimizer", {"name": like.optimizer, **options})
    cut = {"clip_norm": like.clip_norm, "micro_tokens": forward_tokens(like)}
    plan = Plan(**cut, seed=config.run.seed, whole=whole)  # pyrefly: ignore
    shared = precision or build("precision", like.precision)
    return TorchLearner(model, recipe, plan=plan, precision=shared, ranks=ranks)


def forward_tokens(section: LearnerSection) -> int:
    """Tokens of one forward pass: as set, or else what stays near a core's caches, or what keeps a GPU busy."""
    return section.micro_tokens or (4096 if pick_device(section.device).type == "cpu" else 16384)


def optimizer(section: LearnerSection, steps: int) -> Any:
    """The optimizer recipe with its schedule over `steps`."""
    shape = {"name": section.schedule, "steps": max(1, steps), "warmup": section.warmup_steps, "floor": section.floor}
    rate = build("schedule", shape)
    options = {"lr": section.lr, "weight_decay": section.weight_decay, "schedule": rate}
    return build("optimizer", {"name": section.optimizer, **options})


def narrower(config: Config, model: Any) -> str:
    """What a run says where its model reads fewer tokens than `model.context`, which more of that does not mend; else "".

    Where learners are elsewhere this process has no model (None), and says nothing.
    """
    if model is None or (most := context_limit(model)) >= config.model.context:
        return ""
    return f"model.context is {config.model.context}, and the model reads at most {most} tokens: paths end there"


def readable(model: Any, demos: Iterable[Demo]) -> Iterator[Demo]:
    """The demonstrations, none of which is longer than what the model reads; all where it is elsewhere (None).

    Raises:
        ConfigError: one is longer.
    """
    most = None if model is None else context_limit(model)
    for demo in demos:
        if most is not None and len(demo.tokens) > most:
            raise ConfigError(
                f"a demonstration of the oracle has {len(demo.tokens)} tokens, and the model reads at most {most}, whatever model.context "
                "is; take an easier level or a model that reads more"
            )
        yield demo


def make_engine(config: Config, model: Any, *, own: bool = False) -> Engine:
    """The in-process engine: on the learner's own weights in synchronous runs, on a copy where it may lag behind them, or is `own`.

    Raises:
        ConfigError: the engine does not run a model of ours.
    """
    context = min(config.model.context, context_limit(model))
    made = entry("engine", config.engine.name)  # one whose model is elsewhere needs no copy
    apart = made.tags.get("apart")
    if apart and config.runtime.processes > 1:
        raise ConfigError(
            f"engine.name is {config.engine.name!r} and runtime.processes is {config.runtime.processes}: this engine takes its "
            "weights from one process that learns; set runtime.processes=1"
        )
    held = copy.deepcopy(model) if (own or config.run.max_lag) and not apart else model
    shape = {"model": held, "slots": config.engine.slots, "context": context}
    known = inspect.signature(made.make).parameters.keys()
    lacking = shape.keys() - known
    if lacking:
        raise ConfigError(
            f"engine.name is {config.engine.name!r}, which cannot run the model that is trained; an engine for that takes "
            f"{', '.join(shape)}: use torch, or name a player or a URL in `quintain eval`"
        )
    engine = build("engine", {"name": config.engine.name, **shape, **_updates(config, known), **config.engine.options})
    aborts = config.engine.during_update == "pause" and "during_update" not in known
    return ResumingEngine(engine) if aborts else engine


def _updates(config: Config, known: Collection[str]) -> dict[str, Any]:
    """How an engine takes over new weights, as far as the config differs from what every engine does."""
    section = config.engine
    asked: dict[str, Any] = {"update": section.update, "during_update": section.during_update}
    usual = {"update": "in_flight", "during_update": "run"}
    asked = {key: value for key, value in asked.items() if value != usual[key]}
    if asked.get("update") == "pinned":
        asked["versions"] = config.run.max_lag + 1
    if "during_update" not in known:
        asked.pop("during_update", "")  # it is interrupted from outside
    if lacking := asked.keys() - set(known):
        key = min(lacking - {"versions"} or lacking)
        raise ConfigError(
            f"engine.{key} is {asked[key]!r}, which the engine {section.name!r} does not know; leave it at "
            f"{usual.get(key)!r}, or set engine.name=torch"
        )
    return asked


def describe(model: Any) -> dict[str, Any]:
    """Type, parameters, bytes, context, and bytes of keys and values per token of a model."""
    config = text_config(model)
    every, trained = list(model.parameters()), [p for p in model.parameters() if p.requires_grad]
    heads = getattr(config, "num_key_value_heads", None) or config.num_attention_heads
    wide = getattr(config, "head_dim", None) or config.hidden_size // config.num_attention_heads
    return {
        "type": config.model_type,
        "parameters": sum(p.numel() for p in every),
        "trainable": sum(p.numel() for p in trained),
        "bytes": sum(p.numel() * p.element_size() for p in every),
        "trainable_bytes": sum(4 * p.numel() for p in trained),
        "context": context_limit(model),
        "kv_bytes_per_token": 2 * config.num_hidden_layers * heads * wide * every[0].element_size(),
    }


def load_checkpoint(model: Any, folder: str | Path) -> None:
    """Put the weights of a run's checkpoint into its model."""
    load_weights(model, str(folder))


def save(model: Any, folder: str) -> None:
    """Write the weights of a model where an engine can load them."""
    from quintain.models import save_model

    save_model(model, folder)


def export(model: Any, renderer: Any, folder: str | Path) -> None:
    """Write a Hugging Face folder: weights, config, and the tokenizer where the renderer has one."""
    from quintain.models import save_model

    save_model(model, folder)
    tokenizer = getattr(renderer, "tokenizer", None)
    if tokenizer is not None:
        tokenizer.save_pretrained(folder)
