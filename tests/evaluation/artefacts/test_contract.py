"""Run the contract on the package's metrics and artefacts."""

import pytest

from shiftbench.contract.scores import *  # noqa: F403
from shiftbench.contract.scores import test_a_small_study_has_it

test_a_small_study_has_it = pytest.mark.long(test_a_small_study_has_it)
