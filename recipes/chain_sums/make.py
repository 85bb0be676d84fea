"""Make the start of this task: `python -m recipes.chain_sums.make --out DIR --seed N`."""

from recipes.chain_sums.problems import TASK
from recipes.starts.make import main

if __name__ == "__main__":
    main(TASK)
