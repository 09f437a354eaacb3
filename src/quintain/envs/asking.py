"""A world as one question: for all that is to be done, for every action that is possible now, or for the action that ends an episode."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import replace
from typing import NamedTuple

from quintain.envs.adapters.play import Heard, Play
from quintain.envs.course import asked, foresees, plan_shown, shows_all, tagged
from quintain.envs.grammar import GRAMMARS
from quintain.ports import SOLO
from quintain.types import Message
from quintain.worlds.kernel import Move, Plan
from quintain.worlds.own import solved

TRIED = 6  # episodes of a level among which one must end with an action that is sure
WHOLE = (
    "Do not wait for what comes of an action: where one action is asked for, give all of them in their order, one a line, at most "
    "{turns}."
)


EVERY = (
    "Do not act yet: name every action that the rules allow in this situation, one a line, in any order; what is blocked is no action, and "
    "of several that would do the same one is enough."
)
LAST = "One action is enough now: give the one that ends the episode with all of its reward."
SAID = "You answered: {move}"


class Ask(NamedTuple):
    """What is asked for. Each takes a play whose episode has just begun; `best` and `grade` one that `pose` has brought to its question.

    Attributes:
        unfit: why a world cannot be asked for it at some of the levels, in a sentence; "" if it can.
        pose: what whoever is asked is told, from what the seat that moves first has heard; None where the episode has no such question.
        best: the oracle's answer, as the grammar writes it; "" where it has none.
        grade: what an answer earns, in [0, 1].
    """

    unfit: Callable[[Play, Sequence[int]], str]
    pose: Callable[[Play, Heard], Heard | None]
    best: Callable[[Play], str]
    grade: Callable[[Play, str | None], float]


def unfit(play: Play, levels: Sequence[int]) -> str:
    """Why a world cannot be asked about at some of the levels, in a sentence; "" if it can.

    A world of one seat can where its episodes have one turn, or where its oracle is certain and stands on nothing that is not shown.

    Example:
        >>> unfit(Play("KeyDoor"), range(10)), unfit(Play("NimDuel"), [0])
        ('', 'NimDuel has 2 seats, a question has one')
    """
    if play.seats != (SOLO,):
        return f"{play.name} has {len(play.seats)} seats, a question has one"
    world = play.env.world
    for level in levels:
        play.begin(0, {"level": level})
        if play.env.limit == 1 or shows_all(world):
            continue
        why = "what it stands on is not all shown from the start"
        if not world.facts.exact:
            why = "chance, an opponent or hidden cells answer each move"
        elif foresees(play.name):
            why = "it is still open what comes"
        return f"an episode of {play.name} at level {level} has {play.env.limit} turns, and no plan can be asked for beforehand: {why}"
    return ""


def question(play: Play, heard: Heard) -> Heard | None:
    """An instance that has just begun, which asks for all moves where the episode has several turns; None where these are too few."""
    if play.env.limit == 1:
        return heard
    if play.env.scaffold.turns:
        plan = solved(play.env.world, play.env.state, SOLO)
        if isinstance(plan, Plan) and len(plan.moves) > play.env.limit:
            return None
    return heard._replace(text=f"{heard.text}\n\n{WHOLE.format(turns=play.env.limit)}")


def too_few(play: Play) -> str:
    """What to say where nothing could be asked for the reason that a scaffold gives few turns; "" if it gives the world's own."""
    turns = play.env.scaffold.turns
    return f" in the {turns} turns of the option turns of the scaffold" if turns else ""


def best(play: Play) -> str:
    """The oracle's answer, as the grammar writes it; "" where it has none."""
    if play.env.limit == 1:
        return play.best()
    plan = solved(play.env.world, play.env.state, SOLO)
    moves = plan.moves if isinstance(plan, Plan) else ()
    return play.env.reader.grammar.write("\n".join(move.key for move in moves)).text if moves else ""


def reason(play: Play) -> str:
    """How the answer of an episode of one turn comes about, in a line; "" for others. See `Plan.because`.

    Example:
        >>> play = Play("TriangleSum", level=0)
        >>> heard = play.begin(0)
        >>> reason(play)
        'Twice the area of a triangle abc is |(xb-xa)*(yc-ya)-(yb-ya)*(xc-xa)|: ABC |6-20|=14. Together 14, half is 7. So 7.'
    """
    plan = solved(play.env.world, asked(play.env), SOLO) if play.env.limit == 1 else None
    return plan.because if isinstance(plan, Plan) else ""


def grade(play: Play, answer: str | None) -> float:
    """What an answer to the instance that has just begun earns when it is played, in [0, 1]; 0 for None.

    The moves of a plan are played line by line until the episode is over; a line that cannot be read costs a turn, as it does in play.

    Example:
        >>> play = Play("KeyDoor", level=1)
        >>> told = play.begin(3)["agent"]
        >>> plan = best(play)
        >>> grade(play, plan), play.begin(3) and grade(play, plan.partition(chr(10))[0])
        (1.0, 0.0)
    """
    if play.env.limit == 1:
        return min(max(play.say({SOLO: answer or ""})[SOLO].reward, 0.0), 1.0)
    total = 0.0
    for line in _lines(play, answer or "", SOLO):
        total += play.say({SOLO: play.env.reader.grammar.write(line).text})[SOLO].reward
        if play.env.stop is not None:
            break
    return min(max(total, 0.0), 1.0)


def unlisted(play: Play, levels: Sequence[int]) -> str:
    """Why the actions of a world cannot be asked for, in a sentence; "" if they can: they are listed, so that an answer can be checked.

    Example:
        >>> unlisted(Play("NimDuel"), range(10)), unlisted(Play("Mastermind"), [0])[:49]
        ('', 'the actions of Mastermind at level 0 are no list:')
    """
    for level in levels:
        play.begin(0, {"level": level})
        if not _legal(play):
            return f"the actions of {play.name} at level {level} are no list: any answer of the form that its rules tell is one"
    return ""


def question_of_moves(play: Play, heard: Heard) -> Heard:
    """An instance that has just begun, which asks whoever is to move for every action."""
    return heard._replace(text=f"{heard.text}\n\n{EVERY}")


def every_move(play: Play) -> str:
    """Every action of the seat that is to move, as the grammar writes them."""
    return play.env.reader.grammar.write("\n".join(move.key for move in _legal(play))).text


def grade_moves(play: Play, answer: str | None) -> float:
    """Of all actions that are named or possible, the share that is both; a line that cannot be read counts as one that is not possible.

    Where no chance is in it, actions that lead to one and the same state count as one.

    Example:
        >>> play = Play("NimDuel", level=1)
        >>> told = play.begin(3)
        >>> whole = every_move(play)
        >>> grade_moves(play, whole), grade_moves(play, whole.partition(chr(10))[0]) < 1, grade_moves(play, whole + chr(10) + "a 99") < 1
        (1.0, True, True)
    """
    seat, legal, named, unread = play.movers[0], set(_legal(play)), set[Move](), 0
    for line in _lines(play, answer or "", seat):
        move = play.env.reader.read(play.env.reader.grammar.write(line), seat)
        unread += move is None
        named |= {move} if move is not None else set()
    kinds = _kinds(play, legal)
    wrong = len(named - legal) + unread
    return len({kinds[move] for move in named & legal}) / max(1, len(set(kinds.values())) + wrong)


def _kinds(play: Play, legal: Iterable[Move]) -> dict[Move, Hashable]:
    """What tells the effects of moves apart: the state after each, or the move itself where chance or others have a hand in it."""
    world, state = play.env.world, play.env.state
    if not world.facts.exact or len(play.movers) > 1:
        return {move: move for move in legal}
    (seat,) = play.movers
    return {move: world.step(state, {seat: move}).state for move in legal}


def _legal(play: Play) -> tuple[Move, ...]:
    return play.env.world.view(play.env.state, play.movers[0]).legal()


def endless(play: Play, levels: Sequence[int]) -> str:
    """Why the last action cannot be asked for, in a sentence; "" if it can: an oracle that is sure of it ends episodes with success.

    Oracles that estimate are sure of no end, but for those of worlds with the tag `decides`.

    Example:
        >>> endless(Play("Mastermind"), [0]), endless(Play("Game2048"), [0])
        ('', 'the oracle of Game2048 estimates to the end')
    """
    if play.seats != (SOLO,):
        return f"{play.name} has {len(play.seats)} seats, a question has one"
    if not play.env.facts.exact and not tagged(play.name, "decides"):
        return f"the oracle of {play.name} estimates to the end"
    for level in levels:
        begun = (play.begin(seed, {"level": level})[SOLO] for seed in range(TRIED))
        if all(question_of_last(play, heard) is None for heard in begun):
            last = (
                ""
                if play.env.scaffold.caption
                else " from the last picture; leave caption=0 out for the captions of all turns"
            )
            return f"of {TRIED} episodes of {play.name} at level {level} none ends with an action that is sure{last}"
    return ""


def question_of_last(play: Play, heard: Heard) -> Heard | None:
    """Play the episode as the oracle does up to the action that ends it with success, and ask for that; None where none is sure.

    Where the last observation, whole, does not tell what the oracle goes by, all that was seen and said before stands in the question; or
    there is none, where nothing is to be told in words (caption 0).
    """
    env, scaffold, plan = play.env, play.env.scaffold, None
    if env.limit == 1:
        return heard
    whole = replace(scaffold, caption=2)
    log = [env.style.open(env.world.view(env.state, SOLO), env.facts, whole, env.limit)]
    while env.stop is None:
        if plan is None or not plan.moves or not env.facts.exact or foresees(play.name):
            plan = solved(env.world, asked(env), SOLO)
        if not isinstance(plan, Plan) or not plan.moves:
            return None
        if _worth(play, plan):
            shown = (scaffold.caption == 2 or scaffold.image) and plan_shown(env.world, env.state) is not None
            if not (shown or scaffold.caption):
                return None
            view = env.world.view(env.state, SOLO)
            told = env.style.open(view, env.facts, scaffold, env.limit - env.turn) if shown else "\n\n".join(log)
            return heard._replace(text=f"{told}\n\n{LAST}")
        move, plan = plan.moves[0], replace(plan, moves=plan.moves[1:])
        heard = play.say({SOLO: env.reader.grammar.write(move.key).text})[SOLO]
        seen = env.style.go_on(env.world.view(env.state, SOLO), env.reader.say(heard.info["events"]), whole)
        log.append(f"{SAID.format(move=move.key)}\n{seen}")
    return None


def best_last(play: Play) -> str:
    """The action that ends the episode, as the grammar writes it; "" where none is sure."""
    plan = solved(play.env.world, asked(play.env), SOLO)
    return (
        play.env.reader.grammar.write(plan.moves[0].key).text if isinstance(plan, Plan) and _worth(play, plan) else ""
    )


def grade_last(play: Play, answer: str | None) -> float:
    """The share of what the oracle's action earns, in [0, 1]; 0 for None.

    Example:
        >>> play = Play("Mastermind")
        >>> heard = question_of_last(play, play.begin(1)["agent"])
        >>> grade_last(play, best_last(play))
        1.0
    """
    plan = solved(play.env.world, asked(play.env), SOLO)
    worth = _worth(play, plan) if isinstance(plan, Plan) else 0.0
    return min(max(play.say({SOLO: answer or ""})[SOLO].reward, 0.0) / worth, 1.0) if worth else 0.0


def _worth(play: Play, plan: Plan) -> float:
    """What the first move of a plan earns if it is sure to end the episode with success; else 0."""
    if not plan.exact or not plan.moves:
        return 0.0
    outcome = play.env.world.step(play.env.state, {SOLO: plan.moves[0]})
    earned = outcome.rewards.get(SOLO, {})
    return sum(earned.values()) if outcome.done and earned.get("success") else 0.0


ASKS = {
    "plan": Ask(unfit, question, best, grade),
    "moves": Ask(unlisted, question_of_moves, every_move, grade_moves),
    "last": Ask(endless, question_of_last, best_last, grade_last),
}


def _lines(play: Play, answer: str, seat: str) -> list[str]:
    """The moves of an answer; where it may begin with thoughts, those lines at its end that are moves."""
    reader = play.env.reader
    for text in reader.grammar.find(Message.of("assistant", answer)):
        lines = [line.strip() for line in text.splitlines() if line.strip()]
        if reader.grammar is not GRAMMARS["free"]:
            return lines
        at = len(lines)
        while at and play.env.world.read(lines[at - 1], seat) is not None:
            at -= 1
        if lines[at:]:
            return lines[at:]
    return []
