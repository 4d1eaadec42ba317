"""Examples for the REST document. They are made from its own schemas, so they stay current, with realistic words."""

import re
from collections.abc import Mapping
from typing import Any

Schema = Mapping[str, Any]

_WORDS: Mapping[str, Any] = {
    "db": "undo-storm",
    "database": "undo-storm",
    "name": "undo-storm",
    "target": "undo-storm",
    "release": "11.2.0.4.0",
    "cache": "dc_rollback_segments",
    "parameter": "dc_rollback_segments",
    "cause": "undo-segments",
    "id": "undo-segments",
    "metric": ["latch_sleeps"],
    "location": "kqrpre: find obj",
    "latch": "row cache objects",
    "text": "undo tablespace recreated",
    "do_not": "Do not drop the old undo tablespace right after the switch.",
    "before": "-2h/-1h",
    "after": "-1h/now",
    "begin": "-1h",
    "end": "now",
    "at": "-1h",
    "span": "1h",
    "settle": "5m",
    "mark": "last",
    "unit": "per second",
    "event": "latch: row cache objects",
}
_FORMATS: Mapping[str, Any] = {
    "date-time": "2026-03-01T12:00:00Z",
    "uri": "https://latchscope.example.com/",
    "binary": "",
}
_FITTING = (">= 100", "11.2", "undo-segments", "http://victoria:8428")
"""Tried for a schema with a pattern."""
_DEEPEST = 7
"""Depth of nested groups. Below it, anything that may be empty or null is."""


def example_of(schema: Schema, named: Mapping[str, Schema], name: str = "", depth: int = 0) -> Any:
    """A value of a schema. `named`: the schemas it may refer to; `name`: the member's name."""
    if reference := schema.get("$ref"):
        return example_of(named[reference.rpartition("/")[2]], named, name, depth)
    for kept in ("example", "const", "default"):
        if schema.get(kept) is not None:
            return schema[kept]
    if "enum" in schema:
        return schema["enum"][0]
    if choices := schema.get("anyOf") or schema.get("oneOf"):
        nothing = any(each.get("type") == "null" for each in choices)
        if nothing and depth >= _DEEPEST:
            return None
        return example_of(next(each for each in choices if each.get("type") != "null"), named, name, depth)
    if "allOf" in schema:
        return example_of(schema["allOf"][0], named, name, depth)
    return _of_type(schema, named, name, depth)


def _of_type(schema: Schema, named: Mapping[str, Schema], name: str, depth: int) -> Any:
    kind = schema.get("type")
    if kind == "object":
        members = schema.get("properties", {})
        return {member: example_of(each, named, member, depth + 1) for member, each in members.items()}
    if kind == "array":
        if "prefixItems" in schema:
            return [example_of(each, named, name, depth + 1) for each in schema["prefixItems"]]
        fewest = schema.get("minItems", 0)
        count = max(fewest, 0 if depth >= _DEEPEST or "items" not in schema else 1)
        return [example_of(schema["items"], named, name, depth + 1) for _ in range(count)]
    if kind in ("integer", "number"):
        least = schema.get("minimum", schema.get("exclusiveMinimum", 0))
        return least + 1 if "exclusiveMinimum" in schema else max(least, min(1, schema.get("maximum", 1)))
    if kind == "boolean":
        return True
    if kind == "string":
        word = _FORMATS.get(schema.get("format", ""), _WORDS.get(name))
        pattern, words = schema.get("pattern", ""), [word if isinstance(word, str) else "…", *_FITTING]
        return next((each for each in words if re.search(pattern, each)), words[0])
    return None


def example_of_parameter(parameter: Schema, named: Mapping[str, Schema]) -> Any:
    """A value of a parameter: its default, or a word that works on the demo."""
    known = parameter["schema"].get("example", _WORDS.get(parameter["name"]))
    if parameter["in"] == "path" or "default" not in parameter["schema"]:
        return known if known is not None else example_of(parameter["schema"], named, parameter["name"])
    return parameter["schema"]["default"]
