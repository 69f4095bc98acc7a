"""config/README.md is what the code says now."""

from pathlib import Path

from shiftbench.planning import reference


def test_reference_is_up_to_date() -> None:
    written = Path("config/README.md").read_text(encoding="utf-8")
    assert written == reference.text(), "run `make reference`"
