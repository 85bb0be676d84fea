"""A queue of requests, worked off by engines of its own, for what is kept otherwise than an evaluation's samples."""

from collections import deque
from collections.abc import Callable
from pathlib import Path

from tqdm import tqdm

from pacs.evaluation.engine import Engine, EngineSettings, Finished, Request
from pacs.evaluation.process import StopRequest, nothing_left


def drain(
    settings: EngineSettings,
    logs: Path,
    queue: deque[Request],
    deliver: Callable[[Finished], None],
    stop: StopRequest,
    *,
    unit: str,
    kind: type[Engine] = Engine,
) -> None:
    """Start engines, have them work off the queue with a progress bar, and end them.

    Args:
        settings: of each engine.
        logs: folder for what they print.
        queue: of requests; an empty one starts nothing.
        deliver: called with what is finished.
        stop: asked several times a second.
        unit: of the progress bar, as "answers".
        kind: what they do with a request.

    Raises:
        EngineFailure: an engine cannot start or died; what was delivered is not lost.
        Stopped: `stop` asks for the end; the same.
    """
    if not queue:
        return
    # Imported late: what is there already needs no Ray.
    from pacs.evaluation.engines import generate, running

    with (
        nothing_left(),
        running(settings, logs, stop, kind) as ready,
        tqdm(total=len(queue), unit=f" {unit}", disable=None) as progress,
    ):

        def delivered(finished: Finished) -> None:
            deliver(finished)
            progress.update()

        generate(ready, queue, delivered, lambda: None, stop)
