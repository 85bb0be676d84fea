#!/usr/bin/env bash
# sacrebleu 2.6.0, nltk 3.10.4, rouge-score 0.1.2: a short answer that is the reference scores 0 or a third with some metrics,
# and ROUGE takes -1 for 1.
#
# Guessed: the reference itself scores 1 with each metric, whatever its length and script, and another answer less.
# Seen (2026-11-30; single answers against one reference): BLEU is 0 for fewer than four words, by corpus_bleu, by the class
# BLEU and by nltk, but 1 by sacrebleu's function sentence_bleu. nltk's chrF of a text of two characters with itself is a
# third; sacrebleu's is 1. ROUGE knows only a to z and digits: an answer in another script scores 0 against itself, as a wrong
# one does, and signs do not count, so -1 is 1, a < b is a > b, C++ is C, and 3.5 has the words of 5.3. So as a reward for
# short answers these give a model nothing for the right one, or all for a wrong one; in a group with equal rewards nothing is
# learned from it. Compare short answers as texts or as numbers, and keep these metrics for sentences in Latin letters.
#
#   columns: "42", "the red house", "the big red house" and two characters of Chinese, each with itself; then
#   "x = -1" for "x = 1", "a < b" for "a > b", "C++" for "C", "3.5" for "5.3"
#   sacrebleu.sentence_bleu: 1.00 1.00 1.00 1.00; 0.55 0.35 0.28 0.00
#   sacrebleu.BLEU: 0.00 0.00 1.00 0.00; 0.00 0.00 0.00 0.00
#   sacrebleu.corpus_bleu: 0.00 0.00 1.00 0.00; 0.00 0.00 0.00 0.00
#   nltk sentence_bleu: 0.00 0.00 1.00 0.00; 0.00 0.00 0.00 0.00
#   sacrebleu.sentence_chrf: 1.00 1.00 1.00 1.00; 0.46 0.22 0.71 0.33
#   nltk sentence_chrf: 0.33 1.00 1.00 0.33; 0.24 0.11 0.14 0.17
#   ROUGE-1: 1.00 1.00 1.00 0.00; 1.00 1.00 1.00 1.00
#   ROUGE-2: 0.00 1.00 1.00 0.00; 1.00 1.00 0.00 0.00
#   ROUGE-L: 1.00 1.00 1.00 0.00; 1.00 1.00 1.00 0.50
#
# Exits with a status other than 0 if any of this differs.
set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check sacrebleu==2.6.0 nltk==3.10.4 rouge-score==0.1.2
cat >"$folder/answers.py" <<'PYTHON'
import sys

import sacrebleu
from nltk.translate.bleu_score import sentence_bleu
from nltk.translate.chrf_score import sentence_chrf
from rouge_score.rouge_scorer import RougeScorer

ITSELF = ["42", "the red house", "the big red house", "\u5317\u4eac"]
OTHER = [("x = -1", "x = 1"), ("a < b", "a > b"), ("C++", "C"), ("3.5", "5.3")]


def rouge(name):
    scorer = RougeScorer([name])
    return lambda answer, gold: scorer.score(gold, answer)[name].fmeasure


METRICS = {
    "sacrebleu.sentence_bleu": lambda answer, gold: sacrebleu.sentence_bleu(answer, [gold]).score / 100,
    "sacrebleu.BLEU": lambda answer, gold: sacrebleu.BLEU().sentence_score(answer, [gold]).score / 100,
    "sacrebleu.corpus_bleu": lambda answer, gold: sacrebleu.corpus_bleu([answer], [[gold]]).score / 100,
    "nltk sentence_bleu": lambda answer, gold: sentence_bleu([gold.split()], answer.split()),
    "sacrebleu.sentence_chrf": lambda answer, gold: sacrebleu.sentence_chrf(answer, [gold]).score / 100,
    "nltk sentence_chrf": lambda answer, gold: sentence_chrf(gold, answer),
    "ROUGE-1": rouge("rouge1"),
    "ROUGE-2": rouge("rouge2"),
    "ROUGE-L": rouge("rougeL"),
}
SEEN = """\
sacrebleu.sentence_bleu: 1.00 1.00 1.00 1.00; 0.55 0.35 0.28 0.00
sacrebleu.BLEU: 0.00 0.00 1.00 0.00; 0.00 0.00 0.00 0.00
sacrebleu.corpus_bleu: 0.00 0.00 1.00 0.00; 0.00 0.00 0.00 0.00
nltk sentence_bleu: 0.00 0.00 1.00 0.00; 0.00 0.00 0.00 0.00
sacrebleu.sentence_chrf: 1.00 1.00 1.00 1.00; 0.46 0.22 0.71 0.33
nltk sentence_chrf: 0.33 1.00 1.00 0.33; 0.24 0.11 0.14 0.17
ROUGE-1: 1.00 1.00 1.00 0.00; 1.00 1.00 1.00 1.00
ROUGE-2: 0.00 1.00 1.00 0.00; 1.00 1.00 0.00 0.00
ROUGE-L: 1.00 1.00 1.00 0.00; 1.00 1.00 1.00 0.50"""
lines = []
for name, metric in METRICS.items():
    own = " ".join(f"{metric(answer, answer):.2f}" for answer in ITSELF)
    others = " ".join(f"{metric(answer, gold):.2f}" for answer, gold in OTHER)
    lines.append(f"{name}: {own}; {others}")
found = "\n".join(lines)
print('columns: "42", "the red house", "the big red house" and two characters of Chinese, each with itself; then')
print(", ".join(f'"{answer}" for "{gold}"' for answer, gold in OTHER))
print(found)
sys.exit(found != SEEN)
PYTHON
"$folder/venv/bin/python" "$folder/answers.py" 2>/dev/null
