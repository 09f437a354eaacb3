"""A whole run through vLLM; a file of its own, so that its servers start while those of the other tests do."""

import json
import os
import signal

import psutil
import pytest
from tests.e2e.test_vllm import gap

from quintain import config as configs
from quintain.cli import main
from quintain.engines.torch import TorchEngine
from quintain.ledger import RunDir
from quintain.runtime.assemble import play

pytestmark = pytest.mark.vllm

LEFT = """
def score(trajectory):
    return 10 * trajectory.actions.count("left") / max(1, len(trajectory.actions))
"""  # so much more than the env's own reward that few steps show whether a policy learns


def test_a_run_learns_through_vllm_and_is_evaluated_by_it(tmp_path, capsys):
    """The weights are compared after each step, the server is killed in the middle, and both engines evaluate alike."""
    (tmp_path / "turns.py").write_text(LEFT)
    overrides = [f"run.folder={tmp_path}", "engine.name=vllm", "engine.slots=64", "eval.instances=0", "run.steps=12"]
    overrides += [f"reward={tmp_path}/turns.py:score", "learner.lr=4e-3"]
    overrides += ["model.sizes.head_dim=32"]  # less than that vLLM cannot do on a CPU
    config = configs.make("tiny", overrides=overrides)
    folder = tmp_path / "tiny"
    RunDir.create(folder, config.toml(full=True)).close()
    gaps, engines, others = [], [], psutil.Process().children()

    def watch(run):
        engines.append(run.cast.engines["policy"])
        inner = engines[0].load

        async def load(weights):
            await inner(weights)
            paths = [tuple((7 * i + k) % 20 for i in range(40)) for k in range(4)]
            mine, theirs = await engines[0].score(paths), await TorchEngine(weights.source).score(paths)
            gaps.append(max(gap(a, b) for a, b in zip(mine, theirs, strict=True)))
            if len(gaps) == 6:
                os.kill(engines[0].server.pid, signal.SIGKILL)

        engines[0].load = load

    outcome = play(config, folder, ready=watch)
    assert outcome["step"] == 12 and outcome["reason"] == "done"
    assert len(gaps) == 13 and max(gaps) < 1e-4, gaps
    assert engines[0].stats["restarts"] == 1
    with RunDir.open(folder) as store:
        rows = [row for _, row in store.metrics()]
    assert max(row.get("mismatch_max", 0.0) for row in rows) < 1e-3
    rewards = [row["reward"] for row in rows]
    assert sum(rewards[-3:]) > 1.5 * sum(rewards[:3]), rewards
    asked = ["eval", str(folder), "-n", "40", "--greedy", "--json", "runtime.processes=2"]
    evaluations = []
    for more in ([], ["engine.name=torch"]):
        capsys.readouterr()
        assert main([*asked, *more]) == 0
        evaluations.append({**json.loads(capsys.readouterr().out), "seconds": 0})
        assert psutil.Process().children() == others, "an evaluation ends the server that it started"
    assert evaluations[0] == evaluations[1] and evaluations[0]["episodes"] == 40 and evaluations[0]["turns"] > 1
