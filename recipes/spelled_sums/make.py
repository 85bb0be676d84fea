"""Make the start of this task: `python -m recipes.spelled_sums.make --out DIR --seed N`."""

from recipes.spelled_sums.problems import TASK
from recipes.starts.make import main

if __name__ == "__main__":
    main(TASK)
