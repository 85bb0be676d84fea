#!/usr/bin/env bash
# Can this machine train? A few steps of a model with random weights through the full stack, with pass/fail gates.
#
#   bash scripts/smoke.sh                                       Qwen3-0.6B's shape on one GPU; a tiny one without a GPU
#   bash scripts/smoke.sh --shape qwen3_8b --hardware h200x8    Qwen3-8B's shape, on eight GPUs
#   bash scripts/smoke.sh --help                                all options; settings (key=value) as for pacs train
#
# Uses the existing environment (GPU: scripts/setup_gpu.sh makes it).
set -euo pipefail
# shellcheck source=scripts/lib/env.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib/env.sh"

pacs_activate
exec python -m recipes.smoke.run "$@"
