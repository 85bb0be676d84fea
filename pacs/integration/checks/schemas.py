"""Files that verl cannot read as one data set: columns of other types in one than in another."""

from collections.abc import Iterator, Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq


def unite_problems(key: str, files: Sequence[Path]) -> Iterator[str]:
    """Columns that `datasets`, by which verl reads several files, does not unite; a sentence each with the mend.

    It is asked itself, of the first row of each file.

    Args:
        key: the setting that names the files.
        files: in verl's schema, each with a row.
    """
    rows = [pa.Table.from_batches([next(pq.ParquetFile(file).iter_batches(1))]) for file in files]
    for i, file in enumerate(files):
        apart = ((files[j], each) for j in range(i) for each in _differences(rows[j], rows[i]))
        for other, (column, there, here) in apart:
            yield (
                f"{key}={file} has {column} of the type {here}, and {other} of {there}: verl reads all files as one, "
                "for which they must agree. Write one of them anew with the type of the other."
            )
            break


def _differences(one: pa.Table, other: pa.Table) -> Iterator[tuple[str, pa.DataType, pa.DataType]]:
    """The columns that do not unite, in this order, with fields of structs by their paths, and the two types."""
    if _unites(one, other):
        return
    for name in sorted(set(one.column_names) & set(other.column_names)):
        parts = one.select([name]), other.select([name])
        if _unites(*parts):
            continue
        kinds = one.schema.field(name).type, other.schema.field(name).type
        inner = []
        if all(map(pa.types.is_struct, kinds)):
            inner = list(_differences(*(part.flatten() for part in parts)))
        yield from inner or [(name, *kinds)]


def _unites(one: pa.Table, other: pa.Table) -> bool:
    import datasets
    from datasets.table import InMemoryTable, table_cast

    try:
        read = []
        for table in (one, other):
            schema = datasets.Features.from_arrow_schema(table.schema).arrow_schema
            read.append(datasets.Dataset(InMemoryTable(table_cast(table, schema))))
        datasets.concatenate_datasets(read)
    except Exception:  # of several kinds, AttributeError among them: verl would end with it
        return False
    return True
