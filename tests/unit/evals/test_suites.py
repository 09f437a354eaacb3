"""Suites: the same instances every time, every domain counted, results kept and drawn; what they fix cannot be bent."""

from __future__ import annotations

import asyncio
import itertools
import json
from argparse import Namespace
from collections import Counter
from copy import copy
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from quintain import registry
from quintain.cli import eval as eval_verb
from quintain.cli import main
from quintain.config import ConfigError, make
from quintain.engines.errors import EngineError
from quintain.envs.suites import COUNT, Suite, digest_of, suite_of, worlds_named
from quintain.envs.suites import suites as every
from quintain.envs.world import WorldEnv
from quintain.evals import suite_page, suites
from quintain.evals.players import builtin
from quintain.registry import UnknownName, build, entries, entry
from quintain.types import Completion
from quintain.worlds.kernel import check_level

SMALL = Suite(name="small", domains={"spatial": ("EmptyRoom", "KeyDoor"), "games": ("NimGame",)}, levels=(0, 2))


def played(player: str, suite: Suite, tries: int = 1) -> dict[str, Any]:
    casts = suites.casting(player, suite, [], [], {})
    return suites.summed(suite, asyncio.run(suites.play_suite(suite, casts, tries)))


def test_quick_has_worlds_of_every_domain_and_full_has_all_of_one_seat():
    known = every()
    domains = {str(e.tags["domain"]) for e in entries("world")}
    assert set(known["quick"].domains) == domains == set(known) - {"quick", "full"}
    for domain, worlds in known["quick"].domains.items():
        assert set(worlds) <= set(known[domain].worlds), domain
    single = {e.name for e in entries("world") if len(e.make().facts.seats) == 1}
    assert set(known["full"].worlds) == single
    assert all(check_level(level) == level for suite in known.values() for level in suite.levels)


def test_instances_are_the_first_seeds_of_the_test_split_and_their_hash_tells_others():
    tasks = SMALL.tasks("KeyDoor")
    assert [(t.level, t.seed, t.split) for t in tasks] == [(level, s, "test") for level in (0, 2) for s in range(10)]
    assert SMALL.digest() == SMALL.digest() != replace(SMALL, levels=(0, 3)).digest()


def key_door_as(name):
    world = copy(build("world", "KeyDoor"))
    object.__setattr__(world, "facts", replace(world.facts, name=name))
    return world


def test_a_name_is_that_of_a_world_before_that_of_a_suite(monkeypatch):
    assert worlds_named("spatial") == suite_of("spatial").worlds and worlds_named("KeyDoor") == ("KeyDoor",)
    for name in ("my_own", "quick"):
        own = replace(entry("world", "KeyDoor"), name=name, make=partial(key_door_as, name))
        monkeypatch.setitem(registry._entries, ("world", name), own)
        assert worlds_named(name) == (name,)
    for name, near in (("keydoor", "KeyDoor"), ("KeyDor", "KeyDoor"), ("spatail", "spatial")):
        with pytest.raises(UnknownName, match=f"unknown world or suite '{name}'; did you mean '{near}'"):
            worlds_named(name)


def test_the_scores_that_are_told_are_of_the_instances_on_record():
    root = Path(__file__).parents[3]
    record = json.loads((root / "claims" / "worlds" / "suites.json").read_text())
    assert f"instances {digest_of(record['full'])}" in (root / "docs" / "runs.md").read_text()


def test_a_world_of_a_suite_in_which_episodes_fail_is_told_of(capsys, monkeypatch):
    step = WorldEnv.step

    async def broken(self, moves):
        if self.facts.name == "KeyDoor" and self.task.seed == 3:
            raise OSError("no display")
        return await step(self, moves)

    monkeypatch.setattr(WorldEnv, "step", broken)
    monkeypatch.setattr("quintain.envs.suites.suite_of", lambda name: SMALL)
    assert main(["eval", "random", "--suite", "small"]) == 0
    (said,) = capsys.readouterr().err.splitlines()
    assert said.startswith("WARNING: 2 of 20 episodes failed, ") and "KeyDoor/0/test/3: crashed: OSError: no" in said


def test_an_oracle_wins_and_a_random_player_is_as_repeatable_as_its_seed():
    best, first, second = (played(player, SMALL) for player in ("oracle", "random", "random"))
    assert best["worlds"] == {"EmptyRoom": 1.0, "KeyDoor": 1.0, "NimGame": 1.0} and best["success"] == 1.0
    assert first == second and first["success"] < 0.7
    assert first["episodes"] == 60 and first["domains"]["spatial"]["worlds"] == 2
    share = first["domains"]
    assert first["success"] == pytest.approx((2 * share["spatial"]["success"] + share["games"]["success"]) / 3)
    assert played("random", SMALL, tries=3)["episodes"] == 180


def test_several_tries_and_levels_of_a_suite_are_told_by_domain_and_by_level(tmp_path, capsys):
    casts = suites.casting("random", SMALL, [], [], {})
    rows = asyncio.run(suites.play_suite(SMALL, casts, 3))
    found = {"player": "random", **suites.summed(SMALL, rows)}
    share, some = found["success"], [p.share > 0 for there in rows.values() for p in there]
    assert found["pass"]["1"] == pytest.approx(share) and [*found["pass"]] == ["1", "2", "3"]
    assert found["pass"]["3"] == pytest.approx(sum(some) / 60) and found["pass"]["3"] > share
    games = found["domains"]["games"]["pass"]
    assert games == suites.score(rows["NimGame"])["pass"] != found["pass"]
    low, high = (found["by_level"][level]["success"] for level in ("0", "2"))
    assert (low + high) / 2 == pytest.approx(share) and low == pytest.approx(
        sum(p.share for there in rows.values() for p in there[:10]) / 30
    )
    told = suites.table(found)
    assert f"pass@3 {found['pass']['3']:.3f}\n  success by level: 0: {low:.3f}   2: {high:.3f}\n" in told
    assert "   pass@3  reward" in told and f"   {games['3']:.3f}  " in told
    older = {name: value for name, value in found.items() if name not in ("by_level", "intervals", "pass")}
    suite_page.keep({**older, "player": "older"}, tmp_path)
    page = suite_page.keep(found, tmp_path).read_text()
    assert f"<td>0</td><td>-</td><td>{low:.3f}  (" in page and f"pass@3 {games['3']:.3f}</td>" in page
    between = "{:.3f}  ({:.3f} to {:.3f})".format(found["worlds"]["NimGame"], *found["intervals"]["NimGame"])
    assert f"<td>NimGame</td><td>{found['worlds']['NimGame']:.3f}</td><td>{between}</td>" in page
    single = suites.summed(one := replace(SMALL, levels=(2,)), {w: there[10:] for w, there in rows.items()})
    assert "by_level" not in single and "pass@" not in suites.table({"player": "a", **single, "pass": {"1": 0.5}})
    assert "Levels" not in suite_page.page([{"player": "a", **single, "digest": one.digest()}])


def test_long_evaluations_tell_beside_the_result_how_far_they_are(capsys, monkeypatch):
    clock = itertools.count(0, 4)  # every third word is due
    monkeypatch.setattr("quintain.waits.monotonic", lambda: next(clock))
    assert main(["eval", "oracle", "KeyDoor", "-n", "12"]) == 0
    out, err = capsys.readouterr()
    told = err.splitlines()
    assert (
        3 <= len(told) <= 5 and set(told) <= {f"{n} of 12 instances" for n in range(1, 13)} and "instances\n" not in out
    )
    assert main(["eval", "random", "--suite", "quick"]) == 0
    told = capsys.readouterr().err.splitlines()
    assert told[0].split(":")[0].endswith(" of 18 worlds") and told[-1].endswith(" of 10 instances")
    assert main(["demos", "KeyDoor", "Hanoi", "-n", "9", "--levels", "0"]) == 0
    out, err = capsys.readouterr()
    assert len(out.splitlines()) == 18 and " of 18 demonstrations, Hanoi" in err.splitlines()[-1]


def test_several_tries_of_an_instance_narrow_the_interval_by_what_they_are_worth():
    def of(*shares: float) -> list[suites.Played]:
        return [suites.Played(share=s, tries=4, reward=s, turns=1, malformed=0) for s in shares]

    alike, apart = suites.score(of(0.5, 0.5, 0.5, 0.5)), suites.score(of(0.0, 1.0, 0.0, 1.0))
    widths = [row["interval"][1] - row["interval"][0] for row in (alike, apart)]
    assert alike["success"] == apart["success"] == 0.5 and widths[0] < 0.7 * widths[1]


def test_a_model_of_words_is_refused_before_anything_is_played(monkeypatch):
    cast = SimpleNamespace(renderers={"policy": SimpleNamespace(words=("up", "down"))})
    monkeypatch.setattr(suites, "cast_of", lambda *given: (None, cast))
    with pytest.raises(
        ConfigError, match="a model of words, and EmptyRoom of the suite 'small' has .* needs a model with"
    ):
        suites.casting("runs/keydoor", SMALL, [], [], {})


def test_a_policy_plays_worlds_with_the_scaffold_of_its_run_whatever_it_was_trained_in(monkeypatch):
    config = make(overrides=["env.scaffold.style=words"])
    cast = replace(
        builtin("random", make(overrides=["world=KeyDoor"])), env=lambda task: pytest.fail("the run's own env")
    )
    monkeypatch.setattr(suites, "cast_of", lambda *given: (config, cast))
    _, there = suites.casting("runs/mine", SMALL, [], [], {})("NimGame")
    env: Any = there.env(SMALL.tasks("NimGame")[0])
    assert env.facts.name == "NimGame" and env.scaffold.style == "words"


def test_the_verb_prints_domains_and_keeps_what_was_found(tmp_path, capsys, monkeypatch):
    some = replace(suite_of("spatial"), domains={"spatial": ("EmptyRoom", "KeyDoor", "MazeRoute")})
    monkeypatch.setattr("quintain.envs.suites.suite_of", {"spatial": some}.__getitem__)
    words = ["eval", "oracle", "--suite", "spatial", "--out", str(tmp_path / "kept")]
    assert main(words) == 0
    said = capsys.readouterr().out
    assert "oracle on suite spatial (instances " in said and "success 1.000" in said and "  spatial" in said
    assert main([*words, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["seeds"] == [0, 9] and found["split"] == "test" and found["player"] == "oracle"
    lines = (tmp_path / "kept" / "suite-spatial.jsonl").read_text().splitlines()
    assert len(lines) == 2 and json.loads(lines[1])["digest"] == found["digest"]
    (tmp_path / "file").touch()
    monkeypatch.setattr(suites, "play_suite", lambda *given: pytest.fail("played before it is known where to"))
    assert main([*words[:-1], str(tmp_path / "file")]) == 1 and "file" in capsys.readouterr().err
    assert "2 evaluations of 1 player<" in (tmp_path / "kept" / "suite-spatial.html").read_text()


class Talker:
    """A model behind a URL that answers `left`, and is gone after `left` requests."""

    used: Counter[str]
    left = 10**9

    def __init__(self):
        self.used = Counter()

    async def converse(self, messages, tools, request, state):
        if self.left <= 0:
            raise EngineError("http://there: gone")
        type(self).left -= 1
        self.used.update({"requests": 1})
        return Completion(tokens=(), logprobs=(), finish="stop", spans=(), text="<action>left</action>")

    async def abort(self, session):
        pass


def test_an_evaluation_behind_a_url_that_is_cut_off_goes_on_after_the_worlds_that_it_played(
    tmp_path, capsys, monkeypatch
):
    monkeypatch.setattr(Talker, "left", 10**9)
    monkeypatch.setattr("quintain.envs.suites.suite_of", lambda name: SMALL)
    monkeypatch.setattr("quintain.evals.players.build", lambda f, part: Talker() if f == "engine" else build(f, part))
    words = ["eval", "http://there", "--suite", "small", "--model", "m", "--key-env", "", "--json"]
    assert main(words) == 0
    whole, count = json.loads(capsys.readouterr().out), 10**9 - Talker.left
    monkeypatch.setattr(Talker, "left", count - 5)  # amid the last world
    words += ["--out", str(tmp_path / "kept")]
    assert main(words) == 1
    said = capsys.readouterr().err
    assert "ended after 2 of 3 worlds (EmptyRoom 0." in said and "the same command goes on" in said and "gone" in said
    (part,) = (tmp_path / "kept").iterdir()
    with part.open("a") as file:
        file.write('{"torn": ')
    Talker.left, asked = 10**9, count
    assert main([*words, "-k", "2"]) == 0  # another one begins anew, and leaves the file
    assert part.exists() and "were played before" not in capsys.readouterr().err
    Talker.left = 10**9
    assert main(words) == 0
    told = capsys.readouterr()
    assert "2 of 3 worlds were played before" in told.err and 10**9 - Talker.left < asked
    assert {**json.loads(told.out), "seconds": 0} == {**whole, "seconds": 0} and not part.exists()


@pytest.mark.parametrize(
    ("player", "kept", "after", "said"),
    [
        ("random", True, 0, "ended in the first of 3 worlds; nothing of it is kept"),
        ("random", True, 2, "); nothing of them is kept: the same command plays all of them anew"),
        (
            "http://there",
            False,
            2,
            "); nothing of them is kept; with --out FOLDER they are, and the same command goes on",
        ),
        ("http://there", True, 0, "ended in the first of 3 worlds; nothing of it is kept"),
        ("http://there", True, 2, "); they are kept in "),
    ],
)
def test_what_is_kept_of_a_suite_that_is_interrupted_is_told(player, kept, after, said, tmp_path, capsys, monkeypatch):
    real, count = suites._world, itertools.count()

    async def world(*given: Any) -> Any:
        if next(count) == after:
            raise KeyboardInterrupt
        return await real(*given)

    monkeypatch.setattr(suites, "_world", world)
    monkeypatch.setattr("quintain.envs.suites.suite_of", lambda name: SMALL)
    monkeypatch.setattr("quintain.evals.players.build", lambda f, part: Talker() if f == "engine" else build(f, part))
    words = ["--model", "m", "--key-env", ""] * player.startswith("http") + ["--out", str(tmp_path / "kept")] * kept
    assert main(["eval", player, "--suite", "small", *words]) == 130
    assert said in capsys.readouterr().err
    assert len(list(tmp_path.rglob("*.part"))) == ("they are kept" in said)


def test_what_was_played_is_told_where_the_rest_comes_to_nothing(capsys, monkeypatch):
    monkeypatch.setattr("quintain.evals.players.build", lambda f, part: Talker() if f == "engine" else build(f, part))
    monkeypatch.setattr(Talker, "left", 12 * 4 + 5)
    monkeypatch.setattr("quintain.runtime.evaluate.asyncio.Semaphore", lambda n: asyncio.locks.Semaphore(1))
    assert main(["eval", "http://there", "KeyDoor", "-n", "9", "--model", "m", "--key-env", ""]) == 1
    said = capsys.readouterr().err
    assert "ended after 4 of 9 instances (4 episodes); 53 requests; success of those 0.000 (" in said and "gone" in said
    assert "nothing of it is kept: the same command plays all of them anew" in said


def test_a_file_sets_evaluations_of_a_player_apart(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("quintain.envs.suites.suite_of", lambda name: SMALL)
    file = tmp_path / "tagged.toml"
    file.write_text('[env.scaffold]\ngrammar = "tagged"\n')
    for words in ([], [str(file)]):
        assert main(["eval", "random", *words, "--suite", "small", "--out", str(tmp_path / "kept")]) == 0
    page = (tmp_path / "kept" / "suite-small.html").read_text()
    assert "2 evaluations of 2 players" in page and f"random ({file})" in page


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--suite", "quik"], "did you mean 'quick'"),
        (["--suite", "quick", "-n", "5"], "a suite has its own worlds, levels, seeds and rewards; leave out -n"),
        (["--suite", "quick", "KeyDoor", "level=3"], "leave out world=KeyDoor, level=3"),
        (["--suite", "quick", "reward=nope"], "leave out reward=nope"),
        (
            ["--suite", "quick", "env.params.size=9", "eval.split=validation"],
            "leave out env.params.size=9, eval.split=",
        ),
        (["--suite", "quick", "--seed", "0", "--away", "level=3"], "leave out --seed, --away"),
        (["--suite", "quick", "-k", "0"], "-k is 0"),
        (["--suite", "quick", "--model", "m"], "--model m names a model behind a URL, and none plays here"),
        (["KeyDoor", "-n", "1", "--model", "m"], "--model m names a model behind a URL, and none plays here"),
        (["KeyDoor", "-n", "1", "--greedy"], "--greedy sets the temperature of a model, and random plays without one"),
        (["--suite", "quick", "--greedy"], "--greedy sets the temperature of a model, and random plays without one"),
        (["--out", "here"], "name one, such as --suite quick"),
        (["--suite", "quick", "--out", "/proc/version"], "/proc/version is a file; --out names a folder"),
    ],
)
def test_what_a_suite_fixes_cannot_be_bent(words, said, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert main(["eval", "random", *words]) == 1
    assert said in capsys.readouterr().err and not list(tmp_path.iterdir())


def test_a_file_that_names_a_world_is_refused_with_a_suite(capsys, tmp_path):
    file = tmp_path / "walk.toml"
    file.write_text('reward = "exact"\n[env]\nname = "Sokoban"\nscaffold = { grammar = "tagged" }\n')
    assert main(["eval", "random", str(file), "--suite", "quick"]) == 1
    said = capsys.readouterr().err
    assert f"leave out env.name = 'Sokoban', reward = 'exact' in {file}, or leave out --suite" in said
    assert main(["eval", "random", "keydoor", "--suite", "quick"]) == 1
    assert "leave out env.name = 'KeyDoor', env.levels = [2] in keydoor, or" in capsys.readouterr().err


def row(player: str, success: float, digest: str = "abc", **more: Any) -> dict[str, Any]:
    one = {"worlds": 1, "success": success, "interval": [0.0, 1.0]}
    domains = dict.fromkeys(("games", "logic", "spatial"), one)
    scores = {"worlds": {"NimGame": success}, "interval": [0.0, 1.0], "success": success, "domains": domains}
    return {
        "player": player,
        "suite": "small",
        "digest": digest,
        "levels": [2],
        "seeds": [0, 9],
        "split": "test",
        **scores,
        **more,
    }


def test_the_page_compares_players_on_the_same_instances_only():
    page = suite_page.page([row("old", 0.1, "xyz"), row("a<b", 0.25), row("mine", 0.5), row("a<b", 0.75)])
    assert "3 evaluations of 2 players" in page and "1 of other instances left out" in page and ">old<" not in page
    assert "a&lt;b" in page and "a<b" not in page and "0.750 " in page and "0.250" not in page.split("Domains")[1]
    assert page.count("<polygon fill=") == 2, "a star for each player"


def test_the_six_players_that_were_evaluated_last_are_shown_each_by_its_setting():
    rows = [row(f"player{i}", 0.1) for i in range(7)] + [row("player0", 0.987)]
    page = suite_page.page([*rows, row("player0", 0.5, setting="greedy"), row("player0", 0.6, setting="model A")])
    assert "player0 (greedy)" in page and "player0 (model A)" in page and "0.987" in page
    assert "player5" in page and "player3" not in page, "four others have come since"


def test_two_checkpoints_of_a_run_stand_side_by_side():
    page = suite_page.page(
        [row("runs/a", 0.1), row("runs/a", 0.25, step=50), row("runs/a", 0.75, step=100, setting="greedy")]
    )
    assert "3 evaluations of 3 players" in page and "<th>runs/a</th>" in page, "older versions kept no step"
    assert "<th>runs/a at step 50</th>" in page and "<th>runs/a at step 100 (greedy)</th>" in page
    assert "0.250 " in page and "0.750 " in page


def test_the_verb_keeps_the_step_of_the_run_that_played(tmp_path, capsys, monkeypatch):
    config = make(overrides=["env.scaffold.style=words"])
    cast = replace(
        builtin("random", make(overrides=["world=KeyDoor"])), engines={"policy": Talker()}, steps={"policy": 50}
    )
    monkeypatch.setattr(suites, "cast_of", lambda *given: (config, cast))
    monkeypatch.setattr("quintain.envs.suites.suite_of", lambda name: SMALL)
    words = ["eval", "runs/a", "--suite", "small", "--out", str(tmp_path / "kept")]
    assert main(words) == 0
    assert capsys.readouterr().out.startswith("runs/a at step 50 on suite small")
    assert json.loads((tmp_path / "kept" / "suite-small.jsonl").read_text())["step"] == 50


def test_two_players_of_a_suite_are_compared_by_domain(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("quintain.envs.suites.suite_of", lambda name: SMALL)
    words = ["eval", "oracle", "--suite", "small", "--over", "random", "--out", str(tmp_path)]
    assert main([*words, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    pairs = found["compared"]
    assert main(["eval", "random", "--suite", "small", "--json"]) == 0
    alone = json.loads(capsys.readouterr().out)
    assert (pairs["over"], pairs["success"], pairs["instances"]) == ("random", alone["success"], alone["instances"])
    assert pairs["difference"] == pytest.approx(found["success"] - alone["success"])
    for domain, row in pairs["domains"].items():
        gap = found["domains"][domain]["success"] - alone["domains"][domain]["success"]
        assert row["difference"] == pytest.approx(gap) and row["interval"][0] < gap < row["interval"][1]
        assert row["instances"] == alone["domains"][domain]["instances"]
    rows = [json.loads(line) for line in (tmp_path / "suite-small.jsonl").read_text().splitlines()]
    assert [row["player"] for row in rows] == ["oracle", "random"] and "compared" not in rows[0]
    assert main(words) == 0
    said = capsys.readouterr().out
    assert (
        said.index("oracle on suite small")
        < said.index("random on suite small")
        < said.index("oracle over random (success 0.")
    )
    assert all(f"\n  {domain} " in said.partition("oracle over random")[2] for domain in pairs["domains"])


def test_a_setting_stands_beside_the_player_that_has_it():
    given = Namespace(model="m", greedy=True, k=2)
    assert eval_verb._setting(given, "http://there", [], []) == "model m, greedy, k=2"
    assert eval_verb._setting(given, "runs/a", [], []) == "greedy, k=2"
    assert eval_verb._setting(given, "random", [], ["x=1"]) == "k=2, x=1"


def test_records_survive_a_missing_newline_and_odd_names(tmp_path):
    for name in ("runs/a\x85b", "runs/c\u2028d"):
        path = suite_page.keep(row(name, 0.5), tmp_path)
    record = tmp_path / "suite-small.jsonl"
    record.write_bytes(record.read_bytes()[:-1])  # as an editor may leave it
    suite_page.keep(row("mine", 0.75), tmp_path)
    assert [json.loads(line)["player"] for line in record.read_text().split("\n")[:-1]] == [
        "runs/a\x85b",
        "runs/c\u2028d",
        "mine",
    ]
    assert "3 evaluations of 3 players" in path.read_text()


def test_the_report_of_a_folder_of_evaluations_says_where_its_page_is(tmp_path, capsys):
    page = suite_page.keep(row("mine", 0.5), tmp_path)
    assert main(["report", str(tmp_path)]) == 1
    assert f"{tmp_path} is no run; it keeps evaluations of suites" in (said := capsys.readouterr().err)
    assert f": open {page}" in said


def test_a_damaged_record_is_named_and_left_alone(tmp_path):
    record = tmp_path / "suite-small.jsonl"
    record.write_text('{"player": "random"}\n')
    with pytest.raises(suite_page.BadRecord, match=r"line 1 of .*suite-small.jsonl is no evaluation of a suite"):
        suite_page.keep(row("mine", 0.5), tmp_path)
    assert record.read_text() == '{"player": "random"}\n' and not record.with_suffix(".html").exists()


def test_a_suite_without_worlds_is_refused():
    with pytest.raises(UnknownName, match="no world in it"):
        Suite(name="none", domains={}, levels=(1,))


def test_the_docs_name_the_sizes_of_the_suites():
    told = (Path(__file__).parents[3] / "docs" / "runs.md").read_text()
    for name, levels in (("quick", "2"), ("full", "1, 4, 7")):
        suite = suite_of(name)
        count = len(suite.worlds) * len(suite.levels) * COUNT
        assert any(f"| `{name}` |" in line and f"| {levels} | {count:,} |" in line for line in told.split("\n")), count
