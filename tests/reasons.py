"""What oracles say of their answers, for the tests that read it and check each claim by other means."""

from __future__ import annotations

import re
from typing import Any

from quintain.envs.world import world_of
from quintain.ports import SOLO
from quintain.worlds.kernel import Plan


def explained(world: str, seed: int, level: int, split: str = "train", **knobs: Any) -> tuple[str, str, str]:
    """Caption, reason and answer; the reason is a line, and not a long one."""
    state = world_of(world).start(seed, level, split=split, **knobs)
    plan = world_of(world).solve(state, SOLO)
    assert isinstance(plan, Plan)
    assert 0 < len(plan.because) <= 1200 and plan.because.endswith(".") and plan.because.isprintable(), plan.because
    return world_of(world).view(state, SOLO).caption(2), plan.because, plan.moves[0].key


def told(pattern: str, why: str) -> str:
    """What a part of a reason says."""
    found = re.search(pattern, why)
    assert found, (pattern, why)
    return found[1]
