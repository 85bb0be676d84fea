#!/usr/bin/env bash
# gem-llm 0.1.0: half of FifteenPuzzle's boards cannot be solved; Minesweeper goes on when all safe cells are open, until each
# mine has a flag; Sudoku's "clues" are the digits taken away; and GuessTheNumber pays up to 0.95 for never finding the number.
#
# Guessed: a board can be solved; Minesweeper is won when all cells without a mine are revealed, as its prompt says; clues=30
# gives 30 digits and clues=50 an easier board, as its documentation says; a game that ends without the number pays nothing.
# Seen (2026-12-01, gem-llm 0.1.0; the environments alone, Python's random seeded by reset): FifteenPuzzle shuffles its tiles, and
# half of the orders cannot be reached by moves, of 2x2 boards 12 of 24. Revealing all safe cells of Minesweeper pays 1.0 in sum,
# but the episode is not over: the policy must go on to move, without reward, and no prompt says that it needs flags. A Sudoku
# with clues=30 has 51 digits, and one with clues=60 has 28: more clues are harder. GuessTheNumber pays 1 less the distance at
# the last turn, for a repeated guess, too: one that says 10 in each of 20 turns gets 0.73 on average. So success rates of
# FifteenPuzzle end at 0.5, curricula over clues run backwards, and GuessTheNumber rewards the middle. Draw boards by random
# moves, and count wins by your own check of the last observation.
#
#   FifteenPuzzle, of 200 boards that can be solved: 2x2: 88, 3x3: 97, 4x4: 112
#   Minesweeper, all safe cells of 20 boards revealed: sum of rewards 1.0, finished 0
#   the same, each mine flagged first: finished 20
#   Sudoku, digits given with 30, 40, 50, 60 clues: 51, 41, 33, 28
#   GuessTheNumber, 10 in each turn: mean of 200 games 0.73, won 5
#
# Exits with a status other than 0 if any of this differs. It runs without reasoning-gym, whose tasks gem only registers.
set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check --no-deps gem-llm==0.1.0 numpy==2.3.5
cat >"$folder/games.py" <<'PYTHON'
import sys
from statistics import mean
from types import ModuleType

tasks = sys.modules["reasoning_gym"] = ModuleType("reasoning_gym")
tasks.factory = ModuleType("factory")
tasks.factory.DATASETS = {}

from gem.envs.game_env.fifteen_puzzle import FifteenPuzzleEnv
from gem.envs.game_env.guess_the_number import GuessTheNumberEnv
from gem.envs.game_env.minesweeper import MinesweeperEnv
from gem.envs.game_env.sudoku import SudokuEnv

BOARDS, GAMES = 200, 20


def solvable(board):
    """Whether moves lead from the solved board to this one: by its inversions, and for an even width the empty row."""
    size = len(board)
    flat = [tile for row in board for tile in row]
    tiles = [tile for tile in flat if tile]
    inversions = sum(tile > later for place, tile in enumerate(tiles) for later in tiles[place + 1 :])
    from_below = size - 1 - flat.index(None) // size
    return (inversions + (0 if size % 2 else from_below)) % 2 == 0


def fifteen(size):
    game = FifteenPuzzleEnv(num_rows=size)
    count = 0
    for seed in range(BOARDS):
        game.reset(seed=seed)
        count += solvable(game.board)
    return count


def sweep(flags):
    """The rewards and ends of games in which all safe cells are revealed, behind a flag on each mine if asked for."""
    totals, ends = [], 0
    for seed in range(GAMES):
        game = MinesweeperEnv(max_turns=1000)
        game.reset(seed=seed)
        _, total, finished, _, _ = game.step("\\boxed{reveal 4 4}")
        cells = [(row, column) for row in range(game.rows) for column in range(game.cols)]
        mines = [(row, column) for row, column in cells if game.grid[row][column] == -1]
        for row, column in mines if flags else []:
            game.step(f"\\boxed{{flag {row} {column}}}")
        for row, column in cells:
            if (row, column) not in mines and not game.revealed[row][column]:
                _, reward, finished, _, _ = game.step(f"\\boxed{{reveal {row} {column}}}")
                total += reward
        totals.append(total)
        ends += finished
    return mean(totals), ends


def given(clues):
    game = SudokuEnv(clues=clues)
    game.reset(seed=0)
    return sum(digit != 0 for row in game.board for digit in row)


def guesses():
    """The mean return and the wins of a player who always says 10."""
    totals, wins = [], 0
    for seed in range(BOARDS):
        game = GuessTheNumberEnv()
        game.reset(seed=seed)
        finished, total = False, 0.0
        while not finished:
            said, reward, finished, _, _ = game.step("\\boxed{10}")
            total += reward
        totals.append(total)
        wins += said.startswith("Congratulations")
    return mean(totals), wins


solved = ", ".join(f"{size}x{size}: {fifteen(size)}" for size in (2, 3, 4))
total, ends = sweep(flags=False)
_, flagged = sweep(flags=True)
paid, wins = guesses()
found = f"""\
FifteenPuzzle, of {BOARDS} boards that can be solved: {solved}
Minesweeper, all safe cells of {GAMES} boards revealed: sum of rewards {total:.1f}, finished {ends}
the same, each mine flagged first: finished {flagged}
Sudoku, digits given with 30, 40, 50, 60 clues: {", ".join(str(given(clues)) for clues in (30, 40, 50, 60))}
GuessTheNumber, 10 in each turn: mean of {BOARDS} games {paid:.2f}, won {wins}"""
SEEN = """\
FifteenPuzzle, of 200 boards that can be solved: 2x2: 88, 3x3: 97, 4x4: 112
Minesweeper, all safe cells of 20 boards revealed: sum of rewards 1.0, finished 0
the same, each mine flagged first: finished 20
Sudoku, digits given with 30, 40, 50, 60 clues: 51, 41, 33, 28
GuessTheNumber, 10 in each turn: mean of 200 games 0.73, won 5"""
print(found)
sys.exit(found != SEEN)
PYTHON
"$folder/venv/bin/python" "$folder/games.py"
