"""Starts of tasks that a program makes: problems as verl's parquet, and a small Qwen3 after a supervised warm start.

task.py        what a task is: its problems, its solutions, its warm start
supervised.py  one step of supervised training on solutions
make.py        a task and a seed -> a folder with the model and the problems; the command of every task
read.py        the problems of such a folder, and the labels of responses to them
"""
