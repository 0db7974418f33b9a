"""Frozen dataclasses to JSON values and back, strictly.

Used for the trace file and for the pipe to the engine process, so that neither ever unpickles
what it did not write. Bytes are written as text where they are valid UTF-8, else as
`{"hex": "..."}`. Reading checks every type, skips unknown fields, fills missing ones from their
defaults and names the place of the first fault. Encoders and decoders are built once per class:
one event is on the way for every verify step.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable
from dataclasses import MISSING, fields, is_dataclass
from enum import StrEnum
from functools import cache
from types import NoneType, UnionType
from typing import Any, TypeVar, Union, get_args, get_origin, get_type_hints

from specviz.errors import TraceError

T = TypeVar("T")
Encode = Callable[[Any], Any]
Decode = Callable[[Any, str], Any]

MAX_INT = 2**63 - 1
_LONE_SURROGATE = re.compile("[\ud800-\udfff]")


def to_json(value: object) -> Any:
    """A dataclass instance as plain JSON values."""
    encode: Encode = _encoder(type(value))  # type: ignore[arg-type]  # classes do hash
    return encode(value)


def from_json(kind: type[T], value: object, place: str = "") -> T:
    """An instance of dataclass `kind`; raises TraceError naming the place of the first fault."""
    decode: Decode = _decoder(kind)  # type: ignore[arg-type]
    decoded: T = decode(value, place or kind.__name__)
    return decoded


def dumps(value: Any, indent: int | None = None) -> str:
    """JSON text, compact unless indented; refuses NaN and infinities."""
    separators = (",", ":") if indent is None else (",", ": ")
    text = json.dumps(
        value, ensure_ascii=False, separators=separators, allow_nan=False, indent=indent
    )
    if text.isascii() or not _LONE_SURROGATE.search(text):
        return text
    # a file name that is not UTF-8 reaches Python as lone surrogates, which no encoder takes
    return json.dumps(value, separators=separators, allow_nan=False, indent=indent)


def loads(text: str | bytes) -> Any:
    """JSON text to values; raises TraceError on anything that is not strict JSON."""
    try:
        return json.loads(text, parse_constant=_refuse_constant)
    except (ValueError, RecursionError) as error:
        raise TraceError(f"This is not JSON: {str(error)[:120]}.") from None


def _refuse_constant(name: str) -> Any:
    raise ValueError(f"{name} is not a number")


def _bytes_to_json(value: bytes) -> Any:
    try:
        return value.decode("utf-8")
    except UnicodeDecodeError:
        return {"hex": value.hex()}


def _bytes_from_json(value: Any, place: str) -> bytes:
    if isinstance(value, str):
        return value.encode("utf-8", "surrogatepass")
    if isinstance(value, dict) and isinstance(value.get("hex"), str):
        try:
            return bytes.fromhex(value["hex"])
        except ValueError:
            pass
    raise TraceError(f"{place} should be text or hexadecimal bytes.")


def _identity(value: Any) -> Any:
    return value


@cache
def _encoder(kind: Any) -> Encode:
    if is_dataclass(kind):
        hints = get_type_hints(kind)
        parts = [(f.name, _encoder(hints[f.name])) for f in fields(kind)]
        plain = [name for name, encode in parts if encode is _identity]
        rich = [(name, encode) for name, encode in parts if encode is not _identity]

        def encode_fields(value: Any) -> Any:
            out = {name: getattr(value, name) for name in plain}
            for name, encode in rich:
                out[name] = encode(getattr(value, name))
            return out

        return encode_fields
    if kind is bytes:
        return _bytes_to_json
    origin = get_origin(kind)
    if origin in (Union, UnionType):
        members = [m for m in get_args(kind) if m is not NoneType]
        if len(members) == 1:
            inner = _encoder(members[0])
            return _identity if inner is _identity else lambda v: None if v is None else inner(v)
        return _identity
    if origin is tuple:
        item = _encoder(get_args(kind)[0])
        return list if item is _identity else lambda v: [item(x) for x in v]
    return _identity


def _expect(types: tuple[type, ...], wanted: str) -> Decode:
    def check(value: Any, place: str) -> Any:
        if not isinstance(value, types) or (isinstance(value, bool) and bool not in types):
            raise TraceError(f"{place} should be {wanted}.")
        return value

    return check


def _decode_int(value: Any, place: str) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or abs(value) > MAX_INT:
        raise TraceError(f"{place} should be a whole number.")
    return value


def _decode_float(value: Any, place: str) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise TraceError(f"{place} should be a number.")
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    if not math.isfinite(number):
        raise TraceError(f"{place} should be a finite number.")
    return number


def _decode_scalar(value: Any, place: str) -> Any:
    if value is None or isinstance(value, (bool, str)):
        return value
    return _decode_int(value, place) if isinstance(value, int) else _decode_float(value, place)


def _decode_scalars(value: Any, place: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise TraceError(f"{place} should be an object of plain values.")
    return {name: _decode_scalar(v, f"{place}.{name}"[:80]) for name, v in value.items()}


@cache
def _decoder(kind: Any) -> Decode:
    if is_dataclass(kind):
        return _dataclass_decoder(kind)
    if kind is bytes:
        return _bytes_from_json
    if kind is int:
        return _decode_int
    if kind is float:
        return _decode_float
    if kind is bool:
        return _expect((bool,), "true or false")
    if kind is str:
        return _expect((str,), "text")
    origin = get_origin(kind)
    if origin in (Union, UnionType):
        members = [m for m in get_args(kind) if m is not NoneType]
        if len(members) != 1:
            return _decode_scalar
        inner = _decoder(members[0])
        return lambda v, place: None if v is None else inner(v, place)
    if origin is tuple:
        item = _decoder(get_args(kind)[0])

        def decode_items(value: Any, place: str) -> Any:
            if not isinstance(value, list):
                raise TraceError(f"{place} should be a list.")
            return tuple(item(x, place) for x in value)

        return decode_items
    if origin is dict:
        return _decode_scalars
    if isinstance(kind, type) and issubclass(kind, StrEnum):
        members_by_value = {m.value: m for m in kind}

        def decode_enum(value: Any, place: str) -> Any:
            member = members_by_value.get(value) if isinstance(value, str) else None
            if member is None:
                raise TraceError(f"{place} should be one of {', '.join(members_by_value)}.")
            return member

        return decode_enum
    raise TypeError(f"no JSON form for {kind!r}")


def _dataclass_decoder(kind: Any) -> Decode:
    hints = get_type_hints(kind)
    parts = [
        (f.name, _decoder(hints[f.name]), f.default is MISSING and f.default_factory is MISSING)
        for f in fields(kind)
    ]

    def decode(value: Any, place: str) -> Any:
        if not isinstance(value, dict):
            raise TraceError(f"{place} should be an object.")
        arguments = {}
        for name, decode_field, required in parts:
            if name in value:
                arguments[name] = decode_field(value[name], name)
            elif required:
                raise TraceError(f"{place} lacks the field {name}.")
        return kind(**arguments)

    return decode


def tagged(value: object) -> dict[str, Any]:
    """The JSON form with the class name beside it, for streams of several classes."""
    return {"event": type(value).__name__, **to_json(value)}


def untag(value: Any, kinds: dict[str, type]) -> Any:
    """The reverse of `tagged`; None for a class name that is not in `kinds`."""
    if not isinstance(value, dict) or not isinstance(value.get("event"), str):
        raise TraceError("An event should be an object with its kind.")
    kind = kinds.get(value["event"])
    return None if kind is None else from_json(kind, value)
