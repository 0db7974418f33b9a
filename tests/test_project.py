"""Promises that hold for the project as a whole: pins, version, resources, documents, traces of
the machines it was written on."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest
from packaging.requirements import Requirement

import specviz
from specviz import cli
from specviz.errors import ExitCode
from specviz.resources import resource

ROOT = Path(__file__).resolve().parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
DOCUMENTS = ("README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md")
NOT_OURS = {".git", ".venv", "build", "dist", "__pycache__"}


def document(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def project_files() -> Iterator[Path]:
    """Files under version control; in an unpacked source distribution, all of them."""
    listed = subprocess.run(
        ["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    if listed.returncode == 0 and listed.stdout:
        yield from (ROOT / name for name in listed.stdout.split("\0") if name)
        return
    for path in ROOT.rglob("*"):
        if not NOT_OURS & set(path.relative_to(ROOT).parts) and path.is_file():
            yield path


def text_files() -> Iterator[tuple[str, str]]:
    """Name and content of every text file."""
    for path in project_files():
        if path.is_file():
            data = path.read_bytes()
            if b"\0" not in data[:8192]:
                yield path.relative_to(ROOT).as_posix(), data.decode("utf-8", "replace")


# traces of where the project was written -------------------------------------------------------

PRIVATE_PLACES = re.compile(
    r"(?<![\w.~$}-])/(?:work|home|Users|root|tmp)/\w"  # a folder of one machine
    r"|\bC:\\{1,2}Users\\{1,2}\w"
    r"|\bFR-\d\d"  # numbered requirements live elsewhere
)


def test_no_file_names_a_place_on_one_machine() -> None:
    found = [
        f"{name}:{number}: {line.strip()[:100]}"
        for name, text in text_files()
        for number, line in enumerate(text.splitlines(), 1)
        if PRIVATE_PLACES.search(line) and name != "tests/test_project.py"
    ]
    assert found == []


# pins ------------------------------------------------------------------------------------------

_PIN = re.compile(r"^([A-Za-z0-9._-]+)==([^\s;\\]+)", re.MULTILINE)


def pins(name: str) -> dict[str, str]:
    """Package to pinned version in a lock file."""
    text = (ROOT / "packaging" / name).read_text(encoding="utf-8")
    return {re.sub("[-_.]+", "-", name).lower(): version for name, version in _PIN.findall(text)}


@pytest.mark.parametrize(
    ("lock", "requirements"),
    [
        ("requirements.lock", PROJECT["dependencies"]),
        ("requirements.lock", PROJECT["optional-dependencies"]["demo"]),
        ("requirements-dev.lock", PROJECT["dependencies"]),
        ("requirements-dev.lock", PROJECT["optional-dependencies"]["demo"]),
        ("requirements-dev.lock", PROJECT["optional-dependencies"]["dev"]),
    ],
    ids=["program", "demo", "dev: program", "dev: demo", "dev"],
)
def test_the_lock_files_meet_what_the_project_asks_for(lock: str, requirements: list[str]) -> None:
    pinned = pins(lock)
    for text in requirements:
        wanted = Requirement(text)
        name = re.sub("[-_.]+", "-", wanted.name).lower()
        assert name in pinned, f"{wanted.name} is missing from {lock}; run update_locks.py"
        assert wanted.specifier.contains(pinned[name]), f"{text} does not allow {pinned[name]}"


def test_program_and_development_use_the_same_versions() -> None:
    assert pins("requirements.lock").items() <= pins("requirements-dev.lock").items()


def test_nothing_of_the_test_tools_is_needed_to_run() -> None:
    assert not {"pytest", "mypy", "ruff"} & pins("requirements.lock").keys()


# version ---------------------------------------------------------------------------------------


def test_the_version_is_written_down_once() -> None:
    assert PROJECT["dynamic"] == ["version"]
    literal = re.compile(rf"""["']{re.escape(specviz.__version__)}["']""")
    sources = [
        path
        for path in (ROOT / "specviz").rglob("*.py")
        if literal.search(path.read_text(encoding="utf-8"))
    ]
    assert sources == [ROOT / "specviz" / "__init__.py"]


def test_the_changelog_knows_this_version() -> None:
    assert f"## [{specviz.__version__}]" in document("CHANGELOG.md")


# resources -------------------------------------------------------------------------------------


def resource_names() -> Iterator[tuple[str, str]]:
    """File of ours and name, for every `resource("name")` with a literal name."""
    for path in (ROOT / "specviz").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if (
                isinstance(node, ast.Call)
                and isinstance(node.func, ast.Name)
                and node.func.id == "resource"
                and node.args
                and isinstance(node.args[0], ast.Constant)
            ):
                yield path.name, node.args[0].value


def test_every_resource_that_the_code_names_exists() -> None:
    names = list(resource_names())
    assert names, "this test looks for the wrong call"
    for _, name in names:
        assert resource(name).exists()


# documents -------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", DOCUMENTS)
def test_links_between_documents_lead_somewhere(name: str) -> None:
    targets = re.findall(r"\]\((?!https?:|#|mailto:)([^)#\s]+)", document(name))
    assert [target for target in targets if not (ROOT / target).exists()] == []


@pytest.mark.parametrize("name", DOCUMENTS)
def test_files_that_documents_name_exist(name: str) -> None:
    pattern = r"`((?:specviz|packaging|resources|tests|\.ci)/[\w./-]*)`"
    named = set(re.findall(pattern, document(name)))
    assert [path for path in sorted(named) if not (ROOT / path).exists()] == []


def test_the_readme_lists_every_exit_code() -> None:
    rows = re.findall(r"^\| `?(\d+)`? \|", document("README.md"), re.MULTILINE)
    assert [int(row) for row in rows] == [int(code) for code in ExitCode]


def test_the_readme_lists_every_command() -> None:
    rows = re.findall(r"^\| `specviz (\w+)", document("README.md"), re.MULTILINE)
    assert sorted(rows) == sorted(cli.COMMANDS)


def test_every_object_name_is_in_the_architecture_document() -> None:
    used = set()
    for path in (ROOT / "specviz" / "ui").rglob("*.py"):
        source = path.read_text(encoding="utf-8")
        used |= set(re.findall(r'setObjectName\(\s*"([\w-]+)"', source))
    assert used, "this test looks for the wrong call"
    listed = set(re.findall(r"`([a-z0-9-]+)`", document("ARCHITECTURE.md")))
    assert sorted(used - listed) == []


def test_the_two_commands_of_the_readme_exist() -> None:
    commands = re.findall(r"^python3 (packaging/\w+\.py) (\w+)", document("README.md"), re.M)
    assert ("packaging/bootstrap.py", "run") in commands
    assert ("packaging/bootstrap.py", "test") in commands
    usage = subprocess.run(
        [sys.executable, "packaging/bootstrap.py", "--help"],
        cwd=ROOT, capture_output=True, text=True, check=True,
    ).stdout  # fmt: skip
    for path, verb in commands:
        assert f"python3 {path} {verb}" in usage


def test_the_licence_is_there() -> None:
    assert PROJECT["license"] == "MIT"
    assert "Permission is hereby granted, free of charge" in document("LICENSE")
