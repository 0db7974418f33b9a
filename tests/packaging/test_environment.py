"""When an environment is used as it is, added to, or made again."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from checkout import environment
from checkout.environment import Checkout, Record, Step, next_step, prepare, python_of, read_record

ROOT = Path(__file__).resolve().parents[2]

WANTED = Record(
    state="complete", contents="program", lock="l1", project="p1", engine="e1", cmake_args=""
)


@pytest.mark.parametrize(
    ("old", "usable", "step"),
    [
        (WANTED, True, Step.NOTHING),
        (None, False, Step.REMAKE),
        (WANTED, False, Step.REMAKE),
        (None, True, Step.INSTALL),
        (replace(WANTED, state="incomplete"), True, Step.REMAKE),
        (replace(WANTED, lock="l0"), True, Step.REMAKE),
        (replace(WANTED, project="p0"), True, Step.INSTALL),
        (replace(WANTED, engine="e0"), True, Step.INSTALL),
    ],
    ids=[
        "as wanted", "nothing there", "interpreter gone", "made by hand",
        "half-made", "other pins", "other project settings", "other engine build",
    ],
)  # fmt: skip
def test_next_step(old: Record | None, usable: bool, step: Step) -> None:
    assert next_step(old, WANTED, usable=usable) is step


def test_program_alone_is_not_enough_for_development() -> None:
    wanted = replace(WANTED, contents="development")
    assert next_step(WANTED, wanted, usable=True) is Step.INSTALL


@pytest.fixture
def checkout(tmp_path: Path) -> Checkout:
    """A checkout with the real lock files and nothing set up."""
    for name in ("packaging/requirements.lock", "packaging/requirements-dev.lock",
                 "pyproject.toml", "specviz/__init__.py"):  # fmt: skip
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes((ROOT / name).read_bytes())
    return Checkout(tmp_path)


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Stands in for making and filling an environment; records the calls."""
    recorded: list[str] = []

    def make(folder: Path) -> None:
        recorded.append("make")
        python_of(folder).parent.mkdir(parents=True, exist_ok=True)
        python_of(folder).touch()

    monkeypatch.setattr(environment, "_make", make)
    monkeypatch.setattr(environment, "_install", lambda *_: recorded.append("install"))
    return recorded


def test_the_second_call_does_nothing(checkout: Checkout, calls: list[str]) -> None:
    assert prepare(checkout, "program") == python_of(checkout.environment)
    assert calls == ["make", "install"]
    prepare(checkout, "program")
    assert calls == ["make", "install"]


@pytest.mark.parametrize("moment", ["_make", "_install"])
def test_a_set_up_that_was_interrupted_is_done_again(
    checkout: Checkout, calls: list[str], monkeypatch: pytest.MonkeyPatch, moment: str
) -> None:
    # given a set-up that Ctrl+C ended in the middle, with an interpreter in place
    with monkeypatch.context() as patch:

        def interrupted(*_: object) -> None:
            python_of(checkout.environment).parent.mkdir(exist_ok=True)
            python_of(checkout.environment).touch()
            raise KeyboardInterrupt

        patch.setattr(environment, moment, interrupted)
        with pytest.raises(KeyboardInterrupt):
            prepare(checkout, "program")
    record = read_record(checkout.environment)
    assert record is not None and record.state == "incomplete"
    # when it is started again
    calls.clear()
    prepare(checkout, "program")
    # then everything is made anew
    assert calls == ["make", "install"]


def test_changed_pins_make_a_new_environment(checkout: Checkout, calls: list[str]) -> None:
    prepare(checkout, "program")
    with open(checkout.lock_file("program"), "a", encoding="utf-8") as file:
        file.write("# changed\n")
    prepare(checkout, "program")
    assert calls == ["make", "install"] * 2


def test_settings_of_a_gpu_build_stay_until_others_are_given(
    checkout: Checkout, calls: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CMAKE_ARGS", "-DGGML_CUDA=on")
    prepare(checkout, "program")
    monkeypatch.delenv("CMAKE_ARGS")
    prepare(checkout, "program")
    assert calls == ["make", "install"]
    monkeypatch.setenv("CMAKE_ARGS", "-DGGML_VULKAN=on")
    prepare(checkout, "program")
    assert calls == ["make", "install", "install"]


def test_tools_for_development_stay(checkout: Checkout, calls: list[str]) -> None:
    prepare(checkout, "program")
    prepare(checkout, "development")
    assert calls == ["make", "install", "install"]
    prepare(checkout, "program")
    assert len(calls) == 3
    # when the project's settings change, they are kept as well
    with open(checkout.root / "pyproject.toml", "a", encoding="utf-8") as file:
        file.write("# changed\n")
    prepare(checkout, "program")
    record = read_record(checkout.environment)
    assert record is not None and record.contents == "development"


def test_a_record_that_cannot_be_read_counts_as_none(tmp_path: Path) -> None:
    assert read_record(tmp_path) is None
    (tmp_path / environment.RECORD).write_text('{"state": "complete"}', encoding="utf-8")
    assert read_record(tmp_path) is None
