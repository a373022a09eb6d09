"""A report: arranged evidence that can be saved in any of the known formats."""

from __future__ import annotations

import os
import secrets
from collections.abc import Callable
from html import escape
from pathlib import Path

from harnesskit.model.errors import ReportError
from harnesskit.model.own_files import refusal
from harnesskit.reports import html, jsonform, markdown
from harnesskit.reports.document import Document

# One renderer per suffix: a document to the bytes of a file. A new format is one more line here.
RENDERERS: dict[str, Callable[[Document], bytes]] = {
    ".html": html.render,
    ".json": jsonform.render,
    ".md": markdown.render,
}


class Report(Document):
    """A title, a verdict, sections of prose, tables and charts; immutable; the same evidence gives the same bytes.

    Examples
    --------
    >>> import tempfile
    >>> report = Report("Nothing to see")
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     report.save(Path(folder) / "report.md").read_text().splitlines()[0]
    '# Nothing to see'
    """

    def render(self, suffix: str) -> bytes:
        """Return the bytes of the report in the format of `suffix` (``.html``, ``.json``, ``.md``).

        Raises
        ------
        ReportError
            No renderer is known for the suffix.
        """
        return _renderer(suffix)(self)

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write the report in the format of the path's suffix, whole or not at all, and return the path.

        Parameters
        ----------
        path
            Where to write; its folder must exist. An existing file is replaced in one step.

        Raises
        ------
        ReportError
            The suffix is not known, there is no such folder, or the path lies among the files of a workspace.
        """
        target = check_target(path)
        _write_whole(target, self.render(target.suffix))
        return target

    def _repr_html_(self) -> str:
        """Return the HTML report in a frame of its own, so that it and the notebook cannot touch each other."""
        page = html.render(self).decode("utf-8")
        style = "width:100%;height:680px;border:1px solid #d5d8de;border-radius:6px"
        return f'<iframe title="{escape(self.title)}" sandbox="" srcdoc="{escape(page)}" style="{style}"></iframe>'


def check_target(path: str | os.PathLike[str]) -> Path:
    """Return `path` if a report can be saved there, so that it is known before the work is done.

    Raises
    ------
    ReportError
        The suffix is not known, there is no such folder, `path` is a folder itself, or it lies among the files of a
        workspace (``evalset/``, ``harnesskit/``, …), where a harness would take it for one of them.
    """
    target = Path(path)
    _renderer(target.suffix)
    if not target.parent.is_dir():
        raise ReportError(f"the report {target} cannot be saved: there is no folder {target.parent}; make it first.")
    if target.is_dir():
        raise ReportError(f"the report {target} cannot be saved: that is a folder; name a file in it.")
    refused = refusal(target)
    if refused:
        raise ReportError(f"the report cannot be saved: {refused}")
    return target


def _renderer(suffix: str) -> Callable[[Document], bytes]:
    renderer = RENDERERS.get(suffix.lower())
    if renderer is None:
        known = ", ".join(sorted(RENDERERS))
        raise ReportError(f"a report cannot be saved as {suffix or 'a file without a suffix'!r}; use one of {known}.")
    return renderer


def _write_whole(target: Path, content: bytes) -> None:
    part = target.parent / f".report-{os.getpid()}-{secrets.token_hex(6)}.part"
    try:
        with part.open("xb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        part.replace(target)
    except BaseException:
        part.unlink(missing_ok=True)
        raise
