"""Several numbers as a person types them: `1, 2, 4`, or `1:8` for all from 1 to 8.

Knows no widget.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

MOST_VALUES = 64
"""More than anybody waits for; a slip of the finger such as 1:1000 is told at once."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ListFormat:
    """What the values of a setting may be. `decimals` 0 means whole numbers.

    `example` shows how several are written.
    """

    label: str
    minimum: float
    maximum: float
    decimals: int = 0
    example: str = "1, 2, 4 or 1:8"

    def parse(self, text: str) -> tuple[float, ...]:
        """The values in rising order, each once; none for an empty text.

        `a:b` takes all whole numbers from a to b, `a:b:c` every c-th. Between the values stand
        commas, semicolons or spaces. Raises ValueError with a sentence.
        """
        values: set[float] = set()
        for part in text.replace(",", " ").replace(";", " ").split():
            values.update(self._values(part))
            if len(values) > MOST_VALUES:
                raise ValueError(f"{self.label} takes at most {MOST_VALUES} values at once.")
        return tuple(sorted(values))

    def _values(self, part: str) -> Iterator[float]:
        numbers = [self._number(each) for each in part.split(":")]
        match numbers:
            case [value]:
                yield value
            case [first, last] if not self.decimals:
                yield from self._range(first, last, 1)
            case [first, last, step]:
                yield from self._range(first, last, step)
            case _:
                raise ValueError(self._wanted())

    def _range(self, first: float, last: float, step: float) -> Iterator[float]:
        if step <= 0:
            raise ValueError(f"{self.label}: a range such as 1:8:2 needs a step above 0.")
        if first > last:
            raise ValueError(f"{self.label}: a range begins with its smaller value.")
        # sums of decimal steps end a hair above or below the last value
        n = math.floor((last - first) / step + 1e-9) + 1
        if n > MOST_VALUES:
            raise ValueError(f"{self.label} takes at most {MOST_VALUES} values at once.")
        for index in range(n):
            yield self._exact(first + index * step)

    def _number(self, typed: str) -> float:
        try:
            number = float(typed)
        except ValueError:
            raise ValueError(self._wanted()) from None
        if not math.isfinite(number) or not self.minimum <= number <= self.maximum:
            raise ValueError(self._wanted())
        if not self.decimals and number != int(number):
            raise ValueError(self._wanted())
        return self._exact(number)

    def _exact(self, number: float) -> float:
        return round(number, 6) if self.decimals else int(number)

    def _wanted(self) -> str:
        kind = "numbers" if self.decimals else "whole numbers"
        return (
            f"{self.label} takes {kind} from {self.minimum:g} to {self.maximum:g}, "
            f"such as {self.example}."
        )
