"""Train all runs of a sweep, one after the other, and end in a table and a plot. Without NAME, list the sweeps.

A sweep (configs/sweep/NAME.yaml) names algorithms, a recipe and the values of some keys; Hydra's multirun makes the
grid. An override applies to every run; for a key that is swept it replaces the values (give several with commas between
them). All runs are composed and checked before the first is started.

Repeating the command resumes the sweep: finished runs are skipped, others resume from their checkpoints, failed ones
are tried again. If a run fails, the others are still trained. Ctrl-C, SIGTERM and SIGUSR1 end the sweep once the
current step is done and saved.

After training, each run's last model is evaluated (`pacs evaluate`) on the tasks of --tasks, or else on the sweep's
tasks if it runs with its own recipe.

The sweep writes to --out: a folder for each run; after each run results.json and results.md (the table); at the end
also results.png (the plot) and report/.
Exit status: 0 all is done, 1 a run or its evaluation failed, 2 refused, 75 stopped on request.

examples:
  pacs sweep
  pacs sweep ablation_beta --dry-run
  pacs sweep ablation_beta
  pacs sweep ablation_beta recipe=arithmetic method.beta=1,10 data.seed=0
  pacs sweep baselines --tasks math500,aime24 --samples 16
  pacs sweep family --algorithms pacs,grpo data.seed=0
  pacs sweep family --results from_another_machine/results.json
"""

import argparse
import shlex
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from pacs.base.arguments import positive
from pacs.base.errors import UserError
from pacs.base.files import check_folder, write_atomically
from pacs.base.locks import held
from pacs.base.run_folder import RunFolder
from pacs.base.stops import Stops
from pacs.base.tables import Table, format_table
from pacs.base.terminal import columns, print, say
from pacs.runs.supervisor import FAILED, FINISHED, STOPPED
from pacs.sweeps.definition import Sweep, read_sweep, sweep_files

if TYPE_CHECKING:
    from pacs.sweeps.grid import PlannedRun
    from pacs.sweeps.train import Evaluation

OUT = "outputs/sweeps"
#: Where `pacs evaluate` has the tasks' files.
DATA = Path("data")
RESULTS, REPORT = "results.json", "report"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command's arguments."""
    add = parser.add_argument
    add("name", nargs="?", metavar="NAME", help="name of the sweep")
    add("overrides", nargs="*", metavar="key=value", help="settings of every run, as for `pacs train`")
    about = "train only these algorithms of the sweep (default: all); the table then has only them"
    add("--algorithms", metavar="A,A,...", help=about)
    add("--dry-run", action="store_true", help="check and list all runs; start nothing")
    about = "results of this sweep from another machine, whose finished runs are taken over; may be repeated"
    add("--results", type=Path, action="append", default=[], metavar="results.json", help=about)
    add("--out", type=Path, metavar="DIR", help=f"folder of the sweep (default: {OUT}/NAME-RECIPE)")
    evaluation = parser.add_argument_group("evaluation of the trained models")
    about = "tasks of `pacs evaluate`, or none (default: the sweep's, if it runs with its own recipe)"
    evaluation.add_argument("--tasks", metavar="T,T,...", help=about)
    for option, metavar, about in (
        ("--samples", "[TASK=]N", "samples of each problem; repeat for single tasks"),
        ("--k", "[TASK=]K,K,...", "k of pass@k, as 1,8,64; repeat for single tasks"),
    ):
        about += " (default: that of `pacs evaluate`)"
        evaluation.add_argument(option, action="append", default=[], metavar=metavar, help=about)
    about = "most tokens of a response (default: that of `pacs evaluate`)"
    evaluation.add_argument("--max-tokens", type=positive, metavar="N", help=about)


def main(args: argparse.Namespace) -> int:
    """Run the sweep, or list the sweeps; return the exit status."""
    try:
        if args.name is not None:
            return _sweep(args)
        if any(vars(args).values()):
            raise UserError("no NAME of a sweep is given: `pacs sweep` alone lists them")
        return _list()
    except BrokenPipeError:  # of stdout: `pacs` itself ends on it
        raise
    except KeyboardInterrupt:
        print("pacs sweep: stopped; the same command goes on", file=sys.stderr)
        return STOPPED
    except OSError as error:  # a full disk
        print(f"pacs sweep: {error}: the runs keep what they have; the same command goes on", file=sys.stderr)
        return FAILED


def _list() -> int:
    sweeps = [read_sweep(name) for name in sweep_files()]
    rows: Table = {
        sweep.name: {
            "runs": sweep.runs,
            "recipe": sweep.recipe,
            "algorithms": ", ".join(sweep.algorithms),
            "varies": ", ".join(sweep.values),
        }
        for sweep in sweeps
    }
    print(format_table(rows, corner="sweep", width=columns()))
    print(*(f"{sweep.name}: {sweep.description}" for sweep in sweeps), sep="\n")
    return FINISHED


def _sweep(args: argparse.Namespace) -> int:
    from pacs.evaluation.tasks import prepare_missing
    from pacs.sweeps.check import check_configs, check_machine, take_results
    from pacs.sweeps.grid import plan_runs, recipe_of
    from pacs.sweeps.results import read
    from pacs.sweeps.train import check_evaluations, train_runs

    sweep = read_sweep(args.name)
    recipe = recipe_of(sweep, args.overrides)
    evaluation = _evaluation(args, sweep.tasks if recipe == sweep.recipe else [])
    out = args.out or Path(OUT) / f"{sweep.name}-{recipe.replace(',', '_')}"
    check_folder(out)
    for file in args.results:
        read(file)
    algorithms = sweep.chosen(args.algorithms)
    runs = plan_runs(sweep, args.overrides, out, algorithms)
    sweep = replace(sweep, algorithms=algorithms)
    check_configs(runs)
    tasks, max_tokens = (evaluation.tasks, evaluation.max_tokens) if evaluation else ([], None)
    take_results(runs, args.results, tasks, max_tokens)
    if evaluation:
        check_evaluations(runs, evaluation)
    if args.dry_run:
        return _dry_run(runs)
    check_machine([run for run in runs if not run.is_finished])
    if evaluation:
        prepare_missing(evaluation.tasks, DATA)
    refused: dict[str, str] = {}
    with held(out, f"--out {out}", "a sweep"):
        with Stops() as stop:
            status = train_runs(runs, evaluation, stop, refused, lambda: _write(sweep, runs, out, refused))
        finished = sum(run.is_finished for run in runs)
        say(f"pacs sweep: writing the results of {finished} of {len(runs)} runs")
        # Ended at once, by a second signal: without what takes seconds.
        _write(sweep, runs, out, refused, report=status <= 128)
    if status not in (FINISHED, FAILED):
        say("pacs sweep: stopped; the same command goes on", error=True)
    return status


def _dry_run(runs: Sequence["PlannedRun"]) -> int:
    from pacs.sweeps.check import check_machine

    for number, run in enumerate(runs, start=1):
        done = "finished elsewhere" if run.elsewhere else "finished"
        state = done if run.is_finished else f"resumes from {run.step}" if run.step else "new"
        print(f"{number} of {len(runs)}: {run.label}: {state}, {run.total_steps} steps -> {run.folder}")
        print(f"  {run.command[0]} {shlex.join(run.command[1:])}")
    try:
        check_machine([run for run in runs if not run.is_finished])
    except UserError as error:
        raise UserError(f"the runs are sound, but on this machine {error}") from error
    print("The runs are sound, and what they need is here.")
    return FINISHED


def _evaluation(args: argparse.Namespace, default: Sequence[str]) -> "Evaluation | None":
    """What is evaluated: --tasks, or the sweep's own; None: nothing.

    Raises:
        UserError: the options name no tasks.
    """
    from pacs.evaluation.settings import Sampling
    from pacs.evaluation.tasks import parse_tasks
    from pacs.sweeps.train import Evaluation

    max_tokens = args.max_tokens or Sampling().max_tokens
    options = [
        word for option in ("samples", "k") for value in getattr(args, option) for word in (f"--{option}", value)
    ]
    if args.max_tokens is not None:
        options += ["--max-tokens", str(args.max_tokens)]
    given = (",".join(default) or "none") if args.tasks is None else args.tasks
    if given == "none":
        if options:
            raise UserError(f"{options[0]} {options[1]}: nothing is evaluated: give --tasks, too")
        return None
    return Evaluation(parse_tasks(given, DATA, args.samples, args.k), max_tokens, ["--tasks", given, *options])


def _write(
    sweep: Sweep, runs: Sequence["PlannedRun"], out: Path, refused: Mapping[str, str], *, report: bool = False
) -> None:
    """Write results.json and its table, which takes no time; with `report` the plot and report/ too."""
    from pacs.sweeps import collect, render
    from pacs.sweeps.results import as_text
    from pacs.sweeps.table import results_page

    results = collect.collect(sweep, runs, command=["pacs", *sys.argv[1:]], refused=refused)
    write_atomically(out / RESULTS, as_text(results))
    write_atomically(out / render.TABLE, results_page(results).encode())
    if not report:
        return
    from pacs.report import write_report

    files = render.render(results)
    if render.PLOT in files:
        write_atomically(out / render.PLOT, files[render.PLOT])
    say(files[render.TABLE].decode())
    folders = [run.folder for run in runs if RunFolder(run.folder).metrics.is_file()]
    if folders:
        try:
            write_report(folders, out / REPORT, tables=render.tables(results), title=render.title_of(results))
        except UserError as error:
            say(f"pacs sweep: no {REPORT}/: {error}", error=True)
    say(f"pacs sweep: {out / RESULTS}, {render.TABLE}, {render.PLOT}, {REPORT}/index.html")
