"""Numbers as they are typed and shown."""

from __future__ import annotations

import pytest

from specviz.ui import setting_catalogue as catalogue
from specviz.ui.figures import THIN


@pytest.mark.parametrize(
    ("number", "typed", "value"),
    [
        (catalogue.N_MAX, "8", 8),
        (catalogue.N_CTX, f"8{THIN}192", 8192),
        (catalogue.N_CTX, "8 192", 8192),
        (catalogue.N_CTX, "8k", 8192),
        (catalogue.N_CTX, "As trained", 0),
        (catalogue.TEMPERATURE, "0,7", 0.7),
        (catalogue.P_MIN, "p 0.5", 0.5),
        (catalogue.P_MIN, "0.5", 0.5),
        (catalogue.SEED, "random", None),
        (catalogue.SEED, "0", 0),
        (catalogue.MAX_TOKENS, "no limit", -1),
        (catalogue.MAX_TOKENS, "-1", -1),
        (catalogue.layers(28), "all", -1),
        (catalogue.TOP_P, "off", 1),
    ],
)
def test_typed_values_are_understood(number, typed, value):
    assert number.parse(typed) == value


@pytest.mark.parametrize(
    ("number", "typed"),
    [
        (catalogue.N_MAX, "0"),
        (catalogue.N_MAX, "4.5"),
        (catalogue.N_MAX, ""),
        (catalogue.N_MAX, "four"),
        (catalogue.TEMPERATURE, "nan"),
        (catalogue.TEMPERATURE, "inf"),
        (catalogue.TEMPERATURE, "-1"),
        (catalogue.P_MIN, "1.5"),
        (catalogue.SEED, "4294967295"),
        (catalogue.MAX_TOKENS, "0"),
        (catalogue.layers(28), "30"),
    ],
)
def test_impossible_values_are_refused_in_a_sentence(number, typed):
    with pytest.raises(ValueError, match=rf"^{number.label} takes a .*\.$"):
        number.parse(typed)


@pytest.mark.parametrize(
    ("number", "value", "shown"),
    [
        (catalogue.P_MIN, 0.0, "p 0.00"),
        (catalogue.P_MIN, 0.125, "p 0.125"),
        (catalogue.TEMPERATURE, 0, "0.0"),
        (catalogue.TEMPERATURE, 0.75, "0.75"),
        (catalogue.N_CTX, 8192, f"8{THIN}192"),
        (catalogue.SEED, None, "random"),
        (catalogue.layers(None), -1, "all"),
        (catalogue.TOP_K, 0, "off"),
    ],
)
def test_values_are_shown_as_in_the_window(number, value, shown):
    assert number.shown(value) == shown
    assert number.parse(number.typed(value)) == value


@pytest.mark.parametrize(
    ("number", "value", "steps", "stepped"),
    [
        (catalogue.N_MAX, 4, 1, 5),
        (catalogue.N_MAX, 1, -1, 1),
        (catalogue.TEMPERATURE, 0.2, 1, 0.3),
        (catalogue.P_MIN, 0.95, 3, 1.0),
        (catalogue.N_CTX, 4096, 1, 8192),
        (catalogue.N_CTX, 5000, -1, 4096),
        (catalogue.N_CTX, 256, -1, 0),
        (catalogue.N_CTX, 0, 1, 256),
        (catalogue.SEED, 0, -1, None),
        (catalogue.SEED, None, 1, 0),
        (catalogue.MAX_TOKENS, 131072, 1, -1),
        (catalogue.MAX_TOKENS, -1, 1, -1),
        (catalogue.layers(28), 29, 1, -1),
        (catalogue.layers(28), -1, -1, 29),
        (catalogue.TOP_K, 5, -1, 0),
        (catalogue.TOP_P, 1, -1, 0.95),
        (catalogue.N_THREADS, None, 2, 2),
    ],
)
def test_steps_stay_within_the_limits_and_visit_special_values(number, value, steps, stepped):
    assert number.stepped(value, steps) == stepped
