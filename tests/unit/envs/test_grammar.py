"""Grammars find the action in what a policy says, and nothing where there is none."""

from __future__ import annotations

import functools
import json
from typing import Any

import pytest

from quintain.envs.grammar import GRAMMARS, TOOL, act_tool
from quintain.envs.scaffold import Scaffold
from quintain.envs.spelling import spellings
from quintain.envs.world import WorldEnv, world_of
from quintain.messages import Message, Role, Text, ToolCall
from quintain.types import Task


def found(grammar: str, text: str) -> list[str]:
    """The candidates of a text."""
    return list(GRAMMARS[grammar].find(Message(Role.assistant, (Text(text=text),))))


@pytest.mark.parametrize(
    ("grammar", "text", "first"),
    [
        ("word", " up\n", "up"),
        ("tagged", "I think <action> up </action>", "up"),
        ("tagged", "<action>down</action> no, <action>up</action>.", "up"),
        ("tagged", "<think><action>down</think> <action>1 2\n3 4</action>", "1 2\n3 4"),
        ("tagged", "<action>down</action> or <action>up", "down"),
        ("tagged", "<Action>up</ACTION>", "up"),
        ("json", 'so {"action": "up"} it is', "up"),
        ("json", '{"action": "down"} {"action": "up"}', "up"),
        ("json", '{"action": 3}', "3"),
        ("json", '{"reasoning": "The way is free.", "action": "up"}', "up"),
        ("json", '```json\n{"thought": "{a, b} are {shut}", "action": "up"}\n```', "up"),
        ("json", '{"action": "up", "explanation": "down is {shut}"}', "up"),
        ("json", '{"reason": "the set is {}", "action": "up"}', "up"),
        ("json", '{"action": [1, 2]}', "[1, 2]"),
        ("json", '{"action": 0.5}', "0.5"),
        ("json", '```json\n{ "action" : "b3=4" }\n```', "b3=4"),
        ("json", '{"rejected": {"action": "down"}, "action": "up", "why": 1}'.replace('"rejected"', '"note"'), "up"),
        ("json", '{"action": "up", "target": null}', "up"),
        ("json", '{"answer": {"action": "up"}}', "up"),
        ("json", '{"action": "up"} I set "action": "up", as it is free.', "up"),
        ("json", '{"Action": "up", "confidence": 0.9}', "up"),
    ],
)
def test_the_action_is_found(grammar: str, text: str, first: str) -> None:
    assert found(grammar, text)[0] == first


@pytest.mark.parametrize(
    ("grammar", "text"),
    [
        ("tagged", "up"),
        ("tagged", "<action>up"),
        ("tagged", "</action>up<action>"),
        ("json", "up"),
        ("json", '{"action": true}'),
        ("json", '{"action": null}'),
        ("json", '{"action": {"x": 1}}'),
        ("json", '{"action": "up", "more": 1}'),
        ("json", '{"actions": ["up"]}'),
        ("json", '{"reasoning": "up"}'),
        ("json", '{"action": "down"} {"reasoning": "{x}", "action": "up", "or": "left"}'),
        ("json", '{"action": "down"} {"action": up}'),
        ("json", '{"rejected": {"action": "down"}, "action": "up"}'),
        ("json", '{"rejected": {"action": "down"}, "action": up'),
        ("json", '{"action": "up", "alternative": {"action": "down"}}'),
        ("json", '{"best": {"action": "up"}, "second": {"action": "down"}}'),
        ("json", '{"action": "up", "Action": "down"}'),
        ("json", '{"action": ' + "[" * 5000),
        ("tool", '{"action": "up"}'),
    ],
)
def test_nothing_is_found_where_nothing_is(grammar: str, text: str) -> None:
    assert found(grammar, text) == []


def test_a_call_that_cannot_be_written_down_is_no_action() -> None:
    deep = functools.reduce(lambda inside, _: [inside], range(5000), [1])
    for action in (deep, ["a b", deep], 10**5000):
        called = ToolCall(id="1", name="act", arguments={"action": action})
        assert not list(GRAMMARS["tool"].find(Message(Role.assistant, (called,))))


@pytest.mark.parametrize("grammar", ["word", "free", "tagged", "json"])
def test_what_was_only_thought_is_no_answer(grammar: str) -> None:
    env = WorldEnv(world_of("EmptyRoom"), Scaffold(grammar=grammar))
    up, left = (GRAMMARS[grammar].write(way).text for way in ("up", "left"))

    def read(text: str) -> str | None:
        move = env.reader.read(Message.of("assistant", text), "agent")
        return move.key if move else None

    assert read(f"<think>{up}</think>{left}") == read(f"{up}\n</think>\n\n{left}") == "left"
    assert read(f"<think>\n\n</think>\n\n{left}") == read(f"{left}\n<think>or {up}") == "left"
    for thought in (f"<think>{up}</think>", f"<think>\n{up}\n</think>\n", f"<thinking>{up}", f"<think>so\n{up}"):
        assert read(thought) is read(f"{thought}</think> I am at a loss.") is None
    for opening, closing in (
        ("[THINK]", "[/THINK]"),
        ("<Thinking>", "</Thinking>"),
        ("<seed:think>", "</seed:think>"),
        ("◁think▷", "◁/think▷"),
    ):
        assert read(f"{opening}{up}{closing} I am at a loss.") is read(f"{opening}{up}") is None
        assert read(f"{opening}{up}{closing}{left}") == "left"
    for name in ("thought", "Reasoning"):
        assert read(f"<{name}>{up}</{name}> I am at a loss.") is None
        assert read(f"<{name}>{up}</{name}>{left}") == read(f"{left}\n<{name}>{up}</{name}>") == "left"
        assert grammar == "word" or read(f"<{name}>{left}</{name}>") == "left"  # there is nothing else


def test_free_text_is_searched_from_the_likeliest_place() -> None:
    assert found("free", "Down is a wall.\nAction: up.")[1] == "up"
    assert found("free", "I could go down.\nup")[1] == "up"
    assert found("free", "Action: raise to 8 (it may fold)")[1:3] == ["raise to 8 (it may fold)", "raise to 8"]


@pytest.mark.parametrize(
    ("name", "text", "key"),
    [
        ("EmptyRoom", "so I move up, then", "up"),
        ("EmptyRoom", "up, up and away", "up"),
        ("EmptyRoom", "Left or up", None),
        ("EmptyRoom", "Left, not up", "left"),
        ("EmptyRoom", "I will not go up", None),
        ("EmptyRoom", "don't go up, there is a wall", None),
        ("EmptyRoom", "I'm not sure at all, but left", "left"),
        ("EmptyRoom", "I would go left, as I'd be blocked above", "left"),
        ("HoldemFree", "Action: raise to 8 (it will probably fold)", "raise 8"),
        ("ConnectK", "Action: column C, which makes a threat", "c"),
        ("Blackjack", "I stand, since a hit would bust.", None),
        ("Gomoku", "I play E5, which blocks d4.", None),
        ("LiarsDice", "Action: 2x5, and no doubt", "2x5"),
        ("EmptyRoom", "up is blocked, so left", "left"),
        ("EmptyRoom", "up isn't possible", None),
        ("EmptyRoom", "up is not blocked", "up"),
        ("EmptyRoom", "anything but up", None),
        ("EmptyRoom", "left instead of up", "left"),
        ("EmptyRoom", "~~up~~ left", "left"),
        ("AngleChase", "116 is wrong", None),
        ("AngleChase", "≠ 116", None),
        ("AngleChase", "26^2", None),
        ("AngleChase", "not 26 but 116", None),
        ("AngleChase", "some 18,000", None),
        ("AngleChase", "it is 116-119", None),
        ("AngleChase", "it is 116+1", None),
        ("AngleChase", "it is 1/116", None),
        ("AngleChase", "it is 116.5 or so", None),
        ("AngleChase", "it is 26%", None),
        ("AngleChase", "So the angle has 116, by 1. and 2.", "116"),
        ("AngleChase", "It is more than 90, so 116", "116"),
        ("HoldemFree", "raise 8 seems best", None),
        ("HoldemFree", "a raise seems best", "raise"),
        ("PipeTurn", "a1 3 as the way is open", None),
        ("Klotski", "e right 1 or c up 1", None),
        ("Klotski", "d right -1", None),
        ("ChessLegal", "do not play c2 d2 e2 e1", None),
        ("EmptyRoom", "I give up.", None),
        ("EmptyRoom", "First, I need to set up the problem.", None),
        ("EmptyRoom", "Let me write down the board.", None),
        ("EmptyRoom", "Now I go down the hall", "down"),
        ("EmptyRoom", "I have 10 turns left.", None),
        ("EmptyRoom", "Is there a wall on my left?", None),
        ("EmptyRoom", "I'm not sure which one is right.", None),
        ("EmptyRoom", "Right, let me see.", None),
        ("EmptyRoom", "Right it is", "right"),
        ("EmptyRoom", "if I go left I lose", None),
        ("EmptyRoom", "no left, so up", "up"),
        ("EmptyRoom", "up fails, left then", "left"),
        ("EmptyRoom", "Wrong: up\nso left then", "left"),
        ("EmptyRoom", "Left, okay? Up", "up"),
        ("EmptyRoom", "The goal is north of me, so I go east.", None),
        ("EmptyRoom", "Let me go west", "left"),
        ("EmptyRoom", "Right, as the left is a dead end.", None),
        ("EmptyRoom", "It turns out: up", "up"),
        ("EmptyRoom", "1. The key is above.\n2. The door is to the left.\n3. up", "up"),
        ("LaneCross", "I wait: a car comes from the left", None),
        ("LaneCross", "wait, because it is safe", "wait"),
        ("ConnectK", "Choose A over B", None),
        ("ConnectK", "A completes the line", "a"),
        ("CopsRobber", "vertex I is best", "I"),
        ("KuhnPoker", "if he bets I call", "call"),
        ("GoBoard", "I pass the turn", "pass"),
        ("MazePlan", "The route is rrd.", "r r d"),
        ("MazePlan", "go luul", "l u u l"),
        ("Mastermind", "The code AAB-B", "a a b b"),
        ("AngleChase", r"It is $119\text{ degrees}$.", "119"),
        ("EmptyRoom", "Plan:\n1. up\n2. left", None),  # the next one is the first
        ("EmptyRoom", "- up", "up"),
        ("JumpRunner", "don't jump-right", None),
        ("JumpRunner", "Wait, I made a mistake.", None),
        ("JumpRunner", "Now I wait", "wait"),
        ("Corridor3D", "Let's think step by step.", None),
        ("Corridor3D", "step back", None),
        ("Corridor3D", "I would go north", None),
        ("Corridor3D", "Now I go left", "left"),
        ("CliqueMax", "I don't know.", None),
        ("CliqueMax", "As an AI language model, I play no games.", None),
        ("ConnectK", "This is a tough position.", None),
        ("ConnectK", "Column d is a good choice.", "d"),
        ("Blackjack", "Let me double-check that.", None),
        ("BlockFall", "It is my turn.", None),
        ("Hanoi", "I'm sorry, but I can't help with that.", None),
        ("EmptyRoom", "Action: up because left is blocked", "up"),
        ("MazePlan", "Let me see.", None),
        ("MazePlan", "see", "d r r"),
        ("Mastermind", "I look at each option.", None),
        ("Mastermind", "each", "e a c h"),
        ("CliqueMax", "I think A is best", "A"),
        ("EmptyRoom", "the best is left", "left"),
        ("AngleChase", "minus 119", None),
        ("AngleChase", r"\frac{119}{2}", None),
        ("AngleChase", r"So it is $119^\circ$.", "119"),
        ("HoldemLimitDuel", "I muck; the raise is too much.", None),
        ("HoldemLimitDuel", "A raise would be a mistake.", None),
        ("HoldemLimitDuel", "I considered a raise; no.", None),
        ("HoldemLimitDuel", "The opponent's raise was big. I give up.", None),
        ("HoldemLimitDuel", "No way I fold this hand!", None),
        ("HoldemLimitDuel", "My opponent loves to raise.", None),
        ("HoldemLimitDuel", "I'd love to raise but", None),
        ("HoldemLimitDuel", "I'd love to raise, but I can't.", None),
        ("LiarsDuel", "To doubt would lose the round.", None),
        ("LiarsDuel", "There is little reason to doubt.", None),
        ("LiarsDuel", "I see no reason to doubt.", None),
        ("GomokuDuel", "Playing d6 would be a mistake.", None),
        ("GomokuDuel", "d6 is a losing move", None),
        ("GomokuDuel", "d6 would be a blunder", None),
        ("GomokuDuel", "I would lose after d6.", None),
        ("ChessDuel", "d1d8 would be a blunder.", None),
        ("PaddleMatch", "Going left would be a mistake.", None),
        ("PaddleMatch", "My paddle is too far left.", None),
        ("PaddleMatch", "The ball is to my left.", None),
        ("PaddleMatch", "The ball is to my left, so left", "left"),
        ("PaddleMatch", "The ball is to my left and I go left.", "left"),
        ("PaddleMatch", "My paddle is too far left, so I go right", "right"),
        ("HoldemLimitDuel", "I think it is a mistake to wait, so: raise", "raise"),
        ("HoldemLimitDuel", "The opponent raised; I call.", "call"),
        ("HoldemLimitDuel", "The opponent raised and I call.", "call"),
        ("HoldemLimitDuel", "It would be a mistake to fold, so I call", "call"),
        ("HoldemLimitDuel", "I raise because the opponent folds too often.", "raise"),
        ("HoldemLimitDuel", "I raise, as he is too weak to call.", "raise"),
        ("HoldemLimitDuel", "My hand is too weak to raise.", None),
        ("HoldemLimitDuel", "My hand is too weak, so fold.", "fold"),
        ("HoldemLimitDuel", "I raise or I will lose.", "raise"),
        ("HoldemLimitDuel", "I raise, otherwise I would lose.", "raise"),
        ("HoldemLimitDuel", "Fold? No. Raise.", "raise"),
        ("HoldemLimitDuel", "The opponent is bluffing - call", "call"),
        ("EmptyRoom", "Up and down would be a mistake.", None),
        ("EmptyRoom", "Up as well as left would be a mistake.", None),
        ("EmptyRoom", "There is no way out on that side, so up", "up"),
        ("EmptyRoom", "There is no reason to go up, so left", "left"),
        ("GomokuDuel", "d6, which would be a mistake otherwise", "d6"),
        ("GomokuDuel", "Playing d6 would be a mistake, so e5.", "e5"),
        ("HoldemFreeDuel", "I will raise to 10 because the opponent folds 70% of the time.", "raise 10"),
        ("HoldemFreeDuel", "With 48 chips behind I raise to 12.", "raise 12"),
        ("HoldemFreeDuel", "I raise to 10 or 12.", None),
        ("HoldemFreeDuel", "I raise to 10 as the pot is 8", None),
        ("HoldemFreeDuel", "raise to 10 or raise to 12, I think", None),
        ("HoldemFreeDuel", "I call to see 8 more", "call"),
        ("HoldemFreeDuel", "A raise to 10 would be too much.", None),
        ("HoldemFreeDuel", "I would not raise to 10, so call", "call"),
        ("HoldemFreeDuel", "I would fold to a raise to 10, but call", None),
        *(
            ("HoldemFreeDuel", f"{said} raise to 8 {more}.", None)
            for said, more in (("Given the", "I match it"), ("After his", ""))
        ),
        ("HoldemLimitDuel", "I raise. Two pair is strong.", "raise"),
        *(
            ("EmptyRoom", f"{said} up", "up")
            for said in ("My rival forces me to go", "The enemy is near and", "They answer; best is")
        ),
        *(
            ("EmptyRoom", f"up {said}", "up")
            for said in ("would lose nothing", "is too good to skip", "is a losing move for them")
        ),
        *(
            ("EmptyRoom", f"Down looks fine. {said} up", None)
            for said in ("I will lose the least by", "It is a mistake to ignore")
        ),
        *(
            ("EmptyRoom", f"Down looks fine. {said} up", None)
            for said in ("The enemy's threat means I must go", "No way I lose by")
        ),
        ("EmptyRoom", "I go up and the opponent wants to stop me but it can't.", "up"),
        ("BrickBounce", "Hold on! Let me think.", None),
        ("BrickBounce", "Hold on. Left.", "left"),
        ("GinRummy", "The deck is nearly empty, take the pile", "pile"),
        ("TicTacToe", "b2 makes a line of 2x", "b2"),
        ("TicTacToe", "Option 2a", None),
        ("ChessGame", "Knight to f3 looks natural, I prefer e4.", "knight"),
        ("ChessGame", "I want to castle later.", None),
        ("ChessGame", "I think castling short is best", "short"),
        ("ChessGame", "The best is castling long.", "long"),
        ("HoldemLimitDuel", "The opponent doesn't want me to raise.", None),
        ("ChessGame", "Black just played Qd8.", None),
        ("ChessGame", "White plays d1d8", "d1 d8"),
        ("ChessGame", "White's best move is d1d8.", "d1 d8"),
        ("ChessGame", "The opponent's king is on e8, so d1d8", "d1 d8"),
        ("EmptyRoom", "The way is long, they say; up", "up"),
        ("EmptyRoom", "I think left, but no", None),
        ("EmptyRoom", "Is left free? No.\nUp is", "up"),
    ],
)
def test_single_words_of_free_text_count_where_they_name_one_action(name: str, text: str, key: str | None) -> None:
    env = WorldEnv(world_of(name), Scaffold(grammar="free"))
    move = env.reader.read(GRAMMARS["free"].write(text), env.facts.seats[0])
    assert (move and move.key) == key


@pytest.mark.parametrize("grammar", GRAMMARS)
@pytest.mark.parametrize("action", ["up", "1 2 / 3 4", "b3=4", "place 3"])
def test_what_is_written_is_found(grammar: str, action: str) -> None:
    message = GRAMMARS[grammar].write(action)
    assert next(GRAMMARS[grammar].find(message)) == action


def test_a_tool_call_must_be_one_call_of_the_tool() -> None:
    def of(*calls: ToolCall) -> list[str]:
        return list(GRAMMARS["tool"].find(Message(Role.assistant, calls)))

    up = ToolCall(name=TOOL, arguments={"action": "up"})
    assert of(up) == ["up"]
    assert of(up, up) == of(ToolCall(name="go", arguments={"action": "up"})) == of() == []
    assert act_tool("a direction").parameters["required"] == ["action"]


@pytest.mark.parametrize(
    ("name", "said", "text"),
    [
        ("WaterSort", [2, 4], "2 4"),
        ("Breakthrough", ["b2", "c3"], "b2 c3"),
        ("AdjacencyRead", [[0, 1, 0], [1, 0, 1], [0, 0, 0]], "0 1 0 / 1 0 1 / 0 0 0"),
        ("AdjacencyRead", ["0 1 0", "1 0 1", "0 0 0"], "0 1 0 / 1 0 1 / 0 0 0"),
        ("ColourMin", ["A C", "B D", "E"], "A C / B D / E"),
        ("CutPolygon", [[3, 4], [9, 12]], "(3,4) (9,12)"),
    ],
)
def test_a_list_is_read_as_the_text_that_says_the_same(name: str, said: list[Any], text: str) -> None:
    world = world_of(name)
    seat = world.facts.seats[0]
    wanted = WorldEnv(world, Scaffold(grammar="word")).reader.read(GRAMMARS["word"].write(text), seat)
    call = Message(Role.assistant, (ToolCall(name=TOOL, arguments={"action": said}),))
    for grammar, message in (("json", Message.of("assistant", json.dumps({"action": said}))), ("tool", call)):
        assert WorldEnv(world, Scaffold(grammar=grammar)).reader.read(message, seat) == wanted is not None


@pytest.mark.parametrize("grammar", ["json", "tool"])
def test_a_value_that_is_no_action_is_told_what_is_wanted(grammar: str) -> None:
    env = WorldEnv(world_of("KeyDoor"), Scaffold(grammar=grammar))
    env.begin(Task(key="t", env="KeyDoor", seed=1, level=2))
    for value in (True, None, {"way": "up"}):
        call = ToolCall(name=TOOL, arguments={"action": value})
        said = call if grammar == "tool" else Text(text=json.dumps({"action": value}))
        heard = env.advance({"agent": Message(Role.assistant, (said,))})["agent"]
        told = str(heard.messages[0].parts[0])
        assert heard.events == ("malformed",) and "the turn is spent. What is wanted is" in told
        assert "a text, a number or a list." in told


def test_long_texts_cost_little() -> None:
    assert found("tagged", "x" * 200_000 + "<action>up</action>") == ["up"]
    assert found("json", '{"action": "up"}' + " " * 100) == ["up"]
    assert found("tagged", "<action>" * 20_000) == []


@pytest.mark.parametrize(
    ("text", "others"),
    [
        ("up", []),
        ("up.", ["up"]),
        ("a5 /.", ["a5 /"]),
        ("2,H", ["2 H"]),
        ("h\tup\t3.", ["h\tup\t3", "h up 3"]),
        ("1 2 / 3 .", []),
        ("....", []),
        (".", []),
        ("a b\nc d", []),
        ("(b3)", ["b3"]),
        ('"up".', ['"up"', "up"]),
        ("[(a, b)]", ["[(a b)]", "a b"]),
        ("(a, b), (c, d)", ["(a b) (c d)", "a b) (c d"]),  # rows stay rows
        ("[H], [K]", ["[H] [K]", "H] [K", "H K"]),
        ("[[H], [K]]", ["[[H] [K]]", "H] [K", "H K"]),
        ("[1], [2]", ["[1] [2]", "1] [2"]),
        ("go to warm", ["to warm", "warm"]),
        ("- 3", []),  # it may be less than nothing
        ("1 _ 2", []),  # an empty cell
        ("- jump_left", ["jump left"]),
        ("I move b2 → c3", ["I move b2 c3", "move b2 c3", "b2 c3"]),
        ("()", []),
    ],
)
def test_small_faults_are_mended_last(text: str, others: list[str]) -> None:
    assert list(spellings(text)) == [text, *others]


@pytest.mark.parametrize("grammar", ["free", "tagged"])
@pytest.mark.parametrize(
    ("name", "text", "key"),
    [
        ("EmptyRoom", "\u200bup\u200b", "up"),
        ("EmptyRoom", "\ufeffup", "up"),
        ("EmptyRoom", "➡\ufe0f", "right"),
        ("WaterSort", "2\u00a04", "2 4"),
        ("WaterSort", "２ ４", "2 4"),
        ("BubbleShot", "a\u202fleft", "a left"),
        ("HoldemFree", "raise ８", "raise 8"),
        ("Klondike", "3\u20115", "3-5"),
        ("WildTTT", "a\u200b1 x", "a1 x"),
    ],
)
def test_signs_that_look_alike_are_read_alike(grammar: str, name: str, text: str, key: str) -> None:
    env = WorldEnv(world_of(name), Scaffold(grammar=grammar))
    seat = env.facts.seats[0]
    assert env.reader.read(GRAMMARS[grammar].write(text), seat) == env.world.read(key, seat) is not None


@pytest.mark.parametrize(
    ("name", "text", "key"),
    [
        ("KeyDoor", "up 1", "up"),
        ("KeyDoor", "Move one cell up.", "up"),
        ("FogMap", "move up one step", "up"),
        ("MazeRoute", "go one step to the left", "left"),
        ("RouteMap", "move 1 square north", "north"),
        ("PatrolGuard", "wait one turn", "wait"),
        ("PelletMaze", "Wait for a turn", "wait"),
        ("Maze3D", "move forward one cell", "forward"),
        ("Maze3D", "left 1", "left"),
        ("Maze3D", "one cell to the left", None),  # left is a turn there
        ("Maze3D", "step right one step", None),
        ("KeyDoor", "up 2", None),
        ("KeyDoor", "up 1, left 1", None),
        ("KeyDoor", "one step up one step", None),
        ("KeyDoor", "not up 1", None),
        ("KeyDoor", "up a", None),
    ],
)
def test_one_step_is_a_step(name: str, text: str, key: str | None) -> None:
    env = WorldEnv(world_of(name), Scaffold(grammar="word"))
    move = env.reader.read(GRAMMARS["word"].write(text), "agent")
    assert (move and move.key) == key


@pytest.mark.parametrize(
    ("name", "text", "key"),
    [("MetroTrip", "2,H", "2 H"), ("WaterSort", "2  4.", "2 4"), ("RushHour", "h\tup\t3", "h up 3")],
)
def test_worlds_read_gaps_as_blanks(name: str, text: str, key: str) -> None:
    env = WorldEnv(world_of(name), Scaffold(grammar="word"))
    assert env.reader.read(GRAMMARS["word"].write(text), "agent") == env.world.read(key, "agent") is not None


@pytest.mark.parametrize("grammar", ["free", "tagged"])
@pytest.mark.parametrize(
    "around",
    [
        "```text\n{}\n```",
        "**Final answer:** {}",
        "**Answer: {}**",
        "### Answer\n{}",
        "My move is {}.",
        "**Action**: {}",
        "So the answer is: **{}**.",
        "So I choose {}.",
        "\\[\n\\boxed{{{}}}\n\\]",
        "**\\boxed{{{}}}**",
        "$\\text{{{}}}$",
        "\\({}\\)",
        "<answer>\n{}\n</answer>",
        "Answer:\n```\n{}\n```",
    ],
)
def test_the_dress_of_an_answer_is_read_over(grammar: str, around: str) -> None:
    for name, key in (("PipeTurn", "a1 3"), ("ChessGame", "e2 e4")):
        env = WorldEnv(world_of(name), Scaffold(grammar=grammar))
        text = GRAMMARS[grammar].write(around.format(key)).text
        said = text if grammar == "tagged" or "### " in around else f"I could play a1 2, or a1 1.\n\n{text}"
        move = env.reader.read(Message.of("assistant", said), "agent")
        assert move == env.world.read(key, "agent") is not None


@pytest.mark.parametrize("text", ["A C", "<b>A C</b>", "<strong>A C</strong>."])
def test_a_tag_is_no_part_of_an_answer(text: str) -> None:
    env = WorldEnv(world_of("ColourMix"), Scaffold())
    move = env.reader.read(GRAMMARS["tagged"].write(text), "agent")
    assert move and move.key == "A C"


def test_what_names_an_answer_again_and_again_is_no_answer() -> None:
    assert list(spellings("answer: " * 2_400 + "up"))[1].startswith("answer: ")
    assert world_of("EmptyRoom").read(list(spellings("answer: up"))[-1], "agent") is not None


@pytest.mark.parametrize("world", ["NQueens", "KnightsKnaves", "Tents", "KeyDoor"])
@pytest.mark.parametrize("denied", ["not: {}", "**Not:** {}", "not {}"])
@pytest.mark.parametrize("grammar", ["word", "free", "tagged"])
def test_an_answer_that_is_denied_is_not_played(world: str, denied: str, grammar: str) -> None:
    env = WorldEnv(world_of(world), Scaffold(grammar=grammar))
    env.begin(Task(key="k", env=world, seed=3, level=4))
    right = env.world.solve(env.state, "agent").moves[0].key
    write = "<action>{}</action>".format if grammar == "tagged" else str
    assert env.reader.look(Message.of("assistant", write(right)), "agent").key == right
    assert env.reader.look(Message.of("assistant", write(denied.format(right))), "agent") is None
