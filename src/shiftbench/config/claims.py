"""The ledger of what papers claim: the files of claims, checked, and the studies that judge them.

A file `claims/KEY.yaml`, or `claims/KEY-MORE.yaml`, holds claims of the work KEY by their names,
and under `findings` what is wrong in it or in its public code. A study judges a claim where it
has a stream, the metrics and the methods that the claim is about.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, TypeVar

from pydantic import BaseModel, TypeAdapter, ValidationError

from shiftbench.config import bibliography, components, config_checks
from shiftbench.config.base_model import Name, keys
from shiftbench.config.claim_schema import Claim, ClaimEntry, Finding, Holds
from shiftbench.config.composition import Found
from shiftbench.config.library import ANCHORS, Library, Part
from shiftbench.config.schema import Config, Stream, Study
from shiftbench.config.tuning import TRIALS
from shiftbench.core.suggestions import unknown
from shiftbench.data.store import raw

Entry = TypeVar("Entry", bound=BaseModel)
NAME = TypeAdapter(Name)
FINDINGS = "findings"
"""The key of a file that is no claim."""


def problems(library: Library) -> Iterator[Found]:
    """Every error in the files of claims."""
    seen: set[str] = set()
    for file in library.claims:
        for place, text in file.document.wrong_keys:
            yield Found(file.document, place, text)
        if _work(file) not in bibliography.works():
            yield _wrong(
                file, f"the file's name: {unknown('work', _work(file), bibliography.works())}"
            )
        if not file.mapping():
            yield _wrong(file, "should be a mapping of names")
        for name, part in _entries(file):
            if name in seen:
                yield _wrong(part, f'the claim "{name}" stands in two places')
            seen.add(name)
            yield from _claim(name, part, library)
        for part in _findings(file):
            yield from _structure(part, Finding, part.data)


def load(library: Library) -> dict[str, Claim]:
    """All claims by name, of files without an error."""
    return {
        name: _read(Claim, part.data | {"name": name, "work": _work(file)})
        for file in library.claims
        for name, part in _entries(file)
    }


def findings(library: Library) -> list[tuple[str, Finding]]:
    """All findings, of files without an error, each with the key of the work it is about."""
    return [
        (_work(file), _read(Finding, part.data))
        for file in library.claims
        for part in _findings(file)
    ]


def with_claims(config: Config, library: Library) -> Config:
    """The config with the library's claims, and with their table for each study that judges one."""
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


def of_study(config: Config, study: str) -> dict[str, list[str]]:
    """The claims that a study judges, each with the streams on which; none of trials.

    Nor of a study with axes: most of its streams are other than what a paper has on purpose.
    """
    if study.endswith(TRIALS) or config.studies[study].axes:
        return {}
    plan = config.studies[study]
    found = {
        name: [stream for stream in plan.streams if _is_on(claim, config.streams[stream])]
        for name, claim in config.claims.items()
        if _has(plan, claim)
    }
    return {name: streams for name, streams in found.items() if streams}


def _has(study: Study, claim: Claim) -> bool:
    """Whether a study has the metrics and the methods of a claim.

    Claims about a share of seeds are for studies whose seeds are configurations, and no others.
    """
    if bool(study.configurations) != (claim.over is not None):
        return False
    metrics = {claim.metric, *claim.holds.metrics}
    return metrics <= {*study.metrics} and {*claim.holds.methods} <= {*study.standing.values()}


def _is_on(claim: Claim, stream: Stream) -> bool:
    """Whether a claim is about a stream, which has its defaults filled in."""
    settings = stream.settings
    return stream.family == claim.family and all(
        key in settings and settings[key] in _values(wanted)
        for key, wanted in claim.settings.items()
    )


def _values(wanted: Any) -> list[Any]:
    return wanted if isinstance(wanted, list) else [wanted]


def _work(file: Part) -> str:
    """The key of the work that a file is about; keys have no hyphens."""
    return file.document.path.stem.partition("-")[0]


def _entries(file: Part) -> Iterator[tuple[str, Part]]:
    for name, part in file.items():
        if name not in (FINDINGS, ANCHORS):
            yield name, part


def _findings(file: Part) -> Iterator[Part]:
    if part := file.get(FINDINGS):
        yield from part.elements()


def _read(model: type[Entry], data: Any) -> Entry:
    return model.model_validate_json(config_checks.as_json(data))


def _wrong(part: Part, text: str, *place: str | int) -> Found:
    return Found(part.document, (*part.place, *place), text)


def _claim(name: str, part: Part, library: Library) -> Iterator[Found]:
    """What is wrong with a claim: its form, and what nothing is called."""
    try:
        NAME.validate_python(name)
    except ValidationError as error:
        yield _wrong(part, config_checks.message(error.errors()[0]))
    yield from _structure(part, ClaimEntry, part.data)
    data = part.data if isinstance(part.data, dict) else {}
    yield from _stream(part, data.get("stream"))
    yield from _metric(part, data.get("metric"), "metric")
    holds = data.get("holds")
    for key in ("metric_below", "metric_above"):
        if isinstance(holds, dict):
            yield from _metric(part, holds.get(key), "holds", key)
    for key, method in _methods(holds):
        if method not in library.methods:
            yield _wrong(part, unknown("method", method, library.methods), "holds", key)


def _structure(part: Part, model: type[BaseModel], data: Any) -> Iterator[Found]:
    try:
        _read(model, data)
    except ValidationError as error:
        for item in error.errors(include_url=False):
            where = [key for key in item["loc"] if key in keys(Holds) or key in keys(model)]
            if item["type"] == "extra_forbidden":
                inner: type[BaseModel] = Holds if item["loc"][0] == "holds" else model
                yield _wrong(part, unknown("key", item["loc"][-1], keys(inner)), *item["loc"])
            else:
                yield _wrong(part, config_checks.message(item), *where)


def _stream(part: Part, stream: Any) -> Iterator[Found]:
    if not isinstance(stream, dict):
        return
    family = stream.get("family")
    if family not in components.names("streams"):
        known = components.names("streams")
        yield _wrong(part, unknown("family", family, known), "stream", "family")
        return
    settings = [(key, one) for key, said in stream.items() for one in _values(said)]
    for key, value in settings:
        if key != "family" and (text := _misfit(family, key, value)):
            yield _wrong(part, text, "stream", key)


def _misfit(family: str, key: str, value: Any) -> str:
    """What is wrong with one value of one setting of a family; empty if nothing is."""
    known = components.fields("streams", family)
    if key not in known:
        return unknown(f"setting of {family}", key, known)
    if key == "dataset" and value is not None and value not in raw.table():
        return unknown("data set", value, raw.table())
    try:
        components.check("streams", family, {key: value})
    except ValidationError as error:
        found = [item for item in error.errors(include_url=False) if item["loc"][:1] == (key,)]
        if found:
            return f"{config_checks.message(found[0])}; the type is {known[key][0]}"
    return ""


def _metric(part: Part, metric: Any, *place: str) -> Iterator[Found]:
    known = components.names("metrics")
    if isinstance(metric, str) and metric not in known:
        yield _wrong(part, unknown("metric", metric, known), *place)


def _methods(holds: Any) -> Iterator[tuple[str, str]]:
    """The methods that a predicate names, with the key that names them."""
    for key, said in holds.items() if isinstance(holds, dict) else ():
        if key == "of" and isinstance(said, str):
            yield key, said
        elif isinstance(said, list | dict):
            yield from ((key, method) for method in said if isinstance(method, str))
