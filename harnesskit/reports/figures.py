"""Charts as images: drawn without pyplot, so that no thread, backend or open figure of the user is touched."""

from __future__ import annotations

import base64
import re
import warnings
from io import BytesIO

from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure

from harnesskit.plots.axes import PAPER, height_for
from harnesskit.reports.document import Chart

_RANDOM_ID = re.compile(rb'\bid="([a-z]+[0-9a-f]{10})"')
_SPARE = re.compile(rb"<!--.*?-->|(?<=\n)[ ]+", re.DOTALL)  # comments repeat the labels, indents cost a tenth
_NO_DATES = {"Date": None, "Creator": None, "Format": None, "Type": None}


def svg(chart: Chart) -> bytes:
    """Return `chart` as an SVG image; the same chart gives the same bytes.

    Ids that matplotlib draws at random are renumbered in order: its own salt is a global setting, and a report must
    not touch those.
    """
    figure = Figure(figsize=(8.4, height_for(chart.rows)), dpi=100, facecolor=PAPER, layout="constrained")
    chart.plot(chart.frame, ax=figure.subplots())
    written = BytesIO()
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # a glyph that is missing, a layout that does not fit: faults of ours
        FigureCanvasSVG(figure).print_svg(written, metadata=_NO_DATES)  # type: ignore[no-untyped-call]
    return _numbered(_SPARE.sub(b"", written.getvalue()))


def data_uri(image: bytes) -> str:
    """Return SVG bytes as an address that carries the image itself."""
    return f"data:image/svg+xml;base64,{base64.b64encode(image).decode('ascii')}"


def _numbered(image: bytes) -> bytes:
    names = {name: f"i{number}".encode() for number, name in enumerate(dict.fromkeys(_RANDOM_ID.findall(image)))}
    if not names:
        return image
    return re.sub(rb"\b[a-z]+[0-9a-f]{10}\b", lambda found: names.get(found[0], found[0]), image)
