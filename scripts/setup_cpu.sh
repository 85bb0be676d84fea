#!/usr/bin/env bash
# Make the environment for a machine without GPUs (torch 2.13, vLLM 0.28, Ray 2.60; about 1.1 GB of downloads), and check
# the machine with `pacs doctor`.
#
#   bash scripts/setup_cpu.sh [--no-doctor]
#
# Needs Python 3.11 or 3.12 with its venv module (Debian and Ubuntu: the package python3-venv). The quickstart and the tests make
# the same environment, or reuse it: PACS_VENV says where (default: .venv in the checkout). Afterwards: source .venv/bin/activate
set -euo pipefail
# shellcheck source=scripts/lib/env.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib/env.sh"

pacs_setup cpu "$@"
