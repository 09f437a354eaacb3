import sys
import types

import pytest

from quintain.registry import MissingExtra
from quintain.rewards.answers import exact, final_answer, math_answer, number_answer
from quintain.rewards.env import RewardError
from quintain.types import Group, Kind, Node, Role, Stop, Task, Trajectory


def group_of(texts, **params):
    made = []
    for i, text in enumerate(texts):
        asked = Node.given(None, (), kind=Kind.prompt, text="?")
        said = Node.given(0, (), role=Role.assistant, kind=Kind.external, text=text)
        made.append(Trajectory(id=str(i), nodes=(asked, said), stop=Stop.done))
    return Group(task=Task(key="k", env="data", params=params), trajectories=tuple(made))


async def right(part, text, answer):
    return (await part(group_of([text], answer=answer))).rewards == (1.0,)


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        (r"first \boxed{1}, then \boxed{\frac{3}{4}}.", r"\frac{3}{4}"),
        ("<answer> B </answer>", "B"),
        ("<think>The answer is 3</think>The answer is 4.", "4."),
        ("sum\n#### 12\n", "12"),
        ("Final answer: Paris", "Paris"),
        ("  just this ", "just this"),
        ("a bracket } alone", "a bracket } alone"),
        (r"\boxed{open", r"\boxed{open"),
        ("", ""),
    ],
)
def test_where_the_final_answer_stands(text, answer):
    assert final_answer(text) == answer


async def test_exact_compares_what_counts():
    for text, answer in ((" the ANSWER is  Paris. ", "paris"), ("\\boxed{B}", "B"), ("ﬁve", "five"), ("b", ["a", "b"])):
        assert await right(exact(), text, answer), text
    for text, answer in (("Paris or London", "Paris"), ("", "x"), ("a c", "ac")):
        assert not await right(exact(), text, answer), text


@pytest.mark.parametrize(
    ("text", "answer", "same"),
    [
        ("#### 1,234", "1234", True),
        ("it makes 3 + 4 = 7 apples", 7, True),
        ("$12.50", 12.5, True),
        ("one half: 1/2", "0.5", True),
        ("50%", "1/2", True),
        ("-3", "3", False),
        ("0.333333", "1/3", True),
        ("0.3333", "1/3", False),
        ("10000001", 10000000, True),
        ("1e3", "1000", True),
        ("1e999999999", "1000", False),
        ("none", "3", False),
        ("7 then 8", "7", False),
        ("1/0", "3", False),
        ("5", "so it is #### 5", True),
    ],
)
async def test_numbers(text, answer, same):
    assert await right(number_answer(), text, answer) is same


async def test_a_missing_column_and_an_answer_without_a_number_are_our_error():
    with pytest.raises(RewardError, match=r"no column 'answer'.*\['gold'\]"):
        await exact()(group_of(["x"], gold="x"))
    assert (await exact(column="gold")(group_of(["x"], gold="x"))).rewards == (1.0,)
    with pytest.raises(RewardError, match="'seven', which has no number"):
        await number_answer()(group_of(["7"], answer="seven"))
    with pytest.raises(RewardError, match="tolerance is -1"):
        number_answer(tolerance=-1)


async def test_mathematics_needs_its_package_and_uses_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "math_verify", None)
    if not _installed():
        with pytest.raises(MissingExtra, match=r"pip install 'quintain\[math\]'"):
            math_answer()
    asked = []
    double = types.ModuleType("math_verify")
    double.__spec__ = types.SimpleNamespace()
    double.parse = lambda text, parsing_timeout: asked.append((text, parsing_timeout)) or text.strip("$")
    double.verify = lambda gold, said, timeout_seconds: gold == said
    monkeypatch.setitem(sys.modules, "math_verify", double)
    part = math_answer()
    assert await right(part, r"<think>3</think>\frac12", r"\frac12") and not await right(part, "4", "5")
    assert asked[:2] == [(r"\frac12", 5), (r"$\frac12$", 5)]


def _installed():
    from importlib.util import find_spec

    try:
        return find_spec("math_verify") is not None
    except ValueError:
        return False
