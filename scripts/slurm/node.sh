#!/usr/bin/env bash
# One node of a run under Slurm, started on each node of a step by srun; the first one trains.
#
#   srun --nodes=2 --ntasks-per-node=1 --gpus-per-node=8 --exclusive --mem=0 --cpu-bind=none \
#       --output=pacs-%j.%s-%t-%N.log bash scripts/slurm/node.sh recipe=qwen3_8b trainer.nnodes=2
#
# (Without --exclusive and --mem=0 a task has one core and a core's share of the memory on many clusters; without
# --output all nodes print to the terminal.) Run it from a login node, or within an allocation of salloc;
# scripts/slurm/train.sbatch starts it from a batch job. The arguments are those of `pacs train`. Environment variables:
#
#   PACS_MEET          where the nodes meet: a new folder on a file system that all of them share
#                      (default: outputs/nodes/<job>.<step>.<restart> in the checkout)
#   PACS_JOIN_SECONDS  how long all nodes may take to join (default: 300)
#   PACS_INTERFACE     the head's network interface (default: that of its host's name, else of its default route)
#   PACS_RAY_ARGS      more arguments for `ray start` on every node, separated by spaces; none may contain one
#   PACS_VENV          the Python environment, see scripts/lib/env.sh
set -euo pipefail
# shellcheck source=scripts/lib/env.sh
source "$(dirname "${BASH_SOURCE[0]}")/../lib/env.sh"

if [[ -z ${SLURM_PROCID:-} || -z ${SLURM_NTASKS:-} ]]; then
    echo "error: start this by srun, with one task on each node: srun --nodes=N --ntasks-per-node=1 bash $0 ..." >&2
    exit 2
fi
if [[ ${SLURM_NNODES:-$SLURM_NTASKS} != "$SLURM_NTASKS" ]]; then
    echo "error: there are $SLURM_NTASKS tasks on $SLURM_NNODES nodes: start one on each (srun --ntasks-per-node=1)." >&2
    exit 2
fi
# For a GPU of gres.conf without Flags= Slurm sets one for each maker beside CUDA_VISIBLE_DEVICES; verl's worker refuses that.
unset ROCR_VISIBLE_DEVICES HIP_VISIBLE_DEVICES GPU_DEVICE_ORDINAL ZE_AFFINITY_MASK
pacs_activate
cd "$PACS_ROOT"
exec python -m pacs.cluster --node "$SLURM_PROCID" --nodes "$SLURM_NTASKS" \
    --meet "${PACS_MEET:-outputs/nodes/$SLURM_JOB_ID.${SLURM_STEP_ID:-0}.${SLURM_RESTART_COUNT:-0}}" \
    --join-seconds "${PACS_JOIN_SECONDS:-300}" -- "$@"
