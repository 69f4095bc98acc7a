"""Notes on the licences of the raw data of a config, for `check`, `run` and `publish`."""

from __future__ import annotations

from collections.abc import Iterator

from shiftbench.config.schema import Config
from shiftbench.data.store import raw


def of_config(config: Config) -> Iterator[str]:
    """Yield a note that names the data sets whose licence is unclear, if studies use any."""
    used = {stream for study in config.studies.values() for stream in study.streams}
    names = {config.streams[name].settings.get("dataset") for name in used}
    table = raw.table()
    unclear = [
        name for name, one in table.items() if name in names and one.licence_status == raw.UNCLEAR
    ]
    if unclear:
        yield (
            f"{', '.join(unclear)}: the licence is unclear, so crates leave these data out. Ask the"
            " rights holder before you pass them on"
        )
