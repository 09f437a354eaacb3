"""What engines draw: is it of the distribution that they report? Evidence that adds up over syncs, engine by engine."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from quintain.learn.canary import Reading
from quintain.learn.tilts import SUSPECTS, suspect
from quintain.runtime.bench import Bench
from quintain.runtime.testimony import Ask, Questions, spoken
from quintain.types import Sampling

ODDS = 1e9  # evidence that refuses a version
DOUBT = 20.0  # evidence a draw from which on an engine is asked to draw again at once; that of a healthy one is 1 in the mean
ROUNDS = 16  # times that it is asked at one sync; few, as healthy evidence falls again
AGAIN = 16  # continuations of each canary that it is asked for then


@dataclass(slots=True, eq=False)
class _Heard:
    """Log evidence [A] of one engine, and what it was taken from."""

    evidence: np.ndarray
    tokens: int = 0
    draws: int = 0


class Draws:
    r"""Evidence that tokens were not drawn as the run samples, though their logprobs are right.

    Maths: with $L_a(t)$ the likelihood ratio of the tokens of draw $t$ under the suspected sampling $a$,
    $R_a(t) = (R_a(t-1) + 1) L_a(t)$, and a version is refused when $\mathrm{mean}_a R_a(t) \ge$ `ODDS`. For an engine that draws as
    it reports, the mean less $t$ is a supermartingale, so that it reaches `ODDS` within $N$ draws with a chance of at most
    $N$ / `ODDS`, whatever the policy does between them and whenever more is asked. What was healthy for long costs a later fault
    nothing: $R_a \ge 0$. A sync is one draw, and up to `ROUNDS` more: at the first sync as long
    as the evidence is above 1 / `DOUBT`, later where it is above `DOUBT` times the draws so far, as what tells nothing adds 1 a draw.

    Reference: the recursion is that of Shiryaev and Roberts; Ville's inequality gives the bound (high confidence).
    """

    def __init__(self) -> None:
        self._heard: dict[str, _Heard] = {}

    def heard(self, name: str, readings: Sequence[Reading], tokens: int, sampling: Sampling) -> str:
        """Add what an engine drew at one sync.

        Args:
            name: of the engine.
            readings: of its paths, with `tilts`.
            tokens: how many it drew.
            sampling: of the run.

        Returns:
            The cause of a refusal, or "".
        """
        if sampling.temperature == 0 or not tokens:
            return ""
        own = self._heard.setdefault(name, _Heard(evidence=np.full(SUSPECTS, -np.inf)))
        own.evidence = np.logaddexp(own.evidence, 0.0) + np.sum([r.tilts for r in readings], axis=0)
        own.tokens, own.draws = own.tokens + tokens, own.draws + 1
        if self.odds(name) < np.log(ODDS):
            return ""
        words = suspect(int(own.evidence.argmax()), sampling)
        return (
            f"its logprobs are right and the tokens that it draws are not of their distribution: {own.tokens} tokens of "
            f"{own.draws} draws look as if drawn {words}, and the run samples at temperature {sampling.temperature:g} (odds "
            f"10^{self.odds(name) / np.log(10):.0f}, limit 10^{np.log10(ODDS):.0f}): which sampling does its server use?"
        )

    async def more(self, name: str, told: Mapping[str, Any], asked: Questions, ask: Ask | None, bench: Bench) -> str:
        """Have an engine that has `told` what it drew draw again, as long as it is in doubt; the cause of a refusal, or ""."""
        new = name in self._heard and self._heard[name].draws == 1
        for number in range(1, ROUNDS + 1):
            if ask is None or not told["said"] or not self.doubts(name, new):
                break
            prompts = [*asked.prompts[: len(asked.paths)]] * AGAIN  # the first of them, one for each path
            told = (await ask(replace(asked, paths=(), prompts=prompts, again=(), turn=asked.turn + number))).get(
                name, {"said": ()}
            )
            paths, first, _ = spoken(prompts, told["said"])
            if not paths:
                break
            readings = await bench.read(paths, asked.sampling, drawn=first)
            tokens = sum(map(len, paths)) - sum(first)
            if cause := self.heard(name, readings, tokens, asked.sampling):
                return cause
        return ""

    def doubts(self, name: str, first: bool = False) -> bool:
        """Whether an engine has to draw again at once; at its `first` sync it is doubted until the evidence for it is
        above `DOUBT`.

        Special cases: later, a healthy one is doubted with a chance of at most 1 / `DOUBT` a sync.
        """
        own = self._heard.get(name)
        return own is not None and self.odds(name) >= (-np.log(DOUBT) if first else np.log(DOUBT * own.draws))

    def odds(self, name: str) -> float:
        """The log of the evidence against an engine; -inf where nothing was heard."""
        own = self._heard.get(name)
        return -np.inf if own is None else float(np.logaddexp.reduce(own.evidence) - np.log(SUSPECTS))
