"""What reaches the terminal: harmless text, tokens in time, one line of progress."""

from __future__ import annotations

import io

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.random_runs import folded, runs
from support.traces import TraceBuilder

from specviz.cli.terminal import AnswerPrinter, Progress, safe
from specviz.trace.events import RunEvent, StopReason
from specviz.trace.trace import Trace


@given(st.text())
def test_no_control_character_gets_through(text: str) -> None:
    shown = safe(text)
    assert len(shown) == len(text)
    for sign in shown:
        code = ord(sign)
        assert sign in "\n\t" or not (code < 0x20 or 0x7F <= code < 0xA0)
        assert code not in range(0x202A, 0x202F) and code not in range(0x2066, 0x206A)


@pytest.mark.parametrize(
    ("text", "shown"),
    [("a\tb\n", "a\tb\n"), ("\x1b]0;x\x07", "␛]0;x␇"), ("\x9b2J", "\ufffd2J"), ("né 😀", "né 😀")],
)
def test_signs_stand_for_controls(text: str, shown: str) -> None:
    assert safe(text) == shown


@given(runs())
def test_what_was_printed_step_by_step_is_the_text(events: list[RunEvent]) -> None:
    out = io.StringIO()
    printer, trace, shown = AnswerPrinter(out, colour=False), Trace(), 0
    for event in events:
        trace.append(event)
        if trace.n_shown < shown or len(trace.tokens) < shown:
            return  # a run that breaks its promise of what may be shown
        printer.show(trace)
        shown = trace.n_shown
    if trace.finished is not None and trace.finished.last_piece is not None:
        return  # shortens a token that was not held back, which engines do not do
    assert out.getvalue() == safe("".join(token.text for token in trace.tokens[:shown]))


@given(runs(closed=True))
def test_colours_change_nothing_but_colour(events: list[RunEvent]) -> None:
    plain, coloured = io.StringIO(), io.StringIO()
    for out, colour in ((plain, False), (coloured, True)):
        printer = AnswerPrinter(out, colour)
        printer.show(folded(events))
        printer.end()
    text = coloured.getvalue()
    styles = ("\x1b[32;4m", "\x1b[32;3;4m", "\x1b[33;1m", "\x1b[94m")
    for style in (*styles, "\x1b[0m"):
        text = text.replace(style, "")
    assert text == plain.getvalue()
    n_styled = sum(coloured.getvalue().count(style) for style in styles)
    assert coloured.getvalue().count("\x1b[0m") == n_styled


def test_copies_look_like_accepted_tokens_with_a_mark_of_their_own() -> None:
    out = io.StringIO()
    printer = AnswerPrinter(out, colour=True)
    printer.show(TraceBuilder().step(["drafted"], 1).step(["copied"], 1, copied_from=3).trace)
    printer.end()
    assert out.getvalue() == ("\x1b[32;4mdrafted\x1b[0m\x1b[32;3;4mcopied\x1b[0m\n")


def test_held_tokens_wait_for_the_end() -> None:
    out = io.StringIO()
    printer = AnswerPrinter(out, colour=False)
    builder = TraceBuilder().step(target="safe").step(target=" EN", n_held=1)
    printer.show(builder.trace)
    assert out.getvalue() == "safe"
    builder.step(target="D")
    printer.show(builder.finish(StopReason.STOP_TEXT, n_committed=1))
    printer.end()
    assert out.getvalue() == "safe\n"


def test_an_unfinished_character_shows_at_the_end() -> None:
    out = io.StringIO()
    printer = AnswerPrinter(out, colour=False)
    builder = TraceBuilder().step(target=b"a\xf0")
    printer.show(builder.trace)
    assert out.getvalue() == "a"
    printer.show(builder.finish())
    assert out.getvalue() == "a\ufffd"


def test_progress_replaces_itself_and_goes_away() -> None:
    err = io.StringIO()
    progress = Progress(err, on=True)
    progress.show("Loading: 10%")
    progress.show("Loading: 10%")
    progress.show("Done")
    progress.clear()
    progress.clear()
    assert err.getvalue() == "\rLoading: 10%\rDone        \r    \r"


def test_progress_that_is_off_is_silent() -> None:
    err = io.StringIO()
    progress = Progress(err, on=False)
    progress.show("Loading")
    progress.clear()
    assert err.getvalue() == ""


def test_progress_never_wraps(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "20")
    err = io.StringIO()
    progress = Progress(err, on=True)
    progress.show("x" * 100 + "\nsecond line")
    progress.show("y" * 50)
    progress.clear()
    assert err.getvalue() == f"\r{'x' * 19}\r{'y' * 19}\r{' ' * 19}\r"
