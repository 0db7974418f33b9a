"""Untrusted text made fit to be seen. Model output is drawn, never obeyed. Knows nothing of Qt."""

from __future__ import annotations


def _display_table() -> dict[int, int | str]:
    table: dict[int, int | str] = {code: 0x2400 + code for code in range(0x20)}
    table |= {0x7F: 0x2421, ord("\n"): "\n", ord("\t"): "\t", 0x2028: "\n", 0x2029: "\n"}
    table |= dict.fromkeys(range(0x80, 0xA0), 0xFFFD)
    # the invisible controls that can reorder what stands around them
    bidi = (0x061C, 0x200E, 0x200F, *range(0x202A, 0x202F), *range(0x2066, 0x206A))
    return table | dict.fromkeys(bidi, 0x2060)


_DISPLAY = _display_table()
_VISIBLE = _DISPLAY | {ord("\n"): "↵", ord("\t"): "⇥", 0x2028: "↵", 0x2029: "↵", ord(" "): "␣"}
_ON_ONE_LINE = _VISIBLE | {ord(" "): " "}


def displayed(text: str) -> str:
    """Text as it may be drawn in place, character for character.

    Control characters become visible signs, bidirectional overrides an invisible joiner.
    """
    return text if text.isascii() and text.isprintable() else text.translate(_DISPLAY)


def on_one_line(piece: bytes) -> str:
    """A piece drawn inside a line: line ends become signs."""
    return piece.decode("utf-8", "replace").translate(_ON_ONE_LINE)


def visible(piece: bytes, longest: int = 40) -> str:
    """A piece as a name for itself: blanks visible, incomplete characters as hexadecimal bytes."""
    try:
        text = piece.decode("utf-8").translate(_VISIBLE)
    except UnicodeDecodeError:
        text = "‹" + piece[:16].hex(" ") + "›"
    if not text:
        return "∅"
    return text if len(text) <= longest else text[: longest - 1] + "…"
