"""Checks of what a step trains on against what was recorded and rendered: pure functions on groups and the batch."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from quintain.gates.context import as_seen
from quintain.learn.canary import Reading
from quintain.ports import Renderer
from quintain.runtime import verdict
from quintain.types import Batch, Group, Ints, Kind, Message, Node, Sampling, Trajectory

CAP = 1024  # tokens of a path that are looked at, from its beginning
RENDERED = (Kind.prompt, Kind.obs, Kind.sampled)  # kinds whose tokens the renderer and the engine alone write


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Row:
    """One path of a trajectory as it was recorded, up to `CAP` tokens.

    `logprobs` [T] are nan where nothing was sampled; `fresh` [T] marks tokens that the present policy sampled from a
    path that it alone computed; `since` is the oldest policy that had a part in it; `turn` [T] numbers the turns; `opening`
    is what comes before the last sampled node.
    """

    name: str
    tokens: Ints
    logprobs: np.ndarray
    fresh: np.ndarray
    since: int
    turn: np.ndarray
    opening: Ints
    sampling: Sampling


@dataclass(frozen=True, slots=True, kw_only=True)
class Pick:
    """A trajectory that is looked at: its group, itself as the engine saw it, and its number in the batch."""

    group: Group
    trajectory: Trajectory
    number: int


def choose(groups: Sequence[Group], count: int, seed: Sequence[int]) -> list[Pick]:
    """`count` trajectories with sampled tokens, as many groups as can be, drawn by `seed`."""
    sizes = [len(g.trajectories) for g in groups]
    first = np.cumsum(sizes) - sizes
    dice = np.random.default_rng(list(seed))
    picks: list[Pick] = []
    for at in dice.permutation(len(groups)).tolist():
        group = groups[at]
        spoken = [
            i for i, t in enumerate(group.trajectories) if any(n.tokens for n in t.nodes if n.kind is Kind.sampled)
        ]
        if spoken and len(picks) < count:
            i = spoken[int(dice.integers(len(spoken)))]
            picks.append(Pick(group=group, trajectory=as_seen(group.trajectories[i]), number=int(first[at]) + i))
    return picks


def row_of(pick: Pick, version: int) -> Row | None:
    """The last path of a trajectory; None where nothing was sampled on it."""
    t = pick.trajectory
    nodes = [t.nodes[i] for i in t.path(t.leaves[-1])]
    sampled = [n for n in nodes if n.kind is Kind.sampled and n.tokens]
    if not sampled:
        return None
    tokens = tuple(token for n in nodes for token in n.tokens)[:CAP]
    columns: list[list[float]] = [[], [], []]
    ends, opening = 0, 0
    own = pick.group.version == version
    for n in nodes:
        said = n.kind is Kind.sampled
        versions = [v for s in n.spans for v in [s.version] * (s.stop - s.start)] if said else [-1] * len(n.tokens)
        opening = ends if said and n.tokens and ends < len(tokens) else opening
        columns[0] += n.logprobs if said else [np.nan] * len(n.tokens)
        columns[1] += [own and v == version for v in versions]
        columns[2] += [n.turn] * len(n.tokens)
        ends += len(n.tokens)
    logprobs, fresh, turn = (
        np.array(c[: len(tokens)], kind) for c, kind in zip(columns, (float, bool, int), strict=True)
    )
    sampling = next((n.sampling for n in reversed(sampled) if n.sampling), Sampling())
    fresh = fresh & np.isfinite(logprobs) & (np.arange(len(tokens)) > 0)
    shown = {"logprobs": logprobs, "fresh": fresh, "turn": turn, "opening": tokens[: max(1, opening)]}
    since = min(pick.group.version, *(s.version for n in sampled for s in n.spans))
    return Row(name=f"trajectory {t.id}", tokens=tokens, sampling=sampling, since=since, **shown)


def of_groups(groups: Sequence[Group], version: int) -> str:
    """Rows that would be trained twice, and tokens of a version that does not exist yet; "" where all is well."""
    tickets = [g.ticket for g in groups]
    if len(set(tickets)) < len(tickets):
        twice = next(t for t in tickets if tickets.count(t) > 1)
        return f"ticket {twice} is in the step {tickets.count(twice)} times: its rows would be trained as often"
    for group in groups:
        seen: dict[tuple[Any, ...], Trajectory] = {}
        for t in group.trajectories:
            if t.fork is not None or t.call_parent:
                continue
            other = seen.setdefault((t.episode, t.agent), t)
            if other is not t and _share(other, t):
                count = sum((x.episode, x.agent) == (t.episode, t.agent) for x in group.trajectories)
                return (
                    f"duplicated rows: episode {t.episode} of ticket {group.ticket} is there as {count} trajectories that "
                    f"share sampled turns ({other.id}, {t.id}), so it would have {count} times its gradient"
                )
    return ""


def _share(one: Trajectory, two: Trajectory) -> bool:
    first = {(n.turn, n.tokens, n.logprobs) for n in one.nodes if n.kind is Kind.sampled and n.tokens}
    return any((n.turn, n.tokens, n.logprobs) in first for n in two.nodes if n.kind is Kind.sampled)


def of_versions(picks: Sequence[Pick], version: int) -> str:
    """Sampled tokens without a version, or of a later one than the learner's."""
    for pick in picks:
        for node in pick.trajectory.nodes:
            if node.kind is not Kind.sampled or not node.tokens:
                continue
            if not node.spans or node.spans[-1].stop != len(node.tokens):
                return f"turn {node.turn} of trajectory {pick.trajectory.id} has sampled tokens without a version"
            newest = max(s.version for s in node.spans)
            if newest > version:
                return (
                    f"turn {node.turn} of trajectory {pick.trajectory.id} is stamped version {newest}, and the newest that was "
                    f"published is {version}"
                )
    return ""


def of_mask(picks: Sequence[Pick], batch: Batch) -> str:
    """Whether the batch trains exactly the sampled tokens of the picked trajectories, each once, with their logprobs."""
    for pick in picks:
        t = pick.trajectory
        at = np.flatnonzero(batch.streams["trajectory"] == pick.number)
        trained = at[batch.mask[at] & (batch.weights["rl"][at] != 0)]
        if not len(trained):
            continue
        tokens, logprobs, may = _sampled(t)
        name = f"trajectory {t.id}"
        if len(trained) > int(may.sum()):
            more = f"{len(trained)} trained tokens for {int(may.sum())} that it sampled"
            return f"duplicated rows or a wrong mask: {name} has {more}"
        if "weight.rl" not in t.streams and len(trained) < int(may.sum()):
            return f"mask: {name} has {len(trained)} trained tokens of {int(may.sum())} that it sampled"
        if len(trained) == int(may.sum()) and not np.array_equal(batch.tokens[trained], tokens[may]):
            return f"{_mask_shift(batch, trained, tokens[may])} (of {name})"
        if len(trained) == int(may.sum()) and not np.array_equal(
            batch.logprobs[trained], logprobs[may].astype(np.float32), equal_nan=True
        ):
            return f"the batch holds other logprobs for {name} than were recorded"
    return ""


def _sampled(t: Trajectory) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Tokens and logprobs of what is trained, in path order, and whether something comes before each."""
    tokens: list[int] = []
    logprobs: list[float] = []
    may: list[bool] = []
    for path, new in t.paths():
        length = 0
        for i in path:
            node = t.nodes[i]
            if i in new:
                tokens += [x for x, m in zip(node.tokens, node.mask, strict=True) if m]
                logprobs += [x for x, m in zip(node.logprobs, node.mask, strict=True) if m]
                may += [length + k > 0 for k, m in enumerate(node.mask) if m]
            length += len(node.tokens)
    return np.array(tokens, np.int64), np.array(logprobs, float), np.array(may, bool)


def _mask_shift(batch: Batch, trained: np.ndarray, tokens: np.ndarray) -> str:
    for by in (1, -1):
        moved = trained - by
        inside = (moved >= 0) & (moved < len(batch))
        if np.array_equal(batch.tokens[moved[inside]], tokens[inside]):
            return f"the mask is shifted by {by:+d}: it marks the tokens {'after' if by > 0 else 'before'} the sampled ones"
    return "the mask marks other tokens than were sampled"


def of_images(groups: Sequence[Group], batch: Batch) -> str:
    """Whether the pictures of the trained paths are in the batch."""
    if not batch.images and not any(n.blobs for g in groups for t in g.trajectories for n in t.nodes):
        return ""
    paths = [(t, path) for g in groups for t in g.trajectories for path, _ in t.paths()]
    shown = sum(len(t.nodes[i].blobs) for t, path in paths for i in path)
    if shown == len(batch.images):
        return ""
    return f"{shown} pictures were shown on the trained paths and the batch holds {len(batch.images)}: images would be lost"


def of_rendering(pick: Pick, renderer: Renderer, dice: int) -> str:
    """Whether the renderer writes the opening and one later message as they were recorded.

    Args:
        pick: of a plain episode; trees, tools, pictures, names and other rollouts than episodes are passed over.
        renderer: of the policy.
        dice: chooses the turn.
    """
    t = pick.trajectory
    line = all(n.parent == (i - 1 if i else None) for i, n in enumerate(t.nodes))
    if not line or t.tags.get("plain") is False or any(n.kind not in RENDERED or n.blobs for n in t.nodes):
        return ""
    turns = sum(n.kind is Kind.sampled for n in t.nodes)
    asked = {0, dice % turns} if turns else set()
    history: list[Message] = []
    path: Ints = ()
    block: list[Node] = []
    turn = 0
    for node in t.nodes:
        if node.kind is not Kind.sampled:
            block.append(node)
            continue
        recorded = tuple(x for n in block for x in n.tokens)
        messages = [Message.of(n.role, n.text) if n.text else Message(n.role, ()) for n in block]
        if turn in asked and (block or recorded):
            opened = not history
            wrote = renderer.open(messages) if opened else renderer.extend(history, messages, path)
            if wrote is not None and tuple(wrote) != recorded:
                return f"{_drift(recorded, tuple(wrote), renderer, opened)} (turn {turn} of trajectory {t.id})"
        said = renderer.parse(node.tokens)
        history += [*messages, said]
        path += (*recorded, *node.tokens)
        block, turn = [], turn + 1
    return ""


def _drift(recorded: Ints, wrote: Ints, renderer: Renderer, opened: bool) -> str:
    for lost in range(1, min(3, len(wrote))):
        if wrote[lost:] == recorded:
            if opened:
                return f"lost BOS: the first {lost} tokens that the renderer writes ({wrote[:lost]}) are missing in the prompt"
            return f"the first {lost} tokens that the renderer writes after a turn ({wrote[:lost]}) are missing"
    if recorded[1:] == wrote:
        return f"doubled BOS: the prompt begins with {recorded[:1]}, which the renderer does not write"
    if renderer.text(recorded) == renderer.text(wrote):
        return "re-tokenised text: the recorded tokens spell the same text as the renderer's, with other ids"
    at = next(
        (i for i, (a, b) in enumerate(zip(recorded, wrote, strict=False)) if a != b), min(len(recorded), len(wrote))
    )
    here, there = (renderer.text(x[at : at + 6]) for x in (recorded, wrote))
    return f"template drift: recorded tokens and the renderer's part at token {at}: {here!r} was recorded, {there!r} is written now"


def shift_of(rows: Sequence[Row], readings: Sequence[Reading], limit: float) -> int:
    """+1 or -1 where every recorded logprob is the learner's of the next or of the previous position, else 0."""
    for by in (1, -1):
        gaps = []
        for row, reading in zip(rows, readings, strict=True):
            at = np.flatnonzero(row.fresh)
            at = at[(at + by > 0) & (at + by < len(row.tokens))]
            gaps.append(verdict.apart(row.logprobs[at], reading.heated[at + by]))
        if gaps and max(gaps) <= limit and any(row.fresh.sum() > 1 for row in rows):
            return by
    return 0


def of_turns(rows: Sequence[Row], readings: Sequence[Reading], limit: float) -> str:
    """Where an unexplained difference begins: in some turn, after others that are right, or everywhere."""
    for row, r in zip(rows, readings, strict=True):
        off = (verdict.outside(row.logprobs, r.low, r.high) > limit) & row.fresh
        if not off.any():
            continue
        first = int(row.turn[off].min())
        if (row.turn[row.fresh] < first).any():
            return (
                f"from turn {first} of {row.name} on recorded logprobs are not those of the recorded tokens, and those of the turns "
                "before are: its ids were re-tokenised or edited after sampling, or its context was"
            )
    return (
        "they were not sampled from these tokens by the version that they are stamped with: a wrong version number, other "
        "position ids, stale keys and values, or another policy"
    )
