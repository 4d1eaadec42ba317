"""Examples made from schemas: the schema's own first, then a word of the field. Recursion ends."""

import jsonschema

from service.web.api.examples import example_of, example_of_parameter


def test_example_is_a_value_of_its_schema() -> None:
    named = {
        "Node": {
            "type": "object",
            "properties": {"below": {"anyOf": [{"$ref": "#/components/schemas/Node"}, {"type": "null"}]}},
        }
    }
    for schema in (
        {"type": "string", "enum": ["a", "b"]},
        {"type": "integer", "minimum": 5},
        {"type": "number", "exclusiveMinimum": 0},
        {"type": "array", "items": {"type": "boolean"}, "minItems": 2},
        {"type": "array", "prefixItems": [{"type": "string"}, {"type": "integer"}]},
        {"anyOf": [{"type": "null"}, {"type": "string", "format": "date-time"}]},
        {"$ref": "#/components/schemas/Node"},
        {"const": "latch"},
    ):
        jsonschema.validate(example_of(schema, named), {**schema, "components": {"schemas": named}})


def test_parameter_has_its_default_or_a_word_to_try() -> None:
    assert example_of_parameter({"name": "db", "in": "path", "schema": {"type": "string"}}, {}) == "undo-storm"
    assert (
        example_of_parameter({"name": "limit", "in": "query", "schema": {"type": "integer", "default": 200}}, {}) == 200
    )
    assert example_of_parameter({"name": "metric", "in": "query", "schema": {"type": "array"}}, {}) == ["latch_sleeps"]
