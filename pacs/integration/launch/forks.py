"""Children that the trainer forks, such as verl's router of a judge, end with it.

They have the trainer's socket to Ray, which takes a killed trainer for alive as long as one of them lives.
"""

import os
import signal
import threading

from pacs.rewards.sandbox import libc

#: Whether the next child is forked by the main thread.
_by_main_thread = False


def end_forks_with_this_process() -> None:
    """Have the kernel end what this process forks from now on when it ends, however it does.

    The kernel does so when the thread that has forked ends, so that children of other threads are left alone.
    """
    os.register_at_fork(before=_note_thread, after_in_child=_end_with_parent)


def _note_thread() -> None:
    global _by_main_thread
    _by_main_thread = threading.current_thread() is threading.main_thread()


def _end_with_parent() -> None:
    if _by_main_thread:
        libc.prctl(libc.PR_SET_PDEATHSIG, signal.SIGKILL)
