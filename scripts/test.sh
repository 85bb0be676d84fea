#!/usr/bin/env bash
# Run the tests, in three tiers. Each includes the ones before it.
#
#   bash scripts/test.sh --quick       the algorithm, the rewards, the house: without verl
#   bash scripts/test.sh               plus the stack, with real runs of Ray, FSDP2 and vLLM: what CI runs
#   bash scripts/test.sh --all         plus what takes long: everything that needs no GPU
#   bash scripts/test.sh -m "not slow" only tests that start neither Ray nor vLLM; any other pytest option works too
set -euo pipefail
# shellcheck source=scripts/lib/env.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib/env.sh"

markers="not long and not gpu" options=()
while (($#)); do
    case $1 in
        -h | --help)
            pacs_usage
            exit 0
            ;;
        --all) markers=${markers/not long and /} ;;
        --quick)
            markers="$markers and not slow"
            options+=("$1")
            ;;
        -m)
            if [[ -z ${2:-} ]]; then
                echo "error: -m: give it a marker expression, as in -m 'not slow'." >&2
                exit 2
            fi
            # Another -m would take the place of this one, with the tests that need a GPU.
            markers="$markers and ($2)"
            shift
            ;;
        *) options+=("$1") ;;
    esac
    shift
done
pacs_environment
cd "$PACS_ROOT"
# Three files at a time on two cores: a core waits while a run starts, or a program runs until its timeout.
exec python -m pytest -m "$markers" -n 3 --dist loadfile --no-loadscope-reorder ${options[@]+"${options[@]}"}
