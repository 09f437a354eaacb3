"""An agent that knows nothing of Quintain: it reads a task, talks to an OpenAI-compatible API, and prints how it went.

quintain new model tiny data=examples/sums.jsonl 'model.sizes={hidden=32, layers=2, heads=2, kv_heads=2, head_dim=16, ffn=64}' --vocab 300
quintain train data=examples/sums.jsonl model=tiny rollout.name=agent 'rollout.options.agent=["python", "examples/own_agent.py"]' \
    run.steps=20 run.groups_per_step=4 learner.optimizer=adamw learner.lr=0.03 learner.schedule=constant model.context=256
"""

import json
import os
import sys
import urllib.request


def ask(messages: list[dict[str, str]]) -> dict[str, str]:
    """One chat completion, as any client asks for it."""
    body = json.dumps({"model": "gpt-4o-mini", "messages": messages, "max_tokens": 6}).encode()
    headers = {"Authorization": "Bearer " + os.environ["OPENAI_API_KEY"], "Content-Type": "application/json"}
    request = urllib.request.Request(os.environ["OPENAI_BASE_URL"] + "/chat/completions", body, headers)
    with urllib.request.urlopen(request) as answer:
        return json.load(answer)["choices"][0]["message"]


def main() -> None:
    """Ask, ask again, and score both answers by their share of digits: the first thing to learn about sums."""
    messages, digits = [{"role": "user", "content": json.load(sys.stdin)["prompt"]}], []
    for again in ("Are you sure?", "Thank you."):
        said = ask(messages)
        text = said["content"]
        digits.append(sum(c.isdigit() for c in text) / max(1, len(text)))
        messages += [said, {"role": "user", "content": again}]
    print(json.dumps({"answer": text, "reward": sum(digits) / 2}))


if __name__ == "__main__":
    main()
