"""The learner's side of the proof: its own readings of token paths, what rounding explains, and which suspicion fits."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any, Protocol

import numpy as np

from quintain.learn.canary import SUSPICIONS, WAYS, Reading
from quintain.learn.forward import Reader
from quintain.runtime import verdict
from quintain.runtime.questions import BYTES, EPS, NOISE, Question
from quintain.runtime.questions import FLOORS as FLOORS
from quintain.runtime.questions import Limit as Limit
from quintain.runtime.together import ALONE, FORWARD, GATHER, Together
from quintain.types import Ints, Sampling, Weights

EXACT = 1e-5  # nats: nobody looks twice at what is below
HEATS = (1.0, 0.5, 0.6, 0.7, 0.8, 0.9, 1.1, 1.2, 1.25, 1.4, 1.5, 2.0)  # temperatures that a fault may have used
CUTS = ("top_p", "top_k", "min_p")

TOLD = {
    "without LoRA": "LoRA factors are not in the engine: its scores are those of the base weights",
    "LoRA twice": "LoRA factors are scaled twice in the engine; was the adapter merged and applied too?",
    "bfloat16": "the engine's weights are rounded to bfloat16",
    "float16": "the engine's weights are rounded to float16",
}


class Examined(Protocol):
    """A learner that can be asked about its model."""

    async def examine(self, call: Callable[[Reader], Any]) -> Any:
        """What `call` says, in the learner's own thread."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Want:
    """Paths that are to be read under a sampling; `slack` and `drawn` as for `read_paths`."""

    paths: tuple[Ints, ...]
    sampling: Sampling
    slack: float = EXACT
    drawn: tuple[int, ...] = ()

    @property
    def heat(self) -> tuple[float, ...]:
        """What a reading depends on, the paths aside."""
        s = self.sampling
        return s.temperature, s.top_p, s.top_k, s.min_p, self.slack

    @property
    def key(self) -> Any:
        """Equal for equal readings."""
        return self.paths, self.heat, self.drawn


class Bench:
    """Asks the learner.

    Args:
        learner: whose model is right by definition.
        limit: largest difference of logprobs, in nats; 0 takes what the model's own rounding explains.
        together: how ranks that share the layers are asked.
    """

    def __init__(self, learner: Examined, limit: float = 0.0, together: Together | None = None) -> None:
        self.learner, self.fixed, self.together = learner, limit, together
        self._known: dict[Any, list[Reading]] = {}
        self._numbers: list[str] = []

    async def _ask(self, verb: str, kind: int = FORWARD, **given: Any) -> Any:
        asked = Question(verb=verb, given=given)
        return await (self.learner.examine(asked) if self.together is None else self.together.examine(asked, kind))

    def forget(self) -> None:
        """The weights are others from now on."""
        self._known = {}

    async def read(
        self, paths: Sequence[Ints], sampling: Sampling, slack: float = EXACT, drawn: Sequence[int] = ()
    ) -> list[Reading]:
        """The learner's logprobs of `paths`; engines that say the same are compared with one reading."""
        want = Want(paths=tuple(paths), sampling=sampling, slack=slack, drawn=tuple(drawn))
        if want.key not in self._known:
            await self.read_all([want])
        return self._known[want.key]

    async def read_all(self, wants: Sequence[Want]) -> None:
        """Read lists of paths in one pass for each sampling among them, and remember them for `read`."""
        passes: dict[Any, dict[Any, Want]] = {}
        for want in wants:
            if want.paths and want.key not in self._known:
                passes.setdefault(want.heat, {})[want.key] = want
        for same in passes.values():
            lists = list(same.values())
            every = [path for want in lists for path in want.paths]
            drawn = [at for want in lists for at in want.drawn or map(len, want.paths)]
            given = {"paths": every, "sampling": lists[0].sampling, "slack": lists[0].slack, "drawn": drawn}
            found = iter(await self._ask("read", **given))
            self._known |= {want.key: list(islice(found, len(want.paths))) for want in lists}

    async def limit(self, gap: float, paths: Sequence[Ints], sampling: Sampling, dtype: str = "") -> Limit:
        """What may differ on these paths; noise is measured only where the gap is above what any model may show.

        Args:
            gap: what was found.
            paths: on which.
            sampling: under which.
            dtype: of the engine's own numbers where they are coarser than the learner's.
        """
        if self.fixed:
            return Limit(value=self.fixed, noise=0.0)
        if gap <= FLOORS[8]:
            return Limit(value=FLOORS[8], noise=0.0)
        if not self._numbers:
            self._numbers = await self._ask("numbers", ALONE)
        coarse = max([n for n in (*self._numbers, dtype) if n in EPS], key=EPS.__getitem__)
        floor = FLOORS[BYTES[coarse]]
        if gap <= floor:
            return Limit(value=floor, noise=0.0)
        still = await self._ask("read", paths=paths, sampling=sampling)
        noise = 0.0
        for way in range(WAYS):  # further ones only before a refusal: each costs a pass
            moved = await self._ask("shaken", paths=paths, sampling=sampling, eps=EPS[coarse], way=way)
            found = [
                verdict.widest([getattr(a, c) for a in still], [getattr(b, c) for b in moved])
                for c in ("plain", "heated")
            ]
            noise = max(noise, *found)
            if gap <= NOISE * noise:
                break
        return Limit(value=max(floor, NOISE * noise), noise=noise)

    async def prints(self, weights: Weights) -> dict[str, str]:
        """The fingerprints of published weights."""
        if weights.fingerprint:
            return dict(weights.fingerprint)
        return await self._ask("prints", GATHER)

    async def differing(self, held: Mapping[str, Any], weights: Weights) -> str:
        """The cause that facts about single tensors tell (see `models.sketch`)."""
        return await self._ask("differing", GATHER, held=held, weights=weights)

    async def config(self, held: Mapping[str, Any]) -> str:
        """The cause that the engine's configuration tells, or ""."""
        mine = await self._ask("config", ALONE)
        return verdict.of_config(held, mine)

    async def suspect(self, paths: Sequence[Ints], said: Sequence[np.ndarray], now: Sequence[np.ndarray]) -> str:
        """The change of the learner's weights under which it would say what the engine says, or ""."""
        lora = await self._ask("lora", ALONE)
        own = ([s for s in SUSPICIONS if "LoRA" in s] if lora else []) if self.together else SUSPICIONS
        for suspicion in own:  # ranks that share the layers cannot round them for one of them
            found = await self._ask("suspected", suspicion=suspicion, paths=paths)
            if found is not None and verdict.nearer(said, now, found):
                return TOLD[suspicion]
        return ""

    async def temperature(
        self, paths: Sequence[Ints], at: Sequence[Any], said: Sequence[np.ndarray], sampling: Sampling
    ) -> float:
        """The other temperature at which the learner would say what the engine says, or 0.

        Args:
            paths: token ids.
            at: index of what was said, per path.
            said: those logprobs.
            sampling: under which they should be.
        """
        now = [r.heated[i] for r, i in zip(await self.read(paths, sampling), at, strict=True)]
        for heat in HEATS:
            if heat == sampling.temperature:
                continue
            readings = await self.read(paths, replace(sampling, temperature=heat, top_p=1.0, top_k=0, min_p=0.0))
            other = [r.heated[i] for r, i in zip(readings, at, strict=True)]
            if verdict.nearer(said, now, other, times=4.0):
                return heat
        return 0.0

    async def sampled(
        self, paths: Sequence[Ints], at: Sequence[Any], said: Sequence[np.ndarray], sampling: Sampling, limit: float
    ) -> str:
        """The cause that lies in how logprobs of sampled tokens are reported, or ""; arguments as for `temperature`."""
        readings = await self.read(paths, sampling)
        low, heated = ([getattr(r, c)[i] for r, i in zip(readings, at, strict=True)] for c in ("low", "heated"))
        high = [r.high[i] for r, i in zip(readings, at, strict=True)]
        cuts = [f"{n}={getattr(sampling, n):g}" for n in CUTS if getattr(sampling, n) != getattr(Sampling(), n)]
        if cuts and verdict.nearer(said, low, heated, times=4.0):
            return (
                f"logprobs are over the whole vocabulary although the sampling cuts it ({', '.join(cuts)}): they must be "
                "renormalised over what can be drawn"
            )
        lost = sum(int(np.isneginf(row).sum()) for row in high)
        if cuts and lost and verdict.widest(said, low) <= 10 * limit:
            return f"it draws tokens that the sampling cuts off ({', '.join(cuts)}): {lost} of {sum(map(len, high))}"
        if heat := await self.temperature(paths, at, said, sampling):
            return f"logprobs are not at the sampling temperature {sampling.temperature:g}: they are at temperature {heat:g}"
        up = np.concatenate([a - b for a, b in zip(said, heated, strict=True)])
        if not cuts and (up >= -limit).all() and (up > limit).any():
            return (
                "logprobs are renormalised over a cut (top-p, top-k or min-p) that the run does not ask for: each is that of "
                "the whole vocabulary or above it"
            )
        return ""

    async def ahead(self, paths: Sequence[Ints], first: Sequence[int], sampling: Sampling) -> list[Reading]:
        """The logprobs of `paths` with the positions of their tokens from `first` on one too high."""
        return await self._ask("read", paths=paths, sampling=sampling, ahead=first)
