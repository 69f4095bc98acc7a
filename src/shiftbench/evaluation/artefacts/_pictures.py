"""Images of a stream in a panel."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes


def show(axes: Axes, image: np.ndarray) -> None:
    """One image [y, x, channel] with values in [0, 1], grey or red, green and blue; no axes."""
    grey = image.shape[-1] == 1
    axes.imshow(image[..., 0] if grey else image, cmap="gray", vmin=0, vmax=1)
    axes.set_axis_off()
