"""Programs that nobody has read, run where they can neither harm nor cheat: docs/rewards.md says what holds them.

`sandbox.py` is the caller's side. It starts `server.py` in a process of its own, which forks one more for each test;
that one limits itself (`limits.py`, `landlock.py`, `seccomp.py`) and then runs the program (`program.py`).
"""
