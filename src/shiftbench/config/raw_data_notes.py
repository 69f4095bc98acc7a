"""Notes on the raw data of a config: unclear licences, and files that need a mirror."""

from __future__ import annotations

from collections.abc import Iterator

from shiftbench.config import stream_jobs
from shiftbench.config.schema import Config
from shiftbench.data.store import raw


def on_licences(config: Config) -> Iterator[str]:
    """Yield a note that names the data sets whose licence is unclear, if studies use any."""
    names = _used(config)
    table = raw.table()
    unclear = [
        name for name, one in table.items() if name in names and one.licence_status == raw.UNCLEAR
    ]
    if unclear:
        yield (
            f"{', '.join(unclear)}: the licence is unclear, so crates leave these data out. Ask the"
            " rights holder before you pass them on"
        )


def on_mirrors(config: Config) -> Iterator[str]:
    """Yield a note that names the data sets that only a mirror has, if no mirror is set."""
    if names := raw.without_mirror(_used(config), stream_jobs.RAW):
        yield (
            f"{', '.join(names)}: no public address has these files. Set {raw.MIRROR} to a folder"
            " or an address that has them; see docs/troubleshooting.md"
        )


def _used(config: Config) -> set[str]:
    """Return the data sets that studies use."""
    used = {stream for study in config.studies.values() for stream in study.streams}
    return {str(config.streams[name].settings.get("dataset")) for name in used}
