"""What `pacs data` refuses."""


class DataError(ValueError):
    """It cannot be prepared or read; the message is one line that says why and what to change."""
