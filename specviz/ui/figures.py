"""Numbers as the window writes them: thin spaces, units, rounding, an en dash for the undefined.

Exports do not use this; they write plain numbers. Knows nothing of Qt.
"""

from __future__ import annotations

import math

THIN = "\u202f"
"""A thin space that no line breaks at."""

DASH = "–"

_BYTE_UNITS = ("B", "kB", "MB", "GB", "TB", "PB")


def _undefined(value: float | None) -> bool:
    return value is None or not math.isfinite(value)


def count(n: int | None) -> str:
    """A whole number with its thousands grouped: `1 024`."""
    return DASH if n is None else f"{n:,}".replace(",", THIN)


def counted(n: int, singular: str, plural: str = "") -> str:
    """A number with its noun: `1 token`, `1 024 tokens`."""
    return f"{count(n)} {singular if n == 1 else plural or singular + 's'}"


def decimal(value: float | None, digits: int = 1) -> str:
    """A number with a fixed number of decimals, thousands grouped."""
    if value is None or not math.isfinite(value):
        return DASH
    return f"{value:,.{digits}f}".replace(",", THIN)


def rate(value: float | None) -> str:
    """Tokens per second without the unit, three significant digits: `0.84`, `24.1`, `312`."""
    if value is None or not math.isfinite(value):
        return DASH
    if value >= 99.95:
        return decimal(value, 0)
    return decimal(value, 1 if value >= 9.995 else 2)


def speed(value: float | None) -> str:
    """Tokens per second with the unit: `24.1 tok/s`."""
    return f"{rate(value)}{THIN}tok/s"


def speedup(value: float | None) -> str:
    """A ratio of two speeds: `1.71×`."""
    return DASH if _undefined(value) else f"{decimal(value, 2)}×"


def percent(share: float | None) -> str:
    """A share between 0 and 1: `68 %`. Only the whole is 100 % and only nothing is 0 %."""
    if share is None or not math.isfinite(share):
        return DASH
    number = round(share * 100)
    if number == 0 and share > 0:
        return f"<{THIN}1{THIN}%"
    if number == 100 and share < 1:
        return f">{THIN}99{THIN}%"
    return f"{number}{THIN}%"


def probability(value: float | None) -> str:
    """A probability between 0 and 1: `0.71`."""
    return decimal(value, 2)


def seconds(value: float | None) -> str:
    """A time as read from a clock: `0.41 s`, `12.3 s`, `2 min 05 s`."""
    if value is None or not math.isfinite(value):
        return DASH
    if value < 9.995:
        return f"{value:.2f}{THIN}s"
    if value < 59.95:
        return f"{value:.1f}{THIN}s"
    whole = round(value)
    if whole < 3600:
        return f"{whole // 60}{THIN}min {whole % 60:02d}{THIN}s"
    return f"{count(whole // 3600)}{THIN}h {whole % 3600 // 60:02d}{THIN}min"


def short_time(value: float | None) -> str:
    """The time of one step: `0.8 ms`, `133 ms`, then as `seconds`."""
    if value is None or not math.isfinite(value):
        return DASH
    if value >= 0.9995:
        return seconds(value)
    return f"{decimal(value * 1000, 1 if 0 < value < 0.00995 else 0)}{THIN}ms"


def file_size(n_bytes: int | None) -> str:
    """A size in decimal units: `639 MB`, `9.0 GB`."""
    if n_bytes is None:
        return DASH
    value, unit = float(n_bytes), 0
    while value >= 999.5 and unit < len(_BYTE_UNITS) - 1:
        value /= 1000
        unit += 1
    digits = 1 if unit >= 2 and value < 99.95 else 0
    return f"{decimal(value, digits)}{THIN}{_BYTE_UNITS[unit]}"


def parameters(n: int | None) -> str:
    """A number of model parameters: `135 M`, `14.8 B`."""
    if n is None or n <= 0:
        return DASH
    for divisor, unit in ((1e12, "T"), (1e9, "B"), (1e6, "M"), (1e3, "k")):
        if n >= divisor * 0.9995:
            value = n / divisor
            return f"{decimal(value, 1 if value < 99.95 and unit != 'M' else 0)}{THIN}{unit}"
    return count(n)


def shares_in_percent(parts: list[float]) -> list[int]:
    """Whole percentages of the parts that add up to 100 (largest remainders); zeros of nothing."""
    total = sum(parts)
    if total <= 0:
        return [0] * len(parts)
    exact = [part / total * 100 for part in parts]
    whole = [math.floor(value) for value in exact]
    by_remainder = sorted(range(len(parts)), key=lambda i: whole[i] - exact[i])
    for i in by_remainder[: 100 - sum(whole)]:
        whole[i] += 1
    return whole
