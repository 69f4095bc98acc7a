"""Upload to S3 storage: one object per file, with its checksum in the object's metadata.

The client takes endpoint, region and keys from AWS_ENDPOINT_URL_S3, AWS_DEFAULT_REGION,
AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, as its documentation says. An interrupted upload
leaves no object.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from shiftbench.core.errors import UserError
from shiftbench.data.store import checksum
from shiftbench.publish import crate_files, optional_packages

CHECKSUM = "sha256"
"""Key of the checksum in an object's metadata."""
REFUSED = ("403", "AccessDenied", "Forbidden", "InvalidAccessKeyId", "SignatureDoesNotMatch")
REMEDIES = {
    "NoSuchBucket": "There is no such bucket; make it, or correct its name.",
    **dict.fromkeys(
        REFUSED,
        "The keys do not open it; look at AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, and at"
        " what they may do.",
    ),
}


class Bucket:
    """Bucket at s3://BUCKET/PREFIX (see upload.Target). Raises UserError for another address."""

    def __init__(self, address: str) -> None:
        parts = urlsplit(address)
        if parts.scheme != "s3" or not parts.netloc:
            raise UserError(f"--to {address}: write s3://BUCKET or s3://BUCKET/PREFIX")
        self.address, self.bucket = address, parts.netloc
        self.prefix = "".join(f"{part}/" for part in parts.path.split("/") if part)
        self.errors = optional_packages.load("botocore.exceptions")
        with self._refusals():
            # A new session, because the default one would keep the first keys.
            self.client = optional_packages.load("boto3.session").Session().client("s3")

    def files_of(self, folder: Path, scratch: Path) -> dict[str, Path]:
        """Return all files of the crate."""
        return crate_files.contents(folder, with_checksums=True)

    def lacks(self, contents: dict[str, Path]) -> list[str]:
        """Return the files without an object of their size and checksum."""
        with self._refusals():
            sizes = dict(self._sizes())
            return [name for name, path in contents.items() if not self._has(name, path, sizes)]

    def put(self, name: str, path: Path) -> None:
        """Upload one file; the client splits large ones, and retries."""
        extra = {"Metadata": {CHECKSUM: checksum.sha256(path)}}
        with self._refusals():
            self.client.upload_file(str(path), self.bucket, self.prefix + name, ExtraArgs=extra)

    def _sizes(self) -> Iterator[tuple[str, int]]:
        """Yield name, below the prefix, and size of each object."""
        pages = self.client.get_paginator("list_objects_v2")
        for page in pages.paginate(Bucket=self.bucket, Prefix=self.prefix):
            for stored in page.get("Contents", []):
                yield stored["Key"].removeprefix(self.prefix), stored["Size"]

    def _has(self, name: str, path: Path, sizes: dict[str, int]) -> bool:
        if sizes.get(name) != path.stat().st_size:
            return False
        head = self.client.head_object(Bucket=self.bucket, Key=self.prefix + name)
        return head["Metadata"].get(CHECKSUM) == checksum.sha256(path)

    @contextmanager
    def _refusals(self) -> Iterator[None]:
        """Raise errors of the client as UserError with a remedy."""
        upload_failed = optional_packages.load("boto3.exceptions").S3UploadFailedError
        try:
            yield
        except (self.errors.ClientError, upload_failed) as error:
            reason = str(error).rstrip(".")
            raise UserError(f"{self.address}: {reason}. {_remedy(error)}") from None
        except (self.errors.NoCredentialsError, self.errors.PartialCredentialsError):
            raise UserError(
                f"{self.address}: no keys; set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY"
            ) from None
        except self.errors.BotoCoreError as error:
            raise UserError(
                f"{self.address}: {error}. Look at AWS_ENDPOINT_URL_S3, AWS_DEFAULT_REGION and the"
                " network."
            ) from None


def _remedy(error: Any) -> str:
    """Return the remedy by the error code, which after an upload is only in the text."""
    code = getattr(error, "response", {}).get("Error", {}).get("Code", "")
    keys = [key for key in REMEDIES if key == code or (not code and f"({key})" in str(error))]
    return REMEDIES[keys[0]] if keys else "Try again later."
