"""The JSON schema of config files, with which editors complete keys and mark mistakes.

pydantic derives it from the models, with the forms that users may write, and from the settings of
all components. It knows the form of a config; only `shiftbench check` knows what fits together.
"""

from __future__ import annotations

import json
import typing
from dataclasses import MISSING
from functools import reduce
from operator import or_
from types import GenericAlias
from typing import Annotated, Any, ForwardRef, Literal

from pydantic import BaseModel, ConfigDict, Field, create_model
from pydantic.json_schema import GenerateJsonSchema

from shiftbench.config import components
from shiftbench.config.assembly import OF_STUDY_METHODS
from shiftbench.config.schema import ConfigFile, Method, Study, StudyFile

Form = Any
"""A type for pydantic that describes what users may write for a key."""
PIPELINE = ("combinators", "learners")
CLOSED = ConfigDict(extra="forbid")


def text() -> str:
    """Return the schema of a config file as text; that of a study's file is `#/$defs/study`."""
    return json.dumps(whole(), indent=1, ensure_ascii=False) + "\n"


def whole() -> dict[str, Any]:
    """Return the schema of a config file as data."""
    stream, pipeline = _stream(), _list(_component(*PIPELINE), at_least=1)
    method = _with_forms("method", Method, pipeline=pipeline)
    config = _with_forms(
        "config",
        ConfigFile,
        studies=_listed_or_mapped(_study(stream, pipeline)),
        streams=_mapping(stream),
        methods=_mapping(method),
    )
    schema = config.model_json_schema(schema_generator=_SchemaOfForms)
    draft = "https://json-schema.org/draft/2020-12/schema"
    return {"$schema": draft, **schema, "title": "shiftbench config"}


class _SchemaOfForms(GenerateJsonSchema):
    """The generator of a schema in which other files may provide the missing keys."""

    def field_is_required(self, field: Any, total: bool) -> bool:
        return False

    def field_title_should_be_set(self, schema: Any) -> bool:
        return False


def _study(stream: Form, pipeline: Form) -> Form:
    """Return the form of a study's file, and of a study in a config."""
    dotted = _settings_of_methods()
    of_method: dict[str, Any] = {
        key: (field.annotation, field)
        for key, field in Method.model_fields.items()
        if key in OF_STUDY_METHODS
    }
    of_method["start"] = str, Field(alias="from")
    changes = create_model("changes", __base__=dotted, **of_method)
    return _with_forms(
        "study",
        create_model("Both", __base__=(Study, StudyFile)),
        streams=list[str] | _mapping(stream),
        axes=dict[str, list[Any] | dict[str, list[Any]]],
        model=_component("models"),
        methods=_listed_or_mapped(pipeline | changes),
        settings=dotted,
        metrics=_list(_names("metrics")),
        artefacts=_list(_names("artefacts")),
        tuning=dict[str, Any],  # a budget has part of its keys
        budget=str | None,
        budgets=_mapping(ForwardRef("study")),
    )


def _with_forms(name: str, base: type[BaseModel], /, **forms: Form) -> type[BaseModel]:
    """Return a model with other forms of some keys, whose descriptions stay."""
    described = ConfigFile.model_fields | base.model_fields
    fields: dict[str, Any] = {
        key: (form, Field(description=described[key].description)) for key, form in forms.items()
    }
    return create_model(name, __base__=base, **fields)


def _stream() -> Form:
    """Return the form of a stream: its family, and the settings of this family."""
    has_family = ConfigDict(extra="forbid", json_schema_extra={"required": ["family"]})
    families = [
        create_model(f"streams-{name}", __config__=has_family, **_family(name))
        for name in components.names("streams")
    ]
    return Annotated[reduce(or_, families), Field(discriminator="family")]


def _family(name: str) -> dict[str, Any]:
    """Return the keys of a stream of a family, as the fields of a model."""
    family = Literal[name], Field(description=components.summary("streams", name))  # type: ignore[valid-type]
    return {"family": family, **_settings("streams", name)}


def _component(*kinds: str) -> Form:
    """Return the form of a component: a name, or one name with its settings."""
    with_settings: dict[str, Any] = {
        name: (
            create_model(f"{kind}-{name}", __config__=CLOSED, **_settings(kind, name)) | None,
            Field(description=components.summary(kind, name)),
        )
        for kind in kinds
        for name in components.names(kind)
    }
    one = ConfigDict(extra="forbid", json_schema_extra={"minProperties": 1, "maxProperties": 1})
    return _names(*kinds) | create_model(f"one-of-{kinds[-1]}", __config__=one, **with_settings)


def _settings_of_methods() -> type[BaseModel]:
    """Return the form of changed settings, as component.key."""
    changes: dict[str, Any] = {
        f"{name}.{key}": field
        for kind in PIPELINE
        for name in components.names(kind)
        for key, field in _settings(kind, name).items()
    }
    return create_model("settings", __config__=CLOSED, **changes)


def _settings(kind: str, name: str) -> dict[str, Any]:
    """Return the settings of a component, as the fields of a model."""
    types = typing.get_type_hints(components.settings(kind, name), include_extras=True)
    return {
        key: (types[key], Field(... if default is MISSING else default, description=meaning))
        for key, (_, default, meaning) in components.fields(kind, name).items()
    }


def _names(*kinds: str) -> Form:
    return Literal[tuple(name for kind in kinds for name in components.names(kind))]


def _listed_or_mapped(form: Form) -> Form:
    """Return the form of names, each alone or with a value, in a list or as keys."""
    return _list(str | _mapping(form | None, length=1)) | _mapping(form | None)


def _list(form: Form, at_least: int | None = None) -> Form:
    return Annotated[GenericAlias(list, form), Field(min_length=at_least)]


def _mapping(form: Form, length: int | None = None) -> Form:
    return Annotated[GenericAlias(dict, (str, form)), Field(min_length=length, max_length=length)]
