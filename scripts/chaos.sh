#!/usr/bin/env bash
# Break real runs at random instants, for some minutes, and check that each ends, cleans up, resumes, and reaches the same
# weights as an undisturbed run. Not part of CI.
#
#   bash scripts/chaos.sh [minutes]          default: 120; continues from earlier results
#   bash scripts/chaos.sh --list             list the faults; --faults NAME ... draws from these only
#   bash scripts/chaos.sh --table            write the table of tests/chaos/README.md from the results
#   bash scripts/chaos.sh --help             the other options
set -euo pipefail
# shellcheck source=scripts/lib/env.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib/env.sh"

pacs_activate
cd "$PACS_ROOT"
export OMP_NUM_THREADS=${OMP_NUM_THREADS:-1}
exec python -m tests.chaos "$@"
