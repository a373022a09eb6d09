"""How a chart reads a column of a frame."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

if TYPE_CHECKING:
    from numpy.typing import NDArray


def numbers(column: pd.Series[Any]) -> NDArray[np.float64]:
    """Return a column as floats, NaN where there is no number.

    Examples
    --------
    >>> numbers(pd.Series(["1", None, "n/a"])).tolist()
    [1.0, nan, nan]
    """
    return pd.to_numeric(column, errors="coerce").to_numpy(dtype=float, na_value=np.nan)
