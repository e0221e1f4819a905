"""Arguments and results of the executor as JSON text. Nothing is ever unpickled: results come from a hostile program.

This file also runs in the sandbox: executor.py sends its source. So it imports little, and knows no other file.
"""

from __future__ import annotations

import base64
import datetime
import decimal
import json
import math

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Dict, Iterable, List, NoReturn, Optional, Tuple

    Encoder = Callable[[Any, int], Any]
    Decoder = Callable[[Any], Any]

TYPES = ("None, bool, int, float, complex, str, bytes, bytearray, list, tuple, dict, set, frozenset, range, "
         "decimal.Decimal, datetime.datetime, date, time and timedelta")
DEPTH_MAX = 100
EQUAL_HASHES_MAX = 100  # in a set or dict: it is no accident, and makes its use slow
TAG = "$"


class ValueTypeError(TypeError):
    """A value that cannot be sent."""


def _encode_pairs(value: Dict[Any, Any], depth: int) -> Any:
    return [[_encode(key, depth), _encode(item, depth)] for key, item in value.items()]


def _encode_dict(value: Dict[Any, Any], depth: int) -> Any:
    if all(type(key) is str and key != TAG and key.isprintable() for key in value):
        return {key: _encode(item, depth) for key, item in value.items()}
    return {TAG: "dict", "v": _encode_pairs(value, depth)}


def _encode_list(value: Iterable[Any], depth: int) -> Any:
    return [_encode(item, depth) for item in value]


def _encode_str(value: str, _depth: int) -> Any:
    try:
        value.encode()
        return value
    except UnicodeEncodeError:  # lone surrogates, as of os.fsdecode()
        return {TAG: "str", "v": base64.b64encode(value.encode("utf-8", "surrogatepass")).decode()}


def _encode_float(value: float, _depth: int) -> Any:
    return value if math.isfinite(value) else {TAG: "float", "v": repr(value)}


def _encode_bytes(value: bytes, _depth: int) -> Any:
    return base64.b64encode(value).decode()


def _check_hashes(items: Iterable[Any]) -> None:
    """Hashes of numbers are not random: a hostile program can choose a million that are equal."""
    counts: Dict[int, int] = {}
    for item in items:
        number = hash(item)
        counts[number] = counts.get(number, 0) + 1
        if counts[number] > EQUAL_HASHES_MAX:
            raise ValueError("too many hashes are equal")


def _decode_set(value: List[Any]) -> Any:
    _check_hashes(value)
    return set(value)


def _decode_dict(value: List[Any]) -> Any:
    _check_hashes(key for key, _ in value)
    return dict(value)


# Type, tag (None: plain JSON), to JSON, from JSON. The types are exact: a subclass may mean something else.
_KINDS: Tuple[Tuple[type, Optional[str], Encoder, Optional[Decoder]], ...] = (
    (type(None), None, lambda value, depth: value, None),
    (bool, None, lambda value, depth: value, None),
    (int, None, lambda value, depth: value if -2**53 < value < 2**53 else {TAG: "int", "v": hex(value)}, None),
    (float, None, _encode_float, None),
    (str, None, _encode_str, None),
    (list, None, _encode_list, None),
    (dict, None, _encode_dict, None),
    (tuple, "tuple", _encode_list, tuple),
    (set, "set", _encode_list, _decode_set),
    (frozenset, "frozenset", _encode_list, lambda v: frozenset(_decode_set(v))),
    (bytes, "bytes", _encode_bytes, lambda v: base64.b64decode(v, validate=True)),
    (bytearray, "bytearray", _encode_bytes, lambda v: bytearray(base64.b64decode(v, validate=True))),
    (complex, "complex", lambda value, depth: [repr(value.real), repr(value.imag)],
     lambda v: complex(float(v[0]), float(v[1]))),
    (range, "range", lambda value, depth: [hex(n) for n in (value.start, value.stop, value.step)],
     lambda v: range(*[int(n, 16) for n in v])),
    (decimal.Decimal, "decimal", lambda value, depth: str(value), decimal.Decimal),
    (datetime.datetime, "datetime", lambda value, depth: value.isoformat(), datetime.datetime.fromisoformat),
    (datetime.date, "date", lambda value, depth: value.isoformat(), datetime.date.fromisoformat),
    (datetime.time, "time", lambda value, depth: value.isoformat(), datetime.time.fromisoformat),
    (datetime.timedelta, "timedelta", lambda value, depth: [value.days, value.seconds, value.microseconds],
     lambda v: datetime.timedelta(*v)),
)
_ENCODERS = {kind: (tag, encode) for kind, tag, encode, _ in _KINDS}
_DECODERS: Dict[str, Decoder] = {
    "dict": _decode_dict, "int": lambda v: int(v, 16), "float": float,
    "str": lambda v: base64.b64decode(v, validate=True).decode("utf-8", "surrogatepass"),
    **{tag: decode for _, tag, _, decode in _KINDS if tag and decode},
}


def _encode(value: Any, depth: int) -> Any:
    if depth > DEPTH_MAX:
        raise ValueTypeError("the value is nested deeper than %d" % DEPTH_MAX)
    if type(value) not in _ENCODERS:
        raise ValueTypeError("a %s cannot be sent. The types are %s"
                             % (".".join((type(value).__module__, type(value).__qualname__)), TYPES))
    tag, encode = _ENCODERS[type(value)]
    plain = encode(value, depth + 1)
    return {TAG: tag, "v": plain} if tag else plain


def encode(value: Any) -> str:
    """The value as JSON in ASCII. ValueTypeError: it has a type, or is nested, as cannot be sent."""
    return json.dumps(_encode(value, 0), allow_nan=False, separators=(",", ":"))


def _decode(plain: Any, depth: int) -> Any:
    if depth > 3 * DEPTH_MAX:
        raise ValueError("the value is too deep")
    if isinstance(plain, list):
        return [_decode(item, depth + 1) for item in plain]
    if not isinstance(plain, dict):
        return plain
    if TAG not in plain:
        return {key: _decode(item, depth + 1) for key, item in plain.items()}
    return _DECODERS[plain[TAG]](_decode(plain["v"], depth + 1))


def _refuse(name: str) -> NoReturn:
    raise ValueError("%s is no JSON" % name)


def decode(text: str) -> Any:
    """The value of a text, whatever its origin. ValueError: the text is of another form."""
    try:
        return _decode(json.loads(text, parse_constant=_refuse), 0)
    except (LookupError, TypeError, AttributeError, ArithmeticError, RecursionError) as error:
        raise ValueError("the value is of another form: %s" % type(error).__name__) from None
