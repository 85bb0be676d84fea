# shellcheck shell=bash
# The Python environments of all launchers. Source it, then call `pacs_environment` or `pacs_activate`.
#
#   PACS_VENV        where the virtual environment is (default: .venv in the checkout; .venv-gpu for the GPU stack)
#   PACS_PYTHON      the Python to make it with (default: python3; 3.11 or 3.12)
#   PACS_FLASH_ATTN  GPU: a wheel of flash-attn to install instead of compiling it
#
# The caller sets -euo pipefail.

PACS_ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd -P)

# Make an environment, or reuse it if it was made from the same pins; leaves `python` and `pacs` on the PATH.
#   $1: cpu (default) or gpu
pacs_environment() {
    local kind=${1:-cpu} stamp wanted made
    [[ $kind == gpu ]] && PACS_VENV=${PACS_VENV:-$PACS_ROOT/.venv-gpu}
    PACS_VENV=${PACS_VENV:-$PACS_ROOT/.venv}
    stamp="$PACS_VENV/.pacs-environment"
    wanted="$kind $(cat "$PACS_ROOT/pyproject.toml" "$PACS_ROOT/requirements/$kind"*.txt | sha256sum | cut -d' ' -f1)"
    made=$(cat "$stamp" 2>/dev/null || true)
    if [[ $made == [cg]pu\ * && $made != "$kind "* ]]; then
        echo "error: $PACS_VENV is an environment for ${made%% *}, not $kind: set PACS_VENV to another folder." >&2
        exit 2
    fi
    if [[ $made == "$wanted" ]]; then
        echo "environment: reusing $PACS_VENV"
    else
        _pacs_install "$kind"
        echo "$wanted" >"$stamp"
    fi
    # shellcheck disable=SC1091
    source "$PACS_VENV/bin/activate"
    if [[ $(_pacs_checkout) != "$PACS_ROOT" ]]; then
        echo "environment: pointing $PACS_VENV at this checkout"
        pip install --quiet --disable-pip-version-check --no-deps --editable "$PACS_ROOT"
    fi
}

# The running script's comment on top, down to its `set`: what its --help prints.
pacs_usage() {
    sed -n '2,/^set/{/^set/d; s/^# \{0,1\}//; p}' "$0"
}

# A script that makes an environment and nothing else: `pacs doctor` ends it, unless its option says otherwise.
#   $1: cpu or gpu; $2...: the script's own arguments
pacs_setup() {
    local kind=$1
    shift
    if [[ $# -gt 0 && $* != --no-doctor ]]; then
        [[ $* == -h || $* == --help ]] || echo "error: $*: there is no such option. The only one is --no-doctor." >&2
        pacs_usage
        [[ $* == -h || $* == --help ]] && exit 0
        exit 2
    fi
    pacs_environment "$kind"
    echo "environment: source $PACS_VENV/bin/activate"
    [[ $# -gt 0 ]] || exec pacs doctor
}

# Whose `pacs` the environment has (-P: not the one of the folder that we are in).
_pacs_checkout() {
    python -P -c 'import pathlib, pacs; print(pathlib.Path(pacs.__file__).resolve().parents[1])'
}

_pacs_install() {
    local kind=$1 python=${PACS_PYTHON:-python3}
    if ! "$python" -c 'import sys; sys.exit(not (3, 11) <= sys.version_info[:2] < (3, 13))' 2>/dev/null; then
        echo "error: $python is not Python 3.11 or 3.12. Set PACS_PYTHON to one that is." >&2
        exit 2
    fi
    [[ $kind == cpu ]] || _pacs_check_compiler
    echo "environment: making $PACS_VENV"
    [[ $kind == gpu ]] || cat <<EOF
  The pinned stack is downloaded by pip: about 1.1 GB (PyTorch 0.2 GB as a CPU build, vLLM, Ray, ...),
  3.5 GB installed, 2 to 10 minutes. If pip offers no CPU build of PyTorch it takes the CUDA build, which also
  works but brings several GB more: see docs/quickstart.md.
EOF
    rm -f "$PACS_VENV/.pacs-environment"
    # One that was cut off may lack pip.
    "$PACS_VENV/bin/python" -m pip --version >/dev/null 2>&1 || "$python" -m venv "$PACS_VENV"
    local pip=("$PACS_VENV/bin/python" -m pip --disable-pip-version-check)
    if [[ $kind == cpu ]]; then
        _pacs_told "${pip[@]}" install --quiet --progress-bar off --no-compile \
            --constraint "$PACS_ROOT/requirements/$kind.txt" --editable "${PACS_ROOT}[$kind,dev,diversity]"
        _pacs_told "${pip[@]}" install --quiet --progress-bar off --no-compile --no-deps --requirement "$PACS_ROOT/requirements/cpu-no-deps.txt"
    else
        _pacs_install_gpu "${pip[@]}"
    fi
    # pip would compile one file after the other. Some are of other Pythons' syntax, which is no fault.
    "$PACS_VENV/bin/python" -m compileall -qq -j 0 "$PACS_VENV"/lib/python*/site-packages || true
    echo "environment: ready"
}

# Run pip, which says nothing for minutes, and every TELL_SECONDS (15) how far it is: it downloads all, then installs all.
# What it says and its status are its own.
#   $@: pip with its arguments
_pacs_told() {
    local status=0 teller downloads="$PACS_VENV/.downloads" began=$SECONDS
    mkdir -p "$downloads"
    # Without the terminal's Ctrl-C, as all that runs behind a script: it ends with the script. `sleep` holds no output open.
    while sleep "${TELL_SECONDS:-15}" >/dev/null 2>&1 && kill -0 $$ 2>/dev/null; do
        echo "environment: $((SECONDS - began)) s, $(find "$downloads" -name '*.whl' 2>/dev/null | wc -l) packages downloaded," \
            "$(find "$PACS_VENV"/lib/python*/site-packages -maxdepth 1 -name '*.dist-info' 2>/dev/null | wc -l) installed," \
            "$({ du -sm "$PACS_VENV" 2>/dev/null || true; } | cut -f1) MB"
    done &
    teller=$!
    TMPDIR=$downloads "$@" || status=$?
    kill "$teller" 2>/dev/null || true
    wait "$teller" 2>/dev/null || true
    rm -rf "$downloads"
    return "$status"
}

# Every file is one whose hash is in the lock, or pip stops.
#   $@: pip
_pacs_install_gpu() {
    local pip=("$@")
    _pacs_told "${pip[@]}" install --quiet --progress-bar off --no-compile --no-deps --require-hashes --requirement "$PACS_ROOT/requirements/gpu.txt"
    "${pip[@]}" install --quiet --no-deps --no-build-isolation --editable "$PACS_ROOT"
    if [[ -n ${PACS_FLASH_ATTN:-} ]]; then
        "${pip[@]}" install --no-deps "$PACS_FLASH_ATTN"
        return
    fi
    local jobs=${MAX_JOBS:-$(_pacs_compiler_jobs "$(_pacs_free_bytes)" "$(nproc)")} archs=${FLASH_ATTN_CUDA_ARCHS:-$(_pacs_gpu_archs)}
    echo "environment: compiling flash-attn for $archs with $jobs jobs (FLASH_ATTN_CUDA_ARCHS, MAX_JOBS)"
    # Its setup.py would first guess the address of a wheel and wait for it without a limit: FLASH_ATTENTION_FORCE_BUILD. The
    # environment's bin/ has ninja.
    FLASH_ATTENTION_FORCE_BUILD=TRUE FLASH_ATTN_CUDA_ARCHS=$archs MAX_JOBS=$jobs PATH="$PACS_VENV/bin:$PATH" \
        "${pip[@]}" install --no-deps --no-build-isolation --require-hashes --requirement "$PACS_ROOT/requirements/gpu-build.txt"
}

# Jobs of flash-attn's compiler: 9 GB each (its setup.py: "8-9GB when threads = 4"), and no more than half the cores.
#   $1: bytes that are free; $2: cores
_pacs_compiler_jobs() {
    local by_memory=$(($1 / 9000000000)) by_cores=$(($2 / 2))
    local jobs=$((by_memory < by_cores ? by_memory : by_cores))
    echo $((jobs < 1 ? 1 : jobs))
}

# Of the machine, or of this container if that has less: flash-attn's own count knows nothing of containers.
_pacs_free_bytes() {
    local free limit used
    free=$(awk '/^MemAvailable:/ {printf "%d", $2 * 1024}' /proc/meminfo)
    limit=$(cat /sys/fs/cgroup/memory.max /sys/fs/cgroup/memory/memory.limit_in_bytes 2>/dev/null | head -n 1) || true
    used=$(cat /sys/fs/cgroup/memory.current /sys/fs/cgroup/memory/memory.usage_in_bytes 2>/dev/null | head -n 1) || true
    if [[ $limit =~ ^[0-9]{1,18}$ && $used =~ ^[0-9]+$ ]] && ((limit - used < free)); then
        free=$((limit - used))
    fi
    echo "$free"
}

# What flash-attn is compiled for: this machine's GPUs; without any 90 (H100, H200). It knows 80, 90, 100 and 120 alone, and
# what is compiled for one of them runs on those of the same generation (8.9: 80).
_pacs_gpu_archs() {
    local archs
    archs=$(nvidia-smi --query-gpu=compute_cap --format=csv,noheader 2>/dev/null | tr -d '. ' | sed 's/.$/0/' | sort -u | paste -sd ';') || true
    [[ $archs =~ ^[0-9]+(;[0-9]+)*$ ]] || archs=90
    echo "$archs"
}

_pacs_check_compiler() {
    if [[ -z ${PACS_FLASH_ATTN:-} && $(nvcc --version 2>/dev/null) != *'release 13'* ]]; then
        echo "error: no nvcc of CUDA 13: flash-attn is compiled here. Put its toolkit on the PATH, or set PACS_FLASH_ATTN to a" >&2
        echo "       wheel of $(grep -o '^flash-attn==[^ ]*' "$PACS_ROOT/requirements/gpu-build.txt") for torch 2.11 and CUDA 13." >&2
        exit 2
    fi
}

# Use the environment that is there: PACS_VENV, else the active one if it has `pacs`, else the checkout's. Installs nothing.
pacs_activate() {
    local venv
    if [[ -n ${PACS_VENV:-} ]]; then
        if [[ ! -f $PACS_VENV/bin/activate ]]; then
            echo "error: PACS_VENV=$PACS_VENV is no virtual environment: make it (bash scripts/setup_gpu.sh, or setup_cpu.sh without" >&2
            echo "       GPUs), or unset PACS_VENV." >&2
            exit 2
        fi
        # shellcheck disable=SC1091
        source "$PACS_VENV/bin/activate"
    fi
    for venv in "$PACS_ROOT/.venv-gpu" "$PACS_ROOT/.venv"; do
        if ! command -v pacs >/dev/null && [[ -f $venv/bin/activate ]]; then
            # shellcheck disable=SC1091
            source "$venv/bin/activate"
        fi
    done
    if ! command -v pacs >/dev/null; then
        echo "error: no pacs command. Make an environment (bash scripts/setup_gpu.sh, or setup_cpu.sh without GPUs) and activate it," >&2
        echo "       or set PACS_VENV to it." >&2
        exit 2
    fi
    local checkout
    checkout=$(_pacs_checkout)
    if [[ $checkout != "$PACS_ROOT" ]]; then
        echo "error: the environment of $(command -v pacs) has the pacs of $checkout, not of $PACS_ROOT:" >&2
        echo "       pip install --no-deps --editable $PACS_ROOT in it, or set PACS_VENV to another." >&2
        exit 2
    fi
}
