"""Draw images of a stream."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes


def show(axes: Axes, image: np.ndarray) -> None:
    """Draw an image [y, x, channel] in [0, 1], grey or RGB, into a panel without axes."""
    grey = image.shape[-1] == 1
    axes.imshow(image[..., 0] if grey else image, cmap="gray", vmin=0, vmax=1)
    axes.set_axis_off()
