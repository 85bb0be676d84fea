"""A start's own folder for temporary files: what vLLM, zmq and torch leave in it goes with it."""

import glob
import os
import shutil
import tempfile
from pathlib import Path

#: Environment variable of the driver: the folder's path, which the processes of the run get as TMPDIR.
TEMPORARY = "PACS_RUN_TMPDIR"
PREFIX = "pacs-"
#: The longest path of a Unix socket, and what vLLM adds to the folder's for one (a slash and a uuid).
SOCKET_CHARS, SOCKET_NAME_CHARS = 107, 37
#: verl's sockets for weights, which have a place of their own; the run's token is in their names.
WEIGHTS_SOCKETS = "/tmp/rl-colocate-zmq-{token}-*"


def temporary_folder(token: str) -> Path:
    """The path of a start's folder: below TMPDIR, unless that makes paths of sockets too long."""
    name = f"{PREFIX}{token[:12]}"
    folder = Path(tempfile.gettempdir(), name)
    return folder if len(str(folder)) + SOCKET_NAME_CHARS <= SOCKET_CHARS else Path("/tmp", name)


def make_temporary(folder: Path) -> None:
    """Make the folder, for this user alone."""
    folder.mkdir(mode=0o700, exist_ok=True)


def remove_temporary(folder: str | None, token: str) -> None:
    """Remove a start's folder and its sockets; a path that is not one of `temporary_folder`'s is left alone."""
    if folder is not None and Path(folder).name == f"{PREFIX}{token[:12]}" and not Path(folder).is_symlink():
        shutil.rmtree(folder, ignore_errors=True)
    for socket in glob.glob(WEIGHTS_SOCKETS.format(token=glob.escape(token))):  # noqa: PTH207 (an absolute pattern)
        Path(socket).unlink(missing_ok=True)


def temporary_variables() -> dict[str, str]:
    """What the processes of a start have in their environment, so that they use its folder.

    What torch.compile has made stays where it would be without: it is to outlive the start.
    """
    from torch._inductor.runtime.cache_dir_utils import default_cache_dir

    compiled = os.environ.get("TORCHINDUCTOR_CACHE_DIR", default_cache_dir())
    return {"TMPDIR": os.environ[TEMPORARY], "TORCHINDUCTOR_CACHE_DIR": compiled}
