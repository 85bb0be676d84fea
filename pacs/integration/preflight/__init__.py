"""What is tried in a process of its own before a run: its policy, and code of the user."""
