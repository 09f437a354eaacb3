"""The env around a game of somebody else's: reading, turns, events, rewards, snapshots by replay."""

from __future__ import annotations

import asyncio
import functools
import math
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from quintain.codec import decode, encode
from quintain.envs.adapters.away import met
from quintain.envs.adapters.game import ILLEGAL, Game, Manner, PeerError, Shown
from quintain.envs.adapters.globals import Noise
from quintain.envs.grammar import GRAMMARS, act_tool
from quintain.envs.world import NoEpisode
from quintain.messages import Image, Message, Role, Text, ToolResult
from quintain.ports import Env
from quintain.types import Feedback, Stop, Task

SAID = {
    "malformed": "That is not an action that can be read",
    "illegal": "That is not allowed now",
    "held": "Another player's answer could not be played, so that yours was not",
}


class PeerEnv:
    """Matches `ports.Env` around a game.

    Peers cannot say their state, so a snapshot holds the task and the actions so far, and `restore` plays them again from the same
    seed: its cost grows with the episode. A peer that does not repeat itself is refused by name (`PeerError`). The global random
    states that some peers draw from are kept apart for every env. A game that says it is `remote` waits for somebody else's answers: it is
    asked in a thread, and has no random states here; where it names its `server`, one that is away for a moment is waited for.

    Args:
        game: what is played.
        manner: how.
    """

    def __init__(self, game: Game, manner: Manner | None = None) -> None:
        self.game, self.manner = game, manner or Manner()
        self.remote: bool = getattr(game, "remote", False)
        self.server: Callable[[Task], str] | None = getattr(game, "server", None)
        self.grammar = GRAMMARS[self.manner.grammar]
        self.task: Task | None = None
        self.taken: list[
            dict[str, Any]
        ] = []  # a dict of actions by seat for every turn; {} for a turn in which nothing could be played
        self.stop: Stop | None = None
        self.movers: tuple[str, ...] = ()
        self.shown: dict[str, str] = {}
        self.pictured: dict[str, Any] = {}
        self.totals: dict[str, float] = {}
        self.noise = Noise(0)

    async def reset(self, task: Task) -> Mapping[str, Feedback]:
        """Start the episode of a task: the same seed, the same episode."""
        if not self.remote:
            return self._begin(task)
        begin = functools.partial(asyncio.to_thread, self._begin, task)
        return await (met(self.server(task), begin) if self.server else begin())

    def _begin(self, task: Task) -> dict[str, Feedback]:
        self.task, self.taken, self.stop, self.shown, self.totals = task, [], None, {}, {}
        self.pictured = {}
        self.noise = Noise(task.seed)
        with self._apart():
            said = self.game.start(task)
        ask = self.game.ask
        return self._told(said, {}, asks=dict.fromkeys(self.game.seats, ask) if isinstance(ask, str) else ask)

    def _rules(self, ask: str) -> str:
        rules = self.grammar.ask.format(answer=ask, example="...")
        return f"{rules}\nYou have {self.manner.turns} turns." if self.manner.turns > 1 else rules

    async def step(self, moves: Mapping[str, Message]) -> Mapping[str, Feedback]:
        """Play the moves of the seats that act; where one cannot be read or is forbidden, nothing is played and the turn is spent.

        Raises:
            NoEpisode: no episode is under way, or other seats are to move.
        """
        if self.stop is not None or self.task is None:
            raise NoEpisode(f"{type(self.game).__name__}: the episode is over or was never begun; call reset first")
        if set(moves) != set(self.movers):
            raise NoEpisode(f"{type(self.game).__name__}: {sorted(self.movers)} are to move, not {sorted(moves)}")
        return await asyncio.to_thread(self._step, moves) if self.remote else self._step(moves)

    def _step(self, moves: Mapping[str, Message]) -> dict[str, Feedback]:
        with self._apart():
            read = {seat: self._read(message, seat) for seat, message in moves.items()}
        calls = {s: next((c.id for c in m.tool_calls), "") for s, m in moves.items()} if self.grammar.tools else {}
        wrong = {
            s: "illegal" if move is ILLEGAL else "malformed"
            for s, move in read.items()
            if move is None or move is ILLEGAL
        }
        self.taken.append({} if wrong else read)
        if not wrong:
            return self._told(self._play(read), read, calls=calls)
        over = len(self.taken) >= self.manner.turns
        then = "the episode is over." if over else "the turn is spent."
        want = {"malformed": f" {self.grammar.want}".rstrip()} if not over else {}
        names = {s: wrong.get(s, "held") for s in moves}
        texts = {s: f"{SAID[name]}; {then}{want.get(name, '')}\n{self.shown.get(s, '')}" for s, name in names.items()}
        images = {seat: self.pictured[seat] for seat in moves if seat in self.pictured}
        said = Shown(texts=texts, movers=self.movers, images=images, events={s: (name,) for s, name in names.items()})
        return self._told(said, {s: move for s, move in read.items() if s not in wrong}, calls=calls)

    def _play(self, moves: Mapping[str, Any]) -> Shown:
        with self._apart():
            return self.game.play(moves)

    def _apart(self) -> AbstractContextManager[None]:
        return nullcontext() if self.remote else self.noise.inside()

    def _read(self, message: Message, seat: str) -> Any:
        found = None
        for text in self.grammar.find(message):
            move = self.game.read(text, seat)
            if move is not None and move is not ILLEGAL:
                return move
            found = found if found is not None else move
        return found

    def _told(
        self,
        said: Shown,
        read: Mapping[str, Any],
        asks: Mapping[str, str] | None = None,
        calls: Mapping[str, str] | None = None,
    ) -> dict[str, Feedback]:
        out: dict[str, Feedback] = {}
        wrong = {seat for seat, events in said.events.items() if {"malformed", "illegal"} & set(events)}
        spent = len(self.taken) >= self.manner.turns
        self.stop = said.stop or (Stop.truncated_turns if spent else None)
        self.movers = () if self.stop else said.movers
        if not wrong:
            self.shown = {**self.shown, **said.texts}
            self.pictured = {s: p for s, p in self.pictured.items() if s not in said.texts} | dict(said.images)
        for seat in self.game.seats:
            opening = self._rules(asks[seat]) if asks else ""
            body = "\n\n".join(part for part in (opening, said.texts.get(seat, "")) if part)
            image = [Image(pixels=said.images[seat])] if seat in said.images else []
            told = (body or image) and (opening or seat in self.movers or self.stop)
            call = (calls or {}).get(seat)
            part = Text(text=body) if call is None else ToolResult(text=body, id=call)
            role = Role.user if call is None else Role.tool
            out[seat] = Feedback(
                messages=(Message(role, (part, *image)),) if told else (),
                reward=self._earned(seat, said, seat in wrong),
                stop=self.stop,
                acts=seat in self.movers,
                tools=(act_tool(asks[seat]),) if asks and self.grammar.tools else (),
                events=said.events.get(seat, ()),
                action="" if read.get(seat) is None else str(read[seat]),
                state={"shown": self.shown.get(seat, "")},
            )
        return out

    def _earned(self, seat: str, said: Shown, wrong: bool) -> dict[str, float]:
        reward = {k: float(v) for k, v in said.rewards.get(seat, {}).items()}
        if not all(map(math.isfinite, reward.values())):  # a mean over it would be none either
            raise PeerError(
                f"{type(self.game).__name__} gives {seat} the rewards {reward}; a reward is a finite number"
            )
        self.totals[seat] = self.totals.get(seat, 0.0) + sum(reward.values())
        if self.stop and self.manner.win is not None:
            success = float(self.totals[seat] >= self.manner.win)
            reward = {**reward, "reward": reward.get("reward", 0.0) - success, "success": success}
        return {**reward, "malformed": -self.manner.penalty} if wrong and self.manner.penalty else reward

    def snapshot(self) -> Any:
        """The task, the actions so far and what is shown, as a JSON value."""
        return {"task": encode(self.task), "taken": [dict(moves) for moves in self.taken], "shown": dict(self.shown)}

    def restore(self, snapshot: Any) -> None:
        """Play the actions of a snapshot again from the same seed.

        Raises:
            PeerError: the peer says something else than it said then.
        """
        self._begin(decode(Task, snapshot["task"]))
        for moves in snapshot["taken"]:
            self.taken.append(dict(moves))
            if moves:
                self._told(self._play(moves), moves)
            elif len(self.taken) >= self.manner.turns:
                self.stop, self.movers = Stop.truncated_turns, ()
        if self.shown != snapshot["shown"]:
            raise PeerError(
                f"{type(self.game).__name__} does not repeat itself: after the same {len(self.taken)} actions from seed "
                f"{snapshot['task']['seed']} it shows something else; such an environment can be played, and not restored or forked"
            )

    async def close(self) -> None:
        """Free what the peer holds."""
        self.game.close()


def playing(make: Callable[[], Game], manner: Any) -> Callable[[Task], Env]:
    """The env of a task for games of one kind; the manner is checked now."""
    chosen = Manner.of(manner)
    return lambda task: PeerEnv(make(), chosen)
