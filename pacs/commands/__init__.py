"""The subcommands of `pacs`, a file each: arguments, and what is done with them. `pacs.cli` finds and runs them."""
