"""Set before anything of ours, Qt or the engine is imported: no display, no native stack dumps,
and a home of our own so that no test touches the user's preferences or cache."""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path

os.environ["QT_QPA_PLATFORM"] = "offscreen"
os.environ["GGML_NO_BACKTRACE"] = "1"
_HOME = tempfile.TemporaryDirectory(prefix="specviz-tests-")
os.environ["SPECVIZ_HOME"] = _HOME.name

sys.path.insert(0, str(Path(__file__).parent))


def pytest_unconfigure() -> None:
    """Remove the home again."""
    _HOME.cleanup()
