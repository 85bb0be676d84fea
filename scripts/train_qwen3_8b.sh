#!/usr/bin/env bash
# Train Qwen3-8B with PACS at the paper's sizes, on one node of eight H200s unless told otherwise.
#
#   bash scripts/train_qwen3_8b.sh [--dry-run] [hydra overrides, e.g. hardware=h100x8]
set -euo pipefail
# shellcheck source=scripts/lib/env.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib/env.sh"

pacs_activate
exec pacs train --config-name pacs recipe=qwen3_8b "$@"
