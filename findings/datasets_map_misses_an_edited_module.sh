#!/usr/bin/env bash
# datasets 5.2.0: map() and filter() return cached rows of an older version of a function, if it is imported.
#
# Guessed: the cache goes by a hash of the function and what it uses, so an edit of the function, or of one that it calls,
# runs it again; it does in a script or notebook.
# Seen (2026-11-29, datasets 5.2.0, dill 0.4.1; rows from a JSON file, the second run in a new process): what a script defines
# itself goes into the hash by its code, also a function that the mapped one calls, and a constant. What is imported goes in
# by its name. After an edit of the module, map() of its function, of a lambda that calls it and of an object of its class
# return the rows of the first run, and say nothing. So does an upgrade of the package that takes answers out of solutions.
# Data prepared that way keep the golds that the edit was to mend, and another machine, with an empty cache, gets others.
# load_from_cache_file=False runs the function; so does datasets.disable_caching().
#
#   function of the script: 1, then 10
#   its constant: 1, then 10
#   imported function: 1, then 1
#   lambda that calls it: 1, then 1
#   object of an imported class: 1, then 1
#   filter by it: 1 row, then 1 row
#   imported function, load_from_cache_file=False: 1, then 10
#
# Exits with a status other than 0 if any of this differs. After the edit the function multiplies by 10, not by 1; the filter
# keeps results below 5.
set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check datasets==5.2.0 pyarrow==26.0.1 dill==0.4.1 numpy
export HF_HOME=$folder/home HF_DATASETS_OFFLINE=1 PYTHONDONTWRITEBYTECODE=1
echo '{"answer": 1}' >"$folder/rows.jsonl"
cat >"$folder/prepare.py" <<'PYTHON'
def scaled(row):
    return {"found": row["answer"] * 1}


class Scaled:
    def __call__(self, row):
        return scaled(row)
PYTHON
cat >"$folder/run.py" <<'PYTHON'
import datasets
import prepare

FACTOR = 1


def own(row):
    return {"found": row["answer"] * 1}


def calls(row):
    return {"found": row["answer"] * FACTOR}


datasets.disable_progress_bars()
rows = datasets.load_dataset("json", data_files="rows.jsonl", split="train")
print("function of the script:", rows.map(own)["found"][0])
print("its constant:", rows.map(calls)["found"][0])
print("imported function:", rows.map(prepare.scaled)["found"][0])
print("lambda that calls it:", rows.map(lambda row: {"found": prepare.scaled(row)["found"]})["found"][0])
print("object of an imported class:", rows.map(prepare.Scaled())["found"][0])
print("filter by it:", len(rows.filter(lambda row: prepare.scaled(row)["found"] < 5)), "row")
print(
    "imported function, load_from_cache_file=False:",
    rows.map(prepare.scaled, load_from_cache_file=False)["found"][0],
)
PYTHON
cd "$folder"
venv/bin/python -W ignore run.py >first
sed -i 's/^FACTOR = 1$/FACTOR = 10/; s/\["answer"\] \* 1}/["answer"] * 10}/' prepare.py run.py
venv/bin/python -W ignore run.py >second
paste -d '|' first second | sed 's/|[^:]*: /, then /' | tee found
diff found - <<'SEEN'
function of the script: 1, then 10
its constant: 1, then 10
imported function: 1, then 1
lambda that calls it: 1, then 1
object of an imported class: 1, then 1
filter by it: 1 row, then 1 row
imported function, load_from_cache_file=False: 1, then 10
SEEN
