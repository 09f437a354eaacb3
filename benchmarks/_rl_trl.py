"""The TRL side of rl_step.py, a process of its own: `_rl_trl.py turns|cache ROWS FOLDER STEPS`.

`GRPOTrainer` with a rollout function over the same worlds, texts and tokens as ours. `turns` calls `model.generate` once
a turn on the histories of the episodes that still run; `cache` also carries the keys and values from turn to turn by
hand. ROWS is `per_device_train_batch_size`; gradients are accumulated to the 128 episodes of a step. One JSON line a
step, then one with the peak memory.
"""

from __future__ import annotations

import json
import os
import resource
import sys
import time
import warnings
from pathlib import Path
from typing import Any

import _cells
import torch

from quintain.envs.world import WorldEnv
from quintain.ports import SOLO
from quintain.runtime.stage import make_stage, tasks

END, PAD, TURN = 2, 0, 2  # ids of <end> and <pad>, tokens of a turn


class Episode:
    """One episode: its path of tokens, which of them were sampled, and its reward."""

    def __init__(self, env: WorldEnv, renderer: Any, task: Any) -> None:
        self.env, self.renderer = env, renderer
        first = env.begin(task)[SOLO]
        self.path: list[int] = list(renderer.open(first.messages))
        self.prompt = len(self.path)
        self.mask: list[int] = []
        self.reward, self.over = 0.0, False

    def act(self, said: list[int]) -> None:
        """Take the tokens of a turn and add the answer of the world."""
        self.path += said
        self.mask += [1] * len(said)
        answer = self.env.advance({SOLO: self.renderer.parse(tuple(said))})[SOLO]
        self.reward += sum(answer.reward.values())
        self.over = answer.stop is not None
        if not self.over:
            more = self.renderer.extend((), answer.messages, tuple(self.path))
            self.path += more
            self.mask += [0] * len(more)


def cut(row: list[int]) -> list[int]:
    """The tokens of a turn up to its end."""
    return row[: row.index(END) + 1] if END in row else row


def ask(model: Any, ids: torch.Tensor, mask: torch.Tensor, **more: Any) -> Any:
    """One call of `generate` at temperature 1."""
    drawn = {"do_sample": True, "temperature": 1.0, "top_k": 0, "top_p": 1.0}
    ends = {"eos_token_id": END, "pad_token_id": PAD, "max_new_tokens": TURN, "return_dict_in_generate": True}
    return model.generate(input_ids=ids, attention_mask=mask, use_cache=True, **drawn, **ends, **more)


def left(rows: list[list[int]]) -> tuple[torch.Tensor, torch.Tensor]:
    """Rows padded on the left, and their mask."""
    width = max(map(len, rows))
    ids = torch.tensor([[PAD] * (width - len(r)) + r for r in rows])
    return ids, torch.tensor([[0] * (width - len(r)) + [1] * len(r) for r in rows])


def by_turns(model: Any, episodes: list[Episode]) -> None:
    """Play to the end: each turn one `generate` over the whole histories of the live episodes."""
    live = episodes
    while live:
        ids, mask = left([e.path for e in live])
        made = ask(model, ids, mask).sequences[:, ids.shape[1] :].tolist()
        for episode, row in zip(live, made, strict=True):
            episode.act(cut(row))
        live = [e for e in live if not e.over]


def by_cache(model: Any, episodes: list[Episode]) -> None:
    """Play to the end with one cache: each turn feeds the new tokens only, padded within the turn and masked."""
    live, cache = episodes, None
    ids, mask = left([e.path for e in live])
    while live:
        before = [len(e.path) for e in live]
        out = ask(model, ids, mask, **({} if cache is None else {"past_key_values": cache}))
        cache, width = out.past_key_values, ids.shape[1]
        for episode, row in zip(live, out.sequences[:, width:].tolist(), strict=True):
            episode.act(cut(row))
        kept = [i for i, e in enumerate(live) if not e.over]
        if not kept:
            return
        if extra := cache.get_seq_length() - width:
            cache.crop(-extra)  # the turn's own tokens are fed again with the answer: rows may differ in their number
        if len(kept) < len(live):
            cache.batch_select_indices(torch.tensor(kept))
        fresh, shown = left([live[i].path[before[i] :] for i in kept])
        ids, mask = torch.cat([ids[kept], fresh], 1), torch.cat([mask[kept], shown], 1)
        live = [live[i] for i in kept]


PLAYERS = {"turns": by_turns, "cache": by_cache}


def clocked(trainer_kind: Any) -> Any:
    """A callback that prints the seconds of every optimizer step."""
    from transformers import TrainerCallback

    class Print(TrainerCallback):
        """Prints a line a step."""

        def __init__(self) -> None:
            self.wall, self.cpu, self.row = 0.0, 0.0, {}

        def start(self) -> None:
            self.wall, self.cpu = time.perf_counter(), time.process_time()

        def on_train_begin(self, *_: Any, **__: Any) -> None:
            self.start()

        def on_step_end(self, *_: Any, **__: Any) -> None:
            seconds = {"step_s": time.perf_counter() - self.wall, "step_cpu": time.process_time() - self.cpu}
            print(json.dumps({**seconds, **self.row}), file=trainer_kind, flush=True)
            self.start()

    return Print()


def tokenizer(renderer: Any) -> Any:
    """A word-level tokenizer with the renderer's ids."""
    from tokenizers import Tokenizer, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    words = Tokenizer(models.WordLevel({w: i for i, w in enumerate(renderer.words)}, unk_token="<unk>"))
    words.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    return PreTrainedTokenizerFast(tokenizer_object=words, pad_token="<pad>", unk_token="<unk>", eos_token="<end>")


def settings(folder: Path, steps: int, rows: int) -> Any:
    """TRL's own defaults, but for the sizes, the rate, and what a processor without bf16 speed-up wants."""
    from trl import GRPOConfig

    sizes = {
        "per_device_train_batch_size": rows,
        "gradient_accumulation_steps": _cells.PROMPTS * _cells.MEMBERS // rows,
    }
    loss = {"beta": 0.0, "epsilon": 0.2, "epsilon_high": 0.28, "max_grad_norm": 1.0, "loss_type": "dapo"}
    adam = {
        "optim": "adamw_torch_fused",
        "adam_beta2": 0.95,
        "learning_rate": _cells.LR,
        "lr_scheduler_type": "constant",
    }
    quiet = {"report_to": "none", "save_strategy": "no", "disable_tqdm": True, "logging_steps": 1000}
    plain = {"use_cpu": True, "bf16": False, "gradient_checkpointing": False, "shuffle_dataset": False}
    length = {"num_generations": _cells.MEMBERS, "max_completion_length": 512, "max_steps": steps, "seed": _cells.SEED}
    return GRPOConfig(output_dir=str(folder / "trl"), **sizes, **loss, **adam, **quiet, **plain, **length)


def main() -> None:
    """Train for some steps."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    warnings.simplefilter("ignore")
    how, rows, folder, steps = sys.argv[1], int(sys.argv[2]), Path(sys.argv[3]), int(sys.argv[4])
    from datasets import Dataset
    from transformers import AutoModelForCausalLM
    from trl import GRPOTrainer

    torch.set_num_threads(1)
    config = _cells.config(steps=steps)
    stage = make_stage(config)
    drawn = tasks(stage.sampler("train", _cells.SEED, (0, 1)), steps * _cells.PROMPTS)
    data = Dataset.from_list([{"prompt": str(i)} for i in range(len(drawn))])
    printer = clocked(answers)

    def rollout(prompts: list[str], trainer: Any) -> dict[str, Any]:
        start = time.perf_counter()
        episodes = [Episode(stage.env(drawn[int(p)]), stage.renderer, drawn[int(p)]) for p in prompts]
        model = trainer.accelerator.unwrap_model(trainer.model)
        model.eval()
        with torch.no_grad():
            PLAYERS[how](model, episodes)
        model.train()
        rewards = [e.reward for e in episodes]
        tokens = sum(len(e.path) for e in episodes)
        figures = {"reward": sum(rewards) / len(rewards), "tokens_context": tokens}
        printer.row = {"rollout_s": time.perf_counter() - start, **figures}
        ids = {
            "prompt_ids": [e.path[: e.prompt] for e in episodes],
            "completion_ids": [e.path[e.prompt :] for e in episodes],
        }
        return {**ids, "logprobs": None, "env_mask": [e.mask for e in episodes], "earned": rewards}

    trainer = GRPOTrainer(
        model=AutoModelForCausalLM.from_pretrained(folder / "model", attn_implementation="sdpa", dtype=torch.float32),
        reward_funcs=lambda completions, earned, **_: earned,
        args=settings(folder, steps, rows),
        train_dataset=data,
        processing_class=tokenizer(stage.renderer),
        rollout_func=rollout,
        callbacks=[printer],
    )
    trainer.train()
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(json.dumps({"peak_mib": peak}), file=answers, flush=True)


if __name__ == "__main__":
    main()
