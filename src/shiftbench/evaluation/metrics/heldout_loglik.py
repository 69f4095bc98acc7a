"""Log likelihood of the pairs of a period's held-out text, after its training text was learnt.

sum_k w_k sum_ij n+_ij log s(u_ik.v_j) + n-_ij log s(-u_ik.v_j) with the posterior means u_ik of
the hypotheses of each word and their weights w_k; n- follows from the held-out n+. Divided by
the sum of n+ and n-; the mean over periods. Source: the authors' code of li2021vbs.
NaN for streams that hold nothing out.
"""

from __future__ import annotations

import numpy as np
import xarray as xr

from shiftbench.evaluation.scoring.words import held_out

STAGE = "run"
UNIT = "nats per pair"
HIGHER_IS_BETTER = True
TAKES = ("counts",)
REQUIRES = ("held-out",)
FROM = ("context", "mean")


def score(run: xr.Dataset, stream: xr.DataTree) -> np.ndarray:
    """Nats per pair [seed]."""
    return np.array([held_out.log_likelihood(run, stream, s) for s in range(run.sizes["seed"])])
