#!/usr/bin/env bash
# statsmodels 0.15.0: a benchmark that both models solve to 100 % has the p-value NaN, and with it among the others, Hommel's and
# the GBS correction find no difference at all, Hochberg's finds fewer, and those of the false discovery rate give NaN for all.
#
# Guessed: two equal proportions of 1 have a p-value of 1; and multipletests leaves a NaN out, or gives NaN for that test alone.
# Seen (2026-11-30, statsmodels 0.15.0 with scipy 1.17.1; two models on 200 questions of each of four benchmarks, and on a fifth
# that both solve): proportions_ztest divides 0 by 0 for it, as it does where both fail all. multipletests sorts the NaN in as the
# last p-value. hommel and fdr_gbs, which reject four hypotheses without it, then reject none, and simes-hochberg one; the FDR's
# still reject four, but all their corrected p-values are NaN, and "p < 0.05" rejects none. bonferroni, holm and the two of Sidak
# count it as one more test, with which holm loses one of two. Only a warning about a division says so. Saturated benchmarks are
# common at the end of training, and one of them decides what is called significant. Replace NaN by 1, or use
# test_proportions_2indep, whose p-value there is 1, and look for NaN before the correction.
#
#   p-values 0.0014 0.0161 0.0269 0.0357, saturated nan, by test_proportions_2indep 1.0
#   bonferroni: 1 (1 by p), with NaN 1 (1 by p), with 1 1 (1 by p)
#   sidak: 1 (1 by p), with NaN 1 (1 by p), with 1 1 (1 by p)
#   holm: 2 (2 by p), with NaN 1 (1 by p), with 1 1 (1 by p)
#   holm-sidak: 2 (2 by p), with NaN 1 (1 by p), with 1 1 (1 by p)
#   simes-hochberg: 4 (4 by p), with NaN 1 (0 by p), with 1 1 (1 by p)
#   hommel: 4 (4 by p), with NaN 0 (0 by p), with 1 2 (2 by p)
#   fdr_bh: 4 (4 by p), with NaN 4 (0 by p), with 1 4 (4 by p)
#   fdr_by: 1 (1 by p), with NaN 1 (0 by p), with 1 1 (1 by p)
#   fdr_tsbh: 4 (4 by p), with NaN 4 (0 by p), with 1 4 (4 by p)
#   fdr_gbs: 4 (4 by p), with NaN 0 (0 by p), with 1 4 (4 by p)
#
# Exits with a status other than 0 if any of this differs.
set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check statsmodels==0.15.0 scipy==1.17.1
cat >"$folder/tests.py" <<'PYTHON'
import sys
import warnings

import numpy as np
from statsmodels.stats.multitest import multipletests
from statsmodels.stats.proportion import proportions_ztest, test_proportions_2indep

warnings.simplefilter("ignore")
QUESTIONS = 200
RIGHT = ((120, 150), (118, 141), (100, 122), (90, 111))
METHODS = ("bonferroni", "sidak", "holm", "holm-sidak", "simes-hochberg", "hommel", "fdr_bh", "fdr_by", "fdr_tsbh", "fdr_gbs")
SEEN = """\
p-values 0.0014 0.0161 0.0269 0.0357, saturated nan, by test_proportions_2indep 1.0
bonferroni: 1 (1 by p), with NaN 1 (1 by p), with 1 1 (1 by p)
sidak: 1 (1 by p), with NaN 1 (1 by p), with 1 1 (1 by p)
holm: 2 (2 by p), with NaN 1 (1 by p), with 1 1 (1 by p)
holm-sidak: 2 (2 by p), with NaN 1 (1 by p), with 1 1 (1 by p)
simes-hochberg: 4 (4 by p), with NaN 1 (0 by p), with 1 1 (1 by p)
hommel: 4 (4 by p), with NaN 0 (0 by p), with 1 2 (2 by p)
fdr_bh: 4 (4 by p), with NaN 4 (0 by p), with 1 4 (4 by p)
fdr_by: 1 (1 by p), with NaN 1 (0 by p), with 1 1 (1 by p)
fdr_tsbh: 4 (4 by p), with NaN 4 (0 by p), with 1 4 (4 by p)
fdr_gbs: 4 (4 by p), with NaN 0 (0 by p), with 1 4 (4 by p)"""


def shown(values, method):
    """How many hypotheses are rejected, and how many by the corrected p-value."""
    rejected, corrected, *_ = multipletests(values, method=method)
    return f"{rejected.sum()} ({(corrected < 0.05).sum()} by p)"


values = [proportions_ztest(right, [QUESTIONS] * 2)[1] for right in RIGHT]
saturated = proportions_ztest([QUESTIONS] * 2, [QUESTIONS] * 2)[1]
other = test_proportions_2indep(QUESTIONS, QUESTIONS, QUESTIONS, QUESTIONS).pvalue
lines = [f"p-values {' '.join(f'{value:.4f}' for value in values)}, saturated {saturated}, by test_proportions_2indep {other}"]
for method in METHODS:
    cases = (values, [*values, saturated], [*values, 1.0])
    lines.append("{}: {}, with NaN {}, with 1 {}".format(method, *(shown(np.array(case), method) for case in cases)))
found = "\n".join(lines)
print(found)
sys.exit(found != SEEN)
PYTHON
"$folder/venv/bin/python" "$folder/tests.py"
