#!/usr/bin/env bash
# Plant bugs, one at a time, and see whether the tests nearest to each catch it: how good are the tests? Not part of CI.
#
#   bash scripts/mutants.sh                  all that tests/mutants/*.toml list and that have no result yet
#   bash scripts/mutants.sh --only NAME ...  these alone
#   bash scripts/mutants.sh --help           the other options
set -euo pipefail
# shellcheck source=scripts/lib/env.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib/env.sh"

pacs_activate
cd "$PACS_ROOT"
exec python -m tests.mutants "$@"
