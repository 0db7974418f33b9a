"""File dialogs that do not hold the program up, each with the folder it was last used in."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QFileDialog, QWidget

from specviz.trace.config import Role

Chosen = Callable[[Path], object]

MODEL_FILTER = "GGUF models (*.gguf)"
TRACE_SUFFIX = ".specviz.jsonl"
TRACE_FILTER = f"SpecViz traces (*{TRACE_SUFFIX})"
ALL_FILES = "All files (*)"


@dataclass(frozen=True, slots=True)
class ExportKind:
    """Something that can be exported: its name in signals, its words, and its file."""

    kind: str
    words: str
    effect: str
    suffix: str = ""
    file_filter: str = ""


EXPORT_KINDS = (
    ExportKind(
        "window-png",
        "Picture of the window…",
        "Saves the window as it is, as a PNG file.",
        ".png",
        "PNG pictures (*.png)",
    ),
    ExportKind(
        "conversation-png",
        "Picture of the conversation…",
        "Saves the whole conversation with its coloured tokens, as a PNG file.",
        ".png",
        "PNG pictures (*.png)",
    ),
    ExportKind(
        "csv",
        "Tables as CSV…",
        "Writes tokens, steps, draft sources and a summary as tables into a folder.",
    ),
    ExportKind(
        "json",
        "Summary as JSON…",
        "Writes the numbers of both runs into one JSON file.",
        ".json",
        "JSON files (*.json)",
    ),
    ExportKind(
        "trace",
        "Trace…",
        "Writes every event of the run, so that it can be opened here again.",
        TRACE_SUFFIX,
        TRACE_FILTER,
    ),
    ExportKind(
        "sweep-csv",
        "Sweep as CSV…",
        "Writes a table with a row for each setting and prompt of the sweep.",
        ".csv",
        "CSV tables (*.csv)",
    ),
    ExportKind(
        "sweep-json",
        "Sweep as JSON…",
        "Writes plan, machine, models and all figures of the sweep into one file.",
        ".json",
        "JSON files (*.json)",
    ),
    ExportKind("copy-text", "Copy the answer", "Puts the text of the answer on the clipboard."),
)


class FileDialogs:
    """Opens dialogs over a window and calls back with a path; nothing when they are left."""

    def __init__(self, window: QWidget) -> None:
        self._window = window
        self._folders: dict[str, str] = {}
        self.current: QFileDialog | None = None

    def choose_model(self, role: Role, chosen: Chosen) -> None:
        """A model file for a slot."""
        self._open(
            self._dialog(f"Choose the {role.value}", "models", [MODEL_FILTER, ALL_FILES]),
            "models",
            chosen,
        )

    def open_trace(self, chosen: Chosen) -> None:
        """A stored trace."""
        self._open(
            self._dialog("Open a trace", "traces", [TRACE_FILTER, ALL_FILES]), "traces", chosen
        )

    def save(self, kind: str, suggested: str, chosen: Chosen) -> None:
        """Where to write an export; a folder for `csv`. `suggested` is a name without ending."""
        export = next(each for each in EXPORT_KINDS if each.kind == kind)
        if not export.suffix:
            dialog = self._dialog("Choose a folder for the tables", "exports", [])
            dialog.setFileMode(QFileDialog.FileMode.Directory)
            dialog.setOption(QFileDialog.Option.ShowDirsOnly)
            self._open(dialog, "exports", chosen)
            return
        dialog = self._dialog("Export", "exports", [export.file_filter])
        dialog.setAcceptMode(QFileDialog.AcceptMode.AcceptSave)
        dialog.setDefaultSuffix(export.suffix.lstrip("."))
        dialog.selectFile(suggested + export.suffix)
        self._open(dialog, "exports", chosen)

    def folders(self) -> dict[str, str]:
        """The folders to remember, by purpose."""
        return dict(self._folders)

    def restore_folders(self, folders: object) -> None:
        """Take up remembered folders; anything odd among them is ignored."""
        if isinstance(folders, dict):
            self._folders = {
                str(purpose): folder
                for purpose, folder in folders.items()
                if isinstance(folder, str)
            }

    def _dialog(self, title: str, purpose: str, filters: list[str]) -> QFileDialog:
        dialog = QFileDialog(self._window, title)
        dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        dialog.setFileMode(
            QFileDialog.FileMode.ExistingFile if filters else QFileDialog.FileMode.AnyFile
        )
        dialog.setNameFilters(filters)
        folder = self._folders.get(purpose, "")
        if folder and Path(folder).is_dir():
            dialog.setDirectory(folder)
        return dialog

    def _open(self, dialog: QFileDialog, purpose: str, chosen: Chosen) -> None:
        def take(name: str) -> None:
            path = Path(name)
            self._folders[purpose] = str(path if path.is_dir() else path.parent)
            chosen(path)

        def forget() -> None:
            if self.current is dialog:
                self.current = None

        dialog.fileSelected.connect(take)
        dialog.finished.connect(forget)
        self.current = dialog
        dialog.open()
