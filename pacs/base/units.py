"""Times and sizes as a person reads them."""


def duration(seconds: float) -> str:
    """A time in the unit that it is long in.

    >>> duration(42.4), duration(200.0), duration(8000.0), duration(600_000.0)
    ('42 s', '3 min', '2 h 13 min', '6 d 23 h')
    """
    minutes, hours = round(seconds / 60), round(seconds / 3600)
    if seconds < 100:
        return f"{seconds:.0f} s"
    if minutes < 100:
        return f"{minutes} min"
    return f"{minutes // 60} h {minutes % 60} min" if hours < 48 else f"{hours // 24} d {hours % 24} h"


def size(count: float) -> str:
    """A number of bytes, in powers of 1,000.

    >>> size(999), size(3_400_000), size(7.3e13)
    ('999 B', '3.4 MB', '73.0 TB')
    """
    for unit in ("B", "kB", "MB", "GB"):
        if count < 999.5:
            return f"{count:.0f} {unit}" if unit == "B" or count >= 99.95 else f"{count:.1f} {unit}"
        count /= 1000
    return f"{count:.1f} TB"
