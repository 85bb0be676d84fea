"""A set of training runs as one command that goes on where it stopped, and ends in a table and a plot.

definition.py   configs/sweep/NAME.yaml -> `Sweep`: what it varies
grid.py         a sweep and overrides -> the runs, by Hydra's multirun
check.py        all of them are sound, before the first is started
elsewhere.py    runs that were trained on another machine, from its results.json
train.py        the runs, one after the other
evaluate.py     `pacs evaluate` of a run's last model
collect.py      run folders -> results.json
results.py      results.json, written and read
measures.py     what is compared, and its interval over seeds
table.py        results.json -> results.md
plot.py         results.json -> results.png
render.py       results.json -> these two and one HTML page
"""
