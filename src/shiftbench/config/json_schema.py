"""The JSON schema of config files, by which editors complete keys and mark mistakes.

From the models and the settings of all components. It says what may stand where; what fits
together, `shiftbench check` knows alone.
"""

from __future__ import annotations

import json
from typing import Any

from pydantic import BaseModel, TypeAdapter

from shiftbench.config import components
from shiftbench.config.composition import OF_STUDY_METHODS
from shiftbench.config.schema import ConfigFile, Method, Study, StudyFile

Schema = dict[str, Any]
PIPELINE = ("combinators", "learners")
NAMES: Schema = {"type": "array", "items": {"type": "string"}}


def text() -> str:
    """The schema of a config file; of a study's file at `#/$defs/study`."""
    return json.dumps(whole(), indent=1, ensure_ascii=False) + "\n"


def whole() -> Schema:
    """The schema as data."""
    of_file = _properties(ConfigFile)
    stream, study = {"$ref": "#/$defs/stream"}, {"$ref": "#/$defs/study"}
    of_file["studies"] = _told(of_file["studies"], _listed_or_mapped(study))
    of_file["streams"] = _told(of_file["streams"], _mapped(stream))
    of_file["methods"] = _told(of_file["methods"], _mapped(_object(_method())))
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "shiftbench config",
        **_object(of_file),
        "$defs": {
            "stream": _stream(),
            "study": _object(_study(stream)),
            "pipeline": {"type": "array", "minItems": 1, "items": _component(*PIPELINE)},
            **{
                f"{kind}.{name}": _object(_settings(kind, name))
                for kind in (*PIPELINE, "models")
                for name in components.names(kind)
            },
        },
    }


def _study(stream: Schema) -> Schema:
    """The keys of a study; what it is made from may have those that are missing."""
    keys = _properties(Study) | _properties(StudyFile)
    budget = _properties(ConfigFile)["budget"]
    changes = _object({"from": {"type": "string"}, **_of_variants(), **_dotted()})
    forms = {
        "streams": _either(NAMES, _mapped(stream)),
        "axes": _mapped(_either({"type": "array"}, _mapped({"type": "array"}))),
        "model": _component("models"),
        "methods": _listed_or_mapped(_either({"$ref": "#/$defs/pipeline"}, changes)),
        "settings": _object(_dotted()),
        "metrics": _some("metrics"),
        "artefacts": _some("artefacts"),
        "budgets": _mapped({"$ref": "#/$defs/study"}),
        "tuning": {"type": "object"},  # a budget says some of it
    }
    return keys | {key: _told(keys[key], form) for key, form in forms.items()} | {"budget": budget}


def _method() -> Schema:
    keys = _properties(Method)
    return keys | {"pipeline": _told(keys["pipeline"], {"$ref": "#/$defs/pipeline"})}


def _of_variants() -> Schema:
    keys = _properties(Method)
    return {key: keys[key] for key in OF_STUDY_METHODS}


def _stream() -> Schema:
    """A stream: its family, and the settings that this family has."""
    names = components.names("streams")
    of_family = [
        {
            "if": {"properties": {"family": {"const": name}}},
            "then": _object({"family": {}, **_settings("streams", name)}),
        }
        for name in names
    ]
    family = {"enum": names, "description": "How the stream is made."}
    keys = {"properties": {"family": family}, "required": ["family"]}
    return {"type": "object", **keys, "allOf": of_family}


def _component(*kinds: str) -> Schema:
    """A name, or one name with its settings."""
    named = [(kind, name) for kind in kinds for name in components.names(kind)]
    with_settings = {
        name: {"description": components.summary(kind, name)}
        | _either({"$ref": f"#/$defs/{kind}.{name}"}, {"type": "null"})
        for kind, name in named
    }
    one = _object(with_settings) | {"minProperties": 1, "maxProperties": 1}
    return _either({"enum": [name for _, name in named]}, one)


def _dotted() -> Schema:
    """Settings as they are changed: component.key."""
    return {
        f"{name}.{key}": {"$ref": f"#/$defs/{kind}.{name}/properties/{key}"}
        for kind in PIPELINE
        for name in components.names(kind)
        for key in _settings(kind, name)
    }


def _settings(kind: str, name: str) -> Schema:
    """The settings of a component."""
    adapter: TypeAdapter[Any] = TypeAdapter(components.settings(kind, name))
    found = adapter.json_schema().get("properties", {})
    told = {key: document for key, (_, _, document) in components.fields(kind, name).items()}
    return {key: _plain(one) | {"description": told[key]} for key, one in found.items()}


def _properties(model: type[BaseModel]) -> Schema:
    """The keys of a model, with definitions in the places where they are used."""
    found = model.model_json_schema()
    defined = found.get("$defs", {})

    def expand(one: Any) -> Any:
        if isinstance(one, list):
            return [expand(inner) for inner in one]
        if not isinstance(one, dict):
            return one
        if "$ref" in one:
            return expand(defined[one["$ref"].rpartition("/")[2]])
        return {key: expand(inner) for key, inner in one.items()}

    return {key: _plain(expand(one)) for key, one in found["properties"].items()}


def _plain(one: Schema) -> Schema:
    """Without the titles that pydantic makes of names."""
    return {key: value for key, value in one.items() if key != "title"}


def _told(key: Schema, form: Schema) -> Schema:
    """A form that people write, with what the model of the whole says of the key."""
    return {"description": key["description"]} | form


def _object(properties: Schema) -> Schema:
    return {"type": "object", "properties": properties, "additionalProperties": False}


def _mapped(one: Schema) -> Schema:
    """Names, each with one of these."""
    return {"type": "object", "additionalProperties": one}


def _listed_or_mapped(one: Schema) -> Schema:
    """A list of names, each alone or with one of these, or a mapping of names to these."""
    entry = _either(one, {"type": "null"})
    single = _mapped(entry) | {"minProperties": 1, "maxProperties": 1}
    return _either({"type": "array", "items": _either({"type": "string"}, single)}, _mapped(entry))


def _some(kind: str) -> Schema:
    return {"type": "array", "items": {"enum": components.names(kind)}}


def _either(*schemas: Schema) -> Schema:
    return {"anyOf": list(schemas)}
