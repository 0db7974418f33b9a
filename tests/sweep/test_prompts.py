"""The built-in prompts, and files of prompts."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from specviz.errors import FileError
from specviz.sweep import prompts
from specviz.sweep.prompts import LONGEST_NAME, builtin_prompts, prompt_of, read_prompts


def written(path: Path, text: str | bytes) -> Path:
    file = path / "prompts.txt"
    file.write_bytes(text if isinstance(text, bytes) else text.encode())
    return file


def test_the_built_in_set_has_one_prompt_of_each_kind() -> None:
    found = builtin_prompts()
    assert [prompt.name for prompt in found] == [
        "Code refactoring", "Quote three times", "Structured output", "Explanation", "Story",
        "Reasoning",
    ]  # fmt: skip
    for prompt in found:
        assert prompt.text.strip() == prompt.text
        assert 50 < len(prompt.text) < 1500
        assert prompt.shows.endswith(".")
    assert "```python" in found[0].text


def test_a_prompt_a_line(tmp_path: Path) -> None:
    file = written(tmp_path, "\ufeffTell a story.\r\n\n   \nCount to ten.\u2028Slowly.\n")
    found = read_prompts(file)
    assert [prompt.text for prompt in found] == ["Tell a story.", "Count to ten.\u2028Slowly."]
    assert [prompt.name for prompt in found] == ["Tell a story.", "Count to ten. Slowly."]


def test_json_lines_have_names_and_line_feeds(tmp_path: Path) -> None:
    lines = [{"name": "Two lines", "prompt": "a\nb"}, {"prompt": "c"}]
    file = written(tmp_path, "\n".join(map(json.dumps, lines)))
    assert [(prompt.name, prompt.text) for prompt in read_prompts(file)] == [
        ("Two lines", "a\nb"), ("c", "c"),
    ]  # fmt: skip


def test_names_are_told_apart(tmp_path: Path) -> None:
    found = read_prompts(written(tmp_path, "Hi\nHi\nHi (2)\n"))
    assert [prompt.name for prompt in found] == ["Hi", "Hi (2)", "Hi (2) (2)"]


@given(st.text(min_size=1), st.text())
def test_a_name_is_short_and_never_empty(text: str, name: str) -> None:
    prompt = prompt_of(text, name)
    assert 0 < len(prompt.name) <= LONGEST_NAME
    assert "\n" not in prompt.name
    assert prompt.text == text


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("", "There is no prompt in prompts.txt"), ("\n \n", "There is no prompt"),
        (b"\xff\xfe\x00", "is not UTF-8"), ("x\n" * 201, "has 201 prompts"),
        ('{"prompt": 1}', "no prompt in line 1 of"), ('{"prompt": " "}', "no prompt in line 1"),
        ('{"prompt": "a"}\n\n{broken', "no JSON object in line 3"),
        ('{"prompt": "a", "name": 5}', "no prompt in line 1"),
        ('{"prompt": "a"}\n[1]', "no prompt in line 2"), ('{"name": "a"}', "no prompt in line 1"),
    ],
)  # fmt: skip
def test_what_is_no_set_of_prompts_is_refused(
    tmp_path: Path, content: str | bytes, words: str
) -> None:
    with pytest.raises(FileError, match=words):
        read_prompts(written(tmp_path, content))


def test_sizes_are_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(prompts, "LARGEST_FILE", 2 * 1024 * 1024)
    with pytest.raises(FileError, match="larger than 2 MiB"):
        read_prompts(written(tmp_path, "x" * (2 * 1024 * 1024 + 1)))
    with pytest.raises(FileError, match="cannot be read"):
        read_prompts(tmp_path / "missing.txt")
    with pytest.raises(FileError, match="cannot be read"):
        read_prompts(tmp_path)
