"""Rollout tokens/s on 64 long-tailed prompts: our engine, padded `transformers.generate`, and vLLM where it is installed.

A 3.4M Qwen3 model with random weights, float32, one thread, T=1 with logprobs; prompts of 16-64 random tokens, output
lengths min(512, lognormal(4, 0.9)), forced. Repetition r draws its own workload with seed r; the engines take turns.
Only useful tokens count: padded rows and tokens beyond a request's length are the price of padding. The peers get the
same saved folder, prompts and lengths. vLLM needs `make venv-vllm`.
"""

from __future__ import annotations

import asyncio
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any

import numpy as np
import torch

from quintain.engines.torch import TorchEngine
from quintain.models import build_model, load_model, save_model
from quintain.types import Request, Sampling

ROOT = Path(__file__).parents[1]
SIZES = {"hidden": 256, "layers": 4, "heads": 4, "kv_heads": 2, "head_dim": 64, "ffn": 768, "vocab": 1024}
REQUESTS, LONGEST, REPETITIONS = 64, 512, 5
WARM = 1_000  # seed of the workload that warms every engine
Prompts, Lengths = list[list[int]], list[int]


def workload(seed: int) -> tuple[Prompts, Lengths]:
    """Prompts and output lengths of one repetition."""
    rng = np.random.default_rng(seed)
    prompts = [rng.integers(0, SIZES["vocab"], n).tolist() for n in rng.integers(16, 65, REQUESTS)]
    lengths = np.clip(rng.lognormal(4, 0.9, REQUESTS).astype(int), 1, LONGEST)
    return prompts, lengths.tolist()


def ours(model: Any) -> Callable[[Prompts, Lengths], Any]:
    """Our engine: every request has a length of its own; nothing is kept between batches."""
    engine = TorchEngine(model, slots=REQUESTS)

    async def play(prompts: Prompts, lengths: Lengths) -> list[Any]:
        requests = [
            Request(session="", prompt=tuple(p), sampling=Sampling(max_tokens=n), key=(i,))
            for i, (p, n) in enumerate(zip(prompts, lengths, strict=True))
        ]
        return await asyncio.gather(*[engine.generate(r) for r in requests])

    def batch(prompts: Prompts, lengths: Lengths) -> list[Any]:
        made = asyncio.run(play(prompts, lengths))
        assert [len(c.logprobs) for c in made] == lengths
        return made

    return batch


@torch.inference_mode()
def padded(model: Any, prompts: Prompts, lengths: Lengths) -> list[torch.Tensor]:
    """`generate` on the left-padded batch, to the longest length; logprobs of the useful tokens."""
    width = max(map(len, prompts))
    ids = torch.tensor([[0] * (width - len(p)) + p for p in prompts])
    mask = torch.tensor([[0] * (width - len(p)) + [1] * len(p) for p in prompts])
    out = model.generate(
        input_ids=ids,
        attention_mask=mask,
        max_new_tokens=max(lengths),
        do_sample=True,
        temperature=1.0,
        top_k=0,
        top_p=1.0,
        pad_token_id=0,
        eos_token_id=None,
        output_logits=True,
        return_dict_in_generate=True,
    )
    made = out.sequences[:, width:]
    steps = [x.log_softmax(-1).gather(1, made[:, i : i + 1]) for i, x in enumerate(out.logits)]
    logprobs = torch.cat(steps, 1)
    return [row[:n] for row, n in zip(logprobs, lengths, strict=True)]


def start_vllm(folder: str) -> subprocess.Popen[str] | None:
    """vLLM in the environment that `make venv-vllm` makes, bound to one core; None where that is absent."""
    python = Path(os.environ.get("VENV_VLLM", ROOT / ".venv-vllm")) / "bin" / "python"
    if not python.exists():
        return None
    core = max(os.sched_getaffinity(0))
    settings = {"VLLM_CPU_OMP_THREADS_BIND": str(core), "VLLM_CPU_KVCACHE_SPACE": "1", "OMP_NUM_THREADS": "1"}
    settings |= {"HF_HUB_OFFLINE": "1", "VLLM_NO_USAGE_STATS": "1", "VLLM_LOGGING_LEVEL": "ERROR"}
    command = [str(python), str(ROOT / "benchmarks" / "_vllm_child.py"), folder]
    env = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"} | settings
    child = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=env)
    if not _pipe(child.stdout).readline():
        raise SystemExit("vLLM did not start; its messages are above")
    return child


def _pipe(stream: IO[str] | None) -> IO[str]:
    assert stream is not None
    return stream


def ask(child: subprocess.Popen[str], prompts: Prompts, lengths: Lengths) -> tuple[float, float]:
    """Seconds that vLLM took for the batch, by its own clock, and processor seconds of all its processes."""
    _pipe(child.stdin).write(json.dumps({"prompts": prompts, "lengths": lengths}) + "\n")
    _pipe(child.stdin).flush()
    answer = json.loads(_pipe(child.stdout).readline())
    return answer["seconds"], answer["processor"]


def agree(plain: Any, prompts: Prompts, made: list[Any]) -> float:
    """The largest difference between our recorded logprobs and a plain forward of transformers, over four requests."""
    worst = 0.0
    for prompt, answer in list(zip(prompts, made, strict=True))[:4]:
        ids = torch.tensor([[*prompt, *answer.tokens]])
        with torch.inference_mode():
            logp = plain(ids).logits[0].log_softmax(-1)
        wanted = logp[len(prompt) - 1 : -1].gather(1, ids[0, len(prompt) :, None])[:, 0]
        worst = max(worst, float((wanted - torch.tensor(answer.logprobs)).abs().max()))
    return worst


def timed(call: Callable[[], Any]) -> tuple[float, float, Any]:
    """Wall seconds, processor seconds and the result of a call."""
    wall, cpu = time.perf_counter(), time.process_time()
    value = call()
    return time.perf_counter() - wall, time.process_time() - cpu, value


def measure(folder: str) -> tuple[list[dict[str, float]], float]:
    """One row a repetition: useful tokens and seconds of each engine, which take turns; and `agree` of the first."""
    from transformers import AutoModelForCausalLM

    engine = ours(load_model(folder))
    plain = AutoModelForCausalLM.from_pretrained(folder, attn_implementation="sdpa", dtype=torch.float32).eval()
    vllm = start_vllm(folder)
    rows, worst = [], 0.0
    for seed in [WARM, *range(REPETITIONS)]:
        prompts, lengths = workload(seed)
        row: dict[str, float] = {"tokens": sum(lengths), "longest": max(lengths)}
        row["ours"], row["ours_cpu"], made = timed(lambda p=prompts, n=lengths: engine(p, n))
        row["padded"], row["padded_cpu"], _ = timed(lambda p=prompts, n=lengths: padded(plain, p, n))
        if vllm is not None:
            row["vllm"], row["vllm_cpu"] = ask(vllm, prompts, lengths)
        worst = worst or agree(plain, prompts, made)
        if seed != WARM:
            rows.append(row)
            print(json.dumps({"seed": seed, **row}), flush=True)
    if vllm is not None:
        _pipe(vllm.stdin).close()
        vllm.wait()
    return rows, worst


def rate(rows: list[dict[str, float]], engine: str) -> float:
    """The median over repetitions of useful tokens/s."""
    return statistics.median(r["tokens"] / r[engine] for r in rows)


def ratio(rows: list[dict[str, float]], peer: str, of: str = "ours") -> float:
    """The median over repetitions of the peer's time over ours."""
    return statistics.median(r[peer] / r[of] for r in rows)


def main() -> None:
    """Measure and print the two figures."""
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as folder:
        save_model(build_model("qwen3", seed=0, context=1024, tie=True, **SIZES), folder)
        rows, worst = measure(folder)
    assert worst < 1e-4, f"our logprobs and those of transformers differ by {worst}"
    cpu = ratio(rows, "padded_cpu", "ours_cpu")
    drawn = ", ".join(f"{r['tokens']:.0f} (longest {r['longest']:.0f})" for r in rows)
    note = f"medians of {REPETITIONS} workloads (seeds 0-{REPETITIONS - 1}) with useful tokens {drawn}"
    common = f"{note}; one thread, float32; logprobs within {worst:.0e} of a plain forward"
    first = {"name": "rollout tokens/s, against padded transformers.generate", "ours": rate(rows, "ours")}
    first |= {"peer": rate(rows, "padded"), "ratio": ratio(rows, "padded"), "target": ">= 4x"}
    first |= {"holds": first["ratio"] >= 4, "note": f"{common}; ratio of processor seconds {cpu:.2f}"}
    second = {"name": "rollout tokens/s, against vllm-cpu", "ours": first["ours"], "target": ">= 1x"}
    if "vllm" in rows[0]:
        settings = "eager, float32, its worker bound to one core (its scheduler process is free to use another), warm"
        cpu = f"ratio of processor seconds {ratio(rows, 'vllm_cpu', 'ours_cpu'):.2f}"
        second |= {
            "peer": rate(rows, "vllm"),
            "ratio": ratio(rows, "vllm"),
            "note": f"vllm-cpu 0.32: {settings}; {cpu}",
        }
        second["holds"] = second["ratio"] >= 1
    else:
        second |= {"peer": None, "ratio": None, "holds": False, "note": "not measured: run `make venv-vllm` first"}
    print(json.dumps([first, second]))


if __name__ == "__main__":
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    sys.exit(main())
