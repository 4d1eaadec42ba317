"""What Oracle says: the views latchscope reads, one file each, and the way from rows to Snapshot and Delta."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml

if TYPE_CHECKING:
    from jinja2 import Template

LOADER: type = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
"""The reader of our YAML files: in C where it is there, which takes a tenth of the time."""


def data_beside(module: str, name: str = "") -> Any:
    """What the YAML file beside a module holds: `data_beside(__file__)`. `name`: a file of another name."""
    path = Path(module)
    return yaml.load((path.parent / f"{name or path.stem}.yaml").read_text(encoding="utf-8"), Loader=LOADER)


def template_beside(module: str) -> "Template":
    """The SQL*Plus script of the file beside a module that ends with .sql.j2: `template_beside(__file__)`."""
    from jinja2 import Environment, StrictUndefined  # here, because it takes as long to load as all of a command

    text = Path(module).with_suffix(".sql.j2").read_text(encoding="utf-8")
    return Environment(undefined=StrictUndefined, trim_blocks=True, keep_trailing_newline=True).from_string(text)
