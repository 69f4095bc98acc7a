"""Errors of jobs that the library runs itself."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest

from shiftbench.runtime import cached_jobs


def test_a_job_that_crashed_names_the_signal_and_its_log() -> None:
    job = SimpleNamespace(name="plain on steps")
    with pytest.raises(RuntimeError) as raised:
        cached_jobs._refuse(job, -11, "", Path("folder/log"))
    assert str(raised.value).startswith("plain on steps failed: ended by SIGSEGV; compiled code")
    assert str(raised.value).endswith("; its log is folder/log")
