"""Numbers as a person types and reads them in a setting: limits, steps, words for special values.

Knows no widget.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

from specviz.ui.figures import THIN

Value = int | float | None

_SPACES = str.maketrans("", "", " \u00a0\u2009\u202f_'")


@dataclass(frozen=True, slots=True, kw_only=True)
class NumberFormat:
    """What a setting may be.

    `decimals` 0 means whole numbers. `words` maps special values to the words shown for them;
    `top_word` is a special value that stands above the maximum, all others stand below the
    minimum. `ladder`: the values that stepping visits, instead of every `step`.
    """

    label: str
    minimum: float
    maximum: float
    step: float = 1
    decimals: int = 0
    prefix: str = ""
    words: Mapping[Value, str] = field(default_factory=dict)
    top_word: Value = math.nan
    ladder: tuple[int, ...] = ()

    def parse(self, text: str) -> Value:
        """The value that was typed. Raises ValueError with a sentence."""
        typed = text.strip().lower()
        for value, word in self.words.items():
            if typed == word:
                return value
        number = self._number(typed.removeprefix(self.prefix.strip()))
        if number in self.words:
            return number
        if not self.minimum <= number <= self.maximum:
            raise ValueError(f"{self.label} takes {self._range()}.")
        return number if self.decimals else int(number)

    def shown(self, value: Value) -> str:
        """The value as the row shows it."""
        if value in self.words:
            return self.words[value]
        assert value is not None
        if not self.decimals:
            return f"{self.prefix}{int(value):,}".replace(",", THIN)
        return f"{self.prefix}{value:.{self._digits(value)}f}"

    def typed(self, value: Value) -> str:
        """The value as it stands in the field while it is edited."""
        return self.shown(value).removeprefix(self.prefix).replace(THIN, "")

    def stepped(self, value: Value, steps: int) -> Value:
        """The value some steps up or down, within the limits, over the special values."""
        for _ in range(abs(steps)):
            value = self._one_step(value, 1 if steps > 0 else -1)
        return value

    def _one_step(self, value: Value, direction: int) -> Value:
        below = [each for each in self.words if each != self.top_word]
        if value == self.top_word and direction > 0:
            return value
        if value == self.top_word != self.maximum:
            return self._whole(self.maximum)
        if value in below:
            index = below.index(value) + direction
            if index < 0:
                return value
            return below[index] if index < len(below) else self._whole(self._lowest())
        assert value is not None
        following = self._next(value, direction)
        if following < self._lowest():
            return below[-1] if below else self._whole(self._lowest())
        if following > self.maximum:
            return self.top_word if self.top_word in self.words else self._whole(self.maximum)
        return self._whole(following)

    def _next(self, value: float, direction: int) -> float:
        if not self.ladder:
            return value + direction * self.step
        if direction > 0:
            return next((rung for rung in self.ladder if rung > value), math.inf)
        return next((rung for rung in reversed(self.ladder) if rung < value), -math.inf)

    def _lowest(self) -> float:
        """The smallest plain number that has no word of its own."""
        lowest = self.ladder[0] if self.ladder else self.minimum
        while lowest in self.words:
            lowest += self.step
        return lowest

    def _whole(self, value: float) -> float | int:
        return round(value, 10) if self.decimals else int(value)

    def _digits(self, value: float) -> int:
        """As many decimals as the value needs, at least the usual ones."""
        for digits in range(self.decimals, 6):
            if math.isclose(round(value, digits), value, abs_tol=1e-9):
                return digits
        return 6

    def _number(self, typed: str) -> float:
        plain = typed.translate(_SPACES).replace("−", "-").replace(",", ".")
        factor = 1
        if not self.decimals and plain.endswith("k"):
            plain, factor = plain[:-1], 1024
        try:
            number = float(plain) * factor
        except ValueError:
            raise ValueError(f"{self.label} takes {self._range()}.") from None
        if not math.isfinite(number) or (not self.decimals and number != int(number)):
            raise ValueError(f"{self.label} takes {self._range()}.")
        return number

    def _range(self) -> str:
        kind = "a number" if self.decimals else "a whole number"
        words = "".join(f", or “{word}”" for word in self.words.values())
        return f"{kind} from {self._plain(self.minimum)} to {self._plain(self.maximum)}{words}"

    def _plain(self, value: float) -> str:
        return f"{value:g}" if self.decimals else f"{int(value):,}".replace(",", THIN)
