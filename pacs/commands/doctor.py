"""Check this machine before a run: driver and GPUs, pinned versions, the C compiler and Python's headers, a Triton
kernel on the first GPU and flash-attn's import (each in a process of its own), limits, shared memory, disks, Ray, the
sandbox of the verifier of programs, and a ten-second matrix product and sum over all ranks.
With a config or overrides it also checks that run: the model, rows of the data, the reward function, the delimiters of
the model's reasoning, and room for checkpoints. It loads the policy once, on all ranks of this machine, to see whether
packed or padded sequences, the fused head and the precision give the model's own log-probabilities. Each finding that
is not ok comes with a fix. Without GPUs the CPU stack is checked.
Exit status: 0 nothing fails (there may be warnings), 1 something fails, 2 the config is wrong.

examples:
  pacs doctor
  pacs doctor recipe=qwen3_8b
  pacs doctor --no-speed --json recipe=arithmetic
"""

import argparse
import json
from collections.abc import Sequence
from dataclasses import asdict

from pacs.base.terminal import named, print
from pacs.doctor.finding import Finding
from pacs.doctor.kernels import unusable_flash_attention


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command's arguments."""
    parser.add_argument("--config-name", metavar="NAME", help="the algorithm of the run to check, as grpo")
    parser.add_argument("--no-speed", action="store_true", help="skip the ten-second matrix product and sum")
    parser.add_argument(
        "--no-probe", action="store_true", help="do not load the run's policy to check its log-probabilities"
    )
    parser.add_argument("--json", action="store_true", help="print the findings as a list of JSON objects")
    parser.add_argument(
        "overrides", nargs="*", metavar="key=value", help="settings of the run to check, as for `pacs train`"
    )


def main(args: argparse.Namespace) -> int:
    """Examine and print; 1 if something fails."""
    # verl and Hydra take seconds to import.
    from pacs.composing import compose_run
    from pacs.doctor.examine import examine

    if (unusable := unusable_flash_attention()) is not None:
        findings = [unusable]
    else:
        config, hardware = None, None
        if args.config_name is not None or args.overrides:
            name = "pacs" if args.config_name is None else args.config_name
            config, hardware = compose_run(name, args.overrides)
        findings = list(examine(config, hardware, speed=not args.no_speed, probe=not args.no_probe))
    print(json.dumps([asdict(finding) for finding in findings], indent=1) if args.json else as_text(findings))
    return int(any(finding.state == "fail" for finding in findings))


def as_text(findings: Sequence[Finding]) -> str:
    """A line a finding; below, the mends, what fails first."""
    width = max(len(finding.check) for finding in findings)
    lines = [f"{finding.state:4}  {finding.check:{width}}  {finding.found}" for finding in findings]
    lines.append("")
    for state in ("fail", "warn"):
        lines += [f"{state}  {item.check}: {item.mend}" for item in findings if item.state == state]
    failed, warned = (sum(item.state == state for item in findings) for state in ("fail", "warn"))
    lines.append(f"{len(findings)} checks: {failed} fail, {warned} warn")
    return named("\n".join(lines))
