#!/usr/bin/env bash
# Watch a language model learn arithmetic with PACS, on a laptop: from a bare clone to a table and a plot.
#
#   bash scripts/quickstart.sh [--seed N] [--out DIR]
#
# Makes the Python environment (or reuses it), a tiny Qwen3 and its problems, and trains through the same code as
# the large recipes: Ray, FSDP2, vLLM. About 10 minutes on 2 cores. A second run reuses everything; an interrupted
# one continues from its last checkpoint.
set -euo pipefail
# shellcheck source=scripts/lib/env.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib/env.sh"

before=
for argument in "$@"; do
    if [[ $argument == -h || $argument == --help ]]; then
        pacs_usage
        exit 0
    fi
    if [[ $argument == -* && ! $argument =~ ^--(seed|out)(=|$) ]]; then # not after minutes of installing
        echo "error: ${argument%%=*}: there is no such option. The options are --seed and --out." >&2
        exit 2
    fi
    if [[ $argument != -* && $before != --seed && $before != --out ]]; then
        echo "error: $argument: write an option before it. The options are --seed and --out." >&2
        exit 2
    fi
    before=$argument
done
if [[ $before == --seed || $before == --out ]]; then
    echo "error: $before: give it a value, as in --seed 0 or --out outputs/quickstart." >&2
    exit 2
fi
pacs_environment
exec python -m recipes.arithmetic.run "$@"
