"""A Ray cluster of one training run on several nodes: started, waited for, watched over, and taken down again."""
