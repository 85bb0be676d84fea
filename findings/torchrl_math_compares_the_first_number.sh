#!/usr/bin/env bash
# torchrl 0.14.1, math-verify 0.9.0: MATHRewardParser compares the first number of an answer with that of the gold: 2n+1 is right
# for 2n-1, and 12 for 12\sqrt{2}-4. \sqrt{2}, (1,2), x+1 and other answers that do not begin with a number are wrong for
# themselves.
#
# Guessed: with math-verify installed, the reward of the MATH environment compares formulas, as its documentation says: 2n-1 is
# right for 2n-1 and wrong for 2n+1.
# Seen (2026-12-01, torchrl 0.14.1, math-verify 0.9.0 with latex2sympy2-extended 1.11.0, torch 2.13.0; the answer in <answer>, the
# gold in the box of a solution, as in MATH): the texts go to math-verify without dollar signs or a box, and so it reads a plain
# number out of each of them, at the beginning. Where there is none, it reads nothing, and nothing is equal to nothing: the right
# answer gets 0.1, the reward of a wrong one. An answer between dollar signs is a formula, and wrong, too, for the gold is none.
# What is read right is a number, a fraction and a power of numbers, and x=3. So the environment pays for the first number of a
# formula, and trains towards short wrong answers. Wrap both sides in \boxed{...} in a subclass's answers_match.
#
#   reward of the gold itself as the answer:
#   1.0: 18 | -4 | 0.5 | \frac{1}{2} | x=3 | 2\sqrt{3} | 2n-1
#   0.1: \pi | \sqrt{2} | x+1 | (1,2) | [0,1) | \frac{\pi}{4} | \{1,2\} | \text{Monday} | \infty
#   reward of other answers:
#   1.0: 2\sqrt{5} for 2\sqrt{3} | 2n+1 for 2n-1 | 12 for 12\sqrt{2}-4 | 1+3i for 1+2i | 4 for 4\pi | 2 for y=2x+1
#   0.1: $2\sqrt{3}$ for 2\sqrt{3} | $\pi$ for \pi | 17 for 18
#
# Exits with a status other than 0 if any of this differs.
set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check torch==2.13.0 torchrl==0.14.1 tensordict==0.14.3 numpy \
  'math-verify[antlr4_13_2]==0.9.0' latex2sympy2-extended==1.11.0
cat >"$folder/rewards.py" <<'PYTHON'
import sys

from torchrl.envs.llm.reward.math import MATHRewardParser

PARSER = MATHRewardParser(input_mode="text", in_keys=["text", "answer"])
ITSELF = {
    1.0: ["18", "-4", "0.5", r"\frac{1}{2}", "x=3", r"2\sqrt{3}", "2n-1"],
    0.1: [r"\pi", r"\sqrt{2}", "x+1", "(1,2)", "[0,1)", r"\frac{\pi}{4}", r"\{1,2\}", r"\text{Monday}", r"\infty"],
}
OTHER = {
    1.0: [
        (r"2\sqrt{5}", r"2\sqrt{3}"),
        ("2n+1", "2n-1"),
        ("12", r"12\sqrt{2}-4"),
        ("1+3i", "1+2i"),
        ("4", r"4\pi"),
        ("2", "y=2x+1"),
    ],
    0.1: [(r"$2\sqrt{3}$", r"2\sqrt{3}"), (r"$\pi$", r"\pi"), ("17", "18")],
}


def reward(answer, gold):
    """What a response with this answer gets where the solution ends in this gold."""
    thought, found = PARSER.extract_tags(f"<think>So it is.</think><answer>{answer}</answer>")
    right = PARSER.extract_boxed(f"The answer is $\\boxed{{{gold}}}$.")
    return round(float(PARSER._single_correctness_reward(right, found, thought)["reward"]), 1)


same = True
print("reward of the gold itself as the answer:")
for pay, golds in ITSELF.items():
    found = [gold for group in ITSELF.values() for gold in group if reward(gold, gold) == pay]
    print(f"{pay}:", " | ".join(found))
    same &= found == golds
print("reward of other answers:")
for pay, pairs in OTHER.items():
    found = [pair for group in OTHER.values() for pair in group if reward(*pair) == pay]
    print(f"{pay}:", " | ".join(f"{answer} for {gold}" for answer, gold in found))
    same &= found == pairs
sys.exit(not same)
PYTHON
OMP_NUM_THREADS=1 "$folder/venv/bin/python" "$folder/rewards.py" 2>/dev/null
