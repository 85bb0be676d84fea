"""What is in a figure, for the tests of figures."""

from matplotlib.collections import LineCollection
from matplotlib.colors import to_hex

from pacs.report import figures, read_runs
from pacs.report.panels import PANELS
from pacs.report.run_groups import group_runs

#: Of runs that measure effective ranks (`method.metrics.effective_rank_every`) or have a critic that writes text.
OF_SOME = {
    "pacs/effective_rank/rank_correct_mean": lambda step: 5.0 + 0.5 * step,
    "pacs/effective_rank/rank_wrong_mean": lambda step: 4.0,
    "pacs/genac/explained_fraction": lambda step: 0.1 * step,
    "pacs/partial/staleness_mean": lambda step: 0.5,
    "pacs/partial/staleness_max": lambda step: 1.0,
    "pacs/partial/versions_mean": lambda step: 1.25,
}
NOT_ALWAYS = {"effective_rank", "generative_critic", "staleness"}
NAMED = {panel.name: panel for panel in PANELS}


def groups_of(*folders, each=True):
    return group_runs(read_runs(folders), each=each)


def all_axes(name, groups):
    (panel,) = (panel for panel in figures.panels_of(groups) if panel.name == name)
    return figures.figure_of(panel, groups).axes


def axes_of(name, groups):
    (axes,) = all_axes(name, groups)
    return axes


def overview(groups):
    return figures.overview(groups, figures.panels_of(groups))


def lines_of(axes):
    """The data's lines, without marks of ours."""
    return [line for line in axes.get_lines() if line.get_gid() is None]


def resets_of(axes):
    """Step and top of each mark, by colour."""
    marks = [mark for mark in axes.collections if mark.get_gid() == "reset"]
    return {to_hex(mark.get_color()[0]).upper(): [tuple(end) for _, end in mark.get_segments()] for mark in marks}


def bands_of(axes):
    """Of each band the steps, and the lower and the upper edge."""
    found = []
    for area in axes.collections:
        if not isinstance(area, LineCollection):
            edges = {}
            for step, value in area.get_paths()[0].vertices:
                edges.setdefault(step, []).append(value)
            found.append({step: (min(values), max(values)) for step, values in sorted(edges.items())})
    return found


def legend_of(axes):
    return [text.get_text() for text in axes.get_legend().get_texts()]


def note_of(figure):
    return [text.get_text() for legend in figure.legends for text in legend.get_texts()]


def constant(value):
    return lambda step: value


def unwrapped(axes):
    return axes.get_title(loc="left").replace("\n", " ").replace("\N{NO-BREAK SPACE}", " ")


def seeds(make_run, name, values, **options):
    """Runs of one experiment, of a constant pass rate."""
    config = "name: {}\ndata: {{seed: {}}}\n"
    return [
        make_run(f"{name}-seed{i}", more={"critic/score/mean": constant(v)}, config=config.format(name, i), **options)
        for i, v in enumerate(values)
    ]
