"""One rank of `test_shared.py`, run as a program: RANK SIZE PORT FOLDER. It plays small runs, each with another fault."""

from __future__ import annotations

import asyncio
import json
import runpy
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch

from quintain.learn.ranks import Ranks
from quintain.types import Weights

HERE = Path(__file__).parent
Stand = runpy.run_path(str(HERE / "conftest.py"))["Stand"]
Mute = runpy.run_path(str(HERE / "test_sync.py"))["Mute"]


def stale(stand: Any) -> None:
    """One layer of this rank's engine stays as it was."""
    load = stand.engine.load

    async def bad(weights: Weights) -> None:
        old = {n: p.detach().clone() for n, p in stand.engine.model.named_parameters()}
        await load(weights)
        with torch.no_grad():
            for name, p in stand.engine.model.named_parameters():
                if "layers.1." in name:
                    p.copy_(old[name])

    stand.engine.load = bad


def lost(stand: Any) -> None:
    """The whole copy of this rank does not get one layer."""
    whole = dict(stand.learner.copy.model.named_parameters())
    refresh = stand.learner.copy.refresh

    def bad(model: Any) -> None:
        old = {n: p.detach().clone() for n, p in whole.items()}
        refresh(model)
        with torch.no_grad():
            for name, p in whole.items():
                if "layers.0." in name:
                    p.copy_(old[name])

    stand.learner.copy.refresh = bad


def permuted(stand: Any) -> None:
    """A tensor of this rank's engine has its rows in another order."""
    load = stand.engine.load

    async def bad(weights: Weights) -> None:
        await load(weights)
        with torch.no_grad():
            p = dict(stand.engine.model.named_parameters())["model.layers.0.mlp.up_proj.weight"]
            p.copy_(p.flip(0))

    stand.engine.load = bad


def mute(stand: Any) -> None:
    """An engine that only scores and samples, and gets nothing new."""
    held = Mute(stand.engine)

    async def nothing(weights: Weights) -> None:
        stand.engine._runner.version = weights.version

    stand.engine.load = nothing
    stand.cast = stand.proof.cast = replace(stand.cast, engines={"policy": held})


def masked(stand: Any) -> None:
    """This rank's mask is shifted."""
    look = stand.proof.audit.look
    stand.proof.audit.look = lambda batch: look(replace(batch, mask=_shifted(batch.mask)))


def _shifted(mask: Any) -> Any:
    out = mask.copy()
    out[1:] = mask[:-1]
    return out


def edited(stand: Any) -> None:
    """Recorded logprobs of this rank are those of another temperature."""
    rows = stand.proof.audit.wants

    def wants() -> Any:
        for row in stand.proof.audit._rows:
            row.logprobs[:] *= 0.5
        return rows()

    stand.proof.audit.wants = wants


def crashed(stand: Any) -> None:
    """The proof of this rank breaks."""

    def broken(batch: Any) -> None:
        raise ValueError("no such thing")

    stand.proof.audit.look = broken


FAULTS: dict[str, tuple[int, Callable[[Any], None]]] = {
    "none": (0, lambda stand: None),
    "stale": (1, stale),
    "lost": (0, lost),
    "permuted": (0, permuted),
    "mute": (1, mute),
    "masked": (1, masked),
    "edited": (0, edited),
    "crashed": (1, crashed),
}


async def tell(ranks: Ranks, name: str) -> dict[str, Any]:
    """What one small run with a fault ends with on this rank."""
    where, fault = FAULTS[name]
    stand = Stand(ranks=ranks)
    try:
        await stand.begin(steps=2 if name == "none" else 1)
        if ranks.rank == where:
            fault(stand)
        row = await stand.step()
        return {"kind": "", "told": "", "row": row, "facts": stand.facts, "version": stand.proof.sync.weights.version}
    except Exception as error:
        return {"kind": type(error).__name__, "told": str(error), "facts": stand.facts, "version": stand.version}
    finally:
        stand.close()


def main(rank: int, size: int, port: int, folder: Path) -> None:
    """Every run, one after the other."""
    ranks = Ranks.join(rank, size, port=port, deadline_s=60)
    told = {name: asyncio.run(tell(ranks, name)) for name in FAULTS}
    (folder / f"rank{rank}.json").write_text(json.dumps(told))
    ranks.barrier()
    ranks.close()


if __name__ == "__main__":
    torch.set_num_threads(1)
    main(int(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]), Path(sys.argv[4]))
