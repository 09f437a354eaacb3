"""Scaffolds are values: each option changes what a policy sees, and impossible ones are refused."""

from __future__ import annotations

import re
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from quintain.envs.scaffold import STYLES, Scaffold, ScaffoldError, sentences
from quintain.envs.world import WorldEnv, world_of
from quintain.messages import Message
from quintain.ports import SOLO
from quintain.registry import UnknownName
from quintain.testing.worlds import task_of
from quintain.types import Stop
from quintain.worlds.kernel import Facts

TASK = task_of("KeyDoor", 1, 2)


def said(scaffold: Scaffold, *actions: str) -> list[Message]:
    """The messages of an episode's first turns."""
    env = WorldEnv(world_of("KeyDoor"), scaffold)
    heard = [env.begin(TASK)[SOLO]]
    heard += [env.advance({SOLO: env.reader.grammar.write(a)})[SOLO] for a in actions]
    return [m for f in heard for m in f.messages]


def test_each_option_shows() -> None:
    base = Scaffold()
    opening = said(base)[0].text
    assert "locked door" in opening and "<action>up</action>" in opening and "You have 16 turns; " in opening
    assert opening.endswith(world_of("KeyDoor").view(world_of("KeyDoor").start(1, 2), SOLO).caption(2))
    assert "Each key" not in said(replace(base, rules=False))[0].text
    assert said(replace(base, caption=1))[0].text.endswith("The goal is at row 4, column 2.")
    assert said(replace(base, caption=0, image=64))[0].images[0].pixels.shape == (64, 64, 3)
    assert not said(base)[0].images
    assert said(base, "right")[1].text.startswith("Something solid")
    assert said(replace(base, feedback=False), "right")[1].text.startswith(". .")
    assert "Last actions: up, right." in said(replace(base, history=2), "left", "up", "right")[3].text


def test_words_name_static_things_once() -> None:
    first, second = said(Scaffold.of({"style": "words"}), "left")
    assert first.text == "#02 #12 #22 #24 #30 G31 #32 P44 a33 A42"
    assert second.text == "P43 a33 A42"
    keyed = said(Scaffold.of({"style": "words"}), "left", "up", "down", "left", "up")
    assert [m.text for m in keyed[2:]] == ["P33 A42", "P43 A42", "P42", "P42"]


@pytest.mark.parametrize(
    ("options", "error", "match"),
    [
        ({"capton": 1}, UnknownName, "did you mean 'caption'"),
        ({"grammar": "jason"}, UnknownName, "did you mean 'json'"),
        ({"style": "plane"}, UnknownName, "did you mean 'plain'"),
        ({"caption": 3}, ScaffoldError, r"caption is 3; it is one of \(0, 1, 2\)"),
        ({"image": 8}, ScaffoldError, "32 to 2048"),
        ({"image": "big"}, ScaffoldError, "image is 'big'; it is an integer, like 0"),
        ({"rules": 1}, ScaffoldError, "rules is 1; it is true or false"),
        ({"grammar": 3}, ScaffoldError, "grammar is 3; it is a word"),
        ({"penalty": -1.0}, ScaffoldError, "must be >= 0"),
        ({"caption": 0}, ScaffoldError, "shows nothing"),
        (
            {"caption": 0, "image": 64, "style": "words"},
            ScaffoldError,
            "caption is 0, and style words has words in its place",
        ),
        (
            {"history": 2, "style": "words"},
            ScaffoldError,
            "history is 2, and style words, which has no past actions, would",
        ),
        (
            {"rules": False, "style": "words"},
            ScaffoldError,
            "rules is false, and .* leave rules out or set style=plain",
        ),
        ({"feedback": False, "style": "words"}, ScaffoldError, "feedback is false, and style words, which has no sent"),
    ],
)
def test_impossible_scaffolds_are_refused(options: dict, error: type[Exception], match: str) -> None:
    with pytest.raises(error, match=match):
        Scaffold.of(options)


def test_words_take_what_plain_text_has_by_itself() -> None:
    options = {"history": 0, "rules": True, "feedback": True, "countdown": False, "caption": 2, "turns": 5}
    assert Scaffold.of({**options, "style": "words"}).turns == 5


def test_events_become_sentences_in_order() -> None:
    facts = Facts(name="x", rules="", answer="", example="", sayings={"took": "You took {}.", "fell": "You fell."})
    assert sentences(("took:a", "secret", "fell"), facts) == "You took a. You fell."
    assert "can be read" in sentences(("malformed",), facts)


def test_an_action_that_costs_the_last_turn_is_not_said_to_change_nothing() -> None:
    own = Facts(name="", rules="", answer="", example="", sayings={"illegal": "Not that.", "won": "You win."})
    assert (
        sentences(("malformed",), own, Stop.parse_error)
        == "That is not an action that can be read; the episode is over."
    )
    assert sentences(("illegal", "won"), own, Stop.parse_error) == "Not that; the episode is over. You win."
    bare = Facts(name="", rules="", answer="", example="")
    assert sentences(("illegal",), bare, Stop.truncated_turns) == "The rules do not allow that; the episode is over."
    assert sentences(("illegal", "won"), own, Stop.truncated_turns) == "Not that; the episode is over. You win."
    assert sentences(("won",), own, Stop.truncated_turns) == "You win. The turns are used up."
    assert sentences((), own, Stop.truncated_turns) == "The turns are used up." and not sentences((), own, Stop.done)
    assert sentences(("illegal",), bare) == "The rules do not allow that; the turn is spent."


def test_the_opening_says_whose_turns_there_are_and_what_takes_one() -> None:
    def opening(name: str, **options: Any) -> str:
        env = WorldEnv(world_of(name), Scaffold(**options))
        return next(iter(env.begin(task_of(name, 1, 1)).values())).messages[0].text

    takes = "turns; an answer that cannot be read or is not allowed takes one, too."
    assert re.search(rf"\nYou have \d+ {takes}\n", opening("KeyDoor"))
    forfeit = "cannot be read or is not allowed takes none, but a player's third one loses the match."
    both = r"\nYou and the other player have together \d+ turns; an answer that"
    assert re.search(rf"{both} {forfeit}\n", opening("NimDuel"))
    assert re.search(rf"{both} cannot be read loses the match, as does ", opening("NimDuel", strict=True))
    assert re.search(
        r"\nYou have \d+ turns; an answer that cannot be read ends them.\n", opening("KeyDoor", strict=True)
    )
    assert "\nYou have one turn.\n" in opening("MiniSudoku")
    three = Facts(name="", rules="", answer="", example="", seats=("a", "b", "c"))
    text = STYLES["plain"].open(SimpleNamespace(caption=lambda level: "a board"), three, Scaffold(), 9)
    assert "\nYou and the other players have together 9 turns;" in text


def test_the_last_actions_that_a_seat_is_reminded_of_are_its_own() -> None:
    env, told = WorldEnv(world_of("NimDuel"), Scaffold(history=2)), []
    env.begin(task_of("NimDuel", 1, 1))
    for _ in range(3):
        (seat,) = env.movers
        move = env.world.view(env.state, seat).legal()[0].key
        out = env.advance({seat: Message.of("assistant", f"<action>{move}</action>")})
        told.append((move, out[next(iter(env.movers))].messages[0].text))
    (first, before), (second, after), (_, last) = told
    assert "Last actions" not in before
    assert f"Last actions: {first}." in after and f"Last actions: {second}." in last


def test_fewer_turns_are_told_counted_down_and_kept() -> None:
    env = WorldEnv(world_of("NimDuel"), Scaffold(turns=3, countdown=True, history=1))
    out = env.begin(task_of("NimDuel", 1, 1))
    assert "\nYou and the other player have together 3 turns;" in out["first"].messages[0].text
    heard = []
    while env.stop is None:
        copy = env.fork()
        (seat,) = env.movers
        copy.restore(env.snapshot())
        answer = {seat: Message.of("assistant", f"<action>{env.world.view(env.state, seat).legal()[0].key}</action>")}
        out = env.advance(answer)
        assert copy.advance(answer) == out
        seat = next(iter(env.movers), seat)
        heard.append(out[seat].messages[0].text)
    assert env.turn == 3 and env.stop is Stop.truncated_turns
    assert ["Turns left: 2." in heard[0], "Turns left: 1." in heard[1], "Turns left" in heard[2]] == [True, True, False]
    own = world_of("KeyDoor").turns(WorldEnv(world_of("KeyDoor")).reader.start(TASK))
    for turns, limit in ((0, own), (own + 5, own), (2, 2)):
        env = WorldEnv(world_of("KeyDoor"), Scaffold(turns=turns))
        env.begin(TASK)
        assert env.limit == limit
    shown = said(Scaffold(countdown=True, feedback=False), "left")[1].text
    assert shown.startswith(f"Turns left: {own - 1}.\n")
    for wrong, why in (
        ({"turns": -1}, "turns -1 must be >= 0"),
        ({"countdown": True, "style": "words"}, "set countdown=false"),
    ):
        with pytest.raises(ScaffoldError, match=why):
            Scaffold.of(wrong)
