#!/usr/bin/env bash
# Train Qwen3-8B-Base with GenAC at its authors' values, on one node of eight H200s unless told otherwise. The critic is a
# second Qwen3-8B-Base, fine-tuned on traces first (docs/genac.md).
#
#   bash scripts/train_qwen3_8b_genac.sh genac.critic.model.path=FOLDER [--dry-run] [hydra overrides]
set -euo pipefail
# shellcheck source=scripts/lib/env.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib/env.sh"

pacs_activate
exec pacs train --config-name genac recipe=genac_qwen3_8b "$@"
