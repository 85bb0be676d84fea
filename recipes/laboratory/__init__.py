"""The laboratory: every method on small tasks, over many seeds, by questions that are files.

questions.py    questions/NAME.yaml -> `Question`: arms to be compared, tasks, seeds
plan.py         its runs in their order, and the learning rates that were chosen
starts.py       where runs begin
runner.py       runs what is missing, a process a run (child.py)
records.py      results/QUESTION-TASK.jsonl: a line a run
progress.py     what is there, and what is left
compared.py     records -> the runs of each arm
statistics.py   intervals, tests, where a level is reached
tables.py       the tables of a page (critic.py: of signals and of the implicit critic)
figures.py      the frontier
report.py       results/QUESTION-TASK.md
settings.py     what decides a run
loop.py         one run, in plain torch (methods.py, evaluation.py)
"""
