#!/usr/bin/env bash
# Make the environment for GPUs (torch 2.11 for CUDA 13, vLLM 0.24, flash-attn 2.8.3), and look the machine over.
#
#   bash scripts/setup_gpu.sh [--no-doctor]
#
# Needs Python 3.11 or 3.12, an NVIDIA driver for CUDA 13 (580 or newer) and, for flash-attn, the CUDA 13 toolkit (nvcc)
# or PACS_FLASH_ATTN with a wheel of it. MAX_JOBS limits the compiler's jobs (default: as the free memory allows, at 9 GB
# each); CUDA_HOME says where the toolkit is, if nvcc on the PATH is a wrapper; FLASH_ATTN_CUDA_ARCHS which GPUs it
# compiles for ("80": A100, "90": H100 and H200, "80;90": all; default: this machine's, or 90). Every file that is
# downloaded has a hash in requirements/gpu*.txt. Seen on a machine without a GPU, up to flash-attn; not on one with
# GPUs yet.
set -euo pipefail
# shellcheck source=scripts/lib/env.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib/env.sh"

if [[ $# -gt 0 && $* != --no-doctor ]]; then
    [[ $* == -h || $* == --help ]] || echo "error: $*: there is no such option; --no-doctor is the one that there is." >&2
    sed -n '2,/^set/{/^set/d; s/^# \{0,1\}//; p}' "${BASH_SOURCE[0]}"
    [[ $* == -h || $* == --help ]] && exit 0
    exit 2
fi
pacs_environment gpu
[[ $# -gt 0 ]] || exec pacs doctor
