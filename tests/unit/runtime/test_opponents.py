"""Who plays the seats that are not the policy's."""

from __future__ import annotations

import itertools
import json
from collections import Counter
from dataclasses import replace
from functools import partial
from types import SimpleNamespace
from typing import Any

import pytest

from quintain import config as configs
from quintain.cli.eval import main as evaluate
from quintain.cli.evaluation import calm
from quintain.cli.show import main as show
from quintain.cli.train import _where
from quintain.cli.train import main as train
from quintain.engines.scripted import Player
from quintain.envs.world import world_of
from quintain.evals.players import builtin, held_out, opposed
from quintain.evals.report import _successes
from quintain.evals.stats import summary
from quintain.learn.ranks import Ranks
from quintain.ledger import RunDir
from quintain.registry import UnknownName
from quintain.runtime.check import check
from quintain.runtime.evaluate import make_evaluator, play
from quintain.runtime.keeper import Keeper
from quintain.runtime.measure import Apart, apart, told_apart
from quintain.runtime.measure import played as by_step
from quintain.runtime.measure import seen as measured
from quintain.runtime.newmodel import write_model
from quintain.runtime.opponents import Oracle, against, facing, heeded, joined, oracle_move, rival, sides
from quintain.runtime.playing import make_reward, make_rollout, training_only
from quintain.runtime.stage import make_stage, tasks, world_sampler
from quintain.types import Group, Request, Sampling, Stop, Trajectory
from quintain.worlds.kernel import Facts


def duel(*more: str) -> configs.Config:
    return configs.make(overrides=["world=NimDuel", "level=1", "env.scaffold.style=words", *more])


async def played(player: str, opponent: str, config: configs.Config, count: int = 24, k: int = 1) -> list[Group]:
    config, casts = opposed(player, opponent, config, [], {})
    rollout, reward = make_rollout(config, k), make_reward(config)
    return joined([await play(held_out(config, count, 5), cast, rollout, reward) for cast in casts])


async def test_the_oracle_as_the_other_takes_what_it_can_and_alone_only_the_player_is_counted():
    found = {who: summary(await played("random", who, duel())) for who in ("policy", "random", "oracle")}
    assert found["policy"]["success"] == 0.5  # of itself and itself one wins
    assert found["oracle"]["success"] < 0.2 < found["random"]["success"]
    assert found["policy"]["episodes"] == 24 and found["oracle"]["episodes"] == 48  # a game for each seat
    assert set(found["oracle"]["seats"]) == {"first", "second"}


@pytest.mark.parametrize("grammar", ["free", "json", "tagged", "tool", "word"])
async def test_players_without_a_model_are_read_in_every_grammar(grammar):
    config = configs.make(overrides=["world=Sokoban", "level=0", f"env.scaffold.grammar={grammar}"])
    found = {who: summary(await played(who, "", config, 6)) for who in ("oracle", "random")}
    assert found["oracle"]["success"] == 1.0
    assert {one["malformed"] for one in found.values()} == {0.0}


async def test_each_game_has_one_row_of_the_player_and_all_games_of_an_instance_stand_together():
    groups = await played("oracle", "random", duel(), 6, k=3)
    assert [len(group.trajectories) for group in groups] == [6] * 6
    for group in groups:
        assert [t.agent for t in group.trajectories] == ["first"] * 3 + ["second"] * 3
        assert [t.episode for t in group.trajectories] == list(range(6))


async def test_a_run_is_evaluated_against_whom_its_config_names_and_says_how_far_it_is(monkeypatch):
    async def straight(playing: Any) -> Any:
        return await playing

    said: list[str] = []
    monkeypatch.setattr("quintain.runtime.evaluate.Paced", lambda say: say)

    async def scored(*more: str, ranks: Any = None) -> dict[str, float]:
        config = duel("eval.instances=30", "eval.greedy=false", *more)
        cast = builtin("random", config)
        evaluator = make_evaluator(config, make_stage(config), cast, ranks or Ranks(), partial(make_rollout, config, 1))
        assert evaluator is not None
        return dict(await replace(evaluator, say=said.append)(0, straight))

    alone, weak, strong = await scored(), await scored("eval.against=random"), await scored("eval.against=oracle")
    assert alone["eval/episodes"] == weak["eval/episodes"] == strong["eval/episodes"] == 60
    assert alone["eval/success"] == 0.5
    assert strong["eval/success"] < 0.2 < weak["eval/success"] < 0.8
    assert (
        said[0] == "evaluating: eval: 1 of 30 instances"
        and said[-1] == "evaluating: eval, seat 2 of 2: 30 of 30 instances"
    )
    await scored(ranks=SimpleNamespace(rank=0, size=2, sums=dict))
    assert said[-1] == "evaluating: eval, process 1 of 2: 15 of 15 instances"


def test_worlds_of_one_seat_have_nobody_to_be_against():
    config = configs.make(overrides=["world=KeyDoor", "eval.against=random"])
    assert rival(config) == "" and sides(config) == [{}]
    assert rival(duel("eval.against=random")) == "random" and rival(duel()) == ""
    _, casts = opposed("random", "", config, [], {})  # a recipe may say so for all worlds
    assert len(casts) == 1 and not casts[0].frozen


def test_envs_that_are_no_worlds_take_no_other_players():
    config = configs.make(overrides=["env.name=pettingzoo", "env.params.id=classic/rps-v2"])
    with pytest.raises(configs.ConfigError, match="play pettingzoo against random: only worlds take other players"):
        heeded(config, [], "random")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["random", "KeyDoor", "--against", "oracle"], "nobody can play KeyDoor against oracle: it has no second seat"),
        (["random", "KeyDoor", "eval.against=oracle"], "nobody can play KeyDoor against oracle: it has no second seat"),
        (["random", "NimDuel", "--against", "orcale"], "players are oracle, random, a run folder"),
        (["randm", "NimDuel"], "did you mean 'random'[?]"),
        (["run/duelx", "NimDuel"], "did you mean the run run/duel[?]"),
        (["random", "--suite", "quick", "--against", "oracle"], "leave out --against"),
        (["random", "NimDuel", "eval.against=stockfish"], "eval.against"),
    ],
)
def test_opponents_that_there_are_not(words, said, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("duel", "random-2"):
        RunDir.create(tmp_path / "run" / name, "").close()
    with pytest.raises(Exception, match=said):
        evaluate(words)


def test_the_verb_says_who_is_played_against(capsys):
    assert evaluate(["oracle", "NimDuel", "-n", "10", "--against", "random"]) == 0
    out = capsys.readouterr().out
    assert "oracle in NimDuel level 0 (test) against random: success" in out
    assert "random plays the others" in out


@pytest.fixture
def runs(tmp_path, monkeypatch):
    """Two folders of runs in NimDuel, whose models have random weights; the second plays at another temperature and reads other knobs."""
    monkeypatch.setattr("quintain.runtime.policy.load_checkpoint", lambda model, folder: None)
    for name, more in {"one": (), "two": ("eval.temperature=0.5", "level=2")}.items():
        with RunDir.create(tmp_path / name, duel("rollout.max_tokens=1", *more).toml(full=True)) as store:
            store.checkpoint(1, lambda folder: None)
    return tmp_path


async def test_a_run_plays_another_each_by_its_own_engine_and_temperature(runs):
    config, casts = opposed(str(runs / "one"), str(runs / "two"), configs.make(), [], {})
    assert config.env.levels == [1], "they play where the player was trained"
    for cast, other in zip(casts, ("second", "first"), strict=True):
        assert cast.frozen == {other} and cast.engine(other) is not cast.engines["policy"]
        assert (cast.sampling.temperature, cast.samplings[other].temperature) == (1.0, 0.5)
        assert cast.renderer(other) is not cast.renderers["policy"] and cast.renderer(other).size > 9
    groups = await play(held_out(config, 4, 5), casts[0], make_rollout(config, 2), make_reward(config))
    assert {t.agent for g in groups for t in g.trajectories} == {"first"}
    assert any(t.turns for g in groups for t in g.trajectories)


def test_which_checkpoints_played_is_told(runs, capsys):
    with RunDir.open(runs / "two", "a") as store:
        store.checkpoint(7, lambda folder: None)
    one, two = str(runs / "one"), str(runs / "two")
    words = [one, "-n", "2", "--against", two]
    assert evaluate(words) == 0
    assert capsys.readouterr().out.startswith(
        f"{one} at step 1 in NimDuel level 1 (test) against {two} at step 7: success"
    )
    assert evaluate([*words, "--away", "level=0", "--over", one, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["player"], found["step"], found["against"], found["against_step"]) == (one, 1, two, 7)
    assert found["away"]["step"] == 1 and found["gains"]["over_step"] == 1
    older = f"{two}/checkpoints/step-000001"
    assert (
        evaluate([older, "level=1", "-n", "2", "--against", f"{one}/checkpoints/step-000001/", "--over", two, "--json"])
        == 0
    )
    found = json.loads(capsys.readouterr().out)
    assert (found["player"], found["step"], found["against"], found["against_step"]) == (two, 1, one, 1)
    assert (found["compared"]["over"], found["compared"]["over_step"]) == (two, 7)
    assert found["where"] == f"NimDuel level 1 (test) against {one} at step 1"
    with pytest.raises(UnknownName, match="two has no checkpoint of step 4; there are: 1, 7"):
        evaluate([f"{two}/checkpoints/step-000004"])
    assert evaluate(["random", "NimDuel", "-n", "2", "--json"]) == 0
    assert "step" not in capsys.readouterr().out


async def test_the_other_is_asked_with_its_own_sampling():
    config, asked = duel(), []

    def act(messages: Any, state: Any, request: Request) -> str:
        asked.append(request.sampling.temperature)
        return "take 1"

    own = builtin("random", config)
    like = replace(own, sampling=Sampling(temperature=0.25))
    cast = facing(own, ("first", "second"), "first", Player(act), like)
    await play(held_out(config, 6, 5), cast, make_rollout(config, 1), make_reward(config))
    assert asked and set(asked) == {0.25}


async def test_players_without_a_setting_take_that_of_the_run_they_play(runs):
    config, casts = opposed("oracle", str(runs / "two"), configs.make(), [], {})
    assert (config.env.name, config.env.levels) == ("NimDuel", [2])
    assert all(cast.frozen and not hasattr(cast.engines["policy"], "model") for cast in casts)
    assert [min(cast.frozen) for cast in casts] == ["second", "first"]


def test_runs_that_read_other_things_do_not_meet(runs):
    with RunDir.create(runs / "three", duel("rollout.max_tokens=1", "env.scaffold.turns=9").toml(full=True)) as store:
        store.checkpoint(1, lambda folder: None)
    with pytest.raises(configs.ConfigError, match="a game is told in one way"):
        opposed(str(runs / "one"), str(runs / "three"), configs.make(), [], {})
    with pytest.raises(configs.ConfigError, match="a run is evaluated in its own setting"):
        evaluate(["random", "keydoor", "--against", str(runs / "one")])


def test_an_opponent_without_the_words_is_refused_before_anything_is_played(runs):
    with RunDir.create(runs / "high", duel("rollout.max_tokens=1", "level=9").toml(full=True)) as store:
        store.checkpoint(1, lambda folder: None)
    with pytest.raises(configs.ConfigError, match="knows the words of NimDuel:1 only; NimDuel:9 has"):
        opposed(str(runs / "high"), str(runs / "one"), configs.make(), [], {})


async def test_players_that_are_alike_play_another_game_from_each_seat():
    def mirrored(groups: list[Group]) -> int:
        return sum(g.trajectories[0].reward + g.trajectories[1].reward == 1.0 for g in groups)

    assert mirrored(await played("random", "random", duel(), 40)) < 36, (
        "what one seat wins the other loses, in the same game"
    )
    config = duel("eval.against=random")
    both = [make_rollout(config, 1, **side) for side in sides(config)]
    cast, reward, tasks = builtin("random", config), make_reward(config), held_out(config, 40, 5)
    assert mirrored(joined([await play(tasks, cast, one, reward) for one in both])) < 36


@pytest.mark.parametrize("world", ["NimDuel", "PaddleMatch"])
async def test_in_training_others_take_their_share_of_the_groups_and_the_policy_each_seat_as_often(world):
    """Also with options that went to an actor and back."""
    config = duel("rollout.opponents={random=0.5,oracle=0.25}", f"world={world}", "level=0")
    options = json.loads(json.dumps(training_only(config)))
    rollout, seen = make_rollout(config, 1, **options), Counter[tuple[str, tuple[str, ...]]]()

    async def one(task: Any, cast: Any, ticket: int) -> Group:
        return Group(task=task, trajectories=(), ticket=ticket, tags={"frozen": tuple(sorted(cast.frozen))})

    (task,), cast = held_out(config, 1, 5), builtin("random", config)
    for ticket in range(2000):
        group = await against(config, one, options["others"])(task, cast, ticket)
        seen[group.tags.get("against", "policy"), group.tags["frozen"]] += 1
    seats = world_of(world).facts.seats
    left = {seat: tuple(sorted(set(seats) - {seat})) for seat in seats}
    assert seen.keys() == {("policy", ())} | {(who, rest) for who in ("random", "oracle") for rest in left.values()}
    for who, share in (("random", 0.5), ("oracle", 0.25)):
        for rest in left.values():
            assert abs(seen[who, rest] / 2000 - share / len(seats)) < 0.04, (who, rest, seen)
    groups = [await rollout(task, cast, ticket) for ticket in range(12)]
    assert [len(g.trajectories) for g in groups] == [1 if "against" in g.tags else len(seats) for g in groups]
    assert {g.tags.get("against") for g in groups} == {None, "random", "oracle"}


async def test_in_several_worlds_others_take_the_seats_of_that_of_the_task_and_none_where_it_has_one():
    worlds = {"name": "worlds", "env": ["KeyDoor", "TicTacToeDuel", "NimDuel"]}
    config = configs.make(
        {"sampler": worlds}, duel("level=0", "rollout.opponents.random=1").model_dump(include={"env", "rollout"})
    )
    rollout = make_rollout(config, 1, **training_only(config))
    casts = {world: builtin("random", duel(f"world={world}")) for world in worlds["env"]}
    drawn = enumerate(tasks(world_sampler(config, "train", 0, (0, 1)), 24))
    found = [await rollout(task, casts[task.env], ticket) for ticket, task in drawn]
    mine = {world: {t.agent for g in found if g.task.env == world for t in g.trajectories} for world in worlds["env"]}
    assert mine == {"KeyDoor": {"agent"}, "TicTacToeDuel": {"X", "O"}, "NimDuel": {"first", "second"}}
    for group in found:
        assert len(group.trajectories) == 1 and group.trajectories[0].stop is not Stop.crashed
        assert group.tags.get("against") == (None if group.task.env == "KeyDoor" else "random")
    alone = {"sampler": {"name": "worlds", "env": "KeyDoor"}, "rollout": {"opponents": {"random": 1.0}}}
    with pytest.raises(configs.ConfigError, match="seats of KeyDoor: it has one"):
        training_only(configs.make(alone, overrides=["world=NimDuel"]))


def test_evaluations_have_opponents_of_their_own():
    config = duel("rollout.opponents.random=1", "eval.against=oracle")
    assert sides(config) == [{"others": [(1.0, seat, "oracle")]} for seat in ("first", "second")]
    assert sides(duel("rollout.opponents.random=1")) == [{}]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (
            ["world=KeyDoor", "rollout.opponents.random=0.5"],
            "random cannot play the other seats of KeyDoor: it has one",
        ),
        (
            ["env.name=pettingzoo", "rollout.opponents.random=0.5"],
            "random cannot play the other seats of pettingzoo: only worlds take other players",
        ),
        (["rollout.opponents={random=0.7,oracle=0.7}"], "0.7 [+] 0.7 are together 1.4; they are parts of 1"),
        (["rollout.opponents.orcale=0.5"], "no rollout.opponents.orcale: a name there should be 'random' or 'oracle'"),
        (
            ["rollout.opponents={random=.5}"],
            "write 'rollout.opponents={KEY=VALUE}' .with the quotes; 0.5, not .5., or rollout.opponents.KEY=VALUE",
        ),
        (["rollout.opponents={random=nan}"], "finite"),
        (["rollout.opponents.random=-0.5"], "greater than or equal to 0"),
        (
            ["sampler.name=curriculum", "env.levels=[0,1]"],
            "NimDuel climbs at a success of 0.8, and the policy against itself has at most 0.5: let others play .*rollout.opp",
        ),
    ],
)
def test_opponents_in_training_that_cannot_be(words, said):
    with pytest.raises(configs.ConfigError, match=said):
        check(configs.make(overrides=["world=NimDuel", *words]))


@pytest.mark.parametrize(
    "more", [["rollout.opponents.random=0.25"], ["sampler.control.high=0.4"], ["sampler.levels=[1]"]]
)
def test_a_curriculum_of_a_game_that_may_climb_is_taken(more):
    check(duel("sampler={name='curriculum', levels=[0,1]}", "model.words=NimDuel:0-9", *more))


@pytest.mark.parametrize("contest", [True, False])
async def test_a_curriculum_climbs_by_groups_with_opponents_and_in_games_played_together_by_all(contest, monkeypatch):
    monkeypatch.setattr(Facts, "forfeits", contest)
    config = duel("level=0", "sampler.name=curriculum", "rollout.opponents.random=0.5")
    sampler, cast = world_sampler(config, "train", 0, (0, 1)), builtin("random", config)
    rollout, state = make_rollout(config, 1, **training_only(config)), sampler.init()
    groups = [await rollout(task, cast, ticket) for ticket, task in enumerate(held_out(config, 12, 5))]
    counted = [len((state := sampler.observe(state, group))["recent"]) for group in groups]
    assert counted == list(itertools.accumulate(not contest or "against" in group.tags for group in groups))
    assert 0 < sum("against" in group.tags for group in groups) < 12


async def test_who_is_named_for_a_group_plays_in_it_and_the_draw_hangs_on_the_seed_alone():
    mixed = duel("rollout.opponents={random=0.5,oracle=0.5}")
    rollout, cast, tasks = (
        make_rollout(mixed, 1, **training_only(mixed)),
        builtin("random", mixed),
        held_out(mixed, 80, 5),
    )

    async def drawn(rollout: Any, cast: Any) -> list[Group]:
        return [await rollout(task, cast, ticket) for ticket, task in enumerate(tasks)]

    reward, by = make_reward(mixed), dict[str, list[float]]()
    groups = await drawn(rollout, cast)
    for group in groups:
        by.setdefault(group.tags["against"], []).extend((await reward(group)).rewards)
    assert sum(by["oracle"]) / len(by["oracle"]) < 0.25 < 0.35 < sum(by["random"]) / len(by["random"])
    turned = duel("rollout.opponents={oracle=0.5,random=0.5}")
    again = await drawn(make_rollout(turned, 1, **training_only(turned)), cast)
    assert [g.tags for g in again] == [g.tags for g in groups]
    other = await drawn(rollout, replace(cast, seed=cast.seed + 1))
    assert [g.tags for g in other] != [g.tags for g in groups]


def test_a_run_says_who_plays_the_other_seats_and_a_report_has_a_curve_for_each(tmp_path):
    where = _where(duel("rollout.opponents={random=0,oracle=0.004}"), tmp_path)
    assert "; oracle in 0.4 % of the groups in the other seats" in where and "random" not in where
    rows = [(0, {"success": 0.5}), (1, {"success": 0.4, "success/policy": 0.5, "success/oracle": 0.1})]
    assert _successes(rows) == {
        "training": ([1.0], [0.5]),
        "training against oracle": ([2.0], [0.1]),
        "training against itself": ([2.0], [0.5]),
    }


def test_trajectories_are_listed_by_ticket_and_with_who_played_against_them(tmp_path, capsys, monkeypatch):
    one = Trajectory(id="a", agent="first", nodes=(), stop=Stop.done)
    task = held_out(duel(), 1, 5)[0]
    groups = [Group(task=task, trajectories=(replace(one, id=f"{n}.0"),), ticket=n) for n in (12, 3)]
    groups[1] = replace(groups[1], tags={"against": "oracle"})
    RunDir.create(tmp_path / "run", "").close()
    monkeypatch.setattr(RunDir, "groups", lambda self, step=None: groups)
    assert show([str(tmp_path / "run"), "--list"]) == 0
    first, second = capsys.readouterr().out.splitlines()
    assert first.startswith("3.0 ") and first.endswith("done   against oracle") and second.endswith("done")
    assert show([str(tmp_path / "run"), "--list", "--json"]) == 0
    assert [row.get("against") for row in json.loads(capsys.readouterr().out)] == ["oracle", None]


def test_redundant_members_and_opponents_go_together():
    options = training_only(duel("rollout.opponents.random=0.5", "rollout.redundancy=2"))
    assert options["redundancy"] == 2 and len(options["others"]) == 1


APART = Apart(True, ("NimDuel", "KeyDoor"))


def measured_group(who: str, *rewards: float, world: str = "NimDuel", apart: Apart = APART) -> Any:
    one = Trajectory(id="a", agent="first", nodes=(), stop=Stop.done)
    rows = tuple(replace(one, rewards={"success": r}) for r in rewards)
    task = replace(held_out(duel(), 1, 5)[0], env=world, level=2)
    return measured(Group(task=task, trajectories=rows, ticket=0, tags={"against": who} if who else {}), apart)


def apart_of(shown: list[Any], apart: Apart) -> dict[str, float]:
    found = told_apart(by_step([], shown, [], 0, apart), apart)
    assert not [k for k in found if k.startswith(("tally/", "won/"))]
    return {k: v for k, v in found.items() if k.startswith("success")}


def test_success_in_training_is_told_by_opponent_where_there_is_one():
    alone, rivals = Apart(), Apart(rivals=True)
    assert apart_of([measured_group("", 1.0, 0.0, apart=alone)], alone) == {"success": 0.5}
    found = apart_of([measured_group("", 1.0, 0.0, apart=rivals)], rivals)
    assert found == {"success": 0.5, "success/policy": 0.5}, "also in a step in which nobody else was drawn"
    assert apart_of([measured_group("", 1.0, world="KeyDoor", apart=rivals)], rivals) == {"success": 1.0}, "nor itself"
    shown = [("", 1.0, 0.0), ("oracle", 0.0, 0.0, 0.0, 1.0), ("random", 1.0)]
    assert apart_of([measured_group(*each, apart=rivals) for each in shown], rivals) == {
        "success": 3 / 7,
        "success/oracle": 0.25,
        "success/policy": 0.5,
        "success/random": 1.0,
    }


def test_success_in_training_is_told_by_world_or_by_level_where_there_are_several():
    def told(*parts: dict[str, Any]) -> Apart:
        return apart(configs.make({"sampler": {"name": "mixture", "parts": [{"name": "worlds", **p} for p in parts]}}))

    nim = {"env": "NimDuel", "levels": [0, 2]}
    both, levels = told(nim, {"env": "KeyDoor"}), told(nim)
    assert both.places == ("NimDuel", "KeyDoor") and levels.places == ("NimDuel:0", "NimDuel:2")
    assert told({"env": "KeyDoor"}) == Apart() and apart(duel("rollout.opponents.random=0.5")) == Apart(rivals=True)
    shown = [("NimDuel", 1.0, 0.0), ("KeyDoor", 1.0, 1.0, 0.0, 1.0), ("NimDuel", 0.0, 0.0)]
    groups = [measured_group("", *rewards, world=world, apart=both) for world, *rewards in shown]
    assert apart_of(groups, both) == {"success": 0.5, "success/NimDuel": 0.25, "success/KeyDoor": 0.75}
    assert apart_of(groups[1:2], both) == {"success": 0.75, "success/KeyDoor": 0.75}, "the other was not played"
    assert apart_of([measured_group("", 1.0, 0.0, apart=levels)], levels) == {"success": 0.5, "success/NimDuel:2": 0.5}


def test_ranks_that_met_other_opponents_and_worlds_give_the_same_names_and_the_shares_of_all_episodes(tmp_path):
    met = [[("", 1.0, 0.0)], [("oracle", 0.0, 0.0, 1.0), ("", 1.0)]]
    shown = [[measured_group(*each) for each in groups] for groups in met]
    shown[1].append(measured_group("", 1.0, world="KeyDoor"))
    rows, given = [by_step([], groups, [], 0, APART) for groups in shown], list[dict[str, float]]()

    peers = SimpleNamespace(rank=0, size=2, sums=lambda values: given.append(dict(values)) or values, largest=dict)
    with RunDir.create(tmp_path / "run", "") as store:
        keeper = Keeper(store, peers)
        for row in rows:
            keeper.reduce(row)
        assert given[0].keys() == given[1].keys()
        peers.sums = lambda values: {k: given[0][k] + given[1][k] for k in given[0]}
        found = told_apart(keeper.reduce(rows[0]), APART)
    assert {k: v for k, v in found.items() if k.startswith("success/")} == {
        "success/oracle": 1 / 3,
        "success/policy": 2 / 3,
        "success/NimDuel": 0.5,
        "success/KeyDoor": 1.0,
    }


def test_who_is_named_goes_before_who_the_config_names():
    config = duel("eval.against=random")
    assert [len(opposed("random", who, config, [], {})[1]) for who in ("", "policy", "oracle")] == [2, 1, 2]
    _, casts = opposed("random", "oracle", config, [], {})
    state = world_of("NimDuel").start(3, 1)
    asked = Request(session="0", prompt=(), sampling=Sampling(), key=(0, 0, 0, 1, 0))
    (best,) = {casts[1].engines["first"].act([], state, replace(asked, key=(k, 0, 0, 1, 0))) for k in range(20)}
    assert best == oracle_move(world_of("NimDuel"), state, "first", asked), "random moves would differ"


@pytest.mark.parametrize("world", ["FreeCell", "SpiderDeal", "Klondike"])
async def test_the_oracle_goes_on_with_a_plan_that_is_certain(world):
    config = configs.make(overrides=[f"world={world}", "level=8"])
    assert summary(await played("oracle", "", config, 8))["success"] == 1.0, (
        "asked anew each turn it goes round in circles"
    )


def test_the_oracle_makes_another_plan_where_the_state_is_not_the_one_due():
    world, oracle = world_of("Hanoi"), Oracle()
    state = world.start(3, 4)
    moves = [move.key for move in world.solve(state, "agent").moves]
    asked = Request(session="0", prompt=(), sampling=Sampling(), key=(0, 0, 0, 1, 0))
    assert [oracle(world, state, "agent", asked) for _ in range(3)] == [moves[0]] * 3, "nobody made the move"
    for key in moves:
        assert oracle(world, state, "agent", asked) == key
        state = world.step(state, {"agent": world.read(key, "agent")}).state
    assert not oracle.ways


def test_temperature_0_is_the_players_alone():
    own = builtin("random", duel())
    like = replace(own, sampling=Sampling(temperature=0.5))
    cast = facing(own, ("first", "second"), "first", Player(lambda *_: ""), like)
    cold = calm(cast)
    assert (cold.sampling.temperature, cold.samplings["second"].temperature) == (0.0, 0.5)


def test_a_run_of_one_seat_is_told_that_nobody_can_be_met_there(tmp_path):
    with pytest.raises(configs.ConfigError, match="nobody can play KeyDoor against oracle: it has no second seat"):
        train(["tiny", f"run.folder={tmp_path}", "eval.against=oracle"])
    assert not list(tmp_path.iterdir())


def test_gains_are_over_who_met_the_same_opponent(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    file = tmp_path / "duel.toml"
    file.write_text('[env]\nname = "NimDuel"\nlevels = [1]\n[eval]\nagainst = "random"\n')
    words = ["oracle", str(file), "-n", "40", "--away", "level=2", "--over", "random"]
    assert evaluate(words) == 0
    out = capsys.readouterr().out
    assert "oracle in NimDuel level 2 (test) against random" in out and "relative gains over random" in out


def test_long_games_tell_from_which_seat(capsys, monkeypatch):
    clock = itertools.count(0, 20)
    monkeypatch.setattr("quintain.waits.monotonic", lambda: next(clock))
    assert evaluate(["random", "NimDuel", "-n", "2", "--against", "random"]) == 0
    told = capsys.readouterr().err.splitlines()
    assert told == [f"as {seat}: {n} of 2 instances" for seat in ("first", "second") for n in (1, 2)]


def test_models_of_words_and_of_text_do_not_meet(runs, tmp_path):
    folder = str(tmp_path / "model")
    write_model(configs.make("keydoor_text", overrides=[f"model={folder}", "world=NimDuel"]), tmp_path / "model", 300)
    for player, opponent in ((str(runs / "one"), folder), (folder, str(runs / "one"))):
        with pytest.raises(configs.ConfigError, match="is a model of words and the other one of text"):
            opposed(player, opponent, configs.make(), [], {})
