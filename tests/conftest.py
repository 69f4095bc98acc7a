"""Fixtures and hooks shared by all tests."""

from __future__ import annotations

import gc
import os
import signal
from collections.abc import Iterator

import pytest

from shiftbench.core import cache_folder
from tests.browsing import browser, page, violations

__all__ = ["browser", "page", "violations"]

# Rewrite the asserts of the contract like those of tests, so that failures show values.
pytest.register_assert_rewrite("shiftbench.contract")

LONGEST = (
    "test_every_command_of_the_docs",
    "test_all_compiled_code_side_by_side",
    "test_every_command_of_the_readme",
    "test_a_machine_without_a_network_installs_from_the_wheelhouse",
)
"""Tests that take minutes. They start first, so that no worker is left waiting at the end."""


def pytest_configure() -> None:
    """Name a folder for caches, and collect garbage less often.

    Garbage took a tenth of the time of tests that trace graphs.
    """
    gc.set_threshold(100_000, 10, 10)
    # Snakemake, which tests start, needs one that it can write.
    os.environ.update(cache_folder.variables())


def pytest_collection_finish() -> None:
    """Exclude the thousands of collected tests from garbage collection."""
    gc.freeze()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Move the longest tests to the front and keep the order of the others."""
    items.sort(key=lambda item: item.name not in LONGEST)


STOPPING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol() -> Iterator[None]:
    """Restore the signal handlers that a job in this process sets, for the sake of later processes.

    A fixture would come too late, because module-scoped fixtures also run jobs.
    """
    before = {number: signal.getsignal(number) for number in STOPPING}
    result = yield
    for number, action in before.items():
        if signal.getsignal(number) not in (signal.SIG_DFL, signal.default_int_handler):
            signal.signal(number, action)
    return result


@pytest.fixture(scope="module")
def signals_act() -> Iterator[None]:
    """Restore the default signal actions, which nohup and background shells may have disabled."""
    before = {number: signal.signal(number, signal.SIG_DFL) for number in STOPPING}
    signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    for number, action in before.items():
        signal.signal(number, action)
