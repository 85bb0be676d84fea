"""What can be known to be wrong before Ray starts, each with the setting and the mend."""

from pacs.integration.checks.run import (
    ConfigError,
    check_model,
    check_paths,
    check_run,
    check_surroundings,
    refuse,
    warnings,
)

__all__ = ["ConfigError", "check_model", "check_paths", "check_run", "check_surroundings", "refuse", "warnings"]
