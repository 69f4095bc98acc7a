"""The changes of a series, in the form of ruptures."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

from shiftbench.adapters._settings import arguments
from shiftbench.api.arguments import shown
from shiftbench.api.changepoints import Changepoints, changepoints
from shiftbench.api.input_error import InputError
from shiftbench.core import extras

with extras.other_library("shiftbench.adapters.ruptures", "ruptures"):
    from ruptures.base import BaseEstimator


class Segmentation(BaseEstimator):
    """The most probable segmentation of a series, as an estimator of ruptures.

    As in ruptures, segments are given by their ends, and the last end is the length of the series.

    Parameters
    ----------
    method
        A method that detects changes, by name or as a pipeline; see
        `shiftbench.changepoints`, which standardises each series.
    settings
        Settings by their name, or by ``"component.setting"``.
    components
        As in `shiftbench.method`.

    Attributes
    ----------
    found_ : Changepoints
        The changes of the series, with their probabilities and levels.
    """

    found_: Changepoints | None = None

    def __init__(
        self,
        method: Any = "robust-bocpd",
        settings: Mapping[str, Any] | None = None,
        components: Any = None,
    ) -> None:
        self.method = method
        self.settings = settings
        self.components = components

    def fit(self, signal: Any) -> Self:
        """Find the changes of a signal, [n] or [n, series]."""
        self.found_ = changepoints(
            signal, self.method, components=self.components, **arguments(self.settings)
        )
        return self

    def predict(self, *args: Any, threshold: float = 0.0, **kwargs: Any) -> list[int]:
        """Return the ends of the segments.

        Leaves out changes with a probability below the threshold; 0 keeps the whole most probable
        segmentation. Raises InputError, a ValueError, before `fit`, and for arguments of other
        estimators of ruptures, such as ``pen``.
        """
        _refuse_others(args, kwargs)
        if self.found_ is None:
            raise InputError("there is no segmentation yet; call fit, or fit_predict")
        frame = self.found_.frame
        ends = frame["position"][frame["probability"] >= threshold]
        return [*ends.tolist(), len(self.found_.values)]

    def fit_predict(
        self, signal: Any, *args: Any, threshold: float = 0.0, **kwargs: Any
    ) -> list[int]:
        """Return the ends of the segments of a signal, by `fit` and `predict`."""
        _refuse_others(args, kwargs)
        return self.fit(signal).predict(threshold=threshold)


def _refuse_others(args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> None:
    """Raise InputError for a penalty, a number of changes, or another argument of ruptures."""
    if others := [*map(shown, args), *(f"{key}={shown(one)}" for key, one in kwargs.items())]:
        raise InputError(
            f"{', '.join(others)}: the method itself chooses the number of changes, without a"
            " penalty; leave this out. For fewer changes, give the least probability by name, as in"
            " threshold=0.9"
        )
