"""Authors, cited works and raw data of a crate, as entities of its metadata."""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import count
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from shiftbench.config import bibliography, claims, user_files
from shiftbench.config.bibliography import Work
from shiftbench.config.library import Library
from shiftbench.config.schema import Config
from shiftbench.core.errors import UserError
from shiftbench.data.store import raw
from shiftbench.publish import licences

Entity = dict[str, Any]
"""An entity of JSON-LD, with @id and @type."""
CITATION = "CITATION.cff"
OWN_CITATION = f"config/{CITATION}"
"""The file that stood beside the config of a crate, and says who made the results."""
SPDX = re.compile(r"[A-Za-z0-9.+-]*")
LICENCES = "https://spdx.org/licenses/"
NOT_STATED = "not stated"


class Citation(NamedTuple):
    """Who made the results of a crate, as the file says; empty where nobody says it.

    name: of these results; title: of the work that they are part of; licence: an SPDX identifier.
    """

    name: str
    title: str
    authors: list[Entity]
    licence: str


NOBODY = Citation("", "", [], "")


def references(entities: Iterable[Entity]) -> list[Entity]:
    """Return references to entities, by their @id."""
    return [{"@id": entity["@id"]} for entity in entities]


def citation(crate: Path, is_ours: bool) -> Citation:
    """Return who made the results of a crate: who wrote the file beside its config, or we."""
    if (crate / OWN_CITATION).is_file():
        return read_citation(crate / OWN_CITATION)
    return read_citation(crate / CITATION)._replace(name="") if is_ours else NOBODY


def released(crate: Path) -> str:
    """Return the day on which the software of a crate was released."""
    return str(yaml.safe_load((crate / CITATION).read_text(encoding="utf-8"))["date-released"])


def read_citation(path: Path) -> Citation:
    """Read a CITATION.cff. UserError unless it names a title and authors."""
    try:
        cited = yaml.safe_load(path.read_text(encoding="utf-8"))
        title, authors = cited["title"], [*map(_author, count(1), cited["authors"])]
        licence = cited.get("license", "")
        names = (title, licence, *(author["name"] for author in authors))
        if authors and all(isinstance(name, str) for name in names) and SPDX.fullmatch(licence):
            return Citation(title, title, authors, licence)
        reason = "a title, names of authors or an SPDX identifier as license is missing"
    except (yaml.YAMLError, UnicodeDecodeError, LookupError, TypeError, AttributeError) as error:
        reason = " ".join(str(error).split())
    raise UserError(
        f"{path}: not a citation ({reason}); write title, authors with names, and a license such as"
        " CC-BY-4.0: https://citation-file-format.github.io"
    )


def licence(cited: Citation) -> Entity:
    """Return the licence of the results of a crate, or that none is stated."""
    if not cited.licence:
        told = "Who made these results states no licence for them."
        return {"@id": "#licence", "@type": "CreativeWork", "name": NOT_STATED, "description": told}
    at = f"{LICENCES}{cited.licence}"
    name = "MIT License" if cited.licence == "MIT" else cited.licence
    return {"@id": at, "@type": "CreativeWork", "name": name, "url": at}


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
        "license": settings.get("licence", NOT_STATED),
        "description": settings.get("citation", ""),
        "sha256": checksum,
    }
