"""What the wheel and the source distribution carry."""

from __future__ import annotations

import subprocess
import sys
import tarfile
import zipfile
from email.parser import Parser
from pathlib import Path

import pytest

import specviz

ROOT = Path(__file__).resolve().parents[2]
KEPT_OUT = ("__pycache__", ".venv", "build/", ".git/", "tests/")


def build(target: str, folder: Path) -> Path:
    """Build a wheel or an sdist of this checkout, without isolation and thus without network."""
    done = subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", target, "-d", str(folder)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return next(folder.iterdir())


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> zipfile.ZipFile:
    path = build("wheel", tmp_path_factory.mktemp("wheel"))
    assert path.name == f"specviz_llm-{specviz.__version__}-py3-none-any.whl"
    with zipfile.ZipFile(path) as opened:
        yield opened


def files_below(folder: str) -> set[str]:
    """Files under version control's eye: everything there but caches, with forward slashes."""
    return {
        path.relative_to(ROOT / folder).as_posix()
        for path in (ROOT / folder).rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }


def test_the_wheel_has_every_module(wheel: zipfile.ZipFile) -> None:
    assert {f"specviz/{name}" for name in files_below("specviz")} <= set(wheel.namelist())


def test_the_wheel_has_every_resource(wheel: zipfile.ZipFile) -> None:
    resources = {f"specviz/_resources/{name}" for name in files_below("resources")}
    assert "specviz/_resources/models/smollm2-135m-drafter-q8_0.gguf" in resources
    assert resources <= set(wheel.namelist())


def test_the_wheel_has_nothing_else(wheel: zipfile.ZipFile) -> None:
    strangers = [
        name
        for name in wheel.namelist()
        if not name.startswith(("specviz/", "specviz_llm-")) or any(k in name for k in KEPT_OUT)
    ]
    assert strangers == []


def test_the_wheel_names_command_extras_and_licence(wheel: zipfile.ZipFile) -> None:
    info = f"specviz_llm-{specviz.__version__}.dist-info"
    entry_points = wheel.read(f"{info}/entry_points.txt").decode()
    assert "specviz = specviz.__main__:main" in entry_points
    metadata = Parser().parsestr(wheel.read(f"{info}/METADATA").decode())
    assert metadata["Name"] == "specviz-llm"
    assert metadata["License-Expression"] == "MIT"
    assert metadata.get_all("Provides-Extra") == ["demo", "dev"]
    assert f"{info}/licenses/LICENSE" in wheel.namelist()


def test_the_source_distribution_can_be_built_and_tested(tmp_path: Path) -> None:
    with tarfile.open(build("sdist", tmp_path)) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    for needed in (
        "pyproject.toml", "README.md", "LICENSE", "CHANGELOG.md", "specviz/__init__.py",
        "tests/conftest.py", "packaging/bootstrap.py", "packaging/requirements.lock",
        "resources/models/smollm2-135m-drafter-q8_0.gguf",
    ):  # fmt: skip
        assert needed in names
