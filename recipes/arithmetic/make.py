"""Make the arithmetic recipe's model and data; nothing is downloaded.

Writes into --out: model/ (0.4 million parameters with a tokenizer, as a Hugging Face folder, after a supervised warm
start of about half a minute on 2 cores; a Qwen3, or of another --family), train.parquet and test.parquet (verl's
schema, no operand pair in both), before.json (what the model can do on test.parquet), and manifest.json. A folder made
by the same code with the same seed is left as it is.
"""

import argparse
import hashlib
import json
from pathlib import Path

from pacs.base.arguments import whole_seed
from pacs.base.errors import UserError
from pacs.base.terminal import print
from recipes.arithmetic.families import FAMILIES, build_of_family, tokenizer_of_family
from recipes.arithmetic.measure import measure
from recipes.arithmetic.problems import split_problems, write_parquet
from recipes.arithmetic.warm_start import warm_start
from recipes.own_folder import is_made, made_whole

MADE = ("model", "train.parquet", "test.parquet", "before.json", "manifest.json")
# Everything that decides what is made. (A version constant would have to be remembered at each change.)
SOURCES = ("tokenizer.py", "problems.py", "model.py", "families.py", "warm_start.py", "measure.py", "make.py")
SHARED_SOURCES = ("supervised.py",)
START_PASS_AT_1 = (0.25, 0.45)
START_GREEDY = 0.70


def make(out: Path, seed: int, family: str = "qwen3") -> dict[str, float]:
    """Make `out`, or leave it if it is already made.

    The folder appears whole or not at all.

    Args:
        out: the folder to make.
        seed: of the weights, the split, the warm start and its measurement.
        family: of the model.

    Returns:
        The measured start: `before.json`.

    Raises:
        UserError: if `out` is a file, or holds files that this recipe did not make, or the warm
            start missed its window.
    """
    manifest = {"seed": seed, "family": family, "sources": _source_hash()}
    if is_made(out, MADE, manifest):
        return dict(json.loads((out / "before.json").read_text()))
    with made_whole(out, manifest) as folder:
        return _make_into(folder, seed, family)


def _make_into(folder: Path, seed: int, family: str) -> dict[str, float]:
    problems = split_problems(seed)
    write_parquet(problems.train, folder / "train.parquet", "train")
    write_parquet(problems.test, folder / "test.parquet", "test")
    print(f"{len(problems.train)} training and {len(problems.test)} held-out problems", flush=True)

    tokenizer = tokenizer_of_family(family)
    model = build_of_family(family, tokenizer, seed)
    print(f"a {family.capitalize()} of {model.num_parameters():,} parameters", flush=True)
    warm_start(model, tokenizer, problems.train, problems.probe, seed)
    model.save_pretrained(folder / "model")
    tokenizer.save_pretrained(folder / "model")

    before = measure(folder / "model", folder / "test.parquet", seed=seed)
    print("the start: " + ", ".join(f"{name} {value:.2f}" for name, value in before.items()), flush=True)
    low, high = START_PASS_AT_1
    if not low <= before["pass@1"] <= high or before["greedy"] > START_GREEDY:
        raise UserError(
            f"the warm start missed its window (pass@1 {low}-{high}, greedy at most {START_GREEDY}): take another "
            "--seed, or change how often the teacher slips in recipes/arithmetic/warm_start.py"
        )
    (folder / "before.json").write_text(json.dumps(before, indent=2) + "\n")
    return before


def _source_hash() -> str:
    here = Path(__file__).parent
    files = [here / name for name in SOURCES] + [here.parent / "starts" / name for name in SHARED_SOURCES]
    return hashlib.sha256(b"".join(file.read_bytes() for file in files)).hexdigest()


def main() -> None:
    """Make the folder named on the command line."""
    parser = argparse.ArgumentParser(prog="python -m recipes.arithmetic.make", description=__doc__)
    parser.add_argument("--out", type=Path, required=True, help="folder to make, e.g. outputs/arithmetic")
    parser.add_argument("--seed", type=whole_seed, default=0, help="decides everything that is random (default: 0)")
    parser.add_argument("--family", choices=FAMILIES, default="qwen3", help="of the model (default: qwen3)")
    arguments = parser.parse_args()
    try:
        make(arguments.out, arguments.seed, arguments.family)
    except (FileExistsError, PermissionError, UserError) as error:  # a full disk is none
        parser.error(str(error))


if __name__ == "__main__":
    main()
