"""The verb `test`: the contract over a user's parts, each file in a separate process."""

from __future__ import annotations

import gc
import importlib
import os
import traceback
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from shiftbench.config import components, user_components
from shiftbench.contract import apart, selection
from shiftbench.contract.apart import Findings, Name, Reporter
from shiftbench.core.errors import UserError

HERE = Path(__file__).parent
FILES = {
    "streams": ("declarations.py", "streams.py"),
    "models": ("declarations.py", "models.py"),
    "learners": ("declarations.py", "learners.py"),
    "combinators": ("declarations.py", "learners.py"),
    "metrics": ("declarations.py", "scores.py"),
    "artefacts": ("declarations.py", "scores.py"),
}
"""Modules with the tests of each kind of component."""
WARM = ("numpy", "scipy.special", "xarray", "zarr", "_pytest.assertion.rewrite")
"""Modules that are imported once, before the processes of the parts are forked."""
OPTIONS = (
    "-p no:terminal", "-p no:cacheprovider", "-p no:warnings", "-p no:faulthandler",
    "-p no:unraisableexception", "-p no:threadexception", "--import-mode=importlib",
    "--noconftest", "--capture=no", f"--rootdir={HERE}",
    f"--config-file={os.devnull}",
)  # fmt: skip
NOT_DONE = {"streams": "No data of {} were built and tried"} | dict.fromkeys(
    ("metrics", "artefacts"), "{} was not tried on results"
)
"""For each kind of component, the sentence on what was not tested. The reason follows it."""
IMPORT = "It can be imported."
DECLARED = "Its declarations can be read."


def failed(folder: Path, limit: float) -> bool:
    """Test all parts of a folder, print the results, and return whether one fails."""
    folder = folder.resolve()
    _read_declarations(folder, limit)
    files = _files(folder.name)
    if not files:
        kinds = ", ".join(components.FOLDERS)
        raise UserError(
            f"{folder} has no parts to test: write one as a Python file, whose name does not begin"
            f" with _, in one of its folders {kinds}"
        )
    for module in WARM:
        importlib.import_module(module)
    gc.freeze()  # so that no process looks through what is imported here
    wrong = False
    for file, parts in files.items():
        findings = apart.run(folder, lambda reporter, parts=parts: _try(parts, reporter), limit)
        for part in parts:
            if not (findings.passed.get(part) or findings.failures.get(part) or findings.general):
                findings.fail(part, "None of its checks was run.", "untried")
        print(*_lines(file, parts, findings), sep="\n", flush=True)
        wrong |= bool(findings.general or any(findings.failures.values()))
    return wrong


def _read_declarations(folder: Path, limit: float) -> None:
    """Add the components of a folder. Raises UserError for a wrong or endless declaration.

    Declarations are executed, so a separate process reads them first.
    """

    def read(reporter: Reporter) -> None:
        reporter.trying(DECLARED)
        user_components.use(folder)

    if ended := apart.run(folder, read, limit).general:
        raise UserError("\n".join(f"{folder}: {one}" for one in ended))
    if errors := user_components.use(folder):
        raise UserError("\n".join(errors))


def _files(package: str) -> dict[Path, list[Name]]:
    """Return the files of a package with the components in each."""
    found: dict[Path, list[Name]] = {}
    for kind in components.FOLDERS:
        for name, file in components.files(kind, package).items():
            found.setdefault(file, []).append((kind, name))
    return found


def _try(parts: list[Name], reporter: Reporter) -> None:
    """In the fork: import the parts of one file, and run the tests of their kind."""
    kind, name = parts[0]
    reporter.trying(IMPORT)
    try:
        components.load(kind, name)
    except BaseException as error:  # also SystemExit, which a part may raise
        text = str(error) if isinstance(error, UserError) else f"{IMPORT} {_named(error)}"
        for part in parts:
            reporter.send("failed", part, text, text)
        return
    selection.choose(components.package_of(kind, name), parts)
    os.environ["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
    os.environ.pop("PYTEST_ADDOPTS", None)
    options = [one for option in OPTIONS for one in option.split(" ", 1)]
    tests = [str(HERE / file) for file in FILES[kind]]
    listener = _Listener(reporter)
    status = pytest.main([*options, *tests], plugins=[listener])
    if listener.broken or status not in (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED):
        why = listener.broken or [f"pytest ended with the status {status:d}"]
        reporter.send("refused", f"Its checks stopped early: {why[0]}.")


class _Listener:
    """Reports the result of each test of pytest."""

    def __init__(self, reporter: Reporter) -> None:
        self.reporter = reporter
        self.broken: list[str] = []
        self.tried = 0

    def pytest_collectreport(self, report: Any) -> None:
        if report.failed:
            self.broken.append(str(report.longrepr))

    def pytest_keyboard_interrupt(self, excinfo: Any) -> None:
        self.broken.append(_named(excinfo.value))

    def pytest_sessionfinish(self, session: Any) -> None:
        if not self.broken and self.tried < session.testscollected:
            self.broken.append(f"only {self.tried} of {session.testscollected} ran")

    def pytest_internalerror(self, excrepr: Any) -> None:
        self.broken.append(str(excrepr))

    def pytest_collection_modifyitems(self, items: list[Any]) -> None:
        """Leave out the tests that pytest makes for an empty list of names."""
        items[:] = [item for item in items if isinstance(_part(item)[1], str)]

    def pytest_runtest_setup(self, item: Any) -> None:
        self.reporter.trying(_check(item))
        self.tried += 1

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self, item: Any, call: Any) -> Any:
        report = yield
        part = _part(item)
        if report.failed:
            self.reporter.send("failed", part, *_failure(item, call.excinfo.value))
            if os.environ.get("SHIFTBENCH_DEBUG"):
                print(report.longrepr)
        elif report.skipped and _own_frames(part, call.excinfo.value):
            self.reporter.send("failed", part, f"{_check(item)} It skipped this test.", "skip")
        elif report.skipped and str(call.excinfo.value).startswith(selection.UNTRIED):
            reason = str(call.excinfo.value).removeprefix(selection.UNTRIED)
            self.reporter.send("untried", part, reason)
        elif report.passed and call.when == "call":
            self.reporter.send("passed", part)
        return report


def _part(item: Any) -> Name:
    """Return kind and name of the component that a test is about."""
    given = item.callspec.params
    return given.get("case") or (item.module.KIND, given["name"])


def _check(item: Any) -> str:
    return " ".join(item.function.__doc__.split())


def _own_frames(part: Name, error: BaseException) -> list[traceback.FrameSummary]:
    """Return the frames of an error that are in the folder of a part."""
    folder = components.path(*part).parents[1]
    frames = traceback.extract_tb(error.__traceback__)
    return [frame for frame in frames if Path(frame.filename).is_relative_to(folder)]


def _failure(item: Any, error: BaseException) -> tuple[str, str]:
    """Return the failed check: what broke it and where, and the cause if it is known."""
    if isinstance(error, UserError):
        return str(error), str(error)
    own = _own_frames(_part(item), error)
    where = f" ({own[-1].filename}, line {own[-1].lineno})" if own else ""
    check = _check(item)
    if not isinstance(error, AssertionError):
        cause = f"{_named(error)}{where}"
        return f"{check} {cause}", cause
    first = str(error).strip().partition("\n")[0]
    found = "" if first.startswith("assert") or not first else f" It failed: {first}"
    text = f"{check}{found}{where}"
    return text, text


def _named(error: BaseException) -> str:
    first = str(error).strip().partition("\n")[0]
    return f"{type(error).__name__}: {first}" if first else f"{type(error).__name__}."


def _lines(file: Path, parts: list[Name], findings: Findings) -> Iterator[str]:
    for kind, name in parts:
        head = f"{kind} {name} ({file})"
        passed = findings.passed.get((kind, name), 0)
        # A refusal also raises an error, which other checks may have reported.
        known = [text for text in findings.failures.get((kind, name), {}).values()
                 if not any(one in text for one in findings.general)]  # fmt: skip
        if wrong := [*findings.general, *known]:
            yield f"FAILS  {head}:"
            yield from (f"       - {text}" for text in wrong)
        else:
            yield f"passes {head}: {passed} check{'s' * (passed > 1)}"
        if not wrong and (reason := findings.untried.get((kind, name)) or _no_data(kind, name)):
            yield f"{NOT_DONE[kind].format(name)}: {reason}."


def _no_data(kind: str, name: str) -> str:
    """Return why no data of a stream can be built here; empty for anything else."""
    able = kind != "streams" or "realisations" in components.fields(kind, name)
    return "" if able else "no setting `realisations`"
