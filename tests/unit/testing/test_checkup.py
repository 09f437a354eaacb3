"""Worlds of one's own that are wrong without an error: the doctor finds each, and nothing in those that are right."""

from __future__ import annotations

import json

import pytest

from quintain.cli import main
from quintain.testing import checkup, worlds

START = 'rng = Rng("CornerWalk", seed, level, split)'
PLAN = '(CHOICES["right" if far > 0 else "left"],) * abs(far)'
WON = 'Outcome(after, {SOLO: {"success": 1.0}}, True) if to == state.goal else Outcome(after)'
CAPTION = 'return " ".join('
BLOCKED = "to = state.at"
GOAL = "return Line(size, rng.pick([i for i in range(size) if i != goal]), goal"
WRONG = [  # what is written instead of what, and what is told of it
    ('name="CornerWalk"', 'name="Walker"', "gave 'Walker', a str; it should give the registered name"),
    ('register("world", "CornerWalk"', 'register("world", "Corner Walk"', "registered as 'Corner Walk'; a name has letters"),
    ('example="left"', 'example="jump"', "`read` gave None for `facts.example`, 'jump'; it should give a Move"),
    ('{"random": ', '{"randum": ', "`facts.ceilings`: unknown player 'randum'; did you mean 'random'?"),
    ('{"random": 0.6', '{"random": 7', "`facts.ceilings` gave random=7"),
    ('example="left",', 'example="left", sayings={"blocked": 3},', "gave 3, a int; it should give a sentence for 'blocked'"),
    (START, f'{START}; assert level != 7, "no cells"', "AssertionError: no cells (CornerWalk.start, {file}:"),
    (START, f'{START}; assert split == "train"', "(level 0, seed 1, split validation, and 19 more like it)"),
    (START, "import random; rng = random.Random(); rng.pick = rng.choice", "`start` gave two states for one seed"),
    (START, 'rng = Rng("CornerWalk", level)', "1 of 100 starts of level 5 differ; `facts.variety`"),
    ('example="left",', 'example="left", variety=9999,', "28 of 100 starts of level 5 differ; `facts.variety` gave 9999"),
    ("import Rng\n", "import Rng\nfrom quintain.worlds.splits import drawn\n", "are in the splits train and test"),
    (GOAL, f"{GOAL}, lambda: 1", "the field `more` of the state that `start` gave cannot be written and read back"),
    (GOAL, f"{GOAL}, (1, 2)", "the field `more` of the state that `start` gave, (1, 2), is read back as [1, 2]"),
    (GOAL, f"{GOAL}, [1]", "`start` gave a state whose `more` holds a list"),
    (BLOCKED, "import random; to = random.Random().choice((0, 1)) + state.at", "`step` gave two outcomes for one state"),
    (BLOCKED, "object.__setattr__(state, 'at', state.goal // 2); to = state.at", "changed the state that it was given"),
    (CAPTION, f"object.__setattr__(state, 'size', state.size + 1); {CAPTION}", "`view`, or what it shows, changed the state"),
    ('return (f"P{state.at}",)', 'return {f"P{state.at}"}', "a set; it should give a tuple of words (level 0, seed 0"),
    ('return (f"P{state.at}",)', 'return ("Q",)', "`moving` gave ['Q']; it should give words of `words(0)`"),
    ("return 2 * state.size", "return 0", "`turns` gave 0, a int; it should give a whole number of at least 1"),
    ("return 2 * state.size", "return 1", "`solve` of a start gave a plan of "),
    (CAPTION, f"return None and {CAPTION[7:]}", "`caption` gave None, a NoneType"),
    (CAPTION, f'return "\\ud800" + {CAPTION[7:]}', "UnicodeEncodeError"),
    ('"brick"', '"brik"', "`scene` gave unknown colour as fill 'brik'"),
    ("return View(self, state, seat)", "return View(self, state, seat, False)", "no seat a View that `acts`"),
    ("return rng.pick(self.legal(state, seat))", "return Move('jump')", "`sample` gave the move 'jump', and `read` of that None"),
    ("return tuple(m for m", "return (Move('go'),) + tuple(m for m", "`legal` gave the move 'go', and `read` of that None"),
    ("return CHOICES.read(text)", "return CHOICES[text]", "of what nobody should say, "),
    (PLAN, f"{PLAN[:-11]} * 1", "a plan of 1 move, which does not end the episode; `demos --why` would announce it"),
    (PLAN, f"{PLAN} * 2", ", and the episode ends after "),
    (PLAN, f"{PLAN}, value=2.0", "which earns 1; it promises 2"),
    ("if not far:", "if state.size == 11:", "`solve` gave Unsolvable(reason='the episode is over') for a start"),
    ("far = state.goal - state.at", "far = 1 / 0", "ZeroDivisionError: division by zero (CornerWalk.solve, {file}:"),
    (WON, WON.replace("1.0", "5.0"), "`step` gave 5 to 'agent' in one episode; it should give from 0 to 1"),
    (WON, WON.replace("1.0", "-1.0"), "`step` gave -1 to 'agent' in one episode"),
    (WON, WON.replace("SOLO: {", "'me': {"), "`step` gave rewards or events of unknown seat 'me'"),
    (WON, f"{WON}._replace(state=3)", "`step` gave the state 3; it should give a Line, the `schema`"),
    ('"random": 0.6', '"random": 0.0', "the random player earns "),
    ('"first": 0.6', '"first": 0.0', "the first player earns "),
    ('"constant": 0.6', '"constant": 0.0', "the constant player earns "),
    (CAPTION, f"return str([m.key for m in getattr(self.solve(state, seat), 'moves', ())]) + {CAPTION[7:]}", "the oracle's whole plan"),
    (BLOCKED, f"print('hello'); {BLOCKED}", "standard output, where verbs write data, was printed to: it gave 'hello'"),
    (BLOCKED, f"raise SystemExit(3); {BLOCKED}", "SystemExit: 3 (CornerWalk.step, {file}:"),
    ("return CornerWalk()", "return CornerWalk", "what is registered gave <class "),
]  # fmt: skip


@pytest.fixture
def base(tmp_path, capsys, registered_for_now):
    assert main(["new", "world", "corner_walk", "--into", str(tmp_path)]) == 0
    capsys.readouterr()
    (tmp_path / "corner_walk.py").write_text(
        (tmp_path / "corner_walk.py").read_text().replace("    goal: int\n", "    goal: int\n    more: object = None\n")
    )
    worlds._reader.cache_clear()  # of another test's world of that name
    return tmp_path / "corner_walk.py"


@pytest.mark.parametrize(("old", "new", "told"), WRONG)
def test_what_is_wrong_is_found_with_its_place(old, new, told, base, capsys):
    text = base.read_text()
    assert text.count(old) >= 1
    base.write_text(text.replace(old, new, 1))
    assert main(["doctor", str(base)]) == 1
    said, err = capsys.readouterr()
    assert told.replace("{file}", str(base)) in said and not err, said
    assert "Traceback" not in said and ": 10 levels, 3 seeds each, " in said.splitlines()[-1]


def test_what_is_right_has_no_finding(base, capsys, monkeypatch):
    assert main(["doctor", str(base)]) == 0
    ok, last = capsys.readouterr().out.splitlines()
    assert ok.split() == ["ok", "True"] and last.startswith("examined     CornerWalk: 10 levels, 3 seeds each, ")
    assert last.endswith(" turns: nothing found; 28 of 100 starts of level 5 differ")
    assert main(["doctor", "Hanoi", "NimDuel", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (
        found["ok"] and not found["findings"] and [of.split(":")[0] for of in found["examined"]] == ["Hanoi", "NimDuel"]
    )
    monkeypatch.setattr(checkup, "SLOW_S", -1.0)
    (told, *_) = checkup.examine("Hanoi").findings
    assert (
        told
        == "Hanoi: `start` gave a state after 0.0 s; -1 s is the most (level 0, seed 0, split train, and 49 more like it)"
    )


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["KeyDoor", "--repair"], "--repair and --bytes are for a run folder, which KeyDoor is not"),
        (["KeyDoor", "env.params.size=5"], "env.params.size=5: worlds are examined as their levels set them"),
        (["KeyDoor", "Hanio"], "did you mean 'Hanoi'?"),
        (["no_run"], "no_run"),
    ],
)
def test_what_is_no_world_is_refused(words, told, capsys):
    assert main(["doctor", *words]) == 1
    said = capsys.readouterr()
    assert told in said.out + said.err
