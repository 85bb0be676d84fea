"""How different a model's responses to one problem are, and which problems it can solve that another cannot.

folders.py     evaluation folders -> the tasks to compare, checked to be of the same problems

Of `pacs diversity`:

embed.py       responses -> embeddings, through sentence-transformers; cache.py keeps them on disk
measures.py    a task -> every measure, by problem; what two models differ by
picture.py     embeddings -> a plane, each problem's mean at its origin, drawn
document.py    numbers -> JSON and Markdown

Of `pacs support`:

support.py    problems by who solves them, the metrics of these, and entropies
policies.py   a run -> its initial policy and its checkpoints; evaluating.py has `pacs evaluate` evaluate them
curves.py     which samples are right -> counts and metrics of each policy, with intervals
support_document.py  numbers -> JSON and Markdown, and what they mean; support_picture.py draws them
"""
