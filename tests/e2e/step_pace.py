"""Paces the steps of a vLLM server for tests that act in the middle of a request. The server alone imports this."""

import os
import time
from pathlib import Path

from vllm.v1.sample.logits_processor import LogitsProcessor

REST_S = 0.01  # in each step: what passes tokens on gets a core meanwhile, so that they come as they are made
HELD_AFTER = 60  # steps
CHECK_S = 0.002


class StepPace(LogitsProcessor):
    """Rests in each step. While the file exists that `STEP_PACE` names, no step ends after its first `HELD_AFTER`."""

    def __init__(self, vllm_config, device, is_pin_memory):
        self.file, self.steps = Path(os.environ["STEP_PACE"]), 0

    def is_argmax_invariant(self):
        return False  # else greedy steps go without it

    def update_state(self, batch_update):
        pass

    def apply(self, logits):
        time.sleep(REST_S)
        self.steps = self.steps + 1 if self.file.exists() else 0
        while self.steps > HELD_AFTER and self.file.exists():
            time.sleep(CHECK_S)
        return logits
