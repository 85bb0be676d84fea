r"""Measure how good the values of generative critics are (GenAC, arXiv 2604.10701). The states are problems with the
beginnings of an actor's responses. The true value of a state is the mean outcome of --continuations that the actor
samples from there. Reported are the mean squared error without the noise of that mean, the explained share of variance
(MSE is not comparable between sets), calibration, and how often the best of 2, 4 and 8 candidate segments is found.
Give several sets, also some that the critic was not trained for.

The critics are compared with two baselines: the success rate for all states, and the value of its problem for each
state. --value-head adds critics of PPO or VC-PPO (`pacs export --part critic`). --values adds any other: a file
with its values of the states in DIR/states.

Repeating the command resumes it, and more critics may be added. DIR/responses and DIR/continuations are evaluations;
`pacs evaluate show` prints their samples. Continuations cost the most: states times --continuations, each the remainder
of a response. The command writes DIR/value_bench.json and DIR/value_bench.md. Exit status: 0 done, 1 an engine failed,
2 refused, 75 stopped on request.

examples:
  pacs genac value-bench Qwen/Qwen3-8B-Base --critic critics/sft critics/rl --tasks math500,aime24 --model-size 8B \
    --out outputs/values
  pacs genac value-bench outputs/actor --critic critics/rl --tasks mine=data/mine/test.parquet --model-size 0.6B \
    --continuations 16 --out outputs/values
"""

import argparse
from dataclasses import replace
from pathlib import Path

from pacs.base.arguments import add_count, name, number, path, text
from pacs.base.files import write_atomically, write_json
from pacs.base.terminal import print
from pacs.commands.evaluate import add_engines, add_problems, add_sampling, engines_of, sampling_of, status_of
from pacs.evaluation.grading import parse_given
from pacs.evaluation.process import StopRequest
from pacs.evaluation.settings import AS_IN_TRAINING
from pacs.evaluation.tasks import parse_tasks

JSON, PAGE = "value_bench.json", "value_bench.md"
AT_LEAST_0 = number("a whole number of at least 0", lambda value: value >= 0 and value.is_integer())
RATE = number("a number from 0 to 1", lambda value: 0 <= value <= 1)
#: Candidates are compared by two, four and eight.
MOST_CANDIDATES = 8
STATES, STATES_ARE = 3, "states of each response, beside the empty one"
#: As of `pacs.algorithm.genac`, which imports torch: what it ships, the first by default, and where segments end.
TEMPLATES = ("instructions_first", "as_printed", "instructions_first_unconditioned", "as_printed_unconditioned")
DELIMITER, LEAST_TOKENS, MOST_TOKENS = "\n", 64, 256


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command's arguments."""
    add = parser.add_argument
    add("actor", metavar="ACTOR", help="a Hub name, or the folder of a model, a checkpoint or a run (its newest)")
    add_problems(add, required=True)
    add("--critic", nargs="+", type=name, default=[], metavar="MODEL", help="folders of generative critics")
    about = "folders of critics with a value head, as PPO and VC-PPO train them"
    add("--value-head", nargs="+", type=name, default=[], metavar="MODEL", help=about)
    about = 'files with values of other critics; a line is as {"task": "math500", "state": "3:0:2", "value": 0.7}'
    add("--values", nargs="+", type=path, default=[], metavar="FILE", help=about)
    add("--out", required=True, type=Path, metavar="DIR", help="folder of the benchmark, new or to be resumed")
    states = parser.add_argument_group("states (fixed once a folder exists)")
    add = states.add_argument
    add_count(add, "--responses", 1, "responses to each problem")
    add_count(add, "--states", STATES, STATES_ARE)
    add_count(add, "--continuations", 64, "continuations of each state", "K")
    about = f"candidate segments for one state of each problem (default: {MOST_CANDIDATES}; 0: none)"
    add("--candidates", type=AT_LEAST_0, default=MOST_CANDIDATES, metavar="N", help=about)
    add_cuts(states)
    critics = parser.add_argument_group("the question to critics")
    add_asking(critics)
    about = "put the question into the critic's chat template (default: plain text, as in training)"
    critics.add_argument("--chat", action="store_true", help=about)
    add_count(critics.add_argument, "--critic-tokens", 1024, "most tokens of a trace")
    add_sampling(
        parser.add_argument_group("sampling and grading of the actor; traces are sampled in the same way"),
        AS_IN_TRAINING,
    )
    add_engines(parser.add_argument_group("engines (may differ between starts)"))


def add_cuts(group: argparse._ActionsContainer) -> None:
    """Where segments end."""
    add = group.add_argument
    add("--delimiter", default=DELIMITER, metavar="TEXT", help="text that ends a segment (default: a newline)")
    add_count(add, "--least-tokens", LEAST_TOKENS, "fewest tokens of a segment")
    add_count(add, "--most-tokens", MOST_TOKENS, "most tokens of a segment")


def add_asking(group: argparse._ActionsContainer) -> None:
    """What critics are asked."""
    add = group.add_argument
    first, *others = TEMPLATES
    about = f"a file with {{problem}} and {{partial_solution}}, or one of {', '.join(others)} (default: {first})"
    add("--template", default=first, metavar="NAME|FILE", help=about)
    add("--model-size", required=True, type=text, metavar="SIZE", help="size of the actor for the template, such as 8B")
    about = "success rate of the actor, for the template (default: of its responses to the task)"
    add("--success-rate", type=RATE, metavar="SHARE", help=about)


def main(args: argparse.Namespace) -> int:
    """Measure and compare; return the exit status."""
    # Not before there is something to do: transformers takes seconds to import.
    from pacs.evaluation.evaluate import Asked
    from pacs.evaluation.genac.bench import Bench, bench
    from pacs.evaluation.genac.bench_page import page, to_json
    from pacs.evaluation.genac.states import Cuts
    from pacs.evaluation.genac.templates import Asking, template_named

    def start() -> None:
        tasks = parse_tasks(args.tasks, args.data, [str(args.responses)], ["1"])
        sampling = sampling_of(args)
        actor = Asked(
            args.actor, tasks, args.data, args.out, sampling, engines_of(args), parse_given(args.reward_kwargs)
        )
        asked = Bench(
            actor=actor,
            asking=Asking(template_named(args.template), args.model_size, args.success_rate),
            critics=args.critic,
            value_heads=args.value_head,
            values=args.values,
            critic_sampling=replace(sampling, max_tokens=args.critic_tokens, token_entropy=False, reasoning=None),
            states=args.states,
            candidates=int(args.candidates),
            continuations=args.continuations,
            cuts=Cuts(args.delimiter, args.least_tokens, args.most_tokens),
            chat=args.chat,
        )
        results = bench(asked, StopRequest())
        text = page(results)
        write_json(args.out / JSON, to_json(results))
        write_atomically(args.out / PAGE, text)
        print(text, end="")
        print(f"in {args.out}")

    return status_of(start, "pacs genac value-bench")
