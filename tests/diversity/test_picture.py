"""What the picture shows, read back from the figure."""

import numpy as np
import pytest
from matplotlib.colors import to_hex
from matplotlib.contour import ContourSet

from pacs.base.statistics import Estimate
from pacs.diversity.measures import unit_vectors
from pacs.diversity.picture import draw, project, title_of
from pacs.report.figures import render_png
from pacs.report.style import COLOURS

MODELS = [
    {f"{p}": unit_vectors(np.random.default_rng([p, m]).normal(3, 1 + m, (60, 3))) for p in range(5)} for m in (0, 1)
]


def test_the_lines_hold_what_the_key_says() -> None:
    figure = draw(["base", "pacs $x$"], MODELS, "title")
    contours = [found for found in figure.axes[0].collections if isinstance(found, ContourSet)]
    for points, lines in zip(project(MODELS), contours, strict=True):
        outer, inner = lines.get_paths()
        assert np.mean(inner.contains_points(points.plane)) == pytest.approx(0.5, abs=0.03)
        assert np.mean(outer.contains_points(points.plane)) == pytest.approx(0.9, abs=0.03)
        assert lines.get_linewidths()[0] < lines.get_linewidths()[1]
    limit = figure.axes[0].get_xlim()[1]
    assert all(np.abs(path.vertices).max() < limit for lines in contours for path in lines.get_paths())
    assert [to_hex(lines.get_edgecolor()[0]).upper() for lines in contours] == [*COLOURS[:2]]
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["base", "pacs $x$"]
    assert render_png(figure) == render_png(draw(["base", "pacs $x$"], MODELS, "title"))


def test_responses_on_a_line_have_no_contours() -> None:
    angles = np.array([0.0, 0.1, 0.1])
    figure = draw(["a"], [{"p": unit_vectors(np.stack([np.cos(angles), np.sin(angles)], 1))}], "title")
    assert not [found for found in figure.axes[0].collections if isinstance(found, ContourSet)]
    assert len(figure.axes[0].collections) == 1


def test_many_points_are_thinned_and_few_problems_count_as_much() -> None:
    many = {"p": unit_vectors(np.random.default_rng(0).normal(3, 1, (9000, 3))), "q": MODELS[0]["0"]}
    scatter = draw(["a"], [many], "title").axes[0].collections[0]
    assert len(scatter.get_offsets()) == 3000


def test_nothing_to_draw() -> None:
    assert draw(["a"], [{"p": np.ones((1, 1))}], "title") is None


@pytest.mark.parametrize(
    ("gap", "says"),
    [
        (Estimate(0.1, 0.05, 0.2), "pacs lie farther apart than those of base"),
        (Estimate(-0.1, -0.2, -0.05), "pacs lie closer together than those of base"),
        (Estimate(0.1, -0.05, 0.2), "pacs or of base lie farther apart cannot be told"),
        (Estimate(0.1, 0.1, 0.1), "pacs or of base lie farther apart cannot be told"),
        (None, "pacs or of base lie farther apart cannot be told"),
    ],
)
def test_the_title_says_no_more_than_the_interval(gap: Estimate | None, says: str) -> None:
    title = title_of("aime24", ["base", "pacs"], [Estimate(0.02, 0, 1), Estimate(0.03, 0, 1)], gap)
    assert says in title
    assert "0.0300 against 0.0200" in title
