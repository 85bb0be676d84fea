"""Two-digit addition and subtraction with a model made here: nothing is downloaded."""
