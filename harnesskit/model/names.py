"""Columns of names as numbers: every name is looked at once, every row only as the number of its name."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    Ints = NDArray[np.int64]

_MOST = 2**62


def named(column: Any) -> pd.Categorical:
    """Return a column as a categorical of texts, sorted; missing stays missing.

    Examples
    --------
    >>> column = named(pd.Series(["b", None, 1]))
    >>> column.categories.tolist(), column.codes.tolist()
    (['1', 'b'], [1, -1, 0])
    """
    codes, values = pd.factorize(column)
    texts = np.array([*(str(value) for value in np.asarray(values, dtype=object)), None], dtype=object)
    names, of = np.unique(texts[:-1], return_inverse=True)  # 1 and "1" are one name
    return of_codes(np.append(of, -1)[codes], names)


def names_if_text(column: pd.Series[Any]) -> pd.Series[Any]:
    """Return a column of nothing but texts as a sorted categorical, any other as it is.

    Examples
    --------
    >>> names_if_text(pd.Series(["b", None])).cat.categories.tolist(), names_if_text(pd.Series([1, 2])).tolist()
    (['b'], [1, 2])
    """
    if pd.api.types.is_numeric_dtype(column.dtype) or _is_named(column):
        return column
    codes, values = pd.factorize(column)
    texts = np.asarray(values, dtype=object)
    if not all(isinstance(text, str) for text in texts):
        return column
    names, of = np.unique(texts, return_inverse=True)
    return pd.Series(of_codes(np.append(of, -1)[codes], names), index=column.index)


def _is_named(column: pd.Series[Any]) -> bool:
    """Whether a column is a sorted categorical of texts already."""
    if not isinstance(column.dtype, pd.CategoricalDtype):
        return False
    names = column.cat.categories
    return names.dtype == object and names.is_monotonic_increasing and all(isinstance(name, str) for name in names)


def in_order(*columns: pd.Series[Any]) -> bool:
    """Whether rows are sorted by these columns already; False where that takes a sort to know.

    Examples
    --------
    >>> case, metric = (names_if_text(pd.Series(column)) for column in (["a", "a", "b"], ["p", "q", "p"]))
    >>> in_order(case, metric), in_order(metric, case)
    (True, False)
    """
    if not all(isinstance(column.dtype, pd.CategoricalDtype) and column.notna().all() for column in columns):
        return False
    return bool((np.diff(row_numbers(*(column.cat.codes.to_numpy() for column in columns))) >= 0).all())


def of_codes(codes: NDArray[Any], names: Sequence[str] | NDArray[Any] | pd.Index[Any]) -> pd.Categorical:
    """Return a categorical of texts from the number of the name of each row, -1 for none.

    Examples
    --------
    >>> of_codes(np.array([0, -1]), ["a"]).tolist()
    ['a', nan]
    """
    return pd.Categorical.from_codes(codes, pd.Index(np.asarray(names, dtype=object), dtype=object))


def spelled(column: pd.Categorical) -> Any:
    """Return a categorical of texts as a column of text: what pandas makes of a list of these texts.

    The texts are turned into a column once and then taken by their numbers, which is much quicker than one by one.

    Examples
    --------
    >>> list(spelled(of_codes(np.array([1, 1, 0]), ["a", "b"])))
    ['b', 'b', 'a']
    """
    codes = np.asarray(column.codes, dtype=np.int64)
    used = np.flatnonzero(np.bincount(codes + 1, minlength=len(column.categories) + 1)[1:])
    place = np.full(len(column.categories) + 1, len(used))
    place[used] = np.arange(len(used))
    labels = [*np.asarray(column.categories, dtype=object)[used], *([None] if (codes < 0).any() else [])]
    return pd.Series(np.array(labels, dtype=object)).array.take(place[codes])


def row_numbers(*columns: NDArray[Any]) -> Ints:
    """Return a number per row, equal for rows that are equal in all columns of codes (from -1), in their order.

    Examples
    --------
    >>> row_numbers(np.array([0, 0, 1]), np.array([-1, -1, 0])).tolist()
    [2, 2, 5]
    """
    number, span = np.zeros(len(columns[0]), dtype=np.int64), 1
    for column in columns:
        width = int(column.max(initial=-1)) + 2
        if span * width > _MOST:
            number = pd.factorize(number, sort=True)[0].astype(np.int64)
            span = int(number.max(initial=-1)) + 1
        number = number * width + (column + 1)
        span *= width
    return number
