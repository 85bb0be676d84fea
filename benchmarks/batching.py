"""How long a step's generation takes under several settings of vLLM, by the simulation of `pacs plan`.

    python benchmarks/batching.py                     Qwen3-8B on eight H200s, several mean lengths
    python benchmarks/batching.py --gpu h100          of another kind
    python benchmarks/batching.py --lengths PATH      of lengths that were seen (docs/scaling.md)

Nothing is generated: the seconds are estimates. Each column is a distribution of lengths, each row one of the settings.
"""

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from omegaconf import DictConfig

from benchmarks.table import format_table
from pacs.base.errors import UserError
from pacs.composing import compose_run
from pacs.planning.generation import generation
from pacs.planning.observed_lengths import find_lengths
from pacs.planning.plan import make_plan

ROLLOUT = "actor_rollout_ref.rollout"
#: vLLM's share of the GPU, its seats, the share of its cache that it keeps free when it lets a request in.
SETTINGS = ((0.6, 256, 0), (0.8, 256, 0), (0.8, 512, 0), (0.8, 1024, 0), (0.8, 512, 0.05), (0.8, 1024, 0.05))
MEANS = (1500, 3000, 4096, 5500)


def composed(gpu: str, share: float, sequences: int, watermark: float) -> DictConfig:
    """The run of the paper's recipe with these settings."""
    overrides = [
        "recipe=qwen3_8b",
        f"hardware={gpu}x8",
        f"{ROLLOUT}.gpu_memory_utilization={share}",
        f"{ROLLOUT}.max_num_seqs={sequences}",
        f"{ROLLOUT}.engine_kwargs.vllm.watermark={watermark}",
    ]
    return compose_run("pacs", overrides)[0]


def main() -> None:
    """Simulate and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--gpu", default="h200", help="h200, h100 or a100; default: h200")
    parser.add_argument("--lengths", type=Path, metavar="PATH", help="as of `pacs plan`; default: assumed lengths")
    args = parser.parse_args()
    try:
        print(simulated(args.gpu, args.lengths))
    except UserError as error:
        parser.error(str(error))


def simulated(gpu: str, path: Path | None) -> str:
    """The table: a row a setting of vLLM, a column a distribution of lengths."""
    columns = [None] if path else MEANS
    rows = []
    for setting in SETTINGS:
        config = composed(gpu, *setting)
        lengths = find_lengths(config, path) if path else None
        cells = []
        for mean in columns:
            done = generation(make_plan(config, hardware=f"{gpu}x8", mean_response_tokens=mean, lengths=lengths).work)
            bulk = sum(engine.prefilled for engine in done.engines) / sum(engine.generated for engine in done.engines)
            cells.append(f"{done.seconds:,.0f} ({bulk:.2f})")
        rows.append([", ".join(map(str, setting)), *cells])
    head = [str(path)] if path else [f"{mean:,}" for mean in MEANS]
    return f"\n{format_table(['share, seats, watermark', *head], rows)}"


if __name__ == "__main__":
    main()
