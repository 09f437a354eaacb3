"""The router against random routing: simulated engines with fast prefill and with fast decoding, on a virtual clock.

The workload is workloads/router.toml. All routings play the same episodes over the same engines, and keep a session on the engine that
has its prefix. No real time passes: the ratio is a property of the workload and of the routing, not of this machine.
"""

from __future__ import annotations

import asyncio
import json
import random
import tomllib
from dataclasses import dataclass, field
from pathlib import Path

from quintain.engines.router import Router
from quintain.runtime import clock
from quintain.types import Completion, Request, Sampling, Span

FILE = Path(__file__).parent / "workloads" / "router.toml"
TARGET = 1.35


class Simulated:
    """An engine with one lane for prefill and a batch for decoding; while the lane is busy, decoding waits for it."""

    def __init__(self, spec: dict, quantum_s: float) -> None:
        self.spec, self.quantum_s = spec, quantum_s
        self.lane = asyncio.Lock()
        self.decoding = 0
        self.held: dict[str, int] = {}
        self.busy_s = 0.0

    async def generate(self, request: Request) -> Completion:
        """As many tokens as the key says, in the time that this hardware takes."""
        fresh = len(request.prompt) - self.held.get(request.session, 0)
        async with self.lane:
            seconds = fresh / self.spec["prefill_tokens_s"]
            self.busy_s += seconds
            await asyncio.sleep(seconds)
        left = n = request.key[-1]
        self.decoding += 1
        while left > 0:
            async with self.lane:  # its steps and pieces of prefill take turns
                pass
            slower = max(1.0, self.decoding / self.spec["batch"])
            some = min(left, self.quantum_s * self.spec["decode_steps_s"] / slower)
            await asyncio.sleep(some * slower / self.spec["decode_steps_s"])
            left -= some
        self.decoding -= 1
        self.held[request.session] = len(request.prompt) + n
        span = (Span(start=0, stop=n, version=0),)
        return Completion(tokens=(1,) * n, logprobs=(0.0,) * n, finish="length", spans=span)

    async def abort(self, session: str) -> None:
        """Forget a session."""
        self.held.pop(session, None)


@dataclass
class Scattered:
    """Random routing: a session goes to any engine and stays there."""

    engines: list[Simulated]
    rng: random.Random
    seats: dict[str, Simulated] = field(default_factory=dict)

    async def generate(self, request: Request) -> Completion:
        """The completion of the session's engine."""
        if request.session not in self.seats:
            self.seats[request.session] = self.rng.choice(self.engines)
        return await self.seats[request.session].generate(request)

    async def abort(self, session: str) -> None:
        """Forget a session."""
        await self.seats.pop(session).abort(session)


def episodes(work: dict) -> list[tuple[int, list[tuple[int, int]]]]:
    """max_tokens and turns (new prompt tokens, answer tokens) of every episode, the kinds mixed."""
    rng, out = random.Random(work["seed"]), []
    for kind in work["kinds"].values():
        for _ in range(round(kind["share"] * work["episodes"])):
            new = [kind["prompt"] if turn == 0 else kind["observation"] for turn in range(rng.randint(*kind["turns"]))]
            out.append((kind["max_tokens"], [(rng.randint(*n), rng.randint(*kind["answer"])) for n in new]))
    rng.shuffle(out)
    return out


async def play(engine: Router | Scattered, work: dict) -> float:
    """Virtual seconds until every episode is over."""
    gate, begin = asyncio.Semaphore(work["concurrent"]), asyncio.get_running_loop().time()

    async def episode(number: int, most: int, turns: list[tuple[int, int]]) -> None:
        async with gate:
            length = 0
            for turn, (new, answer) in enumerate(turns):
                length += new
                key = (work["seed"], number, turn, answer)
                sampling = Sampling(max_tokens=most)
                await engine.generate(Request(session=f"{number}", prompt=(1,) * length, sampling=sampling, key=key))
                length += answer
            await engine.abort(f"{number}")

    async with asyncio.TaskGroup() as group:
        for number, (most, turns) in enumerate(episodes(work)):
            group.create_task(episode(number, most, turns))
    return asyncio.get_running_loop().time() - begin


def pools(work: dict) -> dict[str, list[Simulated]]:
    """Fresh engines by label."""
    return {
        label: [Simulated(spec, work["quantum_s"]) for _ in range(spec["count"])]
        for label, spec in work["engines"].items()
    }


async def routed(work: dict) -> float:
    """Seconds with the router."""
    return await play(Router(pools(work)), work)


async def scattered(work: dict, seed: int) -> float:
    """Seconds with random routing."""
    return await play(Scattered([e for some in pools(work).values() for e in some], random.Random(seed)), work)


async def balanced(work: dict) -> float:
    """Seconds with the least loaded engine of all, whatever its hardware."""
    return await play(Router({"any": [e for some in pools(work).values() for e in some]}), work)


def main() -> None:
    """Play the workload with each routing."""
    work = tomllib.loads(FILE.read_text())
    mine, even = clock.run(routed(work)), clock.run(balanced(work))
    randomly = [clock.run(scattered(work, seed)) for seed in range(5)]
    peer = sum(randomly) / len(randomly)
    print(
        f"router {mine:.1f} s, least loaded {even:.1f} s, random {', '.join(f'{s:.1f}' for s in randomly)} s (virtual)"
    )
    rates = [work["episodes"] / seconds for seconds in (mine, peer)]
    note = (
        f"virtual clock; episodes a second; random routing is the mean of 5 seeds ({min(randomly):.0f}-{max(randomly):.0f} s "
        f"against {mine:.0f} s); the least loaded engine of any kind takes {even:.0f} s"
    )
    row = {
        "name": "Router, by hardware (simulated pools)",
        "ours": rates[0],
        "peer": rates[1],
        "ratio": rates[0] / rates[1],
    }
    print(json.dumps({**row, "target": TARGET, "holds": rates[0] / rates[1] >= TARGET, "note": note}))


if __name__ == "__main__":
    main()
