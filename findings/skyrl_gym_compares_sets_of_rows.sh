#!/usr/bin/env bash
# skyrl-gym 0.4.0: the reward of its SQL environment compares sets of rows: a result sorted backwards is right, and so is one
# without the rows that occur twice. Where the reference finds nothing, an empty solution gets the whole reward.
#
# Guessed: execution accuracy as Spider has it: rows that occur twice count twice, and order counts where the reference sorts;
# a solution that is no query is wrong.
# Seen (2026-11-30, skyrl-gym 0.4.0, Python's sqlite3; the reward of the environment text2sql on a table made here): both
# results become a frozenset. So DISTINCT, ORDER BY and UNION ALL make no difference, a constant can stand for a column, and
# whatever returns no rows, as an empty text, a comment or a DELETE (which is taken back), is right for each question whose
# reference returns none. Training does not teach order and duplicates, and an evaluation that looks at them shows it. Compare
# lists where the reference has ORDER BY, and sorted lists where it has none, and leave out questions whose reference finds
# nothing.
#
#   right: backwards
#   right: duplicates left out
#   right: a constant for a column
#   right: nothing found: an empty solution
#   right: nothing found: a comment
#   right: nothing found: a DELETE
#   wrong: another value
#   wrong: columns swapped
#
# Exits with a status other than 0 if any of this differs. Libraries that this needs for imports alone are stand-ins.
set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check --no-compile --no-deps skyrl-gym==0.4.0
cat >"$folder/rows.py" <<'PYTHON'
import sqlite3
import sys
from unittest.mock import MagicMock

for name in ("func_timeout", "omegaconf", "pandas", "requests"):
    sys.modules[name] = MagicMock()
from skyrl_gym.envs.sql.utils import compute_score_single

NONE = "SELECT name FROM staff WHERE pay > 10"
CASES = {
    "backwards": ("SELECT name FROM staff ORDER BY pay DESC", "SELECT name FROM staff ORDER BY pay"),
    "duplicates left out": ("SELECT city FROM staff", "SELECT DISTINCT city FROM staff"),
    "a constant for a column": ("SELECT pay FROM staff WHERE city = 'Bonn'", "SELECT 2"),
    "nothing found: an empty solution": (NONE, ""),
    "nothing found: a comment": (NONE, "-- none"),
    "nothing found: a DELETE": (NONE, "DELETE FROM staff"),
    "another value": ("SELECT pay FROM staff WHERE city = 'Bonn'", "SELECT 3"),
    "columns swapped": ("SELECT name, pay FROM staff", "SELECT pay, name FROM staff"),
}
VERDICTS = {1.0: "right", 0.0: "wrong"}
base = f"{sys.argv[1]}/staff.db"
with sqlite3.connect(base) as connection:
    connection.execute("CREATE TABLE staff (name TEXT, city TEXT, pay INTEGER)")
    rows = [("Ada", "Ulm", 3), ("Bea", "Ulm", 1), ("Cem", "Bonn", 2), ("Dan", "Bonn", 2)]
    connection.executemany("INSERT INTO staff VALUES (?, ?, ?)", rows)

lines = []
for what, (reference, solution) in CASES.items():
    reward = compute_score_single(f"<think>So it is.</think><solution>{solution}</solution>", reference, base)
    lines.append(f"{VERDICTS[reward]}: {what}")
SEEN = """\
right: backwards
right: duplicates left out
right: a constant for a column
right: nothing found: an empty solution
right: nothing found: a comment
right: nothing found: a DELETE
wrong: another value
wrong: columns swapped"""
found = "\n".join(lines)
print(found)
sys.exit(found != SEEN)
PYTHON
"$folder/venv/bin/python" "$folder/rows.py" "$folder" 2>/dev/null
