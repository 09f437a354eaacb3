"""PettingZoo environments as envs of ours, one seat for each agent: turn by turn or all at once."""

from __future__ import annotations

import importlib
import re
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from quintain.envs.adapters.actions import Actions
from quintain.envs.adapters.game import ILLEGAL, PeerError, Shown, are, by_level, options_of
from quintain.envs.adapters.look import described
from quintain.envs.adapters.packages import peer
from quintain.envs.adapters.peer_env import playing
from quintain.ports import Env
from quintain.registry import UnknownName, register, unknown, user_object
from quintain.types import Stop, Task


class ZooGame:
    """Matches `game.Game`: a PettingZoo environment, AEC unless there is only the parallel form or `parallel` is set.

    Args:
        ids: as `pettingzoo.make` takes it, as in `classic/tictactoe-v3`, or one for each level.
        options: of `pettingzoo.make`.
        words: for the actions of `Discrete` spaces, or a list for each seat; () for numbers.
        look: gives the text of (observation, agent, env); None for `look.described`.
        parallel: take the parallel form.
    """

    def __init__(
        self,
        ids: Any,
        options: Mapping[str, Any],
        words: Sequence[str] | Mapping[str, Sequence[str]],
        look: Callable[..., str] | None,
        parallel: bool,
    ) -> None:
        self.ids, self.options, self.words, self.look, self.parallel = ids, options, words, look, parallel
        self.asked = parallel  # what was chosen; `parallel` is the form of the environment that is played
        self.seats: tuple[str, ...] = ()
        self.ask: dict[str, str] = {}
        self.made = ""
        self.env: Any = None
        self.actions: dict[str, Actions] = {}
        self.masks: dict[str, Any] = {}

    def start(self, task: Task) -> Shown:
        """Reset with the task's seed."""
        wanted = by_level(self.ids, task)
        if wanted != self.made:
            self.close()
            self.env = self._make(wanted)
            self.seats = tuple(self.env.possible_agents)
            self.actions = self._actions()
            self.ask = {seat: actions.ask for seat, actions in self.actions.items()}
            self.made = wanted  # not before: what was refused is made anew, and refused again
        first = self.env.reset(seed=task.seed)
        if self.parallel:
            return self._shown(first[0], {}, {}, {}, infos=first[1])
        return self._turn()

    def _make(self, wanted: str) -> Any:
        zoo, (module, _, wanted) = peer("pettingzoo"), re.sub(r"_v(\d+)$", r"-v\1", wanted).rpartition(":")
        if module:
            _imported(module, wanted)
        known = {"aec": zoo.aec_registry, "parallel": zoo.parallel_registry}
        self.parallel = self.asked or (wanted not in known["aec"] and wanted in known["parallel"])
        kind = "parallel" if self.parallel else "aec"
        if wanted not in known[kind]:
            raise UnknownName(unknown(f"{kind} environment of PettingZoo", wanted, known[kind]))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of libraries that draw
            try:
                return zoo.make(kind, wanted, **self.options)
            except zoo.env_registry.exceptions.PettingZooRegistryError as error:
                raise PeerError(f"PettingZoo cannot make {wanted!r}: {error}") from error  # names its own extra
            except (ImportError, TypeError, ValueError, AssertionError) as error:
                raise PeerError(f"PettingZoo cannot make {wanted!r} of {self.options}: {error}") from error

    def _actions(self) -> dict[str, Actions]:
        words = self.words if isinstance(self.words, Mapping) else dict.fromkeys(self.seats, self.words)
        for name in words:
            if name not in self.seats:
                raise UnknownName(unknown("seat", name, self.seats))
        found = {}
        for seat in self.seats:
            try:
                found[seat] = Actions(self.env.action_space(seat), words.get(seat, ()))
            except PeerError as error:
                each = f"; where seats differ, actions is {{{', '.join(f'{name}: [...]' for name in self.seats)}}}"
                raise PeerError(f"{seat}: {error}{each * bool(self.words)}") from error
        return found

    def read(self, text: str, seat: str) -> Any:
        """See `actions.Actions.read`; what the mask of a seat forbids is illegal."""
        move, mask = self.actions[seat].read(text), self.masks.get(seat)
        if move is None or move is ILLEGAL or mask is None:
            return move
        return move if move in self.actions[seat].legal(mask) else ILLEGAL

    def play(self, moves: Mapping[str, Any]) -> Shown:
        """Step with one action, or in the parallel form with all."""
        acts = {seat: self.actions[seat].value(move) for seat, move in moves.items()}
        if self.parallel:
            seen, rewards, terminated, truncated, infos = self.env.step(acts)
            return self._shown(seen, rewards, terminated, truncated, infos=infos)
        self.env.step(next(iter(acts.values())))
        return self._turn()

    def _turn(self) -> Shown:
        env, rewards = self.env, dict(self.env.rewards)
        ended = dict(env.terminations), dict(env.truncations)
        while env.agents and (env.terminations[env.agent_selection] or env.truncations[env.agent_selection]):
            env.step(None)  # who is out says so
        mover = env.agent_selection if env.agents else None
        seen = {seat: env.observe(seat) for seat in self.seats if seat in env.agents or not env.agents}
        return self._shown(seen, rewards, *ended, mover=mover, infos=env.infos)

    def _shown(
        self,
        seen: Mapping[str, Any],
        rewards: Any,
        *ended: Mapping[str, bool],
        infos: Mapping[str, Any],
        mover: str | None = None,
    ) -> Shown:
        texts, over = {}, not self.env.agents
        # a mask is part of what an agent observes, or of its info
        self.masks = {s: info["action_mask"] for s, info in infos.items() if s in seen and "action_mask" in info}
        for seat, sight in seen.items():
            if isinstance(sight, dict) and "action_mask" in sight:
                self.masks[seat] = sight["action_mask"]
                sight = sight.get("observation", {k: v for k, v in sight.items() if k != "action_mask"})
            text = self.look(sight, seat, self.env) if self.look else described(sight)
            legal = self.actions[seat].legal(self.masks[seat]) if seat in self.masks and not over else ()
            texts[seat] = f"You are {seat}.\n{text}" + (f"\nYou may: {', '.join(legal)}." if legal else "")
        movers = (mover,) if mover else () if over or not self.parallel else tuple(self.env.agents)
        cut = over and len(ended) == 2 and any(ended[1].values()) and not any(ended[0].values())
        stop = (Stop.truncated_turns if cut else Stop.done) if over else None
        return Shown(
            texts=texts, movers=movers, rewards={s: {"reward": float(r)} for s, r in rewards.items()}, stop=stop
        )

    def close(self) -> None:
        """Close the environment."""
        if self.env is not None:
            self.env.close()
        self.env, self.made = None, ""


def _imported(module: str, wanted: str) -> None:
    """Import what registers an environment of somebody's own."""
    try:
        importlib.import_module(module)
    except ImportError as error:
        raise PeerError(
            f"PettingZoo cannot make '{module}:{wanted}': {error}; before the colon stands a module that registers environments"
        ) from error


@register("env", "pettingzoo", seeds=True, example={"id": "classic/tictactoe-v3"})
def pettingzoo(
    id: str | Sequence[str],
    options: Mapping[str, Any] | None = None,
    actions: Sequence[str] | Mapping[str, Sequence[str]] = (),
    look: str | Callable[..., str] | None = None,
    parallel: bool = False,
    manner: Mapping[str, Any] | None = None,
) -> Callable[[Task], Env]:
    """An environment of PettingZoo, one seat for each agent; the seed of a task is the seed of its reset.

    Args:
        id: as `pettingzoo.make` takes it, as in `classic/tictactoe-v3`; a list has one for each level.
            `MODULE:ID` imports the module first.
        options: of `pettingzoo.make`.
        actions: words for the actions of `Discrete` spaces, or a list for each seat, as in {player_0: [...]}; numbers unless told.
        look: `FILE.py:function` of (observation, agent, env) that gives the text; JSON unless told.
        parallel: all agents act at once, where the environment has that form.
        manner: options of `game.Manner`: `grammar`, `turns`, `penalty`, `win`.

    Raises:
        MissingExtra: pettingzoo is not installed.
        UnknownName: (when playing) there is no such environment.
        PeerError: an option is of the wrong kind; (when playing) it cannot be made.
    """
    peer("pettingzoo")
    are("true or false", parallel=parallel)
    are(
        "a list of words",
        **({f"actions.{k}": v for k, v in actions.items()} if isinstance(actions, Mapping) else {"actions": actions}),
    )
    found, chosen = user_object(look) if isinstance(look, str) else look, options_of(options)
    return playing(lambda: ZooGame(id, chosen, actions, found, parallel), manner)
