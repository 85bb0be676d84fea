#!/usr/bin/env bash
# nemo-gym 0.7.0: its ARC-AGI environment takes the first boxed grid of a response, and the first grid of any kind if there is a
# line break or a space behind "\boxed{": a right answer behind a copy of the input gets 0.
#
# Guessed: the answer is the last boxed grid, as in nemo-gym's environments of mathematics and multiple choice, however the grid is
# laid out in its box; a copied input does not matter.
# Seen (2026-11-30, nemo-gym 0.7.0, verify of its arc_agi server on responses made here; [[1,2],[3,4]] is right): of several boxed
# grids the first counts, so a model that corrects itself gets 0, and one that drops a right grid gets 1. A box counts only if
# the grid's bracket follows the brace at once and the closing brace the bracket: with a line break, a space or \text between, as
# models write large grids, no box is found, and the first grid of the whole text is taken, which is the copied input or an
# example. So the reward falls where the model reasons about the grids in its answer. Cut the text down to its last box and take
# the white space out of it before grading, or keep the reasoning out of what is graded.
#
#   1.0: \boxed{[[1,2],[3,4]]}
#   1.0: \boxed{\n[[1,2],[3,4]]\n}
#   0.0: [[0,0],[0,0]] becomes \boxed{\n[[1,2],[3,4]]\n}
#   0.0: [[0,0],[0,0]] becomes \boxed{ [[1,2],[3,4]] }
#   1.0: [[0,0],[0,0]] becomes \boxed{[[1,2],[3,4]]}
#   0.0: Perhaps \boxed{[[0,0],[0,0]]}. No: \boxed{[[1,2],[3,4]]}
#   1.0: Perhaps \boxed{[[1,2],[3,4]]}. No: \boxed{[[0,0],[0,0]]}
#   1.0: [[1,2],[3,4]] becomes \boxed{ [[0,0],[0,0]] }
#
# Exits with a status other than 0 if any of this differs. It runs nemo-gym's own grader; the base classes of its server are
# stand-ins.
set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check pydantic==2.14.4 fastapi==0.165.0
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check --no-compile --no-deps --ignore-requires-python \
  nemo-gym==0.7.0
cat >"$folder/grids.py" <<'PYTHON'
import asyncio
import sys
from types import ModuleType, SimpleNamespace
from typing import Any

from pydantic import BaseModel


class Row(BaseModel, extra="allow"):
    response: Any = None


names = ("BaseResourcesServerConfig", "BaseRunRequest", "BaseVerifyRequest", "BaseVerifyResponse")
base = ModuleType("nemo_gym.base_resources_server")
vars(base).update(dict.fromkeys(names, Row), SimpleResourcesServer=object)
sys.modules.update({"nemo_gym": ModuleType("nemo_gym"), base.__name__: base})

from resources_servers.arc_agi.app import ARCAGIResourcesServer, ARCAGIVerifyRequest  # noqa: E402

RIGHT = "[[1,2],[3,4]]"
WRONG = "[[0,0],[0,0]]"
CASES = (
    (1.0, f"\\boxed{{{RIGHT}}}"),
    (1.0, f"\\boxed{{\n{RIGHT}\n}}"),
    (0.0, f"{WRONG} becomes \\boxed{{\n{RIGHT}\n}}"),
    (0.0, f"{WRONG} becomes \\boxed{{ {RIGHT} }}"),
    (1.0, f"{WRONG} becomes \\boxed{{{RIGHT}}}"),
    (0.0, f"Perhaps \\boxed{{{WRONG}}}. No: \\boxed{{{RIGHT}}}"),
    (1.0, f"Perhaps \\boxed{{{RIGHT}}}. No: \\boxed{{{WRONG}}}"),
    (1.0, f"{RIGHT} becomes \\boxed{{ {WRONG} }}"),
)


def reward(said):
    message = SimpleNamespace(type="message", role="assistant", content=[SimpleNamespace(text=said)])
    request = ARCAGIVerifyRequest(response=SimpleNamespace(output=[message]), expected_output=[[1, 2], [3, 4]])
    return asyncio.run(ARCAGIResourcesServer().verify(request)).reward


found = [reward(said) for _, said in CASES]
for score, (_, said) in zip(found, CASES, strict=True):
    print(f"{score}: {said}".replace("\n", "\\n"))
sys.exit(found != [score for score, _ in CASES])
PYTHON
"$folder/venv/bin/python" "$folder/grids.py"
