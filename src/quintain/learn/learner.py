"""The torch learner: scores groups, steps independently of micro-batches and ranks, publishes, saves."""

from __future__ import annotations

import asyncio
import copy
import logging
import math
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import torch
from torch import nn

from quintain.given import written
from quintain.learn import checkpoint
from quintain.learn.forward import ROUTES, STREAMS, SUPPLIED, LearnerError, Reader
from quintain.learn.gradients import Gradients
from quintain.learn.guards import scalar_of, tickets_of, unfit
from quintain.learn.lora import has_lora
from quintain.learn.measured import measured
from quintain.learn.meter import OUTCOMES, Meter
from quintain.learn.optim import OptimizerError, Recipe, list_weights
from quintain.learn.pack import micro, select, split
from quintain.learn.plan import Plan
from quintain.learn.precision import Precision, fp32
from quintain.learn.publish import frozen_print, publish
from quintain.learn.ranks import Ranks
from quintain.learn.routes import with_routes
from quintain.learn.shards import Copy, gathered, is_sharded, local, local_weights, own_part, shard
from quintain.learn.shares import of_rank
from quintain.learn.streams import add_streams
from quintain.learn.topk import others
from quintain.learn.value import ValueHead
from quintain.models.narrow import recomputes
from quintain.models.order import mode_kept
from quintain.models.routing import routers
from quintain.parts import Objective, State, applied, carried, made_of
from quintain.types import Batch, Group, Terms, Weights

log = logging.getLogger(__name__)
Result = TypeVar("Result")


class TorchLearner:
    """Owns the weights under training; matches the port `Learner`.

    Args:
        model: a decoder of `quintain.models`, with or without LoRA factors.
        optimizer: a recipe such as `muon(lr=6e-4)`.
        plan: minibatches, epochs, clipping, micro-batch size.
        precision: the dtype plan.
        ranks: this process among its peers; they start from rank 0's weights.
        value: a value head, for objectives that need `values`.
        reference: keep a frozen copy of the model as it is now, for the need `ref` (LoRA runs use their base instead).

    `step` counts batches, `updates` optimizer steps, `version` published policies; the learning rate is a function of
    `step`. `quarantined` lists what was skipped: step, cause, tickets. `before_step` is awaited in every update once gradients are there
    and before they change a weight; the model may be examined meanwhile, and an error ends the update.
    """

    def __init__(
        self,
        model: nn.Module,
        optimizer: Recipe,
        *,
        plan: Plan | None = None,
        precision: Precision | None = None,
        ranks: Ranks | None = None,
        value: ValueHead | None = None,
        reference: bool = False,
    ) -> None:
        self.model, self.plan, self.ranks = model, plan or Plan(), ranks or Ranks()
        self.precision, self.value = precision or fp32(), value
        self.recipe = optimizer
        self.sharded = any(map(is_sharded, model.parameters()))  # by another learner of the same model
        frozen = self._begin(model, value, reference)
        self.reader = Reader(
            model=model, precision=self.precision, value=value, reference=frozen, together=self.sharded
        )
        self.weights = local_weights(list_weights(model))
        if value is not None:
            value.to(self.reader.device)
            self.weights += [w._replace(name=f"value.{w.name}", lr=value.lr, block=False) for w in list_weights(value)]
        if not self.weights:
            raise LearnerError("the model has no trainable parameter")
        self.optimizer = optimizer.make(self.weights)
        self.gradients = Gradients(self.weights, self.ranks)
        self.step = self.updates = self.version = 0
        self.quarantined: list[dict[str, Any]] = []
        self.state: State = None
        self._made: Any = None  # what left the state, as JSON
        self._objective: Objective | None = None
        self.before_step: Callable[[], Awaitable[None]] | None = None
        self._pool = ThreadPoolExecutor(1, thread_name_prefix="learner")

    def _begin(self, model: nn.Module, value: ValueHead | None, reference: bool) -> nn.Module | None:
        """Take over rank 0's weights, shard them where that is asked for, and return the frozen reference."""
        self.copy: Copy | None = None
        self.base = 0
        if self.sharded:
            return None
        own = [] if value is None else list(value.parameters())
        self.ranks.adopt([p.data for p in [*model.parameters(), *own]])
        frozen = copy.deepcopy(model).requires_grad_(False) if reference and not has_lora(model) else None
        self.base = frozen_print(model)
        if self.plan.shard:
            self.copy = Copy(model, holds=not self.plan.folder or self.ranks.rank == 0)
            for one in (model, *([] if frozen is None else [frozen])):
                shard(one, self.ranks, self.precision.dtype)
            self.sharded = True
        return frozen

    @property
    def playing(self) -> nn.Module:
        """The model that an engine in this process runs: the live one, or the whole copy of a sharded one."""
        return self.model if self.copy is None or self.copy.model is None else self.copy.model

    @property
    def supplies(self) -> frozenset[str]:
        """The needs that this learner can meet."""
        lacking = set() if self.value is not None else {"value", "values"}
        if self.value is None or self.value.heads < 2:
            lacking.add("twin_values")
        if self.reader.reference is None and not has_lora(self.model):
            lacking.add("ref")
        if not routers(self.model) or recomputes(self.model):
            lacking.add(ROUTES)
        return SUPPLIED - lacking

    def check(self, needs: frozenset[str]) -> None:
        """Refuse what cannot be supplied; a run calls this before it starts.

        Raises:
            LearnerError: names the first need that is not met, and how to meet it.
        """
        head = "give it a value head"
        how = {
            "ref": "make the learner with reference=True",
            "value": head,
            "values": head,
            "twin_values": f"{head} of 2",
        }
        how[ROUTES] = "train a mixture of experts without learner.checkpointing, or leave replay_routes out"
        for need in sorted(others(needs) - self.supplies):
            fix = how.get(need, f"it supplies {', '.join(sorted(self.supplies))}")
            raise LearnerError(f"the learner cannot supply {need!r}: {fix}")

    async def _off_loop(self, call: Callable[..., Result], *args: Any) -> Result:
        return await asyncio.get_running_loop().run_in_executor(self._pool, call, *args)

    async def score(self, groups: Sequence[Group], needs: frozenset[str]) -> tuple[Group, ...]:
        """Add the streams `old`, `ref` and `value` that `needs` names, one number per sampled token and 0 elsewhere.

        Raises:
            LearnerError: a need that this learner cannot meet.
        """
        self.check(needs)
        streams = sorted({STREAMS[n] for n in needs & STREAMS.keys()})
        if not streams or not (self.sharded or any(g.trajectories for g in groups)):
            return tuple(groups)
        return await self._off_loop(add_streams, tuple(groups), streams, self.reader, self._even)

    async def update(self, batch: Batch, objective: Objective) -> Mapping[str, float]:
        """Take the optimizer steps of one batch.

        Loss and gradients are sums over micro-batches and ranks with denominators from the whole minibatch, so neither
        changes them. A minibatch with a NaN or infinity in its data, loss or gradients is skipped on every rank:
        weights, optimizer and part state stay as they were, and its tickets go to `quarantined`.

        Returns:
            Per step: `loss`, `grad_norm`, `entropy` (nats a token), `lr`, `tokens`, `sequences`, `groups`, `updates`
            taken and `skipped`, `mismatch_mean`, `mismatch_max`, `mismatch_kl` and others (engine against learner before the
            first optimizer step), `seconds_forward` (loss included), `seconds_backward`, `seconds_optimizer`, `grad_cosine`
            (each gradient with that of the optimizer step before, from the second on), `ratio_*` and `moved_*` (share of
            tokens by their ratio to the engine, and of those that still had a coefficient), what the objective's parts noted.

        Raises:
            LearnerError: an unmet need, a missing stream, or an objective that does not end in a mean.
        """
        self.check(objective.needs)
        work = self._update(batch, objective)
        if (metrics := await self._off_loop(next, work)) is None:
            if self.before_step is not None:
                await self.before_step()
            metrics = await self._off_loop(next, work)
        assert metrics is not None
        return metrics

    def _update(self, batch: Batch, objective: Objective) -> Iterator[dict[str, float] | None]:
        """None where the weights are about to change for the first time, if they are; then the metrics."""
        if objective is not self._objective:
            loaded = self._objective is None and self.state is not None  # it waited for its objective
            say = log.debug if self.ranks.rank else log.warning
            kept = (self.state, self._made, say)
            self.state = carried("the objective", objective, *kept) if loaded else objective.init()
            self._objective, self._made = objective, made_of(objective)
        meter = Meter(self.ranks)
        batch = with_routes(batch, objective.needs, self.reader, self._even)
        factor, changed = self.recipe.schedule(self.step), False
        for epoch in range(self.plan.epochs):
            for part in split(batch, self.plan.minibatches, (self.plan.seed, self.step, epoch)):
                for _ in self._train(part, objective, meter, factor):
                    if not changed:
                        changed = True
                        yield None
                meter.closed()
        self.step += 1
        scale = {} if self.precision.scale is None else {"loss_scale": self.precision.scale.value}
        yield {**meter.result(), **scale, "lr": self.recipe.lr * factor}

    def _train(self, batch: Batch, objective: Objective, meter: Meter, factor: float) -> Iterator[None]:
        """One optimizer step on a minibatch, or none; stops once in front of it."""
        bad = unfit(batch)
        mine, totals = of_rank(batch, {"unfit": float(len(bad))}, self.ranks, self.plan.whole)
        if totals.pop("unfit"):
            return self._skip("data are not finite", bad, meter)
        if not totals["tokens"]:
            return None
        self.gradients.clear()
        pieces = self._even(mine)
        ready = measured(pieces, objective, self.reader, totals, self.ranks)
        after, figures = self._accumulate(pieces, ready, objective, totals, meter)
        if not math.isfinite(figures["loss"]):
            return self._skip(f"loss is {figures['loss']}", tickets_of(batch), meter)
        yield
        begin = time.perf_counter()
        norm = self._reduce()
        overflow = not math.isfinite(norm)
        scale = self.precision.scale
        at_floor = scale is None or scale.value <= scale.floor
        if scale is not None:
            scale.update(overflow)
        if overflow:
            return self._skip(f"gradient norm is {norm}", tickets_of(batch) if at_floor else None, meter)
        meter.turned(self.gradients.cosine())
        if self.plan.clip_norm:
            self.gradients.scale(min(1.0, self.plan.clip_norm / (norm + 1e-6)))
        self.optimizer.step(factor * figures.get("step_scale", 1.0))
        if not self.updates:
            written(objective, after)  # what no checkpoint can keep is told now, and not at the first
        self.state = after
        self.updates += 1
        meter.stepped({**figures, "grad_norm": norm}, totals)
        meter.time(optimizer=time.perf_counter() - begin)
        return None

    def _even(self, batch: Batch) -> list[Batch]:
        """The micro-batches; of shared layers every rank runs as many, the last ones empty."""
        pieces, none = list(micro(batch, self.plan.micro_tokens)), select(batch, np.zeros(0, np.int64))
        count = int(self.ranks.largest({"pieces": len(pieces)})["pieces"]) if self.sharded else 1
        return pieces + [none] * (count - len(pieces))

    def _reduce(self) -> float:
        """Sum gradients over ranks, take the loss scale out, and return their norm."""
        self.gradients.sum()
        if self.precision.scale is not None:
            self.gradients.scale(1.0 / self.precision.scale.value)
        return self.gradients.norm()

    def _accumulate(
        self, pieces: list[Batch], ready: Terms | None, objective: Objective, totals: dict[str, float], meter: Meter
    ) -> tuple[State, dict[str, float]]:
        """Backward over all pieces; the state after the step, and loss, entropy and noted metrics over all ranks."""
        scale = 1.0 if self.precision.scale is None else self.precision.scale.value
        after: list[State] = []
        sums = dict.fromkeys(OUTCOMES, 0.0)
        for piece in pieces:
            begin = time.perf_counter()
            terms = self.reader.terms(piece, objective.needs, totals) if ready is None else ready
            meter.compare(terms)
            out, state = applied(objective, terms, self.state)
            after.append(state)
            loss = scalar_of(out)
            middle = time.perf_counter()
            if loss.requires_grad:
                if terms.new.requires_grad:
                    terms.new.retain_grad()
                with mode_kept():
                    (loss * scale).backward()
            meter.region(terms)
            meter.time(forward=middle - begin, backward=time.perf_counter() - middle)
            assert terms.entropy is not None
            entropy = float(terms.entropy.detach().sum()) / totals["tokens"]
            for name, value in {**out.metrics, "loss": loss.detach(), "entropy": entropy}.items():
                sums[name] = sums.get(name, 0.0) + float(value)
        return after[0], self.ranks.sums(sums)

    def _skip(self, cause: str, tickets: list[int] | None, meter: Meter) -> None:
        """Take no step; None for tickets is an overflow of the loss scale, which is no batch's fault."""
        self.gradients.clear()
        meter.skipped()
        if tickets is not None:
            self.quarantined.append({"step": self.step, "cause": cause, "tickets": tickets})
            log.warning("step %d: an optimizer step was skipped: %s; tickets %s", self.step, cause, tickets)

    async def examine(self, call: Callable[[Reader], Result]) -> Result:
        """What `call` says of the model as it is, asked in the learner's own thread."""
        return await self._off_loop(call, self.reader)

    async def publish(self) -> Weights:
        """The current weights under the next version number: a pointer to the live model, or a folder.

        Raises:
            RankError: ranks hold different weights.
        """
        self.version += 1
        return await self._off_loop(self._publish, self.version)

    def _publish(self, version: int) -> Weights:
        everywhere = not (self.copy and self.plan.folder)
        model, prints = self.whole(), None if self.copy is None else self.copy.prints
        return publish(model, version, self.plan.folder, self.ranks, compare=everywhere, prints=prints)

    def whole(self) -> nn.Module | None:
        """The model as engines run it: the live one, or a copy of a sharded one, brought up to date by all ranks together.

        Special cases: None on ranks that keep no copy, as only the first writes files.
        """
        if self.copy is None:
            return self.model
        self.copy.refresh(self.model)
        return self.copy.model

    def save(self, folder: str) -> None:
        """Write `weights`, `optimizer`, `value` and `reference` as safetensors, and counters and part state as JSON.

        Raises:
            CheckpointError: the folder cannot be written.
        """
        scale = self.precision.scale
        facts = {
            "step": self.step,
            "updates": self.updates,
            "version": self.version,
            "state": self.state,
            "made": self._made,
            "quarantined": self.quarantined,
            "loss_scale": None if scale is None else scale.state(),
            "frozen": self.base,
            "gradient": self.gradients.remembered(),
        }
        checkpoint.write(folder, self._whole_files(), facts)

    def assist(self) -> None:
        """Take part in the `save` of the first rank: where layers are sharded, it needs every rank's part."""
        for pairs in self._whole_files().values():
            for _ in pairs:
                pass

    def _whole_files(self) -> dict[str, Iterator[tuple[str, torch.Tensor]]]:
        files, names = {**self._kept(), "optimizer": self.optimizer.state()}, {w.name: w for w in self.weights}
        return {name: gathered(tensors, names) for name, tensors in files.items()}

    def load(self, folder: str) -> None:
        """Continue exactly from what `save` wrote.

        Raises:
            CheckpointError: a file is missing or damaged, or belongs to another model or optimizer; nothing is changed.
        """
        facts = checkpoint.read_facts(folder)
        checkpoint.same_base(folder, facts, self.base)
        kept = self._kept()
        found = {name: checkpoint.read(folder, name, tensors) for name, tensors in kept.items()}
        state = {
            name: own_part(name, tensor, self.weights) for name, tensor in checkpoint.read(folder, "optimizer").items()
        }
        optimizer = self.recipe.make(self.weights)
        try:
            optimizer.load(state)
        except (KeyError, OptimizerError) as error:
            what = f"{folder} was saved by another learner.optimizer or for other weights: its state does not fit, first at {error}"
            raise checkpoint.CheckpointError(f"{what}; {checkpoint.FIX}") from error
        checkpoint.same_names(Path(folder) / "optimizer.safetensors", state, optimizer.state())
        with torch.no_grad():
            for name, tensors in kept.items():
                for key, tensor in tensors.items():
                    local(tensor).copy_(found[name][key])
        self.optimizer, self.state, self._objective = optimizer, facts["state"], None
        self._made = facts.get("made")
        self.step, self.updates, self.version = facts["step"], facts["updates"], facts["version"]
        self.quarantined = facts["quarantined"]
        self.gradients.remember(facts.get("gradient", np.zeros(0)))
        if self.precision.scale is not None and facts["loss_scale"]:
            self.precision.scale.load(facts["loss_scale"])

    def _kept(self) -> dict[str, dict[str, torch.Tensor]]:
        modules = {"weights": self.model, "value": self.value}
        out = {name: checkpoint.kept(module) for name, module in modules.items() if module is not None}
        if self.reader.reference is not None:
            out["reference"] = {n: p.data for n, p in self.reader.reference.named_parameters()}
        return out

    def close(self) -> None:
        """End the worker thread."""
        self._pool.shutdown()
