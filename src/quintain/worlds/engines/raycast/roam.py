"""First-person worlds: turn by quarters and step ahead, to find, choose, collect, carry or survive."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from quintain.ports import SOLO
from quintain.worlds.engines.raycast.explore import answer, plan
from quintain.worlds.engines.raycast.floor import HELD, Stand
from quintain.worlds.engines.raycast.look import (
    brief_caption,
    fixed_words,
    full_caption,
    lexicon,
    moving_words,
    parse_caption,
    scene_of,
)
from quintain.worlds.engines.raycast.rules import BESIDE, FORWARD, SURVIVE, ahead, enters, over, step, stood
from quintain.worlds.engines.raycast.things import HEART, NAMES, Handled, handling, named, word
from quintain.worlds.engines.turns import digit_words
from quintain.worlds.kernel import Answer, Choices, Facts, Move, Outcome, View, check_level
from quintain.worlds.knobs import check_knobs, overridable
from quintain.worlds.noise import Rng
from quintain.worlds.scene import Scene
from quintain.worlds.seats import seated
from quintain.worlds.splits import Draft, canonical, drawn

OTHER = {
    text: side
    for side in ("left", "right")
    for verb in ("", "turn ", "rotate ")
    for angle in (
        "",
        "90 degrees ",
        "90° ",
        "90 ",
        "a quarter ",
        "a quarter turn ",
        "turn a quarter ",
        "by 90 degrees ",
        "by 90° ",
        "by a quarter ",
    )
    for text in (
        side[0],
        f"{side} turn",
        f"{verb}{angle}{side}",
        f"{verb}{side} {angle}".rstrip(),
        f"{verb}{angle}to the {side}",
    )
}
OTHER |= dict.fromkeys(
    ("f", "fwd", "go", "ahead", "step", "go forward", "move forward", "step forward", "forward one cell"), "forward"
)
CHOICES = Choices("left", "right", "forward", synonyms=OTHER)
HANDS = Choices(
    *("left", "right", "forward", "take", "drop"),
    synonyms={
        **OTHER,
        **dict.fromkeys(("t", "pick up", "take it", "pick it up", "grab", "grab it"), "take"),
        **dict.fromkeys(("d", "put", "put down", "drop it", "put it down"), "drop"),
        **{
            f"{verb} {where}": verb
            for verb in ("take", "drop")
            for where in ("ahead", "the cell ahead", "what is ahead")
        },
    },
)
ANSWER = "One of: left, right (turn a quarter), forward (one cell)."
ANSWER_HANDS = "One of: left, right (turn a quarter), forward (one cell), take, drop (the cell ahead)."
SAYINGS = {
    "blocked": "Something solid is ahead; nothing moved.",
    "took": "You took the {}.",
    "missed": "Nothing that can be taken lies ahead.",
    "barred": "Nothing can be put down there.",
    "empty": "Your hands are empty.",
    "dropped": "You put the {} down.",
    "wrong": "That was the {}, which is wrong.",
    "starved": "Your health is used up.",
}
LEGEND = """You see ahead from the back of your cell, 45 degrees to either side, up to 8 cells far. The map of what is in sight has you
(^) at the middle of its lowest row, looking up: `.` floor, `,` floor of which you see only an edge or that a thing hides (a thing may
lie there), `#` wall, `?` not seen; letters are things, and the one in your cell at the end is named behind `^`."""


@seated
@dataclass(frozen=True, kw_only=True)
class RoamWorld:
    """A world of the first-person engine: what a declaration gives.

    Args:
        facts: rules and ceilings.
        task: `reach` (other things are in the way), `choose` (other things end it), `collect`, `survive` or `beside`.
        levels: ten mappings of knobs; `most` is the longest plan that is kept, `least` the shortest.
        make: draws one instance from the knobs, without a budget, or None to draw again.
        kinds: the kinds of things that a level may hold.
    """

    facts: Facts
    task: str
    levels: Sequence[Mapping[str, Any]]
    make: Callable[[Rng, Mapping[str, Any]], Stand | None]
    kinds: Callable[[Mapping[str, Any]], Sequence[int]]
    schema: type[Stand] = Stand

    @overridable
    def start(self, seed: int, level: int, *, split: str = "train", **knobs: Any) -> Stand:
        """See `World.start`."""
        chosen = check_knobs(knobs, self.levels, level)
        rng = Rng(self.facts.name, seed, level, split)
        return drawn(lambda r: self._drawn(r, chosen), layout_of, rng, split)

    def _drawn(self, rng: Rng, knobs: Mapping[str, Any]) -> Draft[Stand] | None:
        made = self.make(rng, knobs)
        return None if made is None or over(made) else Draft(made, lambda: self._planned(made, knobs))

    def _planned(self, made: Stand, knobs: Mapping[str, Any]) -> Stand | None:
        """An instance with its budget: half as many turns again as the oracle takes, who has to look around as well."""
        state = stood(made, made.at, made.heading)
        keys = plan(state)
        if not keys or not knobs["least"] <= len(keys) <= knobs["most"] or set(keys) == {FORWARD}:
            return None
        return replace(state, place=replace(state.place, budget=(state.clock or len(keys)) * 3 // 2 + 2))

    @property
    def choices(self) -> Choices:
        """The moves."""
        return HANDS if self.task == BESIDE else CHOICES

    def view(self, state: Stand, seat: str) -> View[Stand]:
        return View(self, state, seat)

    def read(self, text: str, seat: str) -> Move | None:
        move = self.choices.read(text)
        if move is None and self.task == BESIDE and (thing := handling(" ".join(text[:64].lower().split()))):
            return Move(" ".join(thing), thing, True) if " " not in thing.thing or thing.thing in NAMES else None
        return move

    def turns(self, state: Stand) -> int:
        return state.place.budget

    def words(self, level: int) -> tuple[str, ...]:
        knobs = self.levels[check_level(level)]
        kinds = tuple(self.kinds(knobs))
        told = [f"{what}:{word(kind)}" for what in ("find", "by") for kind in kinds if kind < HEART]
        counts = (*digit_words("health", 3), *digit_words("clock", 3)) if self.task == SURVIVE else ()
        return (*[m.key for m in self.choices.moves], *told, *counts, "held", *lexicon(kinds))

    def step(self, state: Stand, moves: Mapping[str, Move]) -> Outcome[Stand]:
        key, thing = moves[SOLO].key, moves[SOLO].value
        if isinstance(thing, Handled) and not over(state):  # which is what lies ahead, or is held; else there is none
            place, at = state.place, ahead(state)[1] if thing.verb == "take" else -1
            kind = place.wanted if thing.verb == "drop" and HELD in state.where else place.kinds[at] if at >= 0 else -1
            if kind < 0 or not thing.fits(named(kind)):
                return Outcome(state, events={SOLO: ("missed" if thing.verb == "take" else "empty",)})
            key = thing.verb
        return step(state, key)

    def solve(self, state: Stand, seat: str) -> Answer:
        """See `explore.answer`."""
        return answer(state, self.choices)

    def legal(self, state: Stand, seat: str) -> tuple[Move, ...]:
        if self.task != BESIDE and over(state):  # what lies beside what may be out of sight
            return ()
        place = state.place
        to, thing = ahead(state)
        left, right, forward, *hands = self.choices.moves
        out = [left, right]
        if to >= 0 and (thing < 0 or enters(place, place.kinds[thing])):
            out.append(forward)
        if hands and thing >= 0 and place.kinds[thing] == place.wanted:
            out.append(hands[0])
        if hands and to >= 0 > thing and HELD in state.where:
            out.append(hands[1])
        return tuple(out)

    def sample(self, state: Stand, seat: str, rng: Rng) -> Move:
        return rng.pick(self.legal(state, seat) or self.choices.moves)

    def caption(self, state: Stand, seat: str, level: int) -> str:
        return full_caption(state) if level == 2 else brief_caption(state)

    def rebuild(self, caption: str, seat: str) -> Stand:
        """See `World.rebuild`."""
        return parse_caption(caption, self.task)

    def static(self, state: Stand, seat: str) -> tuple[str, ...]:
        return fixed_words(state)

    def moving(self, state: Stand, seat: str) -> tuple[str, ...]:
        return moving_words(state)

    def scene(self, state: Stand, seat: str) -> Scene:
        return scene_of(state)


def layout_of(state: Stand) -> str:
    """What splits keep apart: the floor with its things and the seat's cell, however it is turned or mirrored."""
    floor = state.place.floor
    cells = list(floor.cells)
    for kind, cell in zip(state.place.kinds, state.where, strict=True):
        cells[cell] = chr(ord("A") + kind)
    cells[state.at] = "^"
    return canonical(cells, floor.width, floor.height)
