"""How different a model's responses to one problem are, and which problems it can solve that another cannot.

folders.py     evaluation folders -> the tasks to compare, checked to be of the same problems
embed.py       responses -> embeddings, through sentence-transformers; cache.py keeps them on disk
distance.py    embeddings -> mean pairwise cosine distance
tokens.py      responses -> distinct-n; answers -> entropy
measures.py    a task -> every measure, by problem; their means, and the differences of two models
picture.py     embeddings -> the centred 2-D picture
document.py    numbers -> JSON and Markdown
command.py     `pacs diversity`

support.py     two models -> problems kept, gained, lost
support_picture.py, support_command.py  `pacs support`
"""
