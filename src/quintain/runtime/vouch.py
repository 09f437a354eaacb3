"""What actors say to the proof of a sync: all of them after a load, and each that comes up later before it plays."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from quintain.config import Config
from quintain.loop import Drained
from quintain.parts import Cast
from quintain.runtime.audit import Plan
from quintain.runtime.crew import Crew, GoneError
from quintain.runtime.members import Member
from quintain.runtime.proof import Proof
from quintain.runtime.testimony import Questions


async def testimonies(crew: Crew, asked: Questions) -> dict[str, Mapping[str, Any]]:
    """What every actor that is up says of its weights, by name; those that die over it are left out.

    Raises:
        ActorError: one does not answer, or not within its deadline.
        Drained: the run drains; without a verdict nothing more is trained.
    """
    members = [m for m in crew.members.values() if m.up]
    told = await asyncio.gather(*[_testimony(crew, m, asked) for m in members], return_exceptions=True)
    for answer in told:
        if isinstance(answer, BaseException) and not isinstance(answer, GoneError):
            raise answer
    heard = {_name(m): t for m, t in zip(members, told, strict=True) if not isinstance(t, BaseException)}
    if not all(heard.values()):
        raise Drained("stopped before the verdict on the newest weights: asked to")
    return heard


def make_proof(config: Config, learner: Any, cast: Cast, crew: Crew | None) -> Proof:
    """The proof of every weight sync and the audit of every batch; actors that come up later are judged by it too.

    Engines answer while the run goes on where they play meanwhile anyway: elsewhere, or behind the learner.
    """
    section, copied = config.runtime, getattr(learner, "copy", None) is not None
    plan = Plan(
        count=section.canaries,
        limit=section.canary_limit,
        seed=config.run.seed,
        beside=not copied and (crew is not None or config.run.max_lag > 0),
        lag=config.run.max_lag,
        context=config.model.context,
        rendered=config.rollout.name == "episodes",
    )
    proof = Proof(learner, cast, plan)
    if crew is not None:
        crew.vouch = newcomers(crew, proof)
    return proof


def newcomers(crew: Crew, proof: Proof) -> Callable[[Member], Awaitable[None]]:
    """Judges an actor that came up between two syncs, before it plays; during a sync it is asked with all others."""

    async def vouch(member: Member) -> None:
        async def ask(asked: Questions) -> dict[str, Mapping[str, Any]]:
            told = await _testimony(crew, member, asked)
            return {_name(member): told} if told else {}

        if member.plays is not None:
            await proof.newcomer(member.plays, ask)

    return vouch


def _name(member: Member) -> str:
    return f"of actor {member.number}"


async def _testimony(crew: Crew, member: Member, asked: Questions) -> Mapping[str, Any]:
    """What one actor says; {} when the run drains. Raises GoneError where it ends before."""
    version = member.plays.version if member.plays is not None else ""
    work = member.link.ask({"do": "testify", "asked": asked.plain()})
    return (await crew.hear(member, work, "proof", version, "the proof of its weights")).get("told", {})
