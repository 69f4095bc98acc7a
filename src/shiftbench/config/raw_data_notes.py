"""Notes on the data of a config: lacking or unclear licences, and files that need a mirror."""

from __future__ import annotations

from collections.abc import Iterator

from shiftbench.config import stream_jobs, user_files
from shiftbench.config.schema import Config, Stream
from shiftbench.data.store import raw

NOT_STATED = "not stated"
"""The licence of a user's data that name none."""


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


def on_own_data(config: Config) -> Iterator[str]:
    """Yield a note that names the streams of a user's data without a licence, if there are any."""
    used = {stream for study in config.studies.values() for stream in study.streams}
    streams = {name: one for name, one in config.streams.items() if name in used}
    if without := [name for name, one in streams.items() if _lacks_licence(one)]:
        yield (
            f"{', '.join(without)}: no licence is stated, so crates leave these data out and others"
            " cannot verify the scores. If you may pass the data on, state a licence in the"
            " settings of the stream, as in licence: CC BY 4.0"
        )


def _lacks_licence(stream: Stream) -> bool:
    own = user_files.KEY in user_files.named(stream.settings)
    stated = str(stream.settings.get("licence") or NOT_STATED).strip()
    return own and stated in ("", NOT_STATED)


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
