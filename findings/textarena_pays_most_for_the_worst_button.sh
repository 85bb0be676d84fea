#!/usr/bin/env bash
# textarena 0.7.4: Bandit pays 0 for the best button and most for the worst; Cryptarithm pays more for stopping before the last
# letter than for a wrong solution; and a mine does not end Minesweeper.
#
# Guessed: the reward of a one-player game is 1 for the goal and less the further from it, an invalid move costs something, and a
# mine ends the game.
# Seen (2026-11-30, textarena 0.7.4; the games as registered, played by fixed moves): Bandit compares the button that is chosen at
# the end with the table of all buttons, so no choice is right, and pays what the choice falls short of the best: the best button
# gets 0, the worst most. Cryptarithm pays the share of the letters that have a digit, right or wrong, as long as one is left: a
# player that leaves out one letter gets 0.88, and one that finishes with two digits exchanged 0. A second invalid move in a row
# ends Cryptarithm and Countdown with the error message as the reward. In Minesweeper a mine counts as an invalid move, of which
# one is always excused: the player learns where the mine is and goes on, so that pressing all cells one after the other can win.
# FrozenLake pays 0.83 for the hole beside the goal. Countdown and Cryptarithm are one puzzle each, whatever the seed. Trained on
# this, a policy learns to look for the worst button, and to stop short. Compute the reward from env.state yourself.
#
#   Bandit, chance and reward: red 0.43 and 0.12, blue 0.24 and 0.31, green 0.55 and 0.00, yellow 0.12 and 0.43, purple 0.39 and 0.16
#   Cryptarithm, solved: 1.0
#   Cryptarithm, two digits exchanged: 0.0
#   Cryptarithm, seven wrong digits and none for Y: 0.875
#   Cryptarithm, two invalid moves: Letter Q not in puzzle.
#   Countdown, two invalid moves: Invalid action format. Use `[i j op]` where i,j are indices and op is +,-,*,/
#   Minesweeper, all cells pressed in order: 7 mines and a reward of 1
#   FrozenLake, into the hole beside the goal: 0.83
#   puzzles of ten seeds: Countdown 1, Cryptarithm 1, Secretary 10
#
# Exits with a status other than 0 if any of this differs.
set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check nltk rich requests websockets
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check --no-deps textarena==0.7.4
cat >"$folder/games.py" <<'PYTHON'
import itertools
import sys

import textarena as ta

DIGITS = {"S": 9, "E": 5, "N": 6, "D": 7, "M": 1, "O": 0, "R": 8, "Y": 2}
WRONG = {"S": 1, "E": 2, "N": 3, "D": 4, "M": 5, "O": 6, "R": 7}


def started(name, seed):
    env = ta.make(name)
    env.reset(num_players=1, seed=seed)
    return env


def reward(env, moves):
    """The reward of a game that is played with these moves until it ends."""
    for move in moves:
        env.get_observation()
        done, _ = env.step(move)
        if done:
            return env.close()[0][0]
    raise AssertionError("the moves do not end the game")


def assigned(digits):
    return [f"[{letter} {digit}]" for letter, digit in digits.items()]


def bandit():
    lines = []
    for button in ("red", "blue", "green", "yellow", "purple"):
        env = started("Bandit-v0", 7)
        chance = env.state.game_state["ground_truth"][button]
        lines.append(f"{button} {chance:.2f} and {reward(env, itertools.repeat(f'[{button}]')):.2f}")
    return ", ".join(lines)


def minesweeper():
    """Press the middle and then every closed cell in order, and count the mines."""
    env = started("Minesweeper-v0", 1)
    game = env
    while hasattr(game, "env"):
        game = game.env
    mines = 0

    def moves():
        nonlocal mines
        yield "[4 4]"
        for row, column in itertools.product(range(game.rows), range(game.cols)):
            if not game.revealed[row][column]:
                mines += game.grid[row][column] == -1
                yield f"[{row} {column}]"

    paid = reward(env, moves())
    return f"{mines} mines and a reward of {paid}"


def puzzles(name):
    shown = set()
    for seed in range(10):
        env = started(name, seed)
        shown.add(str(env.get_observation()) + str(env.state.game_state))
    return f"{name.split('-')[0]} {len(shown)}"


crypt = "Cryptarithm-v0"
into_the_hole = ["[down]"] * 3 + ["[right]"] * 2
found = [
    "Bandit, chance and reward: " + bandit(),
    f"Cryptarithm, solved: {reward(started(crypt, 0), assigned(DIGITS))}",
    f"Cryptarithm, two digits exchanged: {reward(started(crypt, 0), assigned(DIGITS | {'S': 5, 'E': 9}))}",
    f"Cryptarithm, seven wrong digits and none for Y: "
    f"{reward(started(crypt, 0), itertools.chain(assigned(WRONG), itertools.repeat('[S 1]')))}",
    f"Cryptarithm, two invalid moves: {reward(started(crypt, 0), ['[Q 1]'] * 2)}",
    f"Countdown, two invalid moves: {reward(started('Countdown-v0', 0), ['I add the first two.'] * 2)}",
    f"Minesweeper, all cells pressed in order: {minesweeper()}",
    f"FrozenLake, into the hole beside the goal: {reward(started('FrozenLake-v0', 2), into_the_hole):.2f}",
    "puzzles of ten seeds: " + ", ".join(puzzles(name) for name in ("Countdown-v0", crypt, "Secretary-v0")),
]
SEEN = """\
Bandit, chance and reward: red 0.43 and 0.12, blue 0.24 and 0.31, green 0.55 and 0.00, yellow 0.12 and 0.43, purple 0.39 and 0.16
Cryptarithm, solved: 1.0
Cryptarithm, two digits exchanged: 0.0
Cryptarithm, seven wrong digits and none for Y: 0.875
Cryptarithm, two invalid moves: Letter Q not in puzzle.
Countdown, two invalid moves: Invalid action format. Use `[i j op]` where i,j are indices and op is +,-,*,/
Minesweeper, all cells pressed in order: 7 mines and a reward of 1
FrozenLake, into the hole beside the goal: 0.83
puzzles of ten seeds: Countdown 1, Cryptarithm 1, Secretary 10"""
print("\n".join(found))
sys.exit("\n".join(found) != SEEN)
PYTHON
"$folder/venv/bin/python" "$folder/games.py"
