#!/usr/bin/env bash
# Make the environment for GPUs (torch 2.11 for CUDA 13, vLLM 0.24, flash-attn 2.8.3), and look the machine over.
#
#   bash scripts/setup_gpu.sh [--no-doctor]
#
# Needs Python 3.11 or 3.12, an NVIDIA driver for CUDA 13 (580 or newer) and, for flash-attn, the CUDA 13 toolkit (nvcc)
# or PACS_FLASH_ATTN with a wheel of it. MAX_JOBS limits the compiler's jobs (default: as the free memory allows, at 9 GB
# each); CUDA_HOME says where the toolkit is, if nvcc on the PATH is a wrapper; FLASH_ATTN_CUDA_ARCHS which GPUs it
# compiles for ("80": A100, "90": H100 and H200, "80;90": all; default: this machine's, or 90). Every file that is
# downloaded has a hash in requirements/gpu*.txt. On a login node without GPUs say which GPUs the others have, and leave
# the examination to one of them: FLASH_ATTN_CUDA_ARCHS=90 bash scripts/setup_gpu.sh --no-doctor. Seen on a machine without a GPU, up to flash-attn; not on one with
# GPUs yet.
set -euo pipefail
# shellcheck source=scripts/lib/env.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib/env.sh"

pacs_setup gpu "$@"
