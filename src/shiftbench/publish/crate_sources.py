"""Authors, cited works and raw data of a crate, as entities of its metadata."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import yaml

from shiftbench.config import bibliography, claims, user_files
from shiftbench.config.bibliography import Work
from shiftbench.config.library import Library
from shiftbench.config.schema import Config
from shiftbench.data.store import raw
from shiftbench.publish import licences

Entity = dict[str, Any]
"""An entity of JSON-LD, with @id and @type."""


def references(entities: Iterable[Entity]) -> list[Entity]:
    """Return references to entities, by their @id."""
    return [{"@id": entity["@id"]} for entity in entities]


def citation(crate: Path) -> dict[str, Any]:
    """Return the content of CITATION.cff."""
    return yaml.safe_load((crate / "CITATION.cff").read_text(encoding="utf-8"))


def authors(cited: dict[str, Any]) -> list[Entity]:
    """Return the authors of this software, as in CITATION.cff."""
    return [_author(number, author) for number, author in enumerate(cited["authors"], 1)]


def cited_works(plan: Config, library: Library) -> list[Entity]:
    """Return the works that propose the methods of a config, or make the claims that it judges."""
    methods = {each.method for study in plan.studies.values() for each in study.methods.values()}
    cited = {
        key
        for name in methods & library.methods.keys()
        for key in library.methods[str(name)].data["cite"]
    }
    cited |= {
        plan.claims[name].work for study in plan.studies for name in claims.of_study(plan, study)
    }
    works = bibliography.works()
    return [_work(key, works[key]) for key in sorted(cited & works.keys())]


def datasets(plan: Config, streams: Iterable[str]) -> list[Entity]:
    """Return the raw data sets of streams; the user's own files have no address."""
    settings = [plan.streams[name].settings for name in streams]
    own = [
        _user_file(path, of_stream)
        for of_stream in settings
        for path in user_files.named(of_stream).values()
    ]
    distinct = {entity["@id"]: entity for entity in own}
    return [
        *(_dataset(name, raw.table()[name]) for name in _raw_names(settings)),
        *(distinct[key] for key in sorted(distinct)),
    ]


def raw_files(plan: Config) -> list[Entity]:
    """Return the files of a config's raw data sets, at their official address."""
    names = _raw_names([stream.settings for stream in plan.streams.values()])
    addressed = {
        file.address: _raw_file(file, raw.table()[name])
        for name in names
        for file in raw.table()[name].files.values()
    }
    return list(addressed.values())


def _raw_names(settings: list[dict[str, Any]]) -> list[str]:
    """Return the names of the raw data sets in the settings of streams."""
    return sorted({str(each["dataset"]) for each in settings if each.get("dataset")})


def _author(number: int, author: dict[str, str]) -> Entity:
    """Return a person, or a group with a single name."""
    if name := author.get("name"):
        return {"@id": f"#author-{number}", "@type": "Organization", "name": name}
    given, family = author.get("given-names", ""), author.get("family-names", "")
    return {
        "@id": author.get("orcid") or f"#author-{number}",
        "@type": "Person",
        "name": f"{given} {family}".strip(),
    }


def _work(key: str, work: Work) -> Entity:
    return {
        "@id": work.link or f"#{key}",
        "@type": "ScholarlyArticle",
        "name": work.title,
        "creator": list(work.authors),
        "datePublished": str(work.year),
        "publisher": work.venue,
        "identifier": key,
    }


def _dataset(name: str, dataset: raw.Dataset) -> Entity:
    return {
        "@id": f"#data-{name}",
        "@type": "CreativeWork",
        "name": dataset.title,
        "identifier": name,
        "license": licences.in_words(dataset.licence, dataset.licence_status),
        "description": dataset.citation,
        "hasPart": [{"@id": file.address} for file in dataset.files.values()],
    }


def _raw_file(file: raw.RawFile, dataset: raw.Dataset) -> Entity:
    return {
        "@id": file.address,
        "@type": "File",
        "name": file.address.rpartition("/")[2],
        "encodingFormat": "application/octet-stream",
        "license": licences.in_words(dataset.licence, dataset.licence_status),
        "sha256": file.official.sha256,
        "contentSize": str(file.official.size),
    }


def _user_file(path: Path, settings: dict[str, Any]) -> Entity:
    """Return a file or folder of the user, identified by checksum; it is not in the crate."""
    checksum = user_files.checksum(path)
    return {
        "@id": f"#data-{checksum}",
        "@type": "CreativeWork",
        "name": path.name,
        "license": settings.get("licence", "not stated"),
        "description": settings.get("citation", ""),
        "sha256": checksum,
    }
