"""Code repair in miniature: a program with a failing test, repaired in up to three tries, each told what fails.

programs.py    programs of one expression, what they give, and what is said of a failing test
problems.py    the problems, the solutions of the warm start, the task
reward.py      the verifier: the sandbox, with what fails as guidance for another try
make.py        the command
"""
