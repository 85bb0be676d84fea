"""A set of training runs as one command that goes on where it stopped, and ends in a table and a plot.

definition.py   configs/sweep/NAME.yaml -> `Sweep`: what it varies
grid.py         a sweep and overrides -> the runs, by Hydra's multirun
check.py        all of them are sound, before the first is started; those trained elsewhere, from a results.json
train.py        the runs, one after the other, and `pacs evaluate` of each one's last model
collect.py      run folders -> results.json
results.py      results.json, written and read
measures.py     what is compared, and its interval over seeds
table.py        results.json -> results.md
render.py       results.json -> results.md, results.png and one HTML page
"""
