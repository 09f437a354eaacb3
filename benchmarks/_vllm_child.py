"""The vLLM side of rollout.py, run by the python of .venv-vllm: one JSON line in (prompts, lengths), one out (seconds).

Usage: python benchmarks/_vllm_child.py MODEL_FOLDER. Everything that vLLM prints goes to standard error.
"""

from __future__ import annotations

import json
import os
import sys
import time

import psutil


def processor() -> float:
    """Processor seconds of this process and of all that it started."""
    whole = psutil.Process()
    times = [p.cpu_times() for p in [whole, *whole.children(recursive=True)]]
    return sum(t.user + t.system for t in times)


def main() -> None:
    """Start vLLM, say so, then generate one batch for each line."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    from vllm import LLM, SamplingParams

    settings = {"dtype": "float32", "enforce_eager": True, "max_model_len": 1024, "max_num_seqs": 64}
    llm = LLM(model=sys.argv[1], skip_tokenizer_init=True, seed=0, **settings)
    print(json.dumps({"ready": True}), file=answers, flush=True)
    for line in sys.stdin:
        asked = json.loads(line)
        params = [
            SamplingParams(temperature=1.0, max_tokens=n, ignore_eos=True, logprobs=0, detokenize=False)
            for n in asked["lengths"]
        ]
        start, used = time.perf_counter(), processor()
        outs = llm.generate([{"prompt_token_ids": p} for p in asked["prompts"]], params, use_tqdm=False)
        seconds, used = time.perf_counter() - start, processor() - used
        made = [len(o.outputs[0].token_ids) for o in outs]
        logged = [len(o.outputs[0].logprobs) for o in outs]
        assert made == asked["lengths"] == logged, "vLLM gave other lengths than asked"
        print(json.dumps({"seconds": seconds, "processor": used}), file=answers, flush=True)


if __name__ == "__main__":  # vLLM starts its worker by importing this file again
    main()
