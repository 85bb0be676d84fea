"""Make the start of this task: `python -m recipes.countdown.make --out DIR --seed N`."""

from recipes.countdown.problems import TASK
from recipes.starts.make import main

if __name__ == "__main__":
    main(TASK)
