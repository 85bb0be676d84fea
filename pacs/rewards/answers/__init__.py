"""Mathematical answers: read as what they are (a number, a set, an interval, ...), and compared as such."""
