# The GPU environment as an image (written, not built yet); docs/nodes.md has how to train in it.
#
#   docker build --build-arg PACS_COMMIT=$(git rev-parse HEAD) --tag pacs .
#   docker run --gpus all --shm-size=64g --ulimit memlock=-1 pacs pacs doctor
FROM nvidia/cuda:13.0.2-devel-ubuntu24.04
# Without libibverbs NCCL goes over TCP between nodes, whatever the network is.
RUN apt-get update \
    && apt-get install --yes --no-install-recommends build-essential git ibverbs-providers libibverbs1 libnuma-dev \
        numactl python3-dev python3-venv \
    && rm -rf /var/lib/apt/lists/*
WORKDIR /pacs
COPY . .
ENV PACS_VENV=/opt/pacs PATH=/opt/pacs/bin:$PATH
# As many as the memory of the building machine allows, at about 10 GB each.
ARG MAX_JOBS=4
RUN PIP_NO_CACHE_DIR=1 MAX_JOBS=$MAX_JOBS bash scripts/setup_gpu.sh --no-doctor
# The commit of this checkout, for run.json: .git is not in the image.
ARG PACS_COMMIT
ENV PACS_COMMIT=$PACS_COMMIT
CMD ["pacs", "train", "--help"]
