#!/usr/bin/env bash
# Make the environment for GPUs (torch 2.11 for CUDA 13, vLLM 0.24, flash-attn 2.8.3), and check the machine with `pacs doctor`.
#
#   bash scripts/setup_gpu.sh [--no-doctor]
#
# Needs Python 3.11 or 3.12, an NVIDIA driver for CUDA 13 (580 or newer) and, for flash-attn, the CUDA 13 toolkit (nvcc)
# or a wheel of it in PACS_FLASH_ATTN.
#
#   MAX_JOBS               the compiler's jobs (default: as the free memory allows, at 9 GB each)
#   CUDA_HOME              the toolkit's folder, if nvcc on the PATH is a wrapper
#   FLASH_ATTN_CUDA_ARCHS  GPUs to compile for ("80": A100, "90": H100 and H200, "80;90": all; default: this machine's, or 90)
#
# Every downloaded file has a hash in requirements/gpu*.txt. On a login node without GPUs name the GPUs of the other nodes, and
# run `pacs doctor` on one of those: FLASH_ATTN_CUDA_ARCHS=90 bash scripts/setup_gpu.sh --no-doctor. It was run on a machine
# without a GPU, up to flash-attn; not yet on one with GPUs.
set -euo pipefail
# shellcheck source=scripts/lib/env.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib/env.sh"

pacs_setup gpu "$@"
