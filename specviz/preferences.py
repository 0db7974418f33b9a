"""What is remembered between starts: settings, recent files, window state, safe mode.

One JSON file in the user's configuration folder. A broken or newer file never stops the start: it
is set aside under another name and everything starts from defaults. Knows nothing of Qt.
"""

from __future__ import annotations

import contextlib
import json
import logging
import os
from pathlib import Path
from typing import Any

import platformdirs

log = logging.getLogger(__name__)

HOME_VARIABLE = "SPECVIZ_HOME"
"""Environment variable that moves settings and cache into one folder (portable use, tests)."""

VERSION = 1


def config_folder() -> Path:
    """Where settings are kept."""
    home = os.environ.get(HOME_VARIABLE)
    return Path(home) / "config" if home else Path(platformdirs.user_config_dir("specviz", False))


def cache_folder() -> Path:
    """Where files that can be made again are kept."""
    home = os.environ.get(HOME_VARIABLE)
    return Path(home) / "cache" if home else Path(platformdirs.user_cache_dir("specviz", False))


class Preferences:
    """A dictionary of plain JSON values that is written on every `save`, atomically."""

    def __init__(self, path: Path | None = None) -> None:
        self.path = path or config_folder() / "settings.json"
        self.values: dict[str, Any] = self._read()

    def get(self, key: str, default: Any = None) -> Any:
        return self.values.get(key, default)

    def set(self, key: str, value: Any) -> None:
        """Remember a plain JSON value; written at the next `save`."""
        self.values[key] = value

    def save(self) -> bool:
        """Write the file. False, with a log line, when the folder cannot be written."""
        text = json.dumps({"version": VERSION, **self.values}, ensure_ascii=False, indent=1)
        partial = self.path.with_suffix(f".{os.getpid()}.partial")
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            partial.write_text(text, encoding="utf-8")
            partial.replace(self.path)
        except OSError as error:
            log.warning("settings cannot be saved to %s: %s", self.path, error)
            partial.unlink(missing_ok=True)
            return False
        return True

    def _read(self) -> dict[str, Any]:
        try:
            values = json.loads(self.path.read_text(encoding="utf-8"))
            if not isinstance(values, dict) or values.get("version", VERSION) != VERSION:
                raise ValueError("not a settings file of this version")
        except FileNotFoundError:
            return {}
        except (OSError, ValueError, RecursionError) as error:
            log.warning("settings in %s are set aside: %s", self.path, error)
            self._set_aside()
            return {}
        values.pop("version", None)
        return values

    def _set_aside(self) -> None:
        with contextlib.suppress(OSError):
            self.path.replace(self.path.with_suffix(".broken.json"))
