r"""Write traces to fine-tune a generative critic on (GenAC, arXiv 2604.10701): a teacher reads partial responses of an
actor, reasons about each and scores it from 0 to 10. The states are drawn from an evaluation of the actor (`pacs
evaluate`); take problems that it will not be trained on. The teacher is asked through an OpenAI-compatible server
(vLLM's, or a vendor's), with the same words that the critic will read in training.

The key comes from the environment variable that --key-variable names; if that is not set, none is sent. Requests are
repeated when a server is busy or fails. Repeating the command resumes it: no state is asked about twice. Ctrl-C and
SIGTERM wait for pending answers and keep them.

The command writes each answer to DIR/traces.jsonl as soon as it is there, and those that end in a score to
DIR/train.parquet: `prompt` is the question as the critic reads it in training, plain text, and `response` the trace.
With --chat, one column `messages` has both as a conversation. Such a critic can be asked by `pacs genac value-bench
--chat`, and not by `pacs train`. At the end the command says how many answers have no score.
Exit status: 0 done, 1 the server failed, 2 refused, 75 stopped on request.

examples:
  pacs evaluate Qwen/Qwen3-8B-Base --tasks held=data/held/train.parquet --samples 1 --temperature 1 --top-p 1 --out held
  pacs genac sft-data held --server https://api.openai.com/v1 --teacher gpt-5 --model-size 8B --out traces
  pacs genac sft-data held --server http://localhost:8000/v1 --teacher Qwen/Qwen3-32B --model-size 8B --parallel 64 \
    --request '{"max_completion_tokens": 4096}' --out traces
"""

import argparse
import math
import os
from pathlib import Path

from pacs.base.arguments import add_count, number, seconds, text, whole_seed
from pacs.base.terminal import print
from pacs.commands.evaluate import status_of
from pacs.commands.genac_value_bench import STATES, STATES_ARE, add_asking, add_cuts
from pacs.evaluation.process import StopRequest

KEY = "OPENAI_API_KEY"
RATE = number("a number of at least 0.001, as 60", lambda value: 0.001 <= value < math.inf)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command's arguments."""
    add = parser.add_argument
    add("evaluation", type=Path, metavar="EVALUATION", help="folder of an evaluation of the actor")
    add("--tasks", metavar="T,T,...", help="tasks of the evaluation (default: all)")
    add("--out", required=True, type=Path, metavar="DIR", help="folder of the traces, new or to be resumed")
    server = parser.add_argument_group("the teacher")
    add = server.add_argument
    about = "URL of its server up to /v1, as http://localhost:8000/v1"
    add("--server", required=True, type=text, metavar="URL", help=about)
    add("--teacher", required=True, type=text, metavar="NAME", help="its name at that server, as gpt-5")
    about = f"environment variable with the key (default: {KEY})"
    add("--key-variable", default=KEY, type=text, metavar="NAME", help=about)
    about = 'more fields of each request, as \'{"reasoning_effort": "low", "max_completion_tokens": 4096}\''
    add("--request", default="{}", metavar="JSON", help=about)
    add_count(add, "--parallel", 16, "most requests that are under way at a time")
    add("--per-minute", type=RATE, metavar="N", help="most requests that begin in a minute (default: no limit)")
    add_count(add, "--tries", 6, "how often a request is tried before it has failed")
    add("--timeout", type=seconds, default=600.0, metavar="SECONDS", help="seconds that a try may take (default: 600)")
    add_asking(parser.add_argument_group("what it is asked"))
    about = "write conversations to train.parquet, for a chat template (default: plain text, as in training)"
    parser.add_argument("--chat", action="store_true", help=about)
    states = parser.add_argument_group("states")
    add = states.add_argument
    add_count(add, "--states", STATES, STATES_ARE)
    add("--seed", type=whole_seed, default=0, metavar="N", help="seed of the drawn states (default: 0)")
    about = "folder of the actor, whose tokenizer cuts its responses (default: the evaluation's own model)"
    add("--tokenizer", type=Path, metavar="DIR", help=about)
    add_cuts(states)


def main(args: argparse.Namespace) -> int:
    """Ask and write; return the exit status."""
    # Not before there is something to do: transformers takes seconds to import.
    from pacs.evaluation.genac.sft_data import PARQUET, SftRequest, make
    from pacs.evaluation.genac.states import Cuts
    from pacs.evaluation.genac.teacher import Server, parse_body
    from pacs.evaluation.genac.templates import Asking, template_named

    def start() -> None:
        key = os.environ.get(args.key_variable, "").strip()
        server = Server(
            args.server, args.teacher, key, parse_body(args.request), args.tries, args.timeout, args.per_minute
        )
        asked = SftRequest(
            evaluation=args.evaluation,
            tasks=None if args.tasks is None else args.tasks.split(","),
            out=args.out,
            server=server,
            asking=Asking(template_named(args.template), args.model_size, args.success_rate),
            parallel=args.parallel,
            states=args.states,
            seed=args.seed,
            cuts=Cuts(args.delimiter, args.least_tokens, args.most_tokens),
            tokenizer=args.tokenizer,
            chat=args.chat,
        )
        found = make(asked, StopRequest())
        read, total = found["read"], found.total()
        others = ", ".join(f"{count:,} {what}" for what, count in found.items() if what != "read")
        print(f"{read:,} of {total:,} traces end in a score{f' ({others})' if others else ''}: {args.out / PARQUET}")

    return status_of(start, "pacs genac sft-data")
