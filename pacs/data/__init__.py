"""Problem sets from their sources into one schema, verl's parquet. No verl, no Ray."""
