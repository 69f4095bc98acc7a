"""The verb `test`: the contract over a user's parts, a line a part."""

from __future__ import annotations

import os
import traceback
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from shiftbench.config import components
from shiftbench.contract import selection
from shiftbench.core.errors import UserError

HERE = Path(__file__).parent
FILES = ("learners.py", "models.py", "streams.py", "scores.py")
OPTIONS = (
    "-p no:terminal", "-p no:cacheprovider", "-p no:warnings", "--import-mode=importlib",
    "--noconftest", f"--rootdir={HERE}", f"--config-file={os.devnull}",
)  # fmt: skip


def failed(package: str) -> bool:
    """Tries all parts of a package, and prints what they keep and what not; whether one fails."""
    selection.choose(package)
    os.environ["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
    seen = _Seen()
    options = [one for option in OPTIONS for one in option.split(" ", 1)]
    status = pytest.main([*options, *(str(HERE / file) for file in FILES)], plugins=[seen])
    if status not in (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED, 5):
        raise UserError("\n".join(["the contract could not be tried:", *seen.broken]))
    print(*_lines(package, seen), sep="\n")
    return any(seen.failures.values())


class _Seen:
    """Results of pytest: the number of passed tests of each component, and its failures."""

    def __init__(self) -> None:
        self.passed: dict[tuple[str, str], int] = {}
        self.failures: dict[tuple[str, str], list[str]] = {}
        self.untried: dict[str, str] = {}
        self.broken: list[str] = []

    def pytest_collectreport(self, report: Any) -> None:
        if report.failed:
            self.broken.append(str(report.longrepr))

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self, item: Any, call: Any) -> Any:
        report = yield
        part = _part(item)
        if report.failed:
            text = _told(item, call.excinfo.value)
            known = self.failures.setdefault(part, [])
            known += [text] if text not in known else []
            if os.environ.get("SHIFTBENCH_DEBUG"):
                print(report.longrepr)
        elif report.skipped and call.when == "call" and part[0] == "streams":
            self.untried[part[1]] = str(call.excinfo.value)
        elif report.passed and call.when == "call":
            self.passed[part] = self.passed.get(part, 0) + 1
        return report


def _part(item: Any) -> tuple[str, str]:
    """Kind and name of what a test is about."""
    given = item.callspec.params
    return given.get("case") or (item.module.KIND, given["name"])


def _told(item: Any, error: BaseException) -> str:
    """Return the broken promise, and the error with its line if it was no assertion."""
    if isinstance(error, UserError):
        return str(error)
    folder = components.path(*_part(item)).parents[1]
    frames = traceback.extract_tb(error.__traceback__)
    own = [frame for frame in frames if Path(frame.filename).is_relative_to(folder)]
    where = f" ({own[-1].filename}, line {own[-1].lineno})" if own else ""
    promise = " ".join(item.function.__doc__.split())
    first = str(error).strip().partition("\n")[0]
    if not isinstance(error, AssertionError):
        return f"{promise} {type(error).__name__}: {first}{where}"
    return (
        f"{promise}{where}" if first.startswith("assert") else f"{promise} Not so: {first}{where}"
    )


def _lines(package: str, seen: _Seen) -> Iterator[str]:
    for kind in components.FOLDERS:
        for name, file in components.files(kind, package).items():
            head = f"{kind} {name} ({file})"
            wrong, passed = seen.failures.get((kind, name), []), seen.passed.get((kind, name), 0)
            if wrong:
                yield f"FAILS  {head}:"
                yield from (f"       - {text}" for text in wrong)
            elif passed:
                yield f"keeps  {head}: {passed} promise{'s' * (passed > 1)}"
            else:
                yield f"untried {head}"
    without = "no setting `realisations`"
    for name in components.files("streams", package):
        fields = components.fields("streams", name)
        if reason := seen.untried.get(name, "" if "realisations" in fields else without):
            yield f"Of {name} no data were built and tried: {reason}."
