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
            f"the licence is unclear of {', '.join(unclear)}; crates have no copy of such data. Ask"
            " who holds the rights before you pass them on"
        )
