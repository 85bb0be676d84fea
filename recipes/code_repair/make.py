"""Make the start of this task: `python -m recipes.code_repair.make --out DIR --seed N`."""

from recipes.code_repair.problems import TASK
from recipes.starts.make import main

if __name__ == "__main__":
    main(TASK)
