"""What a crate cites: its authors, the works behind its methods and claims, the raw data."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import yaml

from shiftbench.planning import claims, own_files, works
from shiftbench.planning.library import Library
from shiftbench.planning.schema import Config
from shiftbench.planning.works import Work
from shiftbench.store import raw

Entity = dict[str, Any]
"""An entity of JSON-LD, with @id and @type."""


def references(entities: Iterable[Entity]) -> list[Entity]:
    """What stands for entities where others name them."""
    return [{"@id": entity["@id"]} for entity in entities]


def citation(crate: Path) -> dict[str, Any]:
    """What CITATION.cff says."""
    return yaml.safe_load((crate / "CITATION.cff").read_text(encoding="utf-8"))


def authors(cited: dict[str, Any]) -> list[Entity]:
    """Those of this software, as CITATION.cff names them."""
    return [_author(number, author) for number, author in enumerate(cited["authors"], 1)]


def cited_works(plan: Config, library: Library) -> list[Entity]:
    """The works that propose the methods of a config, or make the claims that it judges."""
    methods = {one.method for study in plan.studies.values() for one in study.methods.values()}
    cited = {
        key
        for name in methods & library.methods.keys()
        for key in library.methods[str(name)].data["cite"]
    }
    cited |= {
        plan.claims[name].work for study in plan.studies for name in claims.of_study(plan, study)
    }
    known = works.works()
    return [_work(key, known[key]) for key in sorted(cited & known.keys())]


def datasets(plan: Config, streams: Iterable[str]) -> list[Entity]:
    """The raw data sets of some streams; those of the user's have no address."""
    settings = [plan.streams[name].settings for name in streams]
    names = _distinct(settings, "dataset")
    own = _distinct(settings, own_files.KEY)
    return [
        *(_dataset(name, raw.table()[name]) for name in names),
        *(_own(Path(path)) for path in own),
    ]


def raw_files(plan: Config) -> list[Entity]:
    """The files of a config's raw data sets, at their official address; none is in a crate."""
    names = _distinct([stream.settings for stream in plan.streams.values()], "dataset")
    addressed = {
        file.address: _raw_file(file, raw.table()[name])
        for name in names
        for file in raw.table()[name].files.values()
    }
    return list(addressed.values())


def _distinct(settings: list[dict[str, Any]], key: str) -> list[str]:
    return sorted({str(one[key]) for one in settings if one.get(key)})


def _author(number: int, author: dict[str, str]) -> Entity:
    """A person, or a group that has one name."""
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
        "license": dataset.licence,
        "description": dataset.citation,
        "hasPart": [{"@id": file.address} for file in dataset.files.values()],
    }


def _raw_file(file: raw.RawFile, dataset: raw.Dataset) -> Entity:
    return {
        "@id": file.address,
        "@type": "File",
        "name": file.address.rpartition("/")[2],
        "encodingFormat": "application/octet-stream",
        "license": dataset.licence,
        "sha256": file.sha256,
        "contentSize": str(file.size),
    }


def _own(path: Path) -> Entity:
    return {
        "@id": f"#data-own-{path.name}",
        "@type": "CreativeWork",
        "name": path.name,
        "license": "not stated",
        "sha256": own_files.checksum(path),
        "description": "Data of whoever ran the workflow, by checksum.",
    }
