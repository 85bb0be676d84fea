"""What PACS does, by enumeration: README.md and its figures, with a toy whose results are kept."""
