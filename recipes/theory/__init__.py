"""What PACS does, by enumeration: docs/theory.md and its figures, with a toy whose results are kept."""
