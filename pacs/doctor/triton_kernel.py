"""`python -m pacs.doctor.triton_kernel`: compile one Triton kernel and run it."""

import sys

import torch
import triton
import triton.language as tl

from pacs.base.terminal import print
from pacs.doctor.kernels import NOT_TRIED

SIZE, BLOCK = 1000, 256


# Triton reads the annotations, too, and knows no `Any`.
@triton.jit  # type: ignore[untyped-decorator]
def add(left, right, out, size, block: tl.constexpr):  # type: ignore[no-untyped-def]
    """out_i = left_i + right_i."""
    places = tl.program_id(0) * block + tl.arange(0, block)
    inside = places < size
    tl.store(out + places, tl.load(left + places, mask=inside) + tl.load(right + places, mask=inside), mask=inside)


def attempt() -> None:
    """Compile, run and compare with torch."""
    left, right = (torch.arange(SIZE, device="cuda", dtype=torch.float32) * factor for factor in (1.0, 0.5))
    out = torch.empty_like(left)
    add[(triton.cdiv(SIZE, BLOCK),)](left, right, out, SIZE, BLOCK)
    if not torch.equal(out, left + right):
        raise ArithmeticError(f"Triton {triton.__version__}: a sum of two vectors is not torch's")


if __name__ == "__main__":
    if not torch.cuda.is_available():
        print(f"{triton.__version__} can be imported; torch sees no GPU to try it on")
        sys.exit(NOT_TRIED)
    attempt()
    print(f"{triton.__version__}: a kernel was compiled and gives torch's numbers")
