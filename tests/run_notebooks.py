"""Execute the notebooks in a fresh kernel: ``python -m tests.run_notebooks FOLDER`` writes pages and reports there."""

from __future__ import annotations

import sys
from pathlib import Path

import nbformat
from nbclient import NotebookClient

FOLDER = Path(__file__).resolve().parent.parent / "notebooks"


def notebooks() -> list[Path]:
    """Return the notebooks of the project, sorted."""
    return sorted(FOLDER.glob("*.ipynb"))


def execute(path: Path, folder: Path) -> list[str]:
    """Execute a notebook with `folder` as its working folder, write the page there, return the texts it printed."""
    book = nbformat.read(path, as_version=4)
    NotebookClient(book, timeout=300, kernel_name="python3", resources={"metadata": {"path": str(folder)}}).execute()
    (folder / f"{path.stem}.html").write_text(page(book), encoding="utf-8")
    texts = []
    for cell in book.cells:
        for output in cell.get("outputs", []):
            texts.append(output.get("text") or output.get("data", {}).get("text/plain", ""))
    return texts


def page(book: nbformat.NotebookNode) -> str:
    """Return an executed notebook as one HTML page."""
    from nbconvert import HTMLExporter

    return HTMLExporter().from_notebook_node(book)[0]


def main(folder: str) -> None:
    """Execute every notebook and say where its page is."""
    target = Path(folder).absolute()
    for path in notebooks():
        execute(path, target)
        print(target / f"{path.stem}.html")


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else ".")
