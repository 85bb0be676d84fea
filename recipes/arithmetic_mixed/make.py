"""Make the start of this task: `python -m recipes.arithmetic_mixed.make --out DIR --seed N`."""

from recipes.arithmetic_mixed.problems import TASK
from recipes.starts.make import main

if __name__ == "__main__":
    main(TASK)
