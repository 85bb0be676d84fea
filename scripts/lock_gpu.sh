#!/usr/bin/env bash
# Write the GPU stack's lock: requirements/gpu.txt and requirements/gpu-build.txt, every version with the hashes of its files.
#
#   bash scripts/lock_gpu.sh                          hashes, and what pyproject.toml requires; other versions stay
#   bash scripts/lock_gpu.sh --upgrade-package NAME   upgrade one package; other options of `uv pip compile` work too
#
# Needs uv on the PATH (pip install uv), which reads the package index's metadata: a minute, little is downloaded.
# The lock is for Python 3.11 and 3.12, x86-64 Linux with glibc 2.31 or newer.
set -euo pipefail
# shellcheck source=scripts/lib/env.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib/env.sh"

for argument in "$@"; do
    if [[ $argument == -h || $argument == --help ]]; then
        pacs_usage
        exit 0
    fi
done
cd "$PACS_ROOT"
if ! command -v uv >/dev/null; then
    echo "error: uv is not on the PATH: pip install uv" >&2
    exit 2
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
compile() {
    uv pip compile --quiet --generate-hashes --no-annotate --no-header --python-version 3.11 \
        --python-platform x86_64-manylinux_2_31 "$@" >/dev/null
}

# The build backend of this package, for an editable install, is in no extra.
printf 'hatchling\neditables\n' >"$work/build.in"
cp requirements/gpu.txt "$work/gpu.txt"  # uv keeps the versions of what it writes over
compile --extra gpu --extra dev --extra diversity --output-file "$work/gpu.txt" "$@" pyproject.toml "$work/build.in"
# flash-attn tells what it needs only to those who have torch installed.
cat >"$work/uv.toml" <<'EOF'
[[dependency-metadata]]
name = "flash-attn"
requires-dist = []
EOF
sed -n 's/ *\\$//; /^flash-attn==/p' requirements/gpu-build.txt >"$work/flash.in"
compile --config-file "$work/uv.toml" --no-deps --output-file "$work/flash.txt" "$work/flash.in"

{
    cat <<'EOF'
# Every version of the GPU stack of verl 0.9.1 with the hashes of its files, written by scripts/lock_gpu.sh: for Python 3.11 and
# 3.12 alike, x86-64 Linux with glibc 2.31 or newer, every one a wheel except antlr4-python3-runtime. Not installed on a
# machine with GPUs yet. scripts/setup_gpu.sh installs it with `pip install --require-hashes`.
EOF
    cat "$work/gpu.txt"
} >requirements/gpu.txt
{
    cat <<'EOF'
# Compiled against the torch that is installed: the package index has its source alone. scripts/setup_gpu.sh says what that
# takes; not done yet. Written by scripts/lock_gpu.sh; the version is set here.
EOF
    cat "$work/flash.txt"
} >requirements/gpu-build.txt
echo "locked: $(grep -c '^[a-z0-9].*==' requirements/gpu.txt) packages"
