"""What `latchscope diagnose` is given: files and standard input, read into Diagnoses or one clear error each."""

import sys
from collections.abc import Mapping
from pathlib import Path

from collectors.capture import LIMIT_BYTES, delta_of, load
from collectors.errors import InputError
from collectors.model import NotComparable
from rules.engine import cannot_tell, diagnose
from rules.model import Diagnosis

STDIN = "-"


def diagnose_input(name: str) -> Diagnosis:
    """The Diagnosis of one input. Raises InputError."""
    change = delta_of(load(read(name), "standard input" if name == STDIN else name))
    return cannot_tell(change) if isinstance(change, NotComparable) else diagnose(change)


def read(name: str) -> bytes:
    """The bytes of a file or of standard input, never more than a capture may have. Raises InputError."""
    if name == STDIN:
        return sys.stdin.buffer.read(LIMIT_BYTES + 1)
    path = Path(name)
    try:
        if path.is_dir():
            raise InputError(f"{name} is a directory; name the capture files in it")
        size = path.stat().st_size
        if size > LIMIT_BYTES:
            raise InputError(f"{name} is {size / 2**20:,.0f} MiB; a capture is at most {LIMIT_BYTES // 2**20} MiB")
        with path.open("rb") as file:  # a device tells no size
            return file.read(LIMIT_BYTES + 1)
    except FileNotFoundError:
        raise InputError(f"{name} does not exist") from None
    except OSError as error:
        raise InputError(f"{name} cannot be read: {error.strerror}") from None


def diagnose_all(names: list[str]) -> tuple[Mapping[str, Diagnosis], list[InputError]]:
    """Every input that could be read with its Diagnosis, and the errors of the others."""
    told: dict[str, Diagnosis] = {}
    errors: list[InputError] = []
    for name in names:
        try:
            told[name] = diagnose_input(name)
        except InputError as error:
            errors.append(error)
    return told, errors
