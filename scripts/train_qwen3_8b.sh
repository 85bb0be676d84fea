#!/usr/bin/env bash
# Train Qwen3-8B with PACS on one node of eight H200s, at the paper's values.
#
#   bash scripts/train_qwen3_8b.sh [--dry-run] [hydra overrides]
set -euo pipefail
# shellcheck source=scripts/lib/env.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib/env.sh"

pacs_activate
exec pacs train recipe=qwen3_8b "$@"
