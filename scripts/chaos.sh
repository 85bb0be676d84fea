#!/usr/bin/env bash
# Break real runs at random instants, for so many minutes, and see whether each ends, clears up, goes on, and ends in the
# same weights as one that was left alone. Not part of CI.
#
#   bash scripts/chaos.sh [minutes]          two hours, unless told; what it found before is gone on from
#   bash scripts/chaos.sh --list             the faults; --faults NAME ... draws from these alone
#   bash scripts/chaos.sh --table           write the table of tests/chaos/README.md from what was kept
#   bash scripts/chaos.sh --help             the other options
set -euo pipefail
# shellcheck source=scripts/lib/env.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib/env.sh"

pacs_activate
cd "$PACS_ROOT"
export OMP_NUM_THREADS=${OMP_NUM_THREADS:-1}
exec python -m tests.chaos "$@"
