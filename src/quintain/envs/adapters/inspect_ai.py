"""Our worlds as a task of Inspect (`inspect-ai`): its models play our fixed suites, its log and viewer show the games."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any

from quintain.envs.adapters.packages import peer
from quintain.envs.adapters.play import AdapterError, Heard, Play
from quintain.envs.scaffold import Scaffold
from quintain.envs.suites import LEVELS, Suite, suite_of
from quintain.messages import png_of
from quintain.ports import SOLO


def task(
    suite: str = "quick",
    worlds: Sequence[str] = (),
    levels: Sequence[int] = LEVELS,
    *,
    scaffold: Mapping[str, Any] | Scaffold | None = None,
    limit: int = 0,
) -> Any:
    """A suite as an `inspect_ai.Task`: a sample is an instance of the test split, the same as `quintain eval --suite` plays.

    The solver lets the model answer until the episode is over; the scorer gives `reward` (the episode's total, with its mean and
    standard error) and `success` (1 or 0), by world and in all. A malformed action costs a turn. Samples have no target, as nothing
    compares with one, and what the oracle would do in a fixed suite belongs in no log.

    Args:
        suite: `quick`, a domain, or `full`; not used where `worlds` are named.
        worlds: registered names of worlds of one seat, played at `levels`.
        levels: 0-9, of the worlds that are named; a suite has its own.
        scaffold: how worlds are shown and answered; the grammar is `tagged` unless told, `image` a side in pixels.
        limit: most samples, 0 for all.

    Raises:
        MissingExtra: inspect-ai is not installed.
        UnknownName: no such suite or world.
        AdapterError: a world has several seats, a list is none or names something twice, there are no levels, or some beside a suite,
            or the limit is below 0.
    """
    if type(limit) is not int or limit < 0:
        raise AdapterError(f"limit is {limit!r:.80}; it is the most samples, at least 1, or 0 for all")
    for name, given, wanted in (("worlds", worlds, "names of worlds"), ("levels", levels, "levels from 0 to 9")):
        if isinstance(given, str) or not isinstance(given, Sequence) or len(set(map(str, given))) < len(given):
            raise AdapterError(f"{name} is {given!r:.80}; it is a list of {wanted}, each once")
    if worlds and not levels:
        raise AdapterError(
            f"levels is {levels!r:.80}; name at least one from 0 to 9 at which {', '.join(worlds)} is played"
        )
    inspect, dataset = peer("inspect_ai"), peer("inspect_ai.dataset")
    chosen = scaffold if isinstance(scaffold, Scaffold) else Scaffold.of({"grammar": "tagged", **(scaffold or {})})
    played = Suite(name="own", domains={"own": tuple(worlds)}, levels=tuple(levels)) if worlds else suite_of(suite)
    if not worlds and tuple(levels) not in (LEVELS, played.levels):
        at = ", ".join(map(str, played.levels))
        raise AdapterError(
            f"levels is {levels!r:.80}, and the suite {suite!r} is played at {at}; name worlds to choose"
        )
    samples = []
    for world in played.worlds:
        for one in played.tasks(world)[: limit - len(samples) if limit else None]:
            facts = {"world": world, "level": one.level, "seed": one.seed, "split": one.split}
            told = [_message(_begun(facts, chosen)[1])]
            samples.append(dataset.Sample(input=told, id=one.key, metadata=facts))
    rows = dataset.MemoryDataset(samples, name=f"quintain-{played.name}")
    return inspect.Task(dataset=rows, solver=_solver(chosen), scorer=_scorer(), name=f"quintain_{played.name}")


def _begun(facts: Mapping[str, Any], scaffold: Scaffold) -> tuple[Play, Heard]:
    play = Play(facts["world"], facts["level"], scaffold, "test")
    if play.seats != (SOLO,):
        raise AdapterError(f"{play.name} has the seats {', '.join(play.seats)}, and a sample of Inspect one player")
    return play, play.begin(facts["seed"])[SOLO]


def _message(heard: Heard) -> Any:
    model = peer("inspect_ai.model")
    if heard.image is None:
        return model.ChatMessageUser(content=heard.text)
    picture = model.ContentImage(image=f"data:image/png;base64,{png_of(heard.image)}")
    return model.ChatMessageUser(content=[model.ContentText(text=heard.text), picture])


def _solver(scaffold: Scaffold) -> Any:
    @peer("inspect_ai.solver").solver
    def quintain_play() -> Any:
        async def solve(state: Any, generate: Any) -> Any:
            play, heard = await asyncio.to_thread(_begun, state.metadata, scaffold)
            earned, success, malformed = 0.0, 0.0, 0
            while not heard.terminated and not heard.truncated:
                state = await generate(state)
                heard = (await asyncio.to_thread(play.say, {SOLO: state.output.completion}))[SOLO]
                earned += heard.reward
                success = max(success, heard.info["rewards"].get("success", 0.0))
                malformed += "malformed" in heard.info["events"]
                facts = {"reward": earned, "success": success, "turns": play.env.turn, "malformed": malformed}
                for (
                    name,
                    value,
                ) in facts.items():  # at each turn: Inspect ends a sample at its limits of time, tokens and messages
                    state.store.set(name, value)
                if not heard.terminated and not heard.truncated:
                    state.messages.append(_message(heard))
            if len(state.messages) != state.message_limit:  # a game that is over has met no limit
                state.messages.append(_message(heard))  # how it ended, for who reads the log
            state.completed = True
            return state

        return solve

    return quintain_play()


def _scorer() -> Any:
    scoring = peer("inspect_ai.scorer")
    each = [scoring.mean(), scoring.stderr(), scoring.grouped(scoring.mean(), "world", all=False)]
    metrics = {"reward": each, "success": each}

    @scoring.scorer(metrics=metrics)
    def quintain_reward() -> Any:
        async def score(state: Any, target: Any) -> Any:
            names = ("reward", "success", "turns", "malformed")
            value = {name: float(state.store.get(name, 0.0)) for name in names[:2]}
            told = {name: state.store.get(name, 0) for name in names[2:]}
            return scoring.Score(value=value, answer=state.output.completion, metadata=told)

        return score

    return quintain_reward()
