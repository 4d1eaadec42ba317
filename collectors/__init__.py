"""What Oracle says: the views latchscope reads, one file each, and the way from rows to Snapshot and Delta."""

from pathlib import Path
from typing import Any

import yaml

LOADER: type = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
"""The reader of our YAML files: in C where it is there, which takes a tenth of the time."""


def data_beside(module: str) -> Any:
    """What the YAML file beside a module holds: `data_beside(__file__)`."""
    return yaml.load(Path(module).with_suffix(".yaml").read_text(encoding="utf-8"), Loader=LOADER)
