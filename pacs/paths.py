"""Where the project's files are, in a checkout and in an installed package."""

from pathlib import Path


def config_dir() -> Path:
    """The folder of the Hydra configs: `configs/` of the checkout, or the copy inside the installed package."""
    package = Path(__file__).parent
    checkout = package.parent / "configs"
    return checkout if (checkout / "pacs.yaml").is_file() else package / "configs"
