#!/usr/bin/env bash
# Plant bugs, one at a time, and check that the nearest tests catch each: how good are the tests? Not part of CI.
#
#   bash scripts/mutants.sh                  all of tests/mutants/*.toml that have no result yet
#   bash scripts/mutants.sh --only NAME ...  only these
#   bash scripts/mutants.sh --help           the other options
set -euo pipefail
# shellcheck source=scripts/lib/env.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib/env.sh"

pacs_activate
cd "$PACS_ROOT"
exec python -m tests.mutants "$@"
