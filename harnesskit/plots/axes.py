"""The house style of charts: colours, marks, axes. It alone touches pyplot, and only when no axes are given.

Colours are those of Okabe and Ito (2008), told apart under every common colour blindness, and mean one thing
everywhere. A mark never rests on colour alone: each status has its own shape as well. Nothing here reads or sets the
user's defaults: every artist gets its style directly, so charts can be drawn in any thread under any backend.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from matplotlib.axes import Axes
from matplotlib.colors import to_rgb
from matplotlib.lines import Line2D

from harnesskit.plots.labels import font_families

BASELINE = "#6b6b6b"
CANDIDATE = "#0072b2"
BAD = "#d55e00"
GOOD = "#009e73"
INK = "#1d2430"
PAPER = "#ffffff"
TEXT_SIZE = 9.0


@dataclass(frozen=True)
class Mark:
    """How one status is drawn: a colour and a shape, filled or hollow."""

    colour: str
    marker: str
    filled: bool = True

    def scatter(self) -> dict[str, Any]:
        """Return the arguments of ``Axes.scatter`` for this mark."""
        if self.marker == "x":
            return {"marker": self.marker, "c": self.colour, "s": 34, "linewidths": 1.6}
        face = self.colour if self.filled else PAPER
        return {"marker": self.marker, "facecolors": face, "edgecolors": self.colour, "s": 44, "linewidths": 1.6}

    def handle(self, word: str) -> Line2D:
        """Return the legend entry of this mark."""
        face = self.colour if self.filled else PAPER
        style: dict[str, Any] = {"marker": self.marker, "markersize": 6.5, "markeredgewidth": 1.6}
        return Line2D([], [], linestyle="none", color=self.colour, markerfacecolor=face, label=word, **style)


MARKS = {
    "regressed": Mark(BAD, "v"),
    "improved": Mark(GOOD, "^"),
    "unchanged": Mark(CANDIDATE, "o"),
    "inconclusive": Mark(CANDIDATE, "o", filled=False),
    "skipped": Mark(BASELINE, "x"),
}


def height_for(rows: int) -> float:
    """Return the height in inches of a chart with `rows` horizontal rows."""
    return 1.3 + 0.27 * max(rows, 2)


def axes_for(ax: Axes | None, rows: int) -> Axes:
    """Return `ax`, or new pyplot axes that are tall enough for `rows`, in the house style."""
    if ax is None:
        import matplotlib.pyplot as plt

        _, ax = plt.subplots(figsize=(8.4, height_for(rows)), facecolor=PAPER, layout="constrained")
    dress(ax)
    return ax


def ink_on(ax: Axes) -> str:
    """Return the text colour that can be read on the figure behind `ax`."""
    figure: Any = ax.get_figure()
    while figure is not None and getattr(figure, "figure", figure) is not figure:  # axes may sit in a subfigure
        figure = figure.figure
    red, green, blue = to_rgb(figure.get_facecolor()) if figure is not None else (1.0, 1.0, 1.0)
    return INK if 0.299 * red + 0.587 * green + 0.114 * blue > 0.5 else "#e8eaee"


def dress(ax: Axes) -> None:
    """Give `ax` the house style: no frame, quiet grid along x, labels that can be read."""
    ink = ink_on(ax)
    ax.set_facecolor("none")
    for side, spine in ax.spines.items():
        spine.set_visible(side == "bottom")
        spine.set_color(BASELINE)
        spine.set_linewidth(0.8)
    ax.tick_params(
        which="both", colors=BASELINE, labelcolor=ink, labelsize=TEXT_SIZE, labelfontfamily=font_families(),
        length=3, width=0.8, direction="out", left=False, right=False, top=False, bottom=True,
    )  # fmt: skip
    ax.grid(visible=False)
    ax.grid(visible=True, axis="x", color="#9aa0aa", alpha=0.3, linewidth=0.7, linestyle="-")
    ax.set_axisbelow(True)


def text_style(ax: Axes, **more: Any) -> dict[str, Any]:
    """Return the style of a text on `ax`: literal (no mathtext, no TeX), in fonts that have its characters."""
    style: dict[str, Any] = {
        "color": ink_on(ax),
        "fontsize": TEXT_SIZE,
        "fontfamily": font_families(),
        "fontweight": "normal",
    }
    return {**style, "fontstyle": "normal", "parse_math": False, "usetex": False, **more}


def name_rows(ax: Axes, labels: list[str]) -> None:
    """Write `labels` down the y axis, the first on top."""
    ax.set_yticks(range(len(labels)), labels=labels, **text_style(ax))
    ax.set_ylim(max(len(labels), 1) - 0.4, -0.6)


def legend_above(ax: Axes, handles: list[Any]) -> None:
    """Put the legend above the axes, where it hides no data, four entries to a row so that it stays narrow."""
    ncols = max(min(len(handles), 4), 1)
    legend = ax.legend(
        handles=handles, loc="lower left", bbox_to_anchor=(0.0, 1.0), ncols=ncols, frameon=False,
        borderaxespad=0.2, handletextpad=0.3, columnspacing=1.2, fontsize=TEXT_SIZE,
    )  # fmt: skip
    for text in legend.get_texts():
        text.update(text_style(ax))
