"""What a machine lacks for a run, found before it: `pacs doctor`."""
