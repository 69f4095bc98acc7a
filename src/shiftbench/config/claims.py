"""Loads and checks the files of claims, and finds the studies that judge each claim.

A file `claims/KEY.yaml`, or `claims/KEY-MORE.yaml`, holds claims of the work KEY by name, and under
`findings` errors in the work or in its public code. A study judges a claim if it has a stream, the
metrics and the methods that the claim is about.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import takewhile
from typing import Any, TypeVar

from pydantic import BaseModel, TypeAdapter, ValidationError

from shiftbench.config import bibliography, component_checks, components, form_errors
from shiftbench.config.base_model import Name, keys
from shiftbench.config.claim_schema import Claim, ClaimEntry, Finding, Holds, alternatives
from shiftbench.config.composition import FileIssue
from shiftbench.config.library import ANCHORS, Library, YamlValue
from shiftbench.config.schema import Config, Stream, Study
from shiftbench.config.tuning import TRIALS
from shiftbench.core.suggestions import unknown
from shiftbench.data.store import raw

Entry = TypeVar("Entry", bound=BaseModel)
NAME = TypeAdapter(Name)
FINDINGS = "findings"
"""The key of a claim file that is not the name of a claim."""


def issues(library: Library) -> Iterator[FileIssue]:
    """Check all claim files."""
    seen: set[str] = set()
    for file in library.claims:
        for place, message in file.document.key_issues:
            yield FileIssue(file.document, place, message)
        if _work(file) not in bibliography.works():
            message = unknown("work", _work(file), bibliography.works())
            yield _issue(file, f"the file's name: {message}")
        if not file.is_mapping():
            yield _issue(file, "should be a mapping of names")
        for name, claim in _entries(file):
            if name in seen:
                yield _issue(claim, f'the claim "{name}" is in two places')
            seen.add(name)
            yield from _of_claim(name, claim, library)
        for finding in _findings(file):
            yield from _of_form(finding, Finding)


def load(library: Library) -> dict[str, Claim]:
    """Return all claims by name, of files without an issue."""
    return {
        name: _read(Claim, claim.data | {"name": name, "work": _work(file)})
        for file in library.claims
        for name, claim in _entries(file)
    }


def findings(library: Library) -> list[tuple[str, Finding]]:
    """Return all findings, of files without an issue, each with the key of the work it is about."""
    return [
        (_work(file), _read(Finding, finding.data))
        for file in library.claims
        for finding in _findings(file)
    ]


def with_claims(config: Config, library: Library) -> Config:
    """Add the library's claims to a config, and their table to each study that judges one."""
    config = config.model_copy(update={"claims": load(library)})
    tables = [
        name
        for name in components.names("artefacts")
        if "claims" in components.facts("artefacts", name).study
    ]
    studies = {
        name: study.model_copy(update={"artefacts": [*study.artefacts, *tables]})
        if of_study(config, name)
        else study
        for name, study in config.studies.items()
    }
    return config.model_copy(update={"studies": studies})


def judging(config: Config) -> list[str]:
    """Return the studies that judge a claim."""
    return [study for study in config.studies if of_study(config, study)]


def of_study(config: Config, study: str) -> dict[str, list[str]]:
    """Return the claims that a study judges, each with the streams that it is judged on.

    Studies of trials judge none, nor do studies with `judges_claims: false`. Studies with axes
    judge none either, because most of their streams differ from those of the paper on purpose.
    A result that stands in several studies counts once, in the first of them.
    """
    if study.endswith(TRIALS):
        return {}
    planned = config.studies[study]
    streams = {
        name: [
            stream
            for stream in planned.streams
            if _is_about(claim, config.streams[stream])
            and not _is_repeated(config, study, claim, stream)
        ]
        for name, claim in config.claims.items()
        if _has_scores(planned, claim)
    }
    return {name: matching for name, matching in streams.items() if matching}


def _has_scores(study: Study, claim: Claim) -> bool:
    """Return whether a study may judge and has the metrics and the methods of a claim.

    Claims about a share of seeds are judged only by studies whose seeds are configurations.
    """
    if study.axes or not study.judges_claims:
        return False
    if bool(study.configurations) != (claim.over is not None):
        return False
    metrics = {claim.metric, *claim.holds.metrics}
    return metrics <= {*study.metrics} and {*claim.holds.methods} <= {*study.method_of.values()}


def _is_repeated(config: Config, study: str, claim: Claim, stream: str) -> bool:
    """Return whether an earlier study has the scores of a claim from the same runs."""
    runs = _runs(config, study, claim, stream)
    return any(
        runs == _runs(config, other, claim, candidate)
        for other in takewhile(lambda name: name != study, config.studies)
        if _has_scores(config.studies[other], claim)
        for candidate in config.studies[other].streams
    )


def _runs(config: Config, study: str, claim: Claim, stream: str) -> tuple[Any, ...]:
    """Return what determines the scores of a claim's methods on a stream."""
    planned, of = config.studies[study], config.streams[stream]
    pipelines = {
        method: planned.pipelines[name]
        for name, method in planned.method_of.items()
        if method in claim.holds.methods
    }
    keys = ("model", "reveals", "drift", "tuning", "configurations", "seeds")
    return of.family, of.settings, pipelines, [getattr(planned, key) for key in keys]


def _is_about(claim: Claim, stream: Stream) -> bool:
    """Return whether a claim is about a stream, which has its defaults filled in."""
    settings = stream.settings
    return stream.family == claim.family and all(
        key in settings and settings[key] in alternatives(wanted)
        for key, wanted in claim.settings.items()
    )


def _work(file: YamlValue) -> str:
    """Return the key of the work that a file is about; keys have no hyphens."""
    return file.document.path.stem.partition("-")[0]


def _entries(file: YamlValue) -> Iterator[tuple[str, YamlValue]]:
    for name, claim in file.items():
        if name not in (FINDINGS, ANCHORS):
            yield name, claim


def _findings(file: YamlValue) -> Iterator[YamlValue]:
    if entries := file.get(FINDINGS):
        yield from entries.elements()


def _read(model: type[Entry], data: Any) -> Entry:
    return model.model_validate_json(json.dumps(data))


def _issue(value: YamlValue, message: str, *inner: str | int) -> FileIssue:
    """Return an issue with a value, or with an inner value of it."""
    return FileIssue(value.document, (*value.place, *inner), message)


def _of_claim(name: str, claim: YamlValue, library: Library) -> Iterator[FileIssue]:
    """Yield what is wrong with a claim: its form, and the names in it."""
    try:
        NAME.validate_python(name)
    except ValidationError as error:
        yield _issue(claim, form_errors.message(error.errors()[0]))
    yield from _of_form(claim, ClaimEntry)
    data = component_checks.mapping(claim.data)
    if isinstance(stream := data.get("stream"), dict):
        yield from _of_stream(claim, stream)
    holds, known = component_checks.mapping(data.get("holds")), components.names("metrics")
    metrics: dict[tuple[str, ...], Any] = {("metric",): data.get("metric")}
    metrics |= {("holds", key): holds.get(key) for key in ("metric_below", "metric_above")}
    for inner, metric in metrics.items():
        if isinstance(metric, str) and metric not in known:
            yield _issue(claim, unknown("metric", metric, known), *inner)
    for key, method in _methods_of(holds):
        if method not in library.methods:
            yield _issue(claim, unknown("method", method, library.methods), "holds", key)


def _of_form(entry: YamlValue, model: type[BaseModel]) -> Iterator[FileIssue]:
    """Check that an entry has the form of a model."""
    try:
        _read(model, entry.data)
    except ValidationError as error:
        for item in error.errors(include_url=False):
            if item["type"] in form_errors.UNKNOWN_KEY:
                owner: type[BaseModel] = Holds if item["loc"][0] == "holds" else model
                yield _issue(entry, unknown("key", item["loc"][-1], keys(owner)), *item["loc"])
            else:
                inner = [key for key in item["loc"] if key in keys(Holds) or key in keys(model)]
                yield _issue(entry, form_errors.message(item), *inner)


def _of_stream(claim: YamlValue, stream: dict[str, Any]) -> Iterator[FileIssue]:
    """Check the family and each setting of the streams that a claim is about."""
    family, known = stream.get("family"), components.names("streams")
    if family not in known:
        yield _issue(claim, unknown("family", family, known), "stream", "family")
        return
    for key, wanted in stream.items():
        for value in alternatives(wanted):
            if key != "family" and (message := _misfit(str(family), key, value)):
                yield _issue(claim, message, "stream", key)


def _misfit(family: str, key: str, value: Any) -> str:
    """Say what is wrong with a value of a family's setting; empty if nothing is."""
    fields = components.fields("streams", family)
    if key not in fields:
        return unknown(f"setting of {family}", key, fields)
    if key == "dataset" and value is not None and value not in raw.table():
        return unknown("data set", value, raw.table())
    try:
        components.check("streams", family, {key: value})
    except ValidationError as error:
        found = error.errors(include_url=False)
        # Settings that are required are missing here.
        if errors := [item for item in found if item["loc"][:1] == (key,)]:
            return component_checks.misfit("streams", family, {key: value}, errors)
    return ""


def _methods_of(holds: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield the methods that a predicate names, with the key that names them."""
    for key, value in holds.items():
        if key == "of" and isinstance(value, str):
            yield key, value
        elif isinstance(value, list | dict):
            yield from ((key, method) for method in value if isinstance(method, str))
