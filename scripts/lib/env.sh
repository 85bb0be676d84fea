# shellcheck shell=bash
# The Python environment that every launcher shares. Source it, then call `pacs_environment`.
#
#   PACS_VENV     where the virtual environment is (default: .venv in the checkout)
#   PACS_PYTHON   the Python to make it with (default: python3; 3.11 or 3.12)
#
# Set -euo pipefail is the caller's.

PACS_ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
PACS_VENV=${PACS_VENV:-$PACS_ROOT/.venv}

# Make the CPU environment, or reuse it if it was made from the same pins; leaves `python` and `pacs` on the PATH.
pacs_environment() {
    local stamp wanted
    stamp="$PACS_VENV/.pacs-environment"
    wanted=$(cat "$PACS_ROOT/pyproject.toml" "$PACS_ROOT"/requirements/*.txt | sha256sum | cut -d' ' -f1)
    if [[ -f $stamp && $(<"$stamp") == "$wanted" ]]; then
        echo "environment: reusing $PACS_VENV"
    else
        _pacs_install
        echo "$wanted" >"$stamp"
    fi
    # shellcheck disable=SC1091
    source "$PACS_VENV/bin/activate"
    if [[ $(python -c 'import pathlib, pacs; print(pathlib.Path(pacs.__file__).parents[1])') != "$PACS_ROOT" ]]; then
        echo "environment: pointing $PACS_VENV at this checkout"
        pip install --quiet --disable-pip-version-check --no-deps --editable "$PACS_ROOT"
    fi
}

_pacs_install() {
    local python=${PACS_PYTHON:-python3}
    if ! "$python" -c 'import sys; sys.exit(not (3, 11) <= sys.version_info[:2] < (3, 13))' 2>/dev/null; then
        echo "error: $python is not Python 3.11 or 3.12. Set PACS_PYTHON to one that is." >&2
        exit 2
    fi
    cat <<EOF
environment: making $PACS_VENV
  The pinned stack is downloaded by pip: about 1.1 GB (PyTorch 0.2 GB as a CPU build, vLLM, Ray, ...),
  3.5 GB installed, 2 to 10 minutes. If pip offers no CPU build of PyTorch it takes the CUDA build, which also
  works but brings several GB more: see "The CPU build of PyTorch" in the README.
EOF
    rm -f "$PACS_VENV/.pacs-environment"
    [[ -x $PACS_VENV/bin/python ]] || "$python" -m venv "$PACS_VENV"
    local pip=("$PACS_VENV/bin/python" -m pip --disable-pip-version-check)
    "${pip[@]}" install --quiet --progress-bar off \
        --constraint "$PACS_ROOT/requirements/cpu.txt" --editable "${PACS_ROOT}[cpu,dev,diversity]"
    "${pip[@]}" install --quiet --progress-bar off --no-deps --requirement "$PACS_ROOT/requirements/no-deps.txt"
    echo "environment: ready"
}

# Use the environment that is there: the active one if it has `pacs`, else PACS_VENV. Installs nothing.
pacs_activate() {
    if ! command -v pacs >/dev/null && [[ -f $PACS_VENV/bin/activate ]]; then
        # shellcheck disable=SC1091
        source "$PACS_VENV/bin/activate"
    fi
    if ! command -v pacs >/dev/null; then
        echo "error: no pacs command. Make an environment (GPU: see README; CPU: bash scripts/test.sh -m 'not slow')" >&2
        echo "       and activate it, or set PACS_VENV to it." >&2
        exit 2
    fi
}
