"""Methods of the laboratory on the stack: their trained policies, measured as the laboratory measures its own.

measure.py    a run of `pacs sweep methods` -> its record
page.py       all records, beside the laboratory's -> measured.md
"""
