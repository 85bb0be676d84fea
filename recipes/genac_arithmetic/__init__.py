"""GenAC in miniature: a critic that reasons before it scores, and what an actor learns with it, on chains of sums.

problems.py     the chains: of the actor, of the critics, and those that are measured on
start.py        the actor's warm start
traces.py       the program that redoes a partial solution and scores it: SFT's teacher
states.py       the states of responses: what stands before each step
critic.py       the generative critic: what it is asked, its traces, SFT and REINFORCE
heads.py        the value head beside it
truth.py        what a state is worth: shares of right continuations
bench.py        states and candidates with what they are worth; measures.py: errors and rankings
solving.py      pass@1
frozen.py       the actor as it begins, with its responses
teaching.py     SFT, made once and kept
pretraining.py  the stages of the critics, the actor frozen
comparing.py    REINFORCE with several traces of a state, and where the error lies
joint.py        the stages of the actor, by every method
sizes.py        how much of everything; the stages' names
stages.py       one stage in a process; kept.py: records; page.py, diagnosis.py, picture.py: README.md
"""
