"""Charts as images: drawn without pyplot, so that no thread, backend or open figure of the user is touched."""

from __future__ import annotations

import base64
import re
import warnings
from inspect import signature
from io import BytesIO

from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure

from harnesskit.plots.axes import PAPER, height_for
from harnesskit.reports.document import Chart

_RANDOM_ID = re.compile(rb'\bid="([a-z]+[0-9a-f]{10})"')
_SPARE = re.compile(
    rb"<!--.*?-->|(?<=\n)[ ]+|[ ]+(?=\n)", re.DOTALL
)  # comments repeat the labels, indents cost a tenth
_DIGITS = re.compile(rb"(?<![\d.])([1-9]\d*\.\d\d)\d+")  # a hundredth of a pixel is enough; scales below 1 stay
_NO_DATES = {"Date": None, "Creator": None, "Format": None, "Type": None}


WIDE, NARROW = 8.4, 4.2
"""Widths in inches: for a page, and for a phone, where the same letters take more of the width."""
_NARROW_ROWS = 15


def svg(chart: Chart, width: float = WIDE) -> bytes:
    """Return `chart` as an SVG image; the same chart gives the same bytes.

    Ids that matplotlib draws at random are renumbered in order: its own salt is a global setting, and a report must
    not touch those.
    """
    few = width <= NARROW and "top" in signature(chart.plot).parameters
    rows = min(chart.rows, _NARROW_ROWS + 1) if few else chart.rows
    figure = Figure(figsize=(width, height_for(rows, width)), dpi=100, facecolor=PAPER, layout="constrained")
    chart.plot(chart.frame, ax=figure.subplots(), **({"top": _NARROW_ROWS} if few else {}))
    written = BytesIO()
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # a glyph that is missing, a layout that does not fit: faults of ours
        FigureCanvasSVG(figure).print_svg(written, metadata=_NO_DATES)  # type: ignore[no-untyped-call]
    image = _DIGITS.sub(rb"\1", _SPARE.sub(b"", written.getvalue()))
    return _numbered(image).replace(b"DejaVuSans-", b"g")  # names of glyphs, a third of the file


def data_uri(image: bytes) -> str:
    """Return SVG bytes as an address that carries the image itself."""
    return f"data:image/svg+xml;base64,{base64.b64encode(image).decode('ascii')}"


def _numbered(image: bytes) -> bytes:
    names = {name: f"i{number}".encode() for number, name in enumerate(dict.fromkeys(_RANDOM_ID.findall(image)))}
    if not names:
        return image
    return re.sub(rb"\b[a-z]+[0-9a-f]{10}\b", lambda found: names.get(found[0], found[0]), image)
