"""What `pacs export` refuses."""


class ExportError(ValueError):
    """It cannot be exported; the message is one line that says why and what to change."""
