"""The house style of charts: colours, marks, axes. It alone touches pyplot, and only when no axes are given.

Colours are those of Okabe and Ito (2008), told apart under every common colour blindness, and mean one thing
everywhere. A mark never rests on colour alone: each status has its own shape as well. Nothing here reads or sets the
user's defaults: every artist gets its style directly, so charts can be drawn in any thread under any backend.
"""

from __future__ import annotations

from dataclasses import dataclass
from textwrap import wrap
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
_NARROW = 4.5  # inches up to which names stand above their rows, because beside them they would leave no room


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


def height_for(rows: int, width: float = 8.4) -> float:
    """Return the height in inches of a chart with `rows` horizontal rows that is `width` inches wide."""
    return 1.8 + 0.42 * max(rows, 2) if width <= _NARROW else 1.3 + 0.27 * max(rows, 2)


def is_narrow(ax: Axes) -> bool:
    """Whether `ax` is drawn for a phone."""
    figure: Any = ax.get_figure()
    return figure is not None and hasattr(figure, "get_figwidth") and bool(figure.get_figwidth() <= _NARROW)


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
    """Write `labels` down the y axis, the first on top; on a narrow chart each above its row."""
    ax.set_ylim(max(len(labels), 1) - 0.4, -0.6)
    if not is_narrow(ax):
        ax.set_yticks(range(len(labels)), labels=labels, **text_style(ax))
        return
    ax.set_ylim(max(len(labels), 1) - 0.6, -0.9)
    ax.set_yticks(range(len(labels)), labels=[""] * len(labels))
    for position, label in enumerate(labels):
        _above(ax, position, label, 0.0, "left")


def note_row(ax: Axes, position: float, text: str, **style: Any) -> None:
    """Write `text` at the right end of a row: beside the axes, on a narrow chart above the row."""
    if is_narrow(ax):
        _above(ax, position, text, 1.0, "right", **style)
        return
    beside = text_style(ax, va="center", ha="left", fontsize=8.5, **style)
    ax.text(1.02, position, text, transform=ax.get_yaxis_transform(), clip_on=False, **beside)


def _above(ax: Axes, position: float, text: str, x: float, side: str, **style: Any) -> None:
    above = text_style(ax, va="center", ha=side, fontsize=8.0, **style)
    written = ax.text(x, position - 0.45, text, transform=ax.get_yaxis_transform(), zorder=5, **above)
    written.set_in_layout(False)  # a long name must not push the axes out of the figure


def name_x(ax: Axes, label: str) -> None:
    """Write `label` under the x axis, on a narrow chart in as many lines as it takes."""
    lines = [part for line in label.split("\n") for part in (wrap(line, 48) if is_narrow(ax) else [line])]
    ax.set_xlabel("\n".join(lines), **text_style(ax))


def legend_above(ax: Axes, handles: list[Any]) -> None:
    """Put the legend above the axes, where it hides no data, few entries to a row so that it stays narrow."""
    longest = max((len(str(handle.get_label())) for handle in handles), default=0)
    most = 4 if not is_narrow(ax) else 3 if longest < 14 else 1
    ncols = max(min(len(handles), most), 1)
    legend = ax.legend(
        handles=handles, loc="lower left", bbox_to_anchor=(0.0, 1.0), ncols=ncols, frameon=False,
        borderaxespad=0.2, handletextpad=0.3, columnspacing=1.2, fontsize=TEXT_SIZE,
    )  # fmt: skip
    for text in legend.get_texts():
        text.update(text_style(ax))
