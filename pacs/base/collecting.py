"""How often Python looks for garbage."""

import gc

#: Objects made before the youngest are looked at; Python's own is 700.
OBJECTS = 10_000


def collect_rarely() -> None:
    """Have this process collect its garbage less often.

    What verl and vLLM import makes objects by the million that all live on, and Python searches them for garbage again
    and again meanwhile: a fifth of the time of these imports. Ray's workers call it as they start, before they import.
    """
    gc.set_threshold(OBJECTS, 10, 10)
