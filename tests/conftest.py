"""Set before anything of ours, Qt or the engine is imported: no display, no native stack dumps,
and a home of our own so that no test touches the user's preferences or cache."""

from __future__ import annotations

import gc
import os
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

os.environ["QT_QPA_PLATFORM"] = "offscreen"
os.environ["GGML_NO_BACKTRACE"] = "1"
_HOME = tempfile.TemporaryDirectory(prefix="specviz-tests-")
os.environ["SPECVIZ_HOME"] = _HOME.name

sys.path.insert(0, str(Path(__file__).parent))

# a fresh checkout on a busy machine draws its first examples slowly: that says nothing of us
settings.register_profile("specviz", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("specviz")


def pytest_unconfigure() -> None:
    """Remove the home again."""
    _HOME.cleanup()


@pytest.fixture(autouse=True)
def _qt_objects_end_here(request: pytest.FixtureRequest) -> Iterator[None]:
    """Collect the widgets of a test in the main thread, before another thread happens to.

    Python's collector runs in whichever thread allocates next; Qt does not survive being
    destroyed in another one than its own.
    """
    if not {"qtbot", "qapp"} & set(request.fixturenames):
        yield
        return
    if not gc.get_freeze_count():
        gc.freeze()  # what was there before the first of these tests need not be searched again
    gc.disable()
    try:
        yield
    finally:
        gc.collect()
        gc.enable()
