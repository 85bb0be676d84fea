#!/usr/bin/env bash
# pyarrow 26.0.1, datasets 5.2.0: the Parquet filter ("reward", "in", [0.0]) leaves out row groups whose rewards are all 0.0, so
# that of a file of wrong responses nothing is read; and is_nan() does not find a NaN among equal numbers.
#
# Guessed: "in" with one value reads what == reads, and any filter what it finds in memory.
# Seen (2026-11-30, pyarrow 26.0.1, datasets 5.2.0; rewards as floats, a row group for each of three prompts): the statistics of
# a column of zeros are written as -0.0 to 0.0, and with them "in" rules the whole row group out, before a row is read. A
# mixed row group is read right, and so are integers and every other value. pyarrow's datasets and the filters of
# load_dataset do the same; ==, "not in" and filter after loading do not. So failures of a model are missing where they are
# densest: all of a prompt's, those of a file that is sorted by reward, or all of them. A NaN is in no statistics: where the
# other numbers of its row group are all 1.0, neither is_nan() nor != 1.0 finds it. Filter in memory, or with == and <.
#
#   read_table, reward == 0.0: rows [0, 1, 2, 3, 8, 10]
#   read_table, reward in [0.0]: rows [8, 10]
#   read_table, reward in [0.0, 1.0]: rows [4, 5, 6, 7, 8, 9, 10, 11]
#   read_table, reward not in [0.0]: rows [4, 5, 6, 7, 9, 11]
#   read_table, nothing but wrong ones, reward in [0.0]: rows []
#   pyarrow's dataset, isin([0.0]): rows [8, 10]
#   the table in memory, isin([0.0]): rows [0, 1, 2, 3, 8, 10]
#   load_dataset, filters, reward in [0.0]: rows [8, 10]
#   load_dataset, then filter: rows [0, 1, 2, 3, 8, 10]
#   read_table, is_nan(): rows [0]
#   the table in memory, is_nan(): rows [0, 4]
#   read_table, reward != 1.0: rows [0, 1, 2]
#   the table in memory, reward != 1.0: rows [0, 1, 2, 4]
#   statistics of the first row group: -0.0 to 0.0
#
# Exits with a status other than 0 if any of this differs.
set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check datasets==5.2.0 pyarrow==26.0.1 numpy==2.3.5
cat >"$folder/zeros.py" <<'PYTHON'
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
import pyarrow.parquet as pq
from datasets import disable_progress_bars, load_dataset

disable_progress_bars()
FOLDER = Path(sys.argv[1])


def written(name, rewards, group):
    file = str(FOLDER / f"{name}.parquet")
    table = pa.table({"reward": pa.array(rewards, pa.float64()), "row": range(len(rewards))})
    pq.write_table(table, file, row_group_size=group)
    return file


def rows(file, *condition):
    return pq.read_table(file, filters=[condition])["row"].to_pylist()


SEEN = """\
read_table, reward == 0.0: rows [0, 1, 2, 3, 8, 10]
read_table, reward in [0.0]: rows [8, 10]
read_table, reward in [0.0, 1.0]: rows [4, 5, 6, 7, 8, 9, 10, 11]
read_table, reward not in [0.0]: rows [4, 5, 6, 7, 9, 11]
read_table, nothing but wrong ones, reward in [0.0]: rows []
pyarrow's dataset, isin([0.0]): rows [8, 10]
the table in memory, isin([0.0]): rows [0, 1, 2, 3, 8, 10]
load_dataset, filters, reward in [0.0]: rows [8, 10]
load_dataset, then filter: rows [0, 1, 2, 3, 8, 10]
read_table, is_nan(): rows [0]
the table in memory, is_nan(): rows [0, 4]
read_table, reward != 1.0: rows [0, 1, 2]
the table in memory, reward != 1.0: rows [0, 1, 2, 4]
statistics of the first row group: -0.0 to 0.0"""

# Four responses to a prompt, a row group each: all wrong, all right, and mixed; and a file with nothing but wrong ones.
prompts = written("prompts", [0.0] * 4 + [1.0] * 4 + [0.0, 1.0, 0.0, 1.0], 4)
wrong = written("wrong", [0.0] * 4, 4)
zero = pc.field("reward").isin([0.0])
loaded = {"data_files": prompts, "split": "train"}
found = {
    "read_table, reward == 0.0": rows(prompts, "reward", "==", 0.0),
    "read_table, reward in [0.0]": rows(prompts, "reward", "in", [0.0]),
    "read_table, reward in [0.0, 1.0]": rows(prompts, "reward", "in", [0.0, 1.0]),
    "read_table, reward not in [0.0]": rows(prompts, "reward", "not in", [0.0]),
    "read_table, nothing but wrong ones, reward in [0.0]": rows(wrong, "reward", "in", [0.0]),
    "pyarrow's dataset, isin([0.0])": ds.dataset(prompts).to_table(filter=zero)["row"].to_pylist(),
    "the table in memory, isin([0.0])": pq.read_table(prompts).filter(zero)["row"].to_pylist(),
    "load_dataset, filters, reward in [0.0]": list(
        load_dataset("parquet", filters=[("reward", "in", [0.0])], **loaded)["row"]
    ),
    "load_dataset, then filter": list(
        load_dataset("parquet", **loaded).filter(lambda row: row["reward"] in [0.0])["row"]
    ),
}
# Two numbers that are none among others.
broken = written("broken", [float("nan"), 0.5, 0.5, 1.0, float("nan"), 1.0, 1.0, 1.0], 4)
lost = pc.field("reward").is_nan()
found |= {
    "read_table, is_nan()": pq.read_table(broken, filters=lost)["row"].to_pylist(),
    "the table in memory, is_nan()": pq.read_table(broken).filter(lost)["row"].to_pylist(),
    "read_table, reward != 1.0": rows(broken, "reward", "!=", 1.0),
    "the table in memory, reward != 1.0": pq.read_table(broken).filter(pc.field("reward") != 1.0)["row"].to_pylist(),
}
statistics = pq.ParquetFile(prompts).metadata.row_group(0).column(0).statistics
lines = [f"{name}: rows {numbers}" for name, numbers in found.items()]
lines.append(f"statistics of the first row group: {statistics.min} to {statistics.max}")
print("\n".join(lines))
sys.exit("\n".join(lines) != SEEN)
PYTHON
HF_HOME=$folder/home HF_HUB_OFFLINE=1 "$folder/venv/bin/python" "$folder/zeros.py" "$folder" 2>/dev/null
