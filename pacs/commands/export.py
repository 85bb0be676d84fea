"""Merge the shards of a checkpoint's policy, or of its critic, into a Hugging Face folder for transformers and vLLM:
weights, config, tokenizer, chat template, generation config and a model card. The command needs no GPU, whatever wrote
the checkpoint, and memory for about one copy of the model. DIR is written completely or not at all.

examples:
  pacs export outputs/pacs/qwen3_8b-pacs --out exported
  pacs export outputs/pacs/qwen3_8b-pacs/checkpoints/global_step_320 --out exported --dtype float32
  pacs export outputs/pacs/qwen3_8b_base-genac --part critic --out exported_critic
"""

import argparse
import shlex
from pathlib import Path

from pacs.base.errors import UserError
from pacs.base.files import check_folder, folder_bytes
from pacs.base.stops import like_ctrl_c
from pacs.base.terminal import print
from pacs.checkpoints.source import find_source
from pacs.evaluation.results import card_section, find_evaluations
from pacs.export.dtype import DTYPES, choose_dtype


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command's arguments."""
    about = "a folder global_step_N, or a run's folder, for its newest complete checkpoint"
    parser.add_argument("checkpoint", type=Path, metavar="CHECKPOINT", help=about)
    about = "the policy, or the critic of a run of GenAC, PPO or VC-PPO (default: actor)"
    parser.add_argument("--part", choices=("actor", "critic"), default="actor", help=about)
    parser.add_argument("--out", required=True, type=Path, metavar="DIR", help="folder to write; must not exist")
    parser.add_argument("--dtype", choices=DTYPES, help="dtype of the weights (default: vLLM's in the run)")
    about = "folder of an evaluation of this checkpoint, for the model card; may be repeated (a sweep's are found)"
    parser.add_argument("--evaluation", action="append", default=[], type=Path, metavar="DIR", help=about)


def main(args: argparse.Namespace) -> int:
    """Export and say what was written."""
    if args.part == "critic" and args.evaluation:
        raise UserError("--evaluation is of a policy: leave it out with --part critic")
    if not args.out.exists():  # else it is refused in other words
        check_folder(args.out)
    source = find_source(args.checkpoint, args.part)
    dtype, why = choose_dtype(args.dtype, source)
    for problem in source.passed_over:
        print(f"passed over: {problem}")
    print(f"checkpoint: {source.checkpoint.folder}", flush=True)
    print(f"dtype: {dtype} ({why})", flush=True)
    # Not before the arguments are known to be right: torch and transformers take seconds to import.
    from pacs.export.folder import export

    evaluations = find_evaluations(source, args.evaluation) if args.part == "actor" else []
    with like_ctrl_c():
        parameters = export(source, args.out, dtype, list(map(card_section, evaluations)))
    print(f"wrote {args.out}: {parameters:,} parameters, {folder_bytes(args.out):,} bytes")
    out = shlex.quote(str(args.out))
    if source.has_value_head:
        print(f"its values of states: pacs genac value-bench ACTOR --value-head {out} (--help says how)")
        return 0
    # vLLM takes a dtype of 16 bits by itself if the weights have 32.
    print(f"load it: vllm serve {out}" + (" --dtype float32" if dtype == "float32" else ""))
    return 0
