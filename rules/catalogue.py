"""The knowledge base: every `causes/*.yaml`, checked and bound to its signals at load."""

from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path

import yaml
from pydantic import ValidationError

from rules.cause import AnyOf, Cause, Condition
from rules.signals import SIGNALS
from rules.wording import CACHE, HOLDER, slots

LOADER: type = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
"""The safe loader in C, if PyYAML has it: ten times as fast."""

HOME = Path(__file__).parent / "causes"


class BadCause(Exception):
    """A cause file that cannot be used. The message names the file, the mistake and the correction."""


@cache
def catalogue() -> Mapping[str, Cause]:
    """Cause id → cause, in the order of their knowledge base numbers. Raises BadCause."""
    return load(HOME)


def load(home: Path) -> Mapping[str, Cause]:
    """Every cause in a folder. The file name is the id."""
    causes = [read(path) for path in sorted(home.glob("*.yaml")) if not path.name.endswith(".cases.yaml")]
    return {cause.id: cause for cause in sorted(causes, key=lambda cause: (cause.kb, cause.id))}


def read(path: Path) -> Cause:
    """One cause file. `rules.signals` knows every signal that it names."""
    try:
        members = yaml.load(path.read_text(encoding="utf-8"), Loader=LOADER)
        cause = Cause.model_validate(members)
    except yaml.YAMLError as error:
        raise BadCause(f"{path.name} is not valid YAML: {' '.join(str(error).split())}") from None
    except UnicodeDecodeError as error:
        raise BadCause(f"{path.name} is not text: byte {error.start} is not UTF-8; a cause is a YAML file") from None
    except ValidationError as error:
        raise BadCause(f"{path.name}: {_first(error)}") from None
    if cause.id != path.stem:
        raise BadCause(f"{path.name} has the cause {cause.id}; name the file {cause.id}.yaml")
    known = ", ".join(sorted(SIGNALS))
    for condition in conditions(cause):
        if condition.signal not in SIGNALS:
            raise BadCause(f"{path.name} asks for the signal {condition.signal}; the signals are {known}")
    for slot in sorted(slots(*cause.sentences) - {CACHE, HOLDER}):
        if slot not in SIGNALS:
            raise BadCause(
                f"{path.name} has the slot {{{slot}}}, which is not a signal; the slots are {CACHE}, {HOLDER}, {known}"
            )
    if plain := slots(cause.title, cause.lede):
        raise BadCause(
            f"{path.name} has the slot {{{min(plain)}}} in title or lede; move it to measured_title or measured_lede"
        )
    return cause


def conditions(cause: Cause) -> Iterator[Condition]:
    """Every condition of a cause, alternatives included."""
    for condition in cause.when:
        yield from condition.any_of if isinstance(condition, AnyOf) else (condition,)


def _first(error: ValidationError) -> str:
    detail = error.errors()[0]
    return f"{'.'.join(str(part) for part in detail['loc'])}: {detail['msg']}"
