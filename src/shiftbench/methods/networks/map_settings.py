"""Settings of the learner `map`, in a module of their own because its parts use them too."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

from annotated_types import Ge, Gt, Interval, Le


@dataclass(frozen=True)
class MapSettings:
    """The settings of `map`, whose module has the formulas."""

    epochs: Annotated[int, Ge(1)] = 150
    """Passes over the data of a task."""
    batch_size: Annotated[int, Ge(1)] = 64
    """Number of rows of a minibatch."""
    learning_rate: Annotated[float, Gt(0)] = 0.001
    """Adam's step size (li2021vbs, Table 3)."""
    curvature: Literal["diagonal", "kronecker"] = "diagonal"
    """Form of the precision; kronecker: a pair of factors for each layer."""
    importance: Literal["none", "fisher", "path"] = "fisher"
    """Added to the precision after a task: nothing, the diagonal Fisher, or SI's path integral."""
    fisher_labels: Literal["sampled", "expected", "observed"] = "sampled"
    """Labels of the Fisher: drawn from the model, its expectation, or the data's."""
    fisher_estimator: Literal["per-example", "summed"] = "per-example"
    """Fisher estimator; summed: squared sum of gradients, the noisy one of li2021vbs's code."""
    fisher_rows: Annotated[int, Ge(1)] = 1000
    """Largest number of training rows that the Fisher is estimated from."""
    damping: Annotated[float, Gt(0)] = 0.1
    """path: SI's xi, added to a parameter's squared displacement (Zenke et al.; split: 0.001)."""
    strength: Annotated[float, Ge(0)] = 1.0
    """Factor of the penalty: 1 for Laplace's approximation, EWC's lambda, SI's c."""
    units: Literal["task", "row"] = "task"
    """Weight of a task in the penalty. task: its number of rows, as in Laplace's approximation;
    row: the same for all tasks, as in EWC and SI. Equivalent if all tasks have n_train rows."""
    anchor: Literal["last", "each", "initial"] = "last"
    """Centre of the penalty; last: the last estimate; each: for each task its own estimate;
    initial: the start values of the first task (Kumar et al. 2023)."""
    decay: Annotated[float, Ge(0), Le(1)] = 1.0
    """Factor of the previous precision after a task (online EWC's gamma)."""
    prior: Literal["normal", "flat"] = "normal"
    """First prior; flat: no penalty in the first task."""
    prior_sd: Annotated[float, Gt(0)] = 1.0
    """normal: standard deviation of the first prior, which has mean zero."""
    start: Literal["fresh", "prior"] = "fresh"
    """Start of a task; fresh: Glorot's weights, as in li2021vbs; prior: the last estimate."""
    biases: Literal["free", "penalised"] = "free"
    """Biases; free: they have no penalty and no importance, as in li2021vbs, C.2."""
    optimiser_state: Literal["reset", "kept"] = "reset"
    """Adam's moments at the start of a task; kept: as in SI's code for permuted images. With
    several heads, kept moments go on moving earlier heads."""
    dropout: Annotated[float, Interval(ge=0, lt=1)] = 0.0
    """Dropout probability of the inputs of each layer but the first, drawn for each row."""
    input_dropout: Annotated[float, Interval(ge=0, lt=1)] = 0.0
    """Dropout probability of the network's inputs, drawn for each row."""
    prediction: Literal["estimate", "laplace-last", "swag"] = "estimate"
    """Weights of a prediction: the estimate, a Laplace approximation of the last layer, or SWAG."""
    prediction_draws: Annotated[int, Ge(0)] = 0
    """Number of draws that a prediction averages over: of dropout's masks, or of weights; 0: no
    masks, and with laplace-last the probit approximation."""
    last_prior: Literal["evidence", "trained"] = "evidence"
    """laplace-last: prior precision of the last layer; evidence: that of the largest marginal
    likelihood; trained: 1 / prior_sd^2."""
    swag_epochs: Annotated[int, Ge(2)] = 20
    """swag: number of last epochs after each of which the weights are collected."""
    swag_rank: Annotated[int, Ge(2)] = 20
    """swag: number of last deviations from the mean that are kept, at most swag_epochs."""
    distil: Annotated[float, Ge(0)] = 0.0
    """Weight of the cross entropy with the outputs of the last estimate on a task's rows (LwF)."""
    temperature: Annotated[float, Gt(0)] = 2.0
    """distil: temperature of these outputs (Li and Hoiem 2016)."""
