"""TensorFlow Probability and its module of distributions, each loaded at its first use.

Separate from `lazy_tensorflow`, so that learners without TensorFlow Probability do not depend on
its version.
"""

from __future__ import annotations

from types import ModuleType
from typing import TYPE_CHECKING

from shiftbench.methods.lazy_tensorflow import Lazy, tf


def _probability() -> ModuleType:
    """Import TensorFlow Probability, once TensorFlow is set up."""
    assert tf.__version__
    import tensorflow_probability

    return tensorflow_probability


if TYPE_CHECKING:
    import tensorflow_probability as tfp
    from tensorflow_probability import distributions as tfd
else:
    tfp, tfd = Lazy(_probability), Lazy(lambda: _probability().distributions)
