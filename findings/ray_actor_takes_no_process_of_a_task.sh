#!/usr/bin/env bash
# Ray 2.60.0: an idle process that has run a task is never given to an actor.
#
# Guessed: Ray keeps the processes of finished tasks (listed as ray::IDLE) for the next task or actor with the same
# environment, so a task that imports torch and vLLM leaves a process in which an actor starts at once.
# Seen: a second task runs in the first one's process, with its modules. An actor gets a new process each time and imports
# everything again, whether a driver or another actor creates it. Tasks cannot warm up processes for actors.
#
# Output seen:
#   the second task: the process of the first
#   an actor of the driver: a new process
#   an actor of an actor: a new process
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check ray==2.60.0
cat >"$folder/reuse.py" <<'PYTHON'
import os
import sys
import time

import ray

ray.init(num_cpus=4, include_dashboard=False, log_to_driver=False, runtime_env={"env_vars": {"OF": "the job"}})


@ray.remote(num_cpus=0)
def task():
    return os.getpid()


@ray.remote(num_cpus=0)
class Actor:
    def process(self):
        return os.getpid()

    def process_of_another(self):
        return ray.get(Actor.remote().process.remote())


first = ray.get(task.remote())
found = []
for who, call in (
    ("the second task", task.remote),
    ("an actor of the driver", lambda: Actor.remote().process.remote()),
    ("an actor of an actor", lambda: Actor.remote().process_of_another.remote()),
):
    time.sleep(0.5)  # the process of the task is idle
    found.append(f"{who}: {'the process of the first' if ray.get(call()) == first else 'a new process'}")
    print(found[-1])
ray.shutdown()
sys.exit(
    found
    != [
        "the second task: the process of the first",
        "an actor of the driver: a new process",
        "an actor of an actor: a new process",
    ]
)
PYTHON
"$folder/venv/bin/python" "$folder/reuse.py" 2>/dev/null
