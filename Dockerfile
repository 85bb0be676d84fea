# The GPU environment as an image (written, not built yet); docs/scaling.md has how to train in it.
#
#   docker build --build-arg PACS_COMMIT=$(git rev-parse HEAD) --tag pacs .
#   docker run --gpus all --shm-size=64g --ulimit memlock=-1 pacs pacs doctor
# The tag as public Dockerfiles have it, vLLM's build scripts among them; CUDA 13.0 is that of torch 2.11.
FROM nvidia/cuda:13.0.2-devel-ubuntu24.04
# Without libibverbs NCCL goes over TCP between nodes, whatever the network is.
RUN apt-get update \
    && apt-get install --yes --no-install-recommends build-essential git ibverbs-providers libibverbs1 libnuma-dev \
        numactl python3-dev python3-venv \
    && rm -rf /var/lib/apt/lists/*
WORKDIR /pacs
COPY . .
ENV PACS_VENV=/opt/pacs PATH=/opt/pacs/bin:$PATH
# flash-attn's compiler: jobs (empty: as the memory of the building machine allows, at 9 GB each), and the GPUs it is for (A100:
# 80, H100 and H200: 90, all: "80;90").
ARG MAX_JOBS
ARG FLASH_ATTN_CUDA_ARCHS=90
RUN PIP_NO_CACHE_DIR=1 MAX_JOBS=$MAX_JOBS FLASH_ATTN_CUDA_ARCHS=$FLASH_ATTN_CUDA_ARCHS bash scripts/setup_gpu.sh --no-doctor
# The commit of this checkout, for run.json: .git is not in the image.
ARG PACS_COMMIT
ENV PACS_COMMIT=$PACS_COMMIT
CMD ["pacs", "train", "--help"]
