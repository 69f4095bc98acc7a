"""Upload to a draft on Zenodo, which a person publishes: https://developers.zenodo.org.

Zenodo has no folders, so a crate is one zip there, beside its metadata. A keyword of the draft, the
checksum of these metadata, says of which crate it is.

ZENODO_TOKEN is the token, with the scope deposit:write; ZENODO_URL names another server, such as
https://sandbox.zenodo.org.
"""

from __future__ import annotations

import hashlib
import json
import os
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import requests

from shiftbench.core.errors import UserError
from shiftbench.data.store import checksum
from shiftbench.publish import crate_files, crate_metadata, crate_sources

TOKEN, SERVER = "ZENODO_TOKEN", "ZENODO_URL"
OFFICIAL = "https://zenodo.org"
SECONDS = 60.0
"""Longest wait for an answer, or between two parts of one."""
MOST = 100
"""Number of drafts that are searched, the newest first."""


class Draft:
    """Draft of a crate (see upload.Target). Raises UserError without a token."""

    def __init__(self, address: str) -> None:
        if address != "zenodo:":
            raise UserError(f"--to {address}: write zenodo: alone; {SERVER} names another server")
        if not os.environ.get(TOKEN):
            raise UserError(f"--to {address}: no token; make one in your account, and set {TOKEN}")
        self.depositions = f"{os.environ.get(SERVER, OFFICIAL).rstrip('/')}/api/deposit/depositions"
        self.session = requests.Session()
        # Set as `auth`, because a .netrc would replace a header of the session.
        self.session.auth = _with_token
        self.metadata: dict[str, Any] = {}
        self.draft: dict[str, Any] | None = None

    def files_of(self, folder: Path, scratch: Path) -> dict[str, Path]:
        """Return the crate as a zip, and its metadata."""
        described = folder / crate_metadata.NAME
        self.metadata = _zenodo_metadata(json.loads(described.read_text(encoding="utf-8")))
        self.metadata["keywords"] = [f"{described.name} sha256:{checksum.sha256(described)}"]
        packed = scratch / f"{folder.resolve().name}.zip"
        _pack(crate_files.contents(folder, with_checksums=True), packed)
        return {packed.name: packed, described.name: described}

    def lacks(self, contents: dict[str, Path]) -> list[str]:
        """Return the files that the draft lacks, by Zenodo's checksums; all without a draft.

        UserError for a draft of the same title that may be of another crate.
        """
        newest = {"status": "draft", "size": str(MOST)}
        title, (mark,) = self.metadata["title"], self.metadata["keywords"]
        with _answers_of_zenodo(self.depositions):
            drafts = self._ask("GET", self.depositions, params=newest)
            same = [draft for draft in drafts if draft["metadata"].get("title") == title]
            if not same:
                return list(contents)
            ours = [one for one in same if mark in (one["metadata"].get("keywords") or ())]
            if not ours:
                place = same[0]["links"].get("html") or f"{self.depositions}/{same[0]['id']}"
                raise UserError(
                    f"{place}: this draft is also called {title}, and may be of another crate, or"
                    " of this one before it changed; delete it there, or give it another title, and"
                    " upload again"
                )
            self.draft = ours[0]
            uploaded = self._ask("GET", f"{self.depositions}/{self.draft['id']}/files")
            md5 = {file["filename"]: file["checksum"].removeprefix("md5:") for file in uploaded}
        return [name for name, path in contents.items() if md5.get(name) != _md5(path)]

    def put(self, name: str, path: Path) -> None:
        """Upload one file, to a new draft if there is none."""
        with _answers_of_zenodo(self.depositions), path.open("rb") as content:
            if self.draft is None:
                self.draft = self._ask("POST", self.depositions, json={"metadata": self.metadata})
            stored = self._ask("PUT", f"{self.draft['links']['bucket']}/{name}", data=content)
            md5 = stored["checksum"].removeprefix("md5:")
        if md5 != _md5(path):
            raise UserError(f"{name} arrived damaged; give the same command again.")

    def _ask(self, verb: str, address: str, **more: Any) -> Any:
        """Return the answer of the server. Raises UserError with its reason, without the token."""
        try:
            answer = self.session.request(verb, address, timeout=SECONDS, **more)
        except requests.RequestException as error:
            raise UserError(f"{address}: no answer ({type(error).__name__}).") from None
        if answer.status_code in (401, 403):
            raise UserError(
                f"{address}: the token is refused; {TOKEN} must be one of this server, with the"
                " scope deposit:write."
            )
        if not answer.ok:
            raise UserError(f"{address}: {answer.status_code}, {_refusal(answer)}.")
        return answer.json()


@contextmanager
def _answers_of_zenodo(address: str) -> Iterator[None]:
    """Run a block that reads answers. UserError if they do not have the form of Zenodo's."""
    try:
        yield
    except (AttributeError, KeyError, TypeError, ValueError):
        raise UserError(
            f"{address}: this is not an answer of Zenodo; a proxy or a login page may be in"
            f" between, or another server: open the address in a browser, and check {SERVER}."
        ) from None


def _with_token(request: requests.PreparedRequest) -> requests.PreparedRequest:
    request.headers["Authorization"] = f"Bearer {os.environ[TOKEN]}"
    return request


def _zenodo_metadata(metadata: dict[str, Any]) -> dict[str, Any]:
    """Return the metadata that Zenodo requires, from those of a crate.

    UserError without an author or a licence.
    """
    entities = {entity["@id"]: entity for entity in metadata["@graph"]}
    root = entities["./"]
    authors = root.get("author", [])
    authors = authors if isinstance(authors, list) else [authors]
    licence = root["license"]["@id"]
    is_stated = licence.startswith(crate_sources.LICENCES)
    if not authors or not is_stated:
        raise UserError(
            "Zenodo needs authors and a licence, but the crate's metadata"
            f" {'state no licence' if authors else 'name no author'}; write"
            f" {crate_sources.CITATION} beside the config, with title, authors and license, and"
            " make the crate again"
        )
    return {
        "title": root["name"],
        "upload_type": "dataset",
        "description": root["description"],
        "creators": [{"name": entities[author["@id"]]["name"]} for author in authors],
        "license": licence.removeprefix(crate_sources.LICENCES).lower(),
    }


def _pack(contents: dict[str, Path], target: Path) -> None:
    """Write files by name to a zip, with a fixed date, so that equal content gives equal bytes."""
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, path in sorted(contents.items()):
            entry = zipfile.ZipInfo(name, date_time=(1980, 1, 1, 0, 0, 0))
            entry.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(entry, path.read_bytes())


def _md5(path: Path) -> str:
    with path.open("rb") as content:
        return hashlib.file_digest(content, "md5").hexdigest()


def _refusal(answer: requests.Response) -> str:
    try:
        return str(answer.json()["message"])
    except (ValueError, KeyError, TypeError):
        return answer.reason
