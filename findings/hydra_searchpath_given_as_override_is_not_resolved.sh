#!/usr/bin/env bash
# hydra-core 1.3.8: `hydra.searchpath` resolves an interpolation in the primary config, but not in an override.
#
# Guessed: `hydra.searchpath=['file://${oc.env:MORE}']` on the command line finds what the same entry in the primary config
# finds, since both set one key.
# Seen (2026-11-28, hydra-core 1.3.8): in the primary config the folder is found. As an override the option cannot be loaded,
# and the search path in the error still reads file://${oc.env:MORE}. verl's recipes name verl's configs by such an entry in
# their primary config. An override that repeats the entry cannot add another folder to it; one with a literal path can.
#
#   primary config: found
#   override: MissingConfigException, path=file://${oc.env:MORE}
#   override, literal: found
#
# Exits with a status other than 0 if any of this differs.
set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check hydra-core==1.3.8
mkdir -p "$folder/app" "$folder/more/size"
echo "width: 3" >"$folder/more/size/small.yaml"
printf 'defaults:\n  - size: small\n' >"$folder/app/plain.yaml"
# shellcheck disable=SC2016  # the interpolation is Hydra's
printf 'hydra:\n  searchpath:\n    - file://${oc.env:MORE}\ndefaults:\n  - size: small\n' >"$folder/app/named.yaml"
cat >"$folder/compose.py" <<'PYTHON'
import sys

from hydra import compose, initialize_config_dir
from hydra.errors import MissingConfigException

app, more = sys.argv[1:]
TRIED = {
    "primary config": ("named", []),
    "override": ("plain", ["hydra.searchpath=['file://${oc.env:MORE}']"]),
    "override, literal": ("plain", [f"hydra.searchpath=['file://{more}']"]),
}
found = {}
with initialize_config_dir(app, version_base=None):
    for name, (config, overrides) in TRIED.items():
        try:
            found[name] = "found" if compose(config, overrides=overrides).size.width == 3 else "another"
        except MissingConfigException as error:
            literal = "path=file://${oc.env:MORE}"
            found[name] = f"MissingConfigException, {literal}" if literal in str(error) else "MissingConfigException"
for name, outcome in found.items():
    print(f"{name}: {outcome}")
sys.exit(list(found.values()) != ["found", "MissingConfigException, path=file://${oc.env:MORE}", "found"])
PYTHON
MORE=$folder/more "$folder/venv/bin/python" "$folder/compose.py" "$folder/app" "$folder/more"
