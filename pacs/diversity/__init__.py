"""How different a model's responses to one problem are, and which problems it can solve that another cannot.

command.py     the arguments of `pacs diversity` and `pacs support`
folders.py     evaluation folders -> the tasks to compare, checked to be of the same problems

`pacs diversity` is diversity_command.py, and

embed.py       responses -> embeddings, through sentence-transformers; cache.py keeps them on disk
distance.py    embeddings -> mean pairwise cosine distance
tokens.py      responses -> distinct-n; answers -> entropy. tokenizer.py says what a token is
measures.py    a task -> every measure, by problem; what two models differ by
projection.py  embeddings -> a plane, each problem's mean at its origin; picture.py draws it
document.py    numbers -> JSON and Markdown

`pacs support` is support_command.py, and

support.py           two models -> problems kept, gained, lost, and the metrics of these
support_task.py      a task at several k, with the entropies of both models
support_document.py  numbers -> JSON and Markdown; support_picture.py draws them
"""
