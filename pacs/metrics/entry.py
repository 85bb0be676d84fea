"""What is known of a key of metrics.jsonl, and the suffixes that say how a metric of ours is reduced."""

from dataclasses import dataclass

PREFIX = "pacs/"
#: A remedy that is not printed.
NOTHING = "None needed."

#: The last part of a metric's name -> what is done, over which rows (or updates).
SUFFIXES = {
    "mean": "mean over {over}",
    "std": "unbiased standard deviation over {over}",
    "min": "smallest of {over}",
    "max": "largest of {over}",
    "sum": "sum over {over}",
    "count": "how many of {over}",
    "fraction": "share of {over}",
    "rms": "root of the mean square over {over}",
    "q10": "10% quantile (linear between neighbours) over {over}",
    "q50": "median over {over}",
    "q90": "90% quantile (linear between neighbours) over {over}",
    "per_token": "sum over {over}, divided by the sum of their response tokens",
}


def suffix_of(name: str) -> str:
    """The suffix of a metric's name, after its last `/` or `_`.

    Raises:
        ValueError: the name ends in none of `SUFFIXES`.
    """
    for suffix in SUFFIXES:
        if name.endswith((f"/{suffix}", f"_{suffix}")):
            return suffix
    raise ValueError(f"{name} does not say how it is reduced: end it in one of {', '.join(SUFFIXES)}")


@dataclass(frozen=True)
class Metric:
    """A metric of ours.

    Attributes:
        name: the key, or a glob for a family of keys.
        column: the column that is reduced; empty where the trainer writes the number itself.
        over: what it is reduced over; for a column, one of the selections of `reduce.py`.
        unit: of its value.
        formula: what it is, of one row or as a whole.
        healthy: values to expect, and why.
        remedy: what to do at others.
        reduced_by: the suffix of a name that cannot end in it, because it is verl's or a family's.

    Raises:
        ValueError: the suffix is not known, or a name that is not verl's lacks the prefix `pacs/`.
    """

    name: str
    column: str
    over: str
    unit: str
    formula: str
    healthy: str
    remedy: str = NOTHING
    reduced_by: str = ""

    def __post_init__(self) -> None:
        if self.suffix not in SUFFIXES:
            raise ValueError(f"{self.name} cannot be reduced by {self.suffix!r}: use one of {', '.join(SUFFIXES)}")
        names_it = self.name.startswith(PREFIX) and not self.name.endswith("*")
        if names_it == bool(self.reduced_by):
            raise ValueError(f"{self.name}: a name of ours starts with {PREFIX} and ends in its suffix")

    @property
    def suffix(self) -> str:
        """How it is reduced: a key of `SUFFIXES`."""
        return self.reduced_by or suffix_of(self.name)

    @property
    def reduction(self) -> str:
        """The suffix in words."""
        return SUFFIXES[self.suffix].format(over=self.over)


@dataclass(frozen=True)
class VerlKey:
    """A key that verl writes; as `Metric`, but for its `reduction`: how verl reduces it, in words."""

    name: str
    reduction: str
    unit: str
    formula: str
    healthy: str
    remedy: str = NOTHING


Entry = Metric | VerlKey
