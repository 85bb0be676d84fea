"""A run for the tests of the runner: `child.main` with a loop of milliseconds, and what FAKE_CHILD says of a seed.

FAKE_CHILD is a JSON object, seed -> nan (a result that is not finite), raise, kill (SIGKILL), hang, stay (hang, and
ignore SIGTERM). A run that hangs makes the file `started-<its process>` in its folder.
"""

import json
import os
import signal
import time
from pathlib import Path
from typing import Any

from recipes.laboratory.child import main
from tests.recipes.laboratory.light import result


def do(asked: dict[str, Any]) -> dict[str, Any]:
    """The made-up result of a run."""
    match json.loads(os.environ.get("FAKE_CHILD", "{}")).get(str(asked["settings"]["seed"])):
        case "nan":
            return {"loss": float("nan")}
        case "raise":
            raise RuntimeError("the loss is not finite at step 3: lower lr")
        case "kill":
            os.kill(os.getpid(), signal.SIGKILL)
        case "hang" | "stay" as how:
            if how == "stay":
                signal.signal(signal.SIGTERM, signal.SIG_IGN)
            Path(asked["out"]).with_name(f"started-{os.getpid()}").touch()
            time.sleep(600)
    return result(asked)


if __name__ == "__main__":
    main(do)
