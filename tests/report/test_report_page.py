import base64
from html.parser import HTMLParser
from pathlib import Path

import pytest

from pacs.base.settings import shown
from pacs.report import read_run, read_runs, write_report
from pacs.report.page import Picture, build_page
from pacs.report.panels import PANELS
from pacs.report.run_groups import group_runs
from tests.report.drawn import OF_SOME

VOID = {"meta", "img"}
PNG = b"\x89PNG\r\n\x1a\n"


class Page(HTMLParser):
    """What a browser would see; fails on tags that do not match."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.words: list[str] = []
        self.rows: list[list[str]] = []
        self.open: list[str] = []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)
        if tag == "tr":
            self.rows.append([])
        if tag in ("td", "th"):
            self.rows[-1].append("")

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open and self.open[-1] != "style":
            self.words.append(data)
        if {"td", "th"} & set(self.open):
            self.rows[-1][-1] += data

    @property
    def text(self) -> str:
        return "".join(self.words)

    def of(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.tags if name == tag]


def page_of(folders: list[Path], *, each: bool = False, **options) -> Page:
    groups = group_runs(read_runs(folders), each=each)
    return Page(build_page(groups, **{"pictures": [Picture(PNG, "")], "tables": {}} | options))


def assert_self_contained(page: Page) -> None:
    for tag, attributes in page.tags:
        assert tag not in ("script", "link", "iframe", "object", "base", "form")
        for name in ("src", "href", "srcset", "poster", "action", "background"):
            assert (attributes.get(name) or "data:").startswith("data:")
        assert not [name for name in attributes if name.startswith("on")]


def test_the_page_shows_tables_figure_info_and_settings(make_run):
    table = {"greedy": {"before": 0.61, "after": 0.957}, "seconds": {"after": 412.0}}
    page = page_of([make_run("my-run", steps=6)], tables={"Held-out": table}, pictures=[Picture(PNG, "nine panels")])
    assert page.of("title") == [{}]
    assert "Training run my-run" in page.text
    assert "Held-out" in page.text
    assert page.rows[:3] == [["", "before", "after"], ["greedy", "0.610", "0.957"], ["seconds", "–", "412.0"]]
    (image,) = page.of("img")
    assert image["alt"] == "nine panels"
    assert base64.b64decode(image["src"].removeprefix("data:image/png;base64,")) == PNG
    assert ["versions", "torch 2.13.0, verl 0.9.1"] in page.rows
    assert ["git commit", "c0ffee"] in page.rows
    assert ["command", "pacs train --config-name pacs 'data.train_files=[a b]'"] in page.rows
    assert ["actor_rollout_ref.actor.optim.lr", "1e-06"] in page.rows
    assert ["data.train_files", '["data/train.parquet"]'] in page.rows
    assert "All 5 settings" in page.text
    assert "up to step 6" in page.text
    assert "Settings that differ" not in page.text
    assert_self_contained(page)


def test_a_given_title_is_used(make_run):
    assert "Quickstart, seed 1" in page_of([make_run("x")], title="Quickstart, seed 1").text


HOSTILE = [
    "<script>alert(1)</script>",
    '"><img src="https://evil.example/x.png" onerror="x">',
    "</details></style><b>",
    "&amp;{title}{style}%s",
]


@pytest.mark.parametrize("name", HOSTILE)
def test_whatever_comes_from_outside_is_escaped(make_run, name):
    folder = make_run(
        name.replace("/", "∕"),
        info={name: name, "versions": {name: name}, "command": [name], "started": name},
        config=f"{yaml_string(name)}: {yaml_string(name)}\n",
    )
    other = make_run("other")
    pictures = [Picture(PNG, name), Picture(PNG, name, quantity=name, reading=name, metrics=(name,))]
    page = page_of([folder, other], tables={name: {name: {name: name}}}, pictures=pictures, title=name)
    assert_self_contained(page)
    assert page.text.count(name) >= 11
    assert [attributes["alt"] for attributes in page.of("img")] == [name, name]
    assert page.of("b") == []
    assert len(page.of("details")) == 2


def yaml_string(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def test_two_runs_show_the_settings_that_differ_and_only_those(make_run):
    first = make_run("a", config="x: 1\nsame: {y: 2}\nonly_a: {z: null}\n")
    second = make_run("b", config="x: 3\nsame: {y: 2}\n")
    page = page_of([first, second])
    start = page.rows.index(["", "x=1, z=null", "x=3, z=–"])
    assert page.rows[start + 1 : start + 3] == [["x", "1", "3"], ["only_a.z", "null", "–"]]
    assert "2 training runs compared" in page.text
    assert "Seeds, names and folders" not in page.text


def test_seeds_are_a_column_of_their_group_and_folded_away(make_run):
    config = "x: {}\ndata: {{seed: {}, path: q-seed{}/data}}\n"
    runs = [make_run(f"{x}-seed{seed}", config=config.format(x, seed, seed)) for x in (1, 2) for seed in (0, 7)]
    page = page_of(runs)
    assert ["", "x=1", "x=2"] in page.rows
    assert ["x", "1", "2"] in page.rows
    names = ["1-seed0", "1-seed7", "2-seed0", "2-seed7"]
    assert ["", *names] in page.rows
    assert ["data.seed", "0", "7", "0", "7"] in page.rows
    assert ["data.path", "q-seed0/data", "q-seed7/data", "q-seed0/data", "q-seed7/data"] in page.rows
    assert "Seeds, names and folders" in page.text
    apart = page_of(runs, each=True)
    assert ["", *names] in apart.rows
    assert ["x", "1", "1", "2", "2"] in apart.rows


def test_the_groups_are_listed_with_their_runs(make_run):
    page = page_of([make_run("q-seed0", steps=3), make_run("q-seed1", steps=6, info={})])
    assert page.rows[:2] == [
        ["", "runs"],
        ["q-seed*", "q-seed0: up to step 3, started 2026-01-02T03:04:05+00:00; q-seed1: up to step 6"],
    ]
    assert "2 training runs: q-seed*" in page.text
    assert "drawn as one" in page.text
    assert "drawn as one" not in page_of([make_run("x", config=None), make_run("y", config=None)]).text


def test_runs_of_equal_settings_say_so(make_run):
    assert "Settings that differNone." in page_of([make_run("a"), make_run("b")]).text.replace("\n", "")
    seeds = [make_run(f"s{seed}", config=f"data: {{seed: {seed}}}") for seed in (0, 1)]
    assert "None, but for seeds, names and folders." in page_of(seeds).text


def test_a_picture_has_its_heading_its_reading_and_its_metrics(make_run):
    picture = Picture(PNG, "Entropy fell", "Entropy of the policy", "Near 0 it repeats itself.", ("actor/entropy",))
    page = page_of([make_run()], pictures=[picture])
    assert "Entropy of the policy" in page.text
    assert "Near 0 it repeats itself. Metrics: actor/entropy." in page.text
    assert [attributes["alt"] for attributes in page.of("img")] == ["Entropy fell"]


def test_settings_are_flattened_to_the_keys_of_the_command_line():
    config = {"a": {"b": {"c": 1.5, "d": None}, "e": {}}, "f": [1, {"g": "é"}], "h": "text", "i": True}
    assert shown(config) == {
        "a.b.c": "1.5",
        "a.b.d": "null",
        "f": '[1, {"g": "é"}]',
        "h": "text",
        "i": "true",
    }


def test_secrets_are_not_shown_and_tokens_of_text_are(make_run):
    command = ["pacs", "train", "trainer.wandb_api_key=hush-1", "data.max_tokens=7"]
    config = "env: {WANDB_API_KEY: hush-2, HF_TOKEN: hush-3, db_password: hush-4}\npad_token: '<pad>'\napi_key:\n"
    config += (
        "github_token: hush-5\nOPENAI_KEY: hush-6\nproxy: https://me:hush-7@host\njudges: [{private_key: hush-8}]\n"
    )
    info = {"command": [*command, "a.access_key=hush-9"], "remote": "https://hush-10@git", "api-key": "hush-11"}
    page = page_of([make_run(info=info, config=config)])
    assert "hush" not in page.text
    assert ["env.WANDB_API_KEY", "(not shown)"] in page.rows
    assert ["pad_token", "<pad>"] in page.rows
    assert ["api_key", "null"] in page.rows
    assert "data.max_tokens=7" in page.text


def test_a_run_without_settings_or_info_has_a_page(make_run):
    page = page_of([make_run(config=None, info=None)])
    assert page.of("details") == []
    assert "folder" in page.text


def png_of(image: dict[str, str | None]) -> bytes:
    return base64.b64decode((image["src"] or "").removeprefix("data:image/png;base64,"))


#: Runs with few figures, which are quicker to draw.
FEW = {"pacs": False, "validation": ()}
FIGURES = ["overview", "pass_rate", "entropy", "response_length", "gradient_norm", "time"]


def test_write_report_writes_page_and_pictures_and_nothing_else(make_run, tmp_path):
    out = tmp_path / "deep" / "report"
    files = write_report([make_run(**FEW)], out, tables={"Numbers": {"pass@1": {"after": 0.875}}})
    assert files == [out / "index.html", *(out / f"{name}.png" for name in FIGURES)]
    assert sorted(out.iterdir()) == sorted(files)
    page = Page(files[0].read_text(encoding="utf-8"))
    assert [png_of(image) for image in page.of("img")] == [file.read_bytes() for file in files[1:]]
    alts = [image["alt"] for image in page.of("img")]
    assert alts[2] == "Entropy: 0.75 → 0.183 nats a token"
    assert alts[0] == "Small multiples over the training step: " + "; ".join(map(str, alts[1:]))
    assert ["pass@1", "0.875"] in page.rows
    assert_self_contained(page)


@pytest.mark.slow
def test_every_panel_is_a_picture_of_the_page(make_run, tmp_path):
    files = write_report([make_run(resets=[3], more=OF_SOME)], tmp_path / "report")
    assert [file.stem for file in files] == ["index", "overview", *(panel.name for panel in PANELS)]
    page = Page(files[0].read_text(encoding="utf-8"))
    assert [panel.quantity for panel in PANELS if panel.quantity not in page.text] == []
    assert [panel.reading for panel in PANELS if panel.reading not in page.text] == []
    assert len(page.of("img")) == len(PANELS) + 1


@pytest.mark.usefixtures("quick_pictures")
def test_write_report_replaces_an_older_report(make_run, tmp_path):
    out = tmp_path / "report"
    out.mkdir()
    (out / "mine.png").write_bytes(PNG)
    (out / "scores.png").write_bytes(PNG)
    write_report([make_run("first", **FEW)], out)
    write_report([make_run("second", **FEW)], out)
    text = (out / "index.html").read_text(encoding="utf-8")
    assert "Training run second" in text
    assert "first" not in text
    assert sorted(path.stem for path in out.iterdir()) == sorted(["index", "mine", *FIGURES])


@pytest.mark.usefixtures("quick_pictures")
def test_a_write_that_fails_leaves_the_older_report_and_no_litter(make_run, tmp_path, monkeypatch):
    out = tmp_path / "report"
    write_report([make_run("first", **FEW)], out)
    before = {path.name: path.read_bytes() for path in out.iterdir()}
    write_bytes = Path.write_bytes

    def fail_at_the_last(path: Path, content: bytes) -> int:
        if "time.png" not in path.name:
            return write_bytes(path, content)
        write_bytes(path, content[: len(content) // 2])
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_bytes", fail_at_the_last)
    with pytest.raises(OSError, match="No space left"):
        write_report([make_run("second", **FEW)], out)
    assert {path.name: path.read_bytes() for path in out.iterdir()} == before


def test_an_unreadable_run_leaves_no_folder_behind(tmp_path):
    with pytest.raises(ValueError, match="does not exist"):
        write_report([tmp_path / "nowhere"], tmp_path / "report")
    assert not (tmp_path / "report").exists()


def test_the_name_of_a_run_is_its_folders(make_run, monkeypatch):
    monkeypatch.chdir(make_run("named"))
    assert read_run(Path()).name == "named"
