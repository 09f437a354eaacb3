import pytest
from hypothesis import given
from hypothesis import strategies as st

from quintain.render import RenderError, WordRenderer
from quintain.types import Image, Message, Role, Text, Tool, ToolCall

M = Message.of
LEXICON = ["up", "down", "P1", "B2"]


def test_ids_do_not_depend_on_the_order_or_repetition_of_words():
    one, two = WordRenderer(LEXICON), WordRenderer([*reversed(LEXICON), "up"])
    assert one.words == two.words == ("<pad>", "<unk>", "<end>", "B2", "P1", "down", "up")
    assert one.size == 7 and one.pad == 0


def test_one_token_turns_have_no_end():
    render = WordRenderer(LEXICON, turn_tokens=1)
    path = render.open([M("system", "B2"), M("user", "P1  B2")])
    assert path == (3, 4, 3)
    assert render.stop == () and render.turn_tokens == 1
    said = render.say(M("assistant", "up"))
    assert said == (6,)
    assert render.parse(said) == M("assistant", "up")
    assert render.extend([], [M("user", "B2 P1")], path + said) == (3, 4)
    with pytest.raises(RenderError, match="2 words; a turn has room for 1: set rollout.max_tokens=3"):
        render.say(M("assistant", "up down"))


def test_free_turns_end_with_end_and_a_cut_turn_is_closed():
    render = WordRenderer(LEXICON, turn_tokens=0)
    said = render.say(M("assistant", "up down"))
    assert said == (6, 5, 2) and render.stop == (2,)
    assert render.parse(said).text == "up down"
    assert render.extend([], [M("user", "P1")], said) == (4,)
    assert render.extend([], [M("user", "P1")], said[:-1]) == (2, 4)


def test_extending_equals_rendering_anew():
    render = WordRenderer(LEXICON, turn_tokens=0)
    opening, more = [M("user", "P1")], [M("user", "B2"), M("user", "P1")]
    said = render.say(M("assistant", "down"))
    path = render.open(opening) + said
    path += render.extend([*opening, render.parse(said)], more, path)
    assert path == render.open([*opening, M("assistant", "down"), *more])


@given(st.lists(st.integers(-5, 12), max_size=5))
def test_any_tokens_can_be_parsed(tokens):
    for turn_tokens in (0, 1):
        message = WordRenderer(LEXICON, turn_tokens=turn_tokens).parse(tuple(tokens))
        assert message.role is Role.assistant and isinstance(message.text, str)


def test_unknown_words_are_refused_or_unk():
    with pytest.raises(RenderError, match="'P9'.*add it to the lexicon"):
        WordRenderer(LEXICON).open([M("user", "P1 P9")])
    assert WordRenderer(LEXICON, strict=False).open([M("user", "P1 P9")]) == (4, 1)


@pytest.mark.parametrize("bad", ["", "two words", "<end>", "tab\t"])
def test_words_that_cannot_be_words(bad):
    with pytest.raises(RenderError, match="cannot be a word"):
        WordRenderer(["up", bad])
    with pytest.raises(RenderError, match="turn_tokens is -1"):
        WordRenderer(["up"], turn_tokens=-1)


def test_pictures_and_tools_are_refused_by_name():
    render = WordRenderer(LEXICON)
    with pytest.raises(RenderError, match="part of type Image"):
        render.open([M("user", "P1", Image(hash="x"))])
    with pytest.raises(RenderError, match="part of type ToolCall"):
        render.open([Message(Role.user, (Text(text="P1"), ToolCall(name="f")))])
    with pytest.raises(RenderError, match="1 tools"):
        render.open([M("user", "P1")], [Tool(name="f")])
