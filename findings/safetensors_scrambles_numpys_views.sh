#!/usr/bin/env bash
# safetensors 0.8.0: safetensors.numpy writes a transposed, sliced or Fortran-ordered array with its shape and other numbers, in
# silence. 0.7.0 wrote the array.
#
# Guessed: save and save_file write an array's numbers, as numpy.save does, or refuse one that is not
# contiguous, as safetensors.torch does.
# Seen (2026-11-30, safetensors 0.8.0 and 0.7.0, numpy 2.3.5): the array's memory is written as it lies, from its first number
# on. The docstring wants contiguous arrays, and nothing looks. So a script that turns weights around for another library
# (kernels of Flax and TensorFlow are transposed in torch) or takes the parts of a fused matrix writes a file with the right
# names, shapes and dtypes that loads without a word, and whose matrices are scrambled; square ones alike. It did well before
# an update. Call np.ascontiguousarray on each array.
#
#   whether the array came back:
#   as it is: True, saved [0. 1. 2. 3. 4. 5.], loaded [0. 1. 2. 3. 4. 5.]
#   transposed: False, saved [0. 4. 8. 1. 5. 9.], loaded [0. 1. 2. 3. 4. 5.]
#   transposed and copied: True, saved [0. 4. 8. 1. 5. 9.], loaded [0. 4. 8. 1. 5. 9.]
#   transposed, np.ascontiguousarray: True, saved [0. 4. 8. 1. 5. 9.], loaded [0. 4. 8. 1. 5. 9.]
#   two columns: False, saved [ 1.  2.  5.  6.  9. 10.], loaded [1. 2. 3. 4. 5. 6.]
#   every other row: False, saved [0. 1. 2. 3. 8. 9.], loaded [0. 1. 2. 3. 4. 5.]
#   rows of a slice: True, saved [4. 5. 6. 7. 8. 9.], loaded [4. 5. 6. 7. 8. 9.]
#   heads in front: False, saved [0. 1. 4. 5. 8. 9.], loaded [0. 1. 2. 3. 4. 5.]
#   np.asfortranarray: False, saved [0. 1. 2. 3. 4. 5.], loaded [0. 4. 8. 1. 5. 9.]
#
# Exits with a status other than 0 if any of this differs.
set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check safetensors==0.8.0 numpy==2.3.5
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check --no-deps --target "$folder/older" safetensors==0.7.0
cat >"$folder/views.py" <<'PYTHON'
import sys

import numpy as np
from safetensors.numpy import load, load_file, save, save_file

WEIGHTS = np.arange(12.0, dtype=np.float32).reshape(3, 4)
ARRAYS = {
    "as it is": WEIGHTS,
    "transposed": WEIGHTS.T,
    "transposed and copied": WEIGHTS.T.copy(),
    "transposed, np.ascontiguousarray": np.ascontiguousarray(WEIGHTS.T),
    "two columns": WEIGHTS[:, 1:3],
    "every other row": WEIGHTS[::2],
    "rows of a slice": WEIGHTS[1:],
    "heads in front": WEIGHTS.reshape(3, 2, 2).transpose(1, 0, 2),
    "np.asfortranarray": np.asfortranarray(WEIGHTS),
}
SEEN = """\
as it is: True, saved [0. 1. 2. 3. 4. 5.], loaded [0. 1. 2. 3. 4. 5.]
transposed: False, saved [0. 4. 8. 1. 5. 9.], loaded [0. 1. 2. 3. 4. 5.]
transposed and copied: True, saved [0. 4. 8. 1. 5. 9.], loaded [0. 4. 8. 1. 5. 9.]
transposed, np.ascontiguousarray: True, saved [0. 4. 8. 1. 5. 9.], loaded [0. 4. 8. 1. 5. 9.]
two columns: False, saved [ 1.  2.  5.  6.  9. 10.], loaded [1. 2. 3. 4. 5. 6.]
every other row: False, saved [0. 1. 2. 3. 8. 9.], loaded [0. 1. 2. 3. 4. 5.]
rows of a slice: True, saved [4. 5. 6. 7. 8. 9.], loaded [4. 5. 6. 7. 8. 9.]
heads in front: False, saved [0. 1. 4. 5. 8. 9.], loaded [0. 1. 2. 3. 4. 5.]
np.asfortranarray: False, saved [0. 1. 2. 3. 4. 5.], loaded [0. 4. 8. 1. 5. 9.]"""

lines = []
for name, array in ARRAYS.items():
    save_file({"weights": array}, sys.argv[1])
    found, in_memory = load_file(sys.argv[1])["weights"], load(save({"weights": array}))["weights"]
    assert np.array_equal(found, in_memory) and found.shape == array.shape
    lines.append(f"{name}: {np.array_equal(found, array)}, saved {array.ravel()[:6]}, loaded {found.ravel()[:6]}")
print("whether the array came back:")
print("\n".join(lines))
if len(sys.argv) == 2:
    sys.exit("\n".join(lines) != SEEN)
sys.exit(any(": False" in line for line in lines))
PYTHON
"$folder/venv/bin/python" "$folder/views.py" "$folder/weights.safetensors"
PYTHONPATH=$folder/older "$folder/venv/bin/python" "$folder/views.py" "$folder/weights.safetensors" 0.7.0 >/dev/null
