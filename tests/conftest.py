"""What tests of several rooms share."""

from __future__ import annotations

import gc
import signal
from collections.abc import Iterator

import pytest

from tests.browsing import browser, page, serious

__all__ = ["browser", "page", "serious"]

# Its asserts are those of tests, and should tell the values.
pytest.register_assert_rewrite("shiftbench.contract")

LONGEST = (
    "test_every_command_of_the_docs",
    "test_all_compiled_code_side_by_side",
    "test_every_command_of_the_readme",
    "test_a_machine_without_a_network_installs_from_the_wheelhouse",
)
"""Minutes each, for which one process would wait for another at the end."""


def pytest_configure() -> None:
    """Garbage is looked for less often: it took a tenth of the time of tests that trace graphs."""
    gc.set_threshold(100_000, 10, 10)


def pytest_collection_finish() -> None:
    """And never among the thousands of tests themselves."""
    gc.freeze()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The longest tests are the first of all; the others stay in their order."""
    items.sort(key=lambda item: item.name not in LONGEST)


STOPPING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol() -> Iterator[None]:
    """Undoes what a job in this process sets, as the processes of later tests would inherit it.

    A fixture would come too late: jobs run in fixtures of modules, too.
    """
    before = {number: signal.getsignal(number) for number in STOPPING}
    result = yield
    for number, action in before.items():
        if signal.getsignal(number) not in (signal.SIG_DFL, signal.default_int_handler):
            signal.signal(number, action)
    return result


@pytest.fixture(scope="module")
def signals_act() -> Iterator[None]:
    """Signals end what they are sent to, also below nohup and in the background."""
    before = {number: signal.signal(number, signal.SIG_DFL) for number in STOPPING}
    signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    for number, action in before.items():
        signal.signal(number, action)
