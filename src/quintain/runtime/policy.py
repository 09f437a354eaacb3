"""The policy of a run: model, renderer of its tokens, learner and engine, from the config."""

from __future__ import annotations

import copy
import inspect
from pathlib import Path
from typing import Any

from quintain.config import Config, ConfigError, LearnerSection
from quintain.learn.checkpoint import load_weights
from quintain.learn.learner import Plan, TorchLearner
from quintain.learn.lora import add_lora
from quintain.learn.precision import pick_device
from quintain.learn.precision import set_threads as set_threads
from quintain.learn.ranks import Ranks
from quintain.learn.value import ValueHead
from quintain.models import build_model, context_limit, load_model, self_test, text_config
from quintain.ports import Engine, Renderer
from quintain.registry import build, entry


def make_model(config: Config, renderer: Renderer) -> Any:
    """The model of a config: a local folder, or one built from sizes for the renderer's vocabulary; self-tested."""
    section, device = config.model, pick_device(config.learner.device)
    if section.folder:
        model = load_model(section.folder, device=device)
    else:
        sizes = {"vocab": renderer.size, "context": section.context, **section.sizes}
        model = build_model(section.arch, seed=config.run.seed, **sizes).to(device)
        self_test(model)
    return add_lora(model, **section.lora) if section.lora else model


def make_learner(config: Config, model: Any, needs: frozenset[str], ranks: Ranks, published: str = "") -> TorchLearner:
    """The learner of the reinforcement steps, with a value head and a frozen reference where the algorithm needs them.

    It publishes into the folder `published`, or a pointer to the live model.
    """
    section = config.learner
    plan = Plan(
        minibatches=section.minibatches,
        epochs=section.epochs,
        clip_norm=section.clip_norm,
        micro_tokens=forward_tokens(section),
        seed=config.run.seed,
        folder=published,
    )
    return TorchLearner(
        model,
        optimizer(section, config.run.steps),
        plan=plan,
        precision=build("precision", section.precision),
        ranks=ranks,
        value=ValueHead(text_config(model).hidden_size) if needs & {"value", "values"} else None,
        reference="ref" in needs,
    )


def make_teacher(config: Config, model: Any, ranks: Ranks) -> TorchLearner:
    """The learner of the supervised steps: constant rate after its warm-up, one update a batch, else as in `learner`."""
    section, like = config.warm_start, config.learner
    rate = build("schedule", {"name": "constant", "warmup": section.warmup_steps})
    options = {"lr": section.lr, "weight_decay": like.weight_decay, "schedule": rate}
    recipe = build("optimizer", {"name": like.optimizer, **options})
    plan = Plan(clip_norm=like.clip_norm, micro_tokens=forward_tokens(like), seed=config.run.seed)
    return TorchLearner(model, recipe, plan=plan, precision=build("precision", like.precision), ranks=ranks)


def forward_tokens(section: LearnerSection) -> int:
    """Tokens of one forward pass: as set, or else what stays near a core's caches, or what keeps a GPU busy."""
    return section.micro_tokens or (4096 if pick_device(section.device).type == "cpu" else 16384)


def optimizer(section: LearnerSection, steps: int) -> Any:
    """The optimizer recipe with its schedule over `steps`."""
    shape = {"name": section.schedule, "steps": max(1, steps), "warmup": section.warmup_steps, "floor": section.floor}
    rate = build("schedule", shape)
    options = {"lr": section.lr, "weight_decay": section.weight_decay, "schedule": rate}
    return build("optimizer", {"name": section.optimizer, **options})


def make_engine(config: Config, model: Any) -> Engine:
    """The in-process engine: on the learner's own weights in synchronous runs, on a copy where it may lag behind them.

    Raises:
        ConfigError: the engine does not run a model of ours.
    """
    context = min(config.model.context, context_limit(model))
    own = copy.deepcopy(model) if config.run.max_lag else model
    shape = {"model": own, "slots": config.engine.slots, "context": context}
    lacking = shape.keys() - inspect.signature(entry("engine", config.engine.name).make).parameters.keys()
    if lacking:
        raise ConfigError(
            f"engine.name is {config.engine.name!r}, which cannot run the model that is trained; an engine for that takes "
            f"{', '.join(shape)}: use torch, or name a player or a URL in `quintain eval`"
        )
    return build("engine", {"name": config.engine.name, **shape, **config.engine.options})


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


def export(model: Any, renderer: Any, folder: str | Path) -> None:
    """Write a Hugging Face folder: weights, config, and the tokenizer where the renderer has one."""
    from quintain.models import save_model

    save_model(model, folder)
    tokenizer = getattr(renderer, "tokenizer", None)
    if tokenizer is not None:
        tokenizer.save_pretrained(folder)
