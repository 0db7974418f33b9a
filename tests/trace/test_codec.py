"""Dataclasses to JSON and back."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.random_runs import runs
from support.traces import TraceBuilder

from specviz.errors import TraceError
from specviz.trace import codec
from specviz.trace.config import (
    KV_TYPES,
    DraftSource,
    LoadConfig,
    Message,
    ModelSpec,
    RunConfig,
    RunMode,
    SamplingConfig,
    SpeculationConfig,
    Switch,
)
from specviz.trace.events import (
    DraftToken,
    ModelInfo,
    RunEvent,
    RunFinished,
    RunStarted,
    StopReason,
    TargetToken,
    TokenSource,
)
from specviz.trace.storage import EVENT_KINDS

FLOATS = st.floats(allow_nan=False, allow_infinity=False)
INTS = st.integers(-codec.MAX_INT, codec.MAX_INT)
ANY_TEXT = st.text(st.characters(exclude_categories=()))  # with lone surrogates

MODELS = st.builds(
    ModelSpec,
    path=ANY_TEXT,
    n_gpu_layers=INTS,
    n_threads=st.none() | INTS,
    type_k=st.sampled_from(KV_TYPES),
    type_v=st.sampled_from(KV_TYPES),
)
CONFIGS = st.builds(
    RunConfig,
    mode=st.sampled_from(RunMode),
    load=st.builds(
        LoadConfig,
        target=MODELS,
        draft=st.none() | MODELS,
        n_ctx=INTS,
        flash_attention=st.sampled_from(Switch),
        repack=st.booleans(),
    ),
    messages=st.lists(st.builds(Message, role=ANY_TEXT, text=ANY_TEXT), max_size=3).map(tuple),
    raw=st.booleans(),
    max_tokens=INTS,
    stop=st.lists(ANY_TEXT, max_size=2).map(tuple),
    sampling=st.builds(SamplingConfig, temperature=FLOATS, seed=st.none() | INTS),
    speculation=st.builds(
        SpeculationConfig,
        sources=st.lists(st.sampled_from(DraftSource), max_size=3).map(tuple),
        p_min=FLOATS,
    ),
)


def through_json(value: object) -> object:
    """To bytes, as they lie in a file, and back."""
    text = codec.dumps(codec.to_json(value))
    return codec.from_json(type(value), codec.loads(text.encode("utf-8")))


@given(CONFIGS)
def test_any_configuration_survives(config: RunConfig) -> None:
    assert through_json(config) == config


@given(runs())
def test_any_event_survives_with_its_kind(events: list[RunEvent]) -> None:
    for event in events:
        line = codec.dumps(codec.tagged(event)).encode("utf-8")
        assert codec.untag(codec.loads(line), EVENT_KINDS) == event


@given(st.binary())
def test_any_bytes_survive(piece: bytes) -> None:
    token = DraftToken(token_id=1, piece=piece)
    assert through_json(token) == token


def test_readable_pieces_are_written_as_text_and_others_as_hex() -> None:
    readable = codec.to_json(DraftToken(token_id=1, piece="é".encode()))
    broken = codec.to_json(DraftToken(token_id=1, piece=b"\xf0\x9f"))
    assert readable["piece"] == "é"
    assert broken["piece"] == {"hex": "f09f"}


def test_a_path_that_is_not_utf8_can_be_written() -> None:
    path = b"/models/\xff.gguf".decode("utf-8", "surrogateescape")
    assert through_json(ModelSpec(path=path)) == ModelSpec(path=path)


def test_unknown_fields_are_skipped_and_missing_ones_have_their_defaults() -> None:
    value = {"token_id": 3, "piece": "x", "mood": "sunny"}
    assert codec.from_json(DraftToken, value) == DraftToken(token_id=3, piece=b"x")


def test_an_unknown_kind_of_event_is_none() -> None:
    assert codec.untag({"event": "Applause", "t": 1}, EVENT_KINDS) is None


@pytest.mark.parametrize("value", [None, [], "RunFinished", {}, {"event": 7}, {"event": None}])
def test_what_is_no_event_is_refused(value: object) -> None:
    with pytest.raises(TraceError):
        codec.untag(value, EVENT_KINDS)


HOSTILE = [
    ("t", float("nan")), ("t", float("inf")), ("t", True), ("t", "1"), ("t", None), ("t", 10**400),
    ("n_committed", 1.0), ("n_committed", True), ("n_committed", 2**63), ("n_committed", None),
    ("reason", "bored"), ("reason", 3), ("reason", []), ("run_id", 5), ("run_id", None),
    ("last_piece", {"hex": "xy"}), ("last_piece", {"hex": 5}), ("last_piece", 5),
    ("last_piece", ["61"]),
]  # fmt: skip


@pytest.mark.parametrize(("name", "value"), HOSTILE)
def test_a_value_of_the_wrong_type_is_refused_by_name(name: str, value: object) -> None:
    good = codec.to_json(
        RunFinished(run_id="a", t=1.0, reason=StopReason.MAX_TOKENS, n_committed=0)
    )
    with pytest.raises(TraceError, match=name):
        codec.from_json(RunFinished, {**good, name: value})


@pytest.mark.parametrize("value", [float("inf"), 2**70, [1], {"a": 1}])
def test_a_setting_in_effect_must_be_a_plain_value(value: object) -> None:
    good = codec.to_json(TraceBuilder().trace.started)
    with pytest.raises(TraceError, match="effective"):
        codec.from_json(RunStarted, {**good, "effective": {"n_ctx": value}})


@pytest.mark.parametrize(
    ("kind", "value", "place"),
    [
        (ModelInfo, {"path": "x"}, "lacks the field name"),
        (TargetToken, {"token_id": 1, "piece": "a", "source": "stolen"}, "source"),
        (LoadConfig, {"target": []}, "target"),
        (RunConfig, {"mode": "baseline", "load": {"target": {"path": "x"}}, "messages": {}},
         "messages"),
    ],
)  # fmt: skip
def test_the_place_of_the_fault_is_named(kind: type, value: object, place: str) -> None:
    with pytest.raises(TraceError, match=place):
        codec.from_json(kind, value)


@pytest.mark.parametrize(
    "text",
    ["NaN", "[Infinity]", "{", "", "nul", "'a'", b"\xff\xfe\xfa", "[" * 100_000, "1" * 5000],
)
def test_what_is_not_strict_json_is_refused_in_a_sentence(text: str | bytes) -> None:
    with pytest.raises(TraceError, match="not JSON"):
        codec.loads(text)


def test_nan_is_never_written() -> None:
    with pytest.raises(ValueError, match="JSON"):
        codec.dumps({"t": float("nan")})


def test_enums_are_written_by_their_values() -> None:
    token = TargetToken(token_id=1, piece=b"a", source=TokenSource.BONUS)
    assert json.loads(codec.dumps(codec.to_json(token)))["source"] == "bonus"
