#!/usr/bin/env bash
# Does this machine do what a run needs? A few steps of a model with random weights through the whole stack, with gates.
#
#   bash scripts/smoke.sh                                       Qwen3-0.6B's shape on one GPU; a tiny one without a GPU
#   bash scripts/smoke.sh --shape qwen3_8b --hardware h200x8    8B's, on eight
#   bash scripts/smoke.sh --help                                all options; settings (key=value) as for pacs train
#
# Uses the environment that is there (GPU: scripts/setup_gpu.sh makes it).
set -euo pipefail
# shellcheck source=scripts/lib/env.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib/env.sh"

pacs_activate
exec python -m recipes.smoke.run "$@"
