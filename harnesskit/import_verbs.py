"""The verb that brings other tools' files, and any table of scores, into the workspace."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from harnesskit.tables import Tables

if TYPE_CHECKING:
    from harnesskit.importers.load import Imported
    from harnesskit.store.load import LoadReport


class ImportVerbs(Tables):
    """How samples that were made elsewhere come in.

    Attributes
    ----------
    imported : Imported or None
        What the last import of this object did: format, column map, counts.
    """

    imported: Imported | None = None

    def import_samples(
        self,
        path: str | Path,
        *,
        format: str = "auto",  # noqa: A002 - the name that users know
        role: str = "online",
        run: str | None = None,
        arm: str | None = None,
        source: str | None = None,
        columns: Mapping[str, Any] | None = None,
        scale: Mapping[str, Any] | None = None,
    ) -> LoadReport:
        """Import one file of samples and scores, and return what the workspace holds now; a second time adds nothing.

        Every row of the file is in the tables afterwards, or in ``problems`` with its line.

        Parameters
        ----------
        path
            The file.
        format
            ``csv``, ``jsonl``, ``parquet``, the name of a tool, or ``auto``: what the first bytes say.
        role
            ``online`` for production samples; ``control`` (a baseline), ``candidate`` or ``replay`` for a run.
        run
            Id of the run; of an earlier import too, to add to it. The source and part of the file's hash when None.
        arm
            Arm of the samples, where the file does not say it.
        source
            Name of the source; for a flat file its name without the ending, else the format. A sample is known again
            by its id within a source, so give the exports of one system one source.
        columns
            Of a flat file: our column to the file's, e.g. ``{"case_id": "id", "metrics": ["accuracy"]}``; None for one
            that must not be guessed. `imported` shows what was read from where.
        scale
            Metric to its lowest and highest value, e.g. ``{"helpfulness": (1, 5)}``, declared in
            ``harnesskit/metrics.toml`` unless it is declared there already.

        Raises
        ------
        WorkspaceError
            The file cannot be imported as asked; nothing was imported then.
        """
        from harnesskit.importers.load import Order, import_file
        from harnesskit.importers.scales import check_scale, declare_scale

        declared = check_scale(scale)
        order = Order(Path(path).expanduser(), format, role, run, arm, source, columns)
        self.imported = import_file(self.root, order)
        declare_scale(self.root, declared)
        return self.refresh()
