"""Local files: the golds are the text that stands there, and what cannot be read is one line."""

import json
import subprocess
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pacs.base.errors import UserError
from pacs.data.files import csv_rows, json_rows
from pacs.data.golds import math_gold
from pacs.data.load import file_rows
from tests.data.conftest import Run, problems

# Each as JSON, and the text that it is.
ANSWERS = [
    ('"x+1"', "x+1"),
    ('"[1,2]"', "[1,2]"),
    ("12", "12"),
    ("1.10", "1.10"),
    ("1e5", "1e5"),
    ('"1e5"', "1e5"),
    ("12345678901234567890123", "12345678901234567890123"),
    ('"007"', "007"),
    ('"2024-01-02"', "2024-01-02"),
    ('"2024-01-02T03:04:05"', "2024-01-02T03:04:05"),
    ('"True"', "True"),
    ('"1,000"', "1,000"),
]


@pytest.mark.parametrize("name", ["lines.jsonl", "lines.json", "list.json", "B.JSONL", "mine.csv", "mine.CSV"])
def test_golds_are_the_text_of_the_file(name: str, tmp_path: Path, run: Run) -> None:
    objects = [f'{{"problem": "Is it {i}?", "answer": {answer}}}' for i, (answer, _) in enumerate(ANSWERS)]
    if name.lower().endswith("csv"):
        text = "problem,answer\n" + "".join(f'Is it {i}?,"{gold}"\n' for i, (_, gold) in enumerate(ANSWERS))
    else:
        text = "[" + ",\n".join(objects) + "]" if name == "list.json" else "\n\n".join(objects)
    (tmp_path / name).write_text(text, encoding="utf-8-sig")
    assert run("prepare", tmp_path / name, "--verifier", "exact_match", "--out", tmp_path / "out")[0] == 0
    rows = problems(tmp_path / "out" / "train.parquet")
    assert [row["reward_model"]["ground_truth"] for row in rows] == [gold for _, gold in ANSWERS]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "utf-32"])
@pytest.mark.parametrize("name", ["lines.jsonl", "list.json", "mine.csv"])
def test_every_encoding_of_unicode_is_read(name: str, encoding: str, tmp_path: Path) -> None:
    row = {"problem": "Größe? 求", "answer": "2"}
    text = {"lines.jsonl": json.dumps(row, ensure_ascii=False), "mine.csv": "problem,answer\nGröße? 求,2\n"}
    (tmp_path / name).write_text(text.get(name, f"[{text['lines.jsonl']}]"), encoding=encoding)
    assert list((csv_rows if name == "mine.csv" else json_rows)(tmp_path / name)) == [row]


@pytest.mark.parametrize("name", ["it's mine.csv", "mine.jsonl"])
def test_the_mend_of_another_encoding_mends(name: str, tmp_path: Path) -> None:
    row = {"problem": "Größe?", "answer": "2"}
    text = "problem,answer\nGröße?,2\n" if name.endswith("csv") else json.dumps(row, ensure_ascii=False)
    (tmp_path / name).write_text(text, encoding="latin1")
    read = csv_rows if name.endswith("csv") else json_rows
    with pytest.raises(UserError) as refused:
        list(read(tmp_path / name))
    subprocess.run(["bash", "-c", str(refused.value).split("`")[1]], cwd=tmp_path, check=True)
    assert list(read(tmp_path / f"utf8{Path(name).suffix}")) == [row]


def test_a_list_for_a_row_has_its_places_for_columns(tmp_path: Path) -> None:
    (tmp_path / "x.json").write_text('[[{"value": "Q"}, 5], ["a"]]')
    assert list(json_rows(tmp_path / "x.json")) == [{"0": {"value": "Q"}, "1": "5"}, {"0": "a"}]


def test_a_level_below_zero_is_a_number(tmp_path: Path, run: Run) -> None:
    levels = [-1, 2.5, 1e-3, "-1", "Level 5", "Level-5", None]
    rows = [{"problem": f"Is it {i}?", "answer": 1, "level": level} for i, level in enumerate(levels)]
    (tmp_path / "mine.jsonl").write_text("\n".join(map(json.dumps, rows)))
    assert run("prepare", tmp_path / "mine.jsonl", "--difficulty-column", "level", "--out", tmp_path / "out")[0] == 0
    read = [row["extra_info"]["difficulty"] for row in problems(tmp_path / "out" / "train.parquet")]
    assert read == [-1.0, 2.5, 0.001, -1.0, 5.0, 5.0, None]


VALUES = st.dictionaries(st.text(), st.text() | st.none() | st.lists(st.text(), max_size=2), max_size=3)


@settings(deadline=None, derandomize=True)
@given(rows=st.lists(VALUES, max_size=4))
def test_objects_come_back(rows: list[dict[str, object]], tmp_path_factory: pytest.TempPathFactory) -> None:
    file = tmp_path_factory.getbasetemp() / "any.json"
    for text in (json.dumps(rows, indent=1), "\n".join(map(json.dumps, rows))):
        file.write_text(text)
        assert list(json_rows(file)) == rows


def test_lines_are_read_as_they_are_asked_for(tmp_path: Path) -> None:
    (tmp_path / "x.jsonl").write_text('{"a": "1"}\nnonsense\n')
    assert next(iter(json_rows(tmp_path / "x.jsonl"))) == {"a": "1"}
    (tmp_path / "x.csv").write_text('a\n1\n"nonsense')
    assert next(iter(csv_rows(tmp_path / "x.csv"))) == {"a": "1"}


def test_columns_without_a_name_are_no_matter(tmp_path: Path) -> None:
    """As spreadsheets write several; of two of one name a value would be lost."""
    (tmp_path / "x.csv").write_text("a,,\n1,,\n")
    assert [row["a"] for row in csv_rows(tmp_path / "x.csv")] == ["1"]


def test_a_long_field_is_read(tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_text(f'a,b\n{"x" * 200_000},"1\n2"\n')
    assert list(csv_rows(tmp_path / "x.csv")) == [{"a": "x" * 200_000, "b": "1\n2"}]


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("x.jsonl", b'{"a": 1}\n{"a":\n', "line 2: Expecting value"),
        ("x.jsonl", b'{"a": 1}\n"a"\n', "line 2: it is no object"),
        ("x.json", b'[{"a": 1}, 2]', "row 2: it is no object"),
        ("x.json", b'[{"a": 1}', "the list: Expecting ',' delimiter"),
        ("x.json", b'{\n"a": 1\n}', "line 1: Expecting"),
        ("x.jsonl", b'{"a": "\\ud800"}', "line 1: 'utf-8' codec can't encode"),
        ("x.jsonl", b'{"a": "\xff"}', "it is not UTF-8 (byte 0xff)"),
        ("x.jsonl", b'{"a": ' + b"[" * 200_000, "line 1: maximum recursion depth exceeded"),
        ("x.json", b"[" * 200_000, "the list: maximum recursion depth exceeded"),
        ("x.csv", b'a,b\n1,2\n1,"2\n', "unexpected end of data"),
        ("x.csv", b"a,b\n1,2\n1,2,3\n", "line 3: it has more fields than the first line"),
        ("x.jsonl", '{"a": "b"}'.encode("utf-16")[:-1], "its beginning is that of utf-16"),
        ("x.csv", b"a,b\n1,\xff\n", "it is not UTF-8 (byte 0xff)"),
        ("x.csv", b"a,b,b\n1,2,3\n", "line 1: it has b twice: rename or remove one"),
        ("x.jsonl", b'{"a": 1}\n{"a": 1, "b": 2, "b": 3}', "line 2: it has b twice: rename or remove one"),
    ],
    ids=lambda value: "" if isinstance(value, bytes) else value,
)
def test_what_cannot_be_read(name: str, text: bytes, said: str, tmp_path: Path) -> None:
    file = tmp_path / name
    file.write_bytes(text)
    with pytest.raises(UserError) as refused:
        list((csv_rows if name == "x.csv" else json_rows)(file))
    assert str(refused.value).startswith(f"{file} cannot be read: ")
    assert said in str(refused.value)
    assert "\n" not in str(refused.value)


def test_numbers_of_parquet_are_those_that_were_written_with_few_bits(tmp_path: Path) -> None:
    """0.1 of 32 bits is 0.10000000149011612 of 64, which no answer meets; the texts are numpy's, here and by hand."""
    numbers = [0.1, 2.5, -1.25e-7, 1234.5678, 3.0]
    texts = {
        pa.float16(): ["0.1", "2.5", "-1e-07", "1235", "3"],
        pa.float32(): ["0.1", "2.5", "-1.25e-07", "1234.5677", "3"],
        pa.float64(): ["0.1", "2.5", "-1.25e-07", "1234.5678", "3"],
    }
    for kind, expected in texts.items():
        plain = pa.array(numbers, kind)
        nested = pa.array(
            [{"given": [{"value": number}]} for number in numbers],
            pa.struct({"given": pa.list_(pa.struct({"value": kind}))}),
        )
        pq.write_table(
            pa.table({"answer": plain, "row": nested, "other": pa.array([None] * 5, kind)}), tmp_path / "a.parquet"
        )
        rows = list(file_rows(tmp_path / "a.parquet"))
        assert [math_gold(row["answer"]) for row in rows] == expected
        assert [math_gold(row["row"]["given"][0]["value"]) for row in rows] == expected
        assert [math_gold(row["other"]) for row in rows] == [""] * 5


def test_bytes_of_parquet_are_the_text_that_they_hold(tmp_path: Path, run: Run) -> None:
    """Some writers leave the type of texts out. What is no text is dropped, and is never the text `b'...'`."""
    texts, not_utf8 = ["Half of one?", "Twice one?"], b"\xff\xfe5"
    columns = {"problem": [text.encode() for text in texts], "answer": ["½".encode(), not_utf8]}
    pq.write_table(pa.table(columns), tmp_path / "a.parquet")
    status, out, _ = run("prepare", tmp_path / "a.parquet", "--verifier", "exact_match", "--out", tmp_path / "out")
    assert status == 0
    assert "1 the answer is bytes that are not UTF-8" in out
    (kept,) = problems(tmp_path / "out" / "train.parquet")
    assert kept["reward_model"]["ground_truth"] == "½"
    assert kept["prompt"][0]["content"].startswith(texts[0])


def test_a_parquet_file_without_rows_has_none(tmp_path: Path) -> None:
    """As files of other kinds, and not an error of `datasets`."""
    pq.write_table(pa.table({"problem": pa.array([], pa.string())}), tmp_path / "a.parquet")
    assert list(file_rows(tmp_path / "a.parquet")) == []
