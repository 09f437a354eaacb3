"""The players of other people's games that benchmarks measure ours against: they play by the rules, in the games themselves."""

from __future__ import annotations

import importlib
import random
import re
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from quintain.envs.adapters.globals import Noise

pytestmark = pytest.mark.filterwarnings("ignore")  # what peers warn of is theirs
BENCHMARKS = Path(__file__).parents[4] / "benchmarks"
LONG = 400  # moves
REFUSED = re.compile(
    r"cannot|outside|already|doesn't change|[Ii]nvalid|not provide|not valid"
)  # what GEM says of a move


@pytest.fixture
def players(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    with Noise(0).inside():  # GEM and TextArena draw from the global states
        yield importlib.import_module("_peer_worlds")


@pytest.mark.parametrize(
    "game",
    [
        *(
            "TicTacToe",
            "WildTicTacToe",
            "ConnectFour",
            "Othello",
            "KuhnPoker",
            "Nim",
            "2048",
            "FrozenLake",
            "Minesweeper",
        ),
        *("Sokoban", "FifteenPuzzle", "LightsOut", "TowerOfHanoi", "RushHour", "PegJump", "Mastermind"),
    ],
)
def test_no_game_of_textarena_ends_by_an_invalid_move(players: Any, game: str) -> None:
    pytest.importorskip("textarena")
    player, rng, over, seed = players.PLAYERS["TextArena"](game), random.Random(3), True, 0
    for _ in range(LONG):
        if over:
            seed += 1
            player.begin(seed)
        over = player.play(player.choose(rng))
    assert player.ends["invalid"] == 0 and (player.ends["episodes"] or game == "RushHour")


@pytest.mark.parametrize("game", ["Sokoban", "Minesweeper", "FifteenPuzzle", "Game2048", "Mastermind"])
def test_no_move_in_a_game_of_gem_is_forbidden(players: Any, game: str) -> None:
    pytest.importorskip("gem")
    env = importlib.import_module("gem.envs.registration").make(f"game:{game}-v0-easy")
    listed, rng, over, seed = importlib.import_module("_peer_moves").GEM[game], random.Random(3), True, 0
    for _ in range(LONG):
        if over:
            seed += 1
            env.reset(seed=seed)
        said, _, ended, cut, _ = env.step(f"\\boxed{{{rng.choice(listed(env, rng) or ['up'])}}}")
        over = ended or cut
        assert not REFUSED.search(said), said


def test_the_clock_stands_while_a_move_is_chosen(players: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    now, begun = [0.0], []

    def takes(seconds: float, answer: Any) -> Any:
        now[0] += seconds
        return answer

    monkeypatch.setattr(players, "time", SimpleNamespace(process_time=lambda: now[0]))
    player = players.Player(
        begin=lambda seed: takes(0.5, begun.append(seed)),
        choose=lambda rng: takes(100.0, None),
        play=lambda move: takes(0.25, True),
    )
    assert player.pace(2.0, 7) == pytest.approx(3 / 2.25) and begun == [7, 8, 9]
