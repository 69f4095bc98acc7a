"""Methods as estimators and as a drift detector of river."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from numbers import Integral
from typing import Any

import pandas as pd

from shiftbench.adapters._settings import arguments
from shiftbench.api import online_method
from shiftbench.api.prediction import Prediction
from shiftbench.core import extras

with extras.other_library("shiftbench.adapters.river", "river"):
    from river import base, proba


class _Online(base.Estimator):
    """Base of both estimators, which use the features of the first row.

    Features may come and go in river: a missing one counts as 0, and one that was not in the first
    row is ignored.
    """

    def __init__(
        self,
        method: Any,
        settings: Mapping[str, Any] | None,
        model: Any,
        classes: Sequence[Hashable] | int | None,
        tasks: int | None,
        seed: int,
        components: Any,
    ) -> None:
        self.method = method
        self.settings = settings
        self.model = model
        self.tasks = tasks
        self.seed = seed
        self.components = components
        self.method_ = online_method.method(
            method, model=model, classes=classes, tasks=tasks, seed=seed, components=components,
            **arguments(settings),
        )  # fmt: skip

    def learn_one(self, x: dict[Any, Any], y: Any) -> None:
        """Learn one row."""
        self.method_.learn_one(self._row(x), y)

    def learn_many(self, X: pd.DataFrame, y: pd.Series) -> None:
        """Learn several rows, in their order."""
        self.method_.learn_many(self._rows(X), y)

    def _row(self, x: Mapping[Any, Any]) -> dict[Any, Any]:
        names = self.method_.feature_names
        return dict(x) if names is None else {name: x.get(name, 0.0) for name in names}

    def _rows(self, X: pd.DataFrame) -> pd.DataFrame:
        names = self.method_.feature_names
        return X if names is None else X.reindex(columns=list(names), fill_value=0.0)


class OnlineRegressor(_Online, base.MiniBatchRegressor):
    """A method that predicts real values, as a regressor of river.

    The first row fixes the features. Later, a missing feature counts as 0 and a new one is ignored.

    Parameters
    ----------
    method, model, tasks, seed, components
        As in `shiftbench.method`.
    settings
        Settings by their name, or by ``"component.setting"``.

    Attributes
    ----------
    method_ : OnlineMethod
        The fitted method; ``method_.changes`` lists the changes that it detected.
    """

    def __init__(
        self,
        method: Any = "vbs-linear",
        settings: Mapping[str, Any] | None = None,
        model: Any = None,
        tasks: int | None = None,
        seed: int = 0,
        components: Any = None,
    ) -> None:
        super().__init__(method, settings, model, None, tasks, seed, components)

    def predict_one(self, x: dict[Any, Any], with_dist: bool = False) -> Any:
        """Return the mean, or the normal distribution with it and the standard deviation.

        Before the first row the mean is 0, and the standard deviation infinite.
        """
        mean, sd = 0.0, float("inf")
        if self.method_.tasks_done:
            found = self.method_.predict_one(self._row(x))
            assert isinstance(found, Prediction)
            mean, sd = found.mean, found.sd
        return proba.Gaussian._from_state(1, mean, sd**2, ddof=0) if with_dist else mean

    def predict_many(self, X: pd.DataFrame) -> pd.Series:
        """Return the mean of each row."""
        mean: Any = 0.0
        if self.method_.tasks_done and len(X):
            mean = self.method_.predict_many(self._rows(X))[0]
        return pd.Series(mean, index=X.index, dtype=float)


class OnlineClassifier(_Online, base.MiniBatchClassifier):
    """A method that predicts classes, as a classifier of river.

    The first row fixes the features. Later, a missing feature counts as 0 and a new one is ignored.

    Parameters
    ----------
    method, settings, model, tasks, seed, components
        As in `OnlineRegressor`.
    classes
        All labels, or how many there are at most; labels are then numbered as they appear.

    Attributes
    ----------
    method_ : OnlineMethod
        The fitted method; ``method_.changes`` lists the changes that it detected.
    """

    def __init__(
        self,
        method: Any = "online-logistic",
        settings: Mapping[str, Any] | None = None,
        model: Any = None,
        classes: Sequence[Hashable] | int = (False, True),
        tasks: int | None = None,
        seed: int = 0,
        components: Any = None,
    ) -> None:
        self.classes = classes
        super().__init__(method, settings, model, classes, tasks, seed, components)

    @property
    def _multiclass(self) -> bool:
        if isinstance(self.classes, Integral):
            return int(self.classes) > 2
        return len(self.classes) > 2  # type: ignore[arg-type]

    def predict_proba_one(self, x: dict[Any, Any], **kwargs: Any) -> dict[Any, float]:
        """Return the probability of each label seen so far, or of all labels if they were given.

        Before the first row, all labels are equally probable.
        """
        known = self.method_.classes
        if not self.method_.tasks_done:
            return dict.fromkeys(known, 1 / max(len(known), 1))
        found = self._probabilities(self.method_.predict_one(self._row(x)))
        total = sum(found.values())  # below 1 where more labels may come
        return {label: p / total for label, p in found.items()}

    def predict_one(self, x: dict[Any, Any], **kwargs: Any) -> Any:
        """Return the most probable label; None before the first one."""
        if self.method_.tasks_done:
            found = self.method_.predict_one(self._row(x))
            if isinstance(found, Prediction):
                return self.method_.classes[int(found.mean > 0)]
        return super().predict_one(x)

    def predict_proba_many(self, X: pd.DataFrame) -> pd.DataFrame:
        """Return the probabilities of `predict_proba_one` for each row."""
        rows = [self.predict_proba_one(x) for x in X.to_dict("records")]
        return pd.DataFrame(rows, index=X.index, columns=self.method_.classes)

    def predict_many(self, X: pd.DataFrame) -> pd.Series:
        """Return the most probable label of each row."""
        labels = [self.predict_one(x) for x in X.to_dict("records")]
        return pd.Series(labels, index=X.index, dtype=object)

    def _probabilities(self, found: Any) -> dict[Any, float]:
        if isinstance(found, Prediction):
            raise NotImplementedError("this method predicts a score and no probabilities")
        return found


class ChangeDetector(base.DriftDetector):
    """A method that sees changes of a series, as a drift detector of river.

    Reports a drift once the probability of a change, within the last ten values and after the last
    drift, exceeds one half. Values are not standardised; settings of the method give their scale.

    Parameters
    ----------
    method
        A method that detects changes of a series, by name or as a pipeline.
    settings
        Settings by their name, or by ``"component.setting"``.
    tasks, seed, components
        As in `shiftbench.method`.

    Attributes
    ----------
    method_ : OnlineMethod
        The fitted method; ``method_.changes`` has the time and the probability of each.
    """

    def __init__(
        self,
        method: Any = "bocpd",
        settings: Mapping[str, Any] | None = None,
        tasks: int | None = None,
        seed: int = 0,
        components: Any = None,
    ) -> None:
        super().__init__()
        self.method = method
        self.settings = settings
        self.tasks = tasks
        self.seed = seed
        self.components = components
        self.method_ = online_method.method(
            method, tasks=tasks, seed=seed, components=components, **arguments(settings)
        )
        self._known = 0

    def update(self, x: int | float) -> None:
        """Learn the next value."""
        self.method_.learn_one(None, float(x))
        found = self.method_.n_changes
        self._drift_detected, self._known = found > self._known, found
