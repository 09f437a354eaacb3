"""The pairs of `peer_worlds.py`: peer, its name, our world, our level (boards of about the same size), and why ours takes longer.

A reason is what a profile of our side shows; it is told where ours is the slower one.
"""

from __future__ import annotations

WEB = "of its time goes into drawing an instance: points are placed and joined so that no edge crosses another or passes near a point"
SEATS = "each action is followed by a new state and new captions for both seats; the peer says one line to the player who moves"
CODES = "all guesses with their marks are written again each turn, and kept in a new state; the peer says the marks of the last one"

Pair = tuple[str, str, str, int, str]
PAIRS: tuple[Pair, ...] = (
    ("MiniGrid", "MiniGrid-Empty-8x8-v0", "EmptyRoom", 2, ""),
    ("MiniGrid", "MiniGrid-DoorKey-8x8-v0", "KeyDoor", 3, ""),
    ("MiniGrid", "MiniGrid-FourRooms-v0", "FourRooms", 7, ""),
    ("MiniGrid", "MiniGrid-LavaGapS7-v0", "LavaGap", 3, ""),
    ("MiniGrid", "MiniGrid-MultiRoom-N4-S5-v0", "MultiRoom", 6, ""),
    ("MiniGrid", "MiniGrid-UnlockPickup-v0", "UnlockPick", 4, ""),
    ("MiniGrid", "MiniGrid-Dynamic-Obstacles-8x8-v0", "MovingWalls", 3, ""),
    ("MiniWorld", "MiniWorld-OneRoom-v0", "Room3D", 6, ""),
    ("Gym-V", "Games/Sokoban", "Sokoban", 2, ""),
    ("Gym-V", "Games/Game2048", "Game2048", 5, ""),
    ("Gym-V", "Games/Minesweeper", "Mastermines", 6, ""),
    ("Gym-V", "Games/FrozenLake", "FrozenLake", 1, ""),
    ("Gym-V", "Games/FifteenPuzzle", "FifteenTiles", 7, ""),
    ("Gym-V", "Games/LightsOut", "LightsOut", 5, ""),
    ("Gym-V", "Games/RushHour", "RushHour", 5, ""),
    ("Gym-V", "Games/PegJump", "PegJump", 5, ""),
    ("Gym-V", "Games/TowerOfHanoiMultiTurn", "Hanoi", 1, ""),
    ("Gym-V", "Spatial/Empty", "EmptyRoom", 2, ""),
    ("Gym-V", "Spatial/DoorKey", "KeyDoor", 3, ""),
    ("Gym-V", "Spatial/FourRooms2D", "FourRooms", 7, ""),
    ("Gym-V", "Spatial/LavaGap", "LavaGap", 3, ""),
    ("Gym-V", "Spatial/MultiRoom", "MultiRoom", 6, ""),
    ("Gym-V", "Spatial/DynamicObstacles", "MovingWalls", 3, ""),
    ("Gym-V", "Spatial/OneRoom", "Room3D", 6, ""),
    ("Gym-V", "Spatial/Maze", "Maze3D", 5, ""),
    ("Gym-V", "Spatial/ThreeRooms", "ThreeRooms3D", 5, ""),
    ("Gym-V", "Spatial/TMaze", "TJunction3D", 5, ""),
    ("Gym-V", "Spatial/YMaze", "YJunction3D", 5, ""),
    ("Gym-V", "Spatial/Hallway", "Corridor3D", 5, ""),
    ("Gym-V", "Spatial/Sign", "SignPost3D", 5, ""),
    ("Gym-V", "Spatial/PutNext", "PlaceNext3D", 5, ""),
    ("Gym-V", "Spatial/CollectHealth", "HealthWalk3D", 5, ""),
    ("Gym-V", "Spatial/PickupObjects", "Fetch3D", 5, ""),
    ("GEM", "game:Sokoban-v0-easy", "Sokoban", 2, ""),
    (
        *("GEM", "game:Minesweeper-v0-easy", "Mastermines", 2),
        "nine tenths are starts: fields are drawn until a proof shows that one can be cleared without a guess",
    ),
    (
        *("GEM", "game:FifteenPuzzle-v0-easy", "FifteenTiles", 2),
        "the whole board is written after each move, and a quarter are starts, which are scrambled until one belongs to its split",
    ),
    (
        "GEM",
        "game:Game2048-v0-easy",
        "Game2048",
        5,
        "the whole board is written after each move and kept in a new state",
    ),
    ("GEM", "game:Mastermind-v0-easy", "Mastermind", 2, CODES),
    (
        *("TextArena", "TicTacToe", "TicTacToeDuel", 0),
        "games are short and half are starts, which play an opening of their split; the board is written for both seats",
    ),
    (
        *("TextArena", "WildTicTacToe", "WildTTTDuel", 0),
        "two fifths are starts, which play an opening of their split; the board is written for both seats",
    ),
    (
        *("TextArena", "ConnectFour", "ConnectKDuel", 7),
        "a third are starts, which play an opening of their split, a third looks at every line of the board after each move, "
        "and the board is written for both seats",
    ),
    ("TextArena", "Othello", "OthelloDuel", 8, ""),
    ("TextArena", "KuhnPoker", "KuhnDuel", 2, SEATS),
    ("TextArena", "Nim", "NimDuel", 3, SEATS),
    ("TextArena", "2048", "Game2048", 5, "the whole board is written after each move and kept in a new state"),
    (
        *("TextArena", "FrozenLake", "FrozenLake", 1),
        "four fifths are starts: value iteration over cells and turns keeps lakes that the best walker crosses often enough; "
        "the peer's ice is not slippery",
    ),
    ("TextArena", "Sokoban", "Sokoban", 2, ""),
    (
        *("TextArena", "Minesweeper", "Mastermines", 6),
        "nearly all are starts: fields are drawn until a proof shows that one can be cleared without a guess",
    ),
    (
        *("TextArena", "LightsOut", "LightsOut", 5),
        "a quarter are starts, with the fewest presses that solve them; the board is kept in a new state",
    ),
    (
        *("TextArena", "TowerOfHanoi", "Hanoi", 1),
        "a third are starts, scattered discs whose shortest plan is of the level's length (the peer has one start), and the towers are "
        "written after each move",
    ),
    ("TextArena", "RushHour", "RushHour", 5, ""),
    (
        *("TextArena", "PegJump", "PegJump", 5),
        "two fifths list all jumps after each move, and a quarter are starts, of many pegs in many shapes (the peer has one start)",
    ),
    ("TextArena", "Mastermind", "Mastermind", 5, CODES),
    (
        *("reasoning-gym", "mini_sudoku", "MiniSudoku", 2),
        "nine tenths are instances: a search proves after each blank that one way to fill them is left",
    ),
    ("reasoning-gym", "futoshiki", "Futoshiki", 3, ""),
    ("reasoning-gym", "kakurasu", "Kakurasu", 3, "most are instances, whose answer is proved to be the only one"),
    (
        *("reasoning-gym", "survo", "Survo", 3),
        "three quarters are instances: each blank is proved to leave one answer; the peer's blanks may leave several",
    ),
    (
        *("reasoning-gym", "n_queens", "NQueens", 5),
        "nearly all are instances: queens are shown until a search finds no second answer; the peer removes queens and takes any answer",
    ),
    (
        *("reasoning-gym", "knights_knaves", "KnightsKnaves", 1),
        "nine tenths are instances: sayings are left out one by one while a search proves that the answer stays the only one",
    ),
    ("reasoning-gym", "zebra_puzzles", "ZebraHouses", 4, ""),
    (
        *("reasoning-gym", "circuit_logic", "CircuitRead", 4),
        "nine tenths are instances: gates are placed so that no wire touches another gate, as the circuit is also a picture",
    ),
    ("reasoning-gym", "graph_color", "ColourMin", 5, f"half {WEB}; the fewest colours are found by a search"),
    (
        *("reasoning-gym", "largest_island", "GridIslands", 5),
        "most are instances: boards are drawn until one has three islands or more with a single largest, and belongs to its split",
    ),
    (
        *("reasoning-gym", "rotten_oranges", "SpreadTime", 8),
        "most are instances: boards are drawn until the spread takes three rounds and ends in few places, which the answer names",
    ),
    (
        *("reasoning-gym", "shortest_path", "MazePlan", 3),
        "three quarters are instances: whole mazes are carved and their shortest routes found; the peer scatters walls",
    ),
    ("reasoning-gym", "course_schedule", "TopoOrder", 2, f"two thirds {WEB}"),
    ("reasoning-gym", "rectangle_count", "RectTally", 3, ""),
    ("reasoning-gym", "sokoban", "SokobanPlan", 4, ""),
)
PICTURED = ("MiniGrid", "MiniWorld", "Gym-V")
NOTES = {
    "picture": "every observation has its picture, the last of an episode too; MiniWorld is drawn by Mesa on one core here, and a graphics "
    "card is faster; Gym-V 0.1.0 (the public fork rohitrango/gym-v at commit 7ccf14e where it was measured) has its checker off and "
    "pictures of the size nearest to 256 pixels that it draws",
    "text": "each slower one has a note with its own reason; ours writes the whole board each turn, reads with a grammar, and keeps "
    "a frozen state that forks and restores, where peers change one board in place and say what is new",
}
