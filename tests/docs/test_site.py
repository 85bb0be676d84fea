"""The docs as a site."""

import subprocess
import sys
from pathlib import Path

import yaml

ROOT = Path(__file__).parents[2]


def test_the_site_is_built_without_a_warning(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(tmp_path / "site")]
    built = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert built.returncode == 0, built.stderr
    pages = [entry for entry in _Loader.of(ROOT / "mkdocs.yml")["nav"] if isinstance(entry, str)]
    for page in pages:
        assert (tmp_path / "site" / page.removesuffix(".md") / "index.html").is_file()
    assert "reinforcement learning" in (tmp_path / "site" / "index.html").read_text(encoding="utf-8").lower()
    assert (tmp_path / "site" / "search" / "search_index.json").is_file()


class _Loader(yaml.SafeLoader):
    """YAML in which names of Python functions are text."""

    @classmethod
    def of(cls, file: Path) -> dict[str, list[object]]:
        return yaml.load(file.read_text(encoding="utf-8"), Loader=cls)


_Loader.add_multi_constructor("tag:yaml.org,2002:python/name:", lambda loader, name, node: name)
