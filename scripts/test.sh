#!/usr/bin/env bash
# Run the tests: the quick ones and the smoke tests, which start Ray, FSDP2 and vLLM for real.
#
#   bash scripts/test.sh               all but what takes long: what CI runs
#   bash scripts/test.sh --all         everything that needs no GPU (2 hours 22 minutes on 2 cores, partly beside other work)
#   bash scripts/test.sh -m "not slow" the quick ones; any other pytest option works too
set -euo pipefail
# shellcheck source=scripts/lib/env.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib/env.sh"

markers="not long and not gpu"
if [[ ${1:-} == --all ]]; then
    markers="not gpu"
    shift
fi
pacs_environment
cd "$PACS_ROOT"
# Two files at a time: while a run starts, its processes mostly wait for each other.
exec python -m pytest -m "$markers" -n 2 --dist loadfile --no-loadscope-reorder "$@"
