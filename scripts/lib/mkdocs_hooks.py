"""What mkdocs.yml needs beside mkdocs: README.md as the first page, and links that leave docs/.

A link to a file outside docs/ becomes a link to the branch `main` of `repo_url`, if mkdocs.yml names one, or else the
file's path as text.
"""

import re
from pathlib import Path, PurePosixPath
from posixpath import normpath

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

ROOT = Path(__file__).parents[2]
#: A block or span of code, in which nothing is a link; or a link or picture: what is shown, its target.
LINK = re.compile(
    r"^```.*?^```|(!?)\[((?:[^\[\]]|\[[^\]]*\])*)\]\((?!https?:|#|mailto:)([^)\s]+)\)|`[^`\n]*`",
    flags=re.DOTALL | re.MULTILINE,
)


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """README.md as index.md, without a copy of it in git."""
    files.append(File.generated(config, "index.md", content=(ROOT / "README.md").read_text(encoding="utf-8")))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Links of this page as the site has them."""
    folder = "" if page.file.src_uri == "index.md" else "docs"

    def turned(match: re.Match[str]) -> str:
        picture, shown, target = match.groups()
        if target is None:
            return match.group()
        path, _, anchor = target.partition("#")
        place = normpath(PurePosixPath(folder, path).as_posix())
        inside = place.removeprefix("docs/")
        if place.startswith("docs/") and files.get_file_from_path(inside):
            return f"{picture}[{shown}]({inside}{'#' * bool(anchor)}{anchor})"
        if not config.repo_url:
            return f"{shown} (`{place}`)"
        return f"[{shown}]({config.repo_url.rstrip('/')}/blob/main/{place})"

    return LINK.sub(turned, markdown)
