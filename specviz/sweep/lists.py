"""Lists of numbers as people type them: `1,2,4`, `1:8`, `1:9:2`, and these mixed."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal, InvalidOperation

LONGEST_LIST = 1000


def whole_numbers(text: str) -> tuple[int, ...]:
    """The whole numbers of a list, each once, in the order given.

    Raises ValueError with a sentence.
    """
    values = _values(text)
    for value in values:
        if value != value.to_integral_value():
            raise ValueError(f"{value} is not a whole number.")
    return tuple(int(value) for value in values)


def numbers(text: str) -> tuple[float, ...]:
    """The numbers of a list, with a point as decimal mark, each once, in the order given.

    Raises ValueError with a sentence.
    """
    return tuple(float(value) for value in _values(text))


def _values(text: str) -> list[Decimal]:
    values: dict[Decimal, None] = {}
    for part in text.split(","):
        for value in _part(part.strip(), text):
            values[value] = None
            if len(values) > LONGEST_LIST:
                raise ValueError(f"The list has more than {LONGEST_LIST} values.")
    return list(values)


def _part(part: str, text: str) -> Iterator[Decimal]:
    first, *more = part.split(":")
    if not part:
        raise ValueError(
            "A value is missing between two commas." if text.strip() else "The list is empty."
        )
    if not more:
        yield _number(first)
        return
    if len(more) > 2:
        raise ValueError(f"{part} is no range; it should be like 1:8 or 1:9:2.")
    low, high = _number(first), _number(more[0])
    step = _number(more[1]) if len(more) == 2 else Decimal(1)
    if step <= 0:
        raise ValueError(f"The step of {part} is not above 0.")
    if high < low:
        raise ValueError(f"{part} runs backwards; write {high}:{low}.")
    n_steps = int((high - low) / step)
    if n_steps >= LONGEST_LIST:
        raise ValueError(f"The range {part} has more than {LONGEST_LIST} values.")
    for i in range(n_steps + 1):
        yield low + i * step


def _number(text: str) -> Decimal:
    text = text.strip()
    try:
        value = Decimal(text)
    except InvalidOperation:
        raise ValueError(f"{text or 'Nothing'} is not a number.") from None
    if not value.is_finite() or abs(value) >= 2**31 or (value and abs(value) < Decimal("1e-9")):
        raise ValueError(f"{text} is not a number that a setting can take.")
    return value
