"""Role `server` of the protocol `AuthPlain`.

@generated from auth-plain.scr by `referee generate python`: change the protocol, not this file.
"""

from __future__ import annotations

import decimal
import json
import math
import re
import socket
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, BinaryIO, Final, NoReturn, Protocol, TypeAlias, TypeVar, cast, final

# "[a-z]+" as a table.
_PATTERN_1: Final = (bytes([0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]), 3, [0, 1, 2, 3, 4, 3, 2, 2, 2, 3, 3, 3, 4, 4, 4], [False, False, False, True, True])

PEERS: Final[Sequence[str]] = ["client"]


@final
@dataclass(frozen=True, slots=True)
class StartGotAuth:
    """`Auth` from client."""

    uname: str
    pwd: str
    next: AfterAuth


StartEvent: TypeAlias = "StartGotAuth"


@final
class Start:
    """The beginning: `server` receives `Auth` from client."""

    __slots__ = ("_session", "_turn")

    def __init__(self, link: Link, session: _Session | None = None, turn: int = 0) -> None:
        self._session: Final = session or _Session(link)
        self._turn: Final = turn

    def _admits_auth(self, uname: str, pwd: str) -> None:
        if not _matches(_PATTERN_1, uname):
            raise _Undefined

    def _got_auth(self, _fields: dict[str, Any], _turn: int) -> StartGotAuth:
        try:
            uname = _read_str(_fields.get("uname"))
            pwd = _read_str(_fields.get("pwd"))
        except _WrongType:
            self._session.fail(Violated("client sent `Auth` with a field of the wrong type", "client"))
        try:
            self._admits_auth(uname, pwd)
        except _Undefined:
            self._session.fail(Violated("client sent `Auth` although `uname.matches(\"[a-z]+\")` does not hold", "client"))
        return StartGotAuth(uname, pwd, AfterAuth(self._session, _turn))

    def recv(self) -> StartEvent:
        """Awaits the next message."""
        turn = self._session.step(self._turn)
        peer, label, fields = self._session.receive(["client"])
        if peer == "client" and label == "Auth":
            return self._got_auth(fields, turn)
        self._session.fail(Violated(peer + " sent `" + label + "`" + "; expected `Auth` from client", peer))

    def abort(self) -> None:
        """Ends the session before its end; the others are told."""
        self._session.step(self._turn)
        self._session.over = True
        self._session.link.end(False)


@final
class AfterAuth:
    """A state: `server` sends `Succ` to client or `Fail` to client."""

    __slots__ = ("_session", "_turn")

    def __init__(self, session: _Session, turn: int) -> None:
        self._session: Final = session
        self._turn: Final = turn

    def succ(self, tok: str) -> AfterSucc:
        """Sends `Succ` to client."""
        _fields = _written("Succ", lambda: {"tok": tok})
        _turn = self._session.step(self._turn)
        self._session.send("client", "Succ", _fields)
        return AfterSucc(self._session, _turn, tok)

    def fail(self, code: int) -> Start:
        """Sends `Fail` to client."""
        _fields = _written("Fail", lambda: {"code": _int64(code)})
        _turn = self._session.step(self._turn)
        self._session.send("client", "Fail", _fields)
        return Start(self._session.link, self._session, _turn)

    def abort(self) -> None:
        """Ends the session before its end; the others are told."""
        self._session.step(self._turn)
        self._session.over = True
        self._session.link.end(False)


@final
@dataclass(frozen=True, slots=True)
class AfterSuccGotGet:
    """`Get` from client."""

    resource: str
    req_tok: str
    next: AfterGet


@final
@dataclass(frozen=True, slots=True)
class AfterSuccGotRvk:
    """`Rvk` from client."""

    rvk_tok: str
    next: End


AfterSuccEvent: TypeAlias = "AfterSuccGotGet | AfterSuccGotRvk"


@final
class AfterSucc:
    """A state: `server` receives `Get` from client or `Rvk` from client."""

    __slots__ = ("_session", "_turn", "_tok")

    def __init__(self, session: _Session, turn: int, _tok: str) -> None:
        self._session: Final = session
        self._turn: Final = turn
        self._tok: Final = _tok

    def _admits_get(self, resource: str, req_tok: str) -> None:
        if not (req_tok == self._tok):
            raise _Undefined

    def _got_get(self, _fields: dict[str, Any], _turn: int) -> AfterSuccGotGet:
        try:
            resource = _read_str(_fields.get("resource"))
            req_tok = _read_str(_fields.get("reqTok"))
        except _WrongType:
            self._session.fail(Violated("client sent `Get` with a field of the wrong type", "client"))
        try:
            self._admits_get(resource, req_tok)
        except _Undefined:
            self._session.fail(Violated("client sent `Get` although `reqTok == tok` does not hold", "client"))
        return AfterSuccGotGet(resource, req_tok, AfterGet(self._session, _turn, self._tok))

    def _admits_rvk(self, rvk_tok: str) -> None:
        if not (rvk_tok == self._tok):
            raise _Undefined

    def _got_rvk(self, _fields: dict[str, Any], _turn: int) -> AfterSuccGotRvk:
        try:
            rvk_tok = _read_str(_fields.get("rvkTok"))
        except _WrongType:
            self._session.fail(Violated("client sent `Rvk` with a field of the wrong type", "client"))
        try:
            self._admits_rvk(rvk_tok)
        except _Undefined:
            self._session.fail(Violated("client sent `Rvk` although `rvkTok == tok` does not hold", "client"))
        return AfterSuccGotRvk(rvk_tok, End(self._session, _turn))

    def recv(self) -> AfterSuccEvent:
        """Awaits the next message."""
        turn = self._session.step(self._turn)
        peer, label, fields = self._session.receive(["client"])
        if peer == "client" and label == "Get":
            return self._got_get(fields, turn)
        if peer == "client" and label == "Rvk":
            return self._got_rvk(fields, turn)
        self._session.fail(Violated(peer + " sent `" + label + "`" + "; expected `Get` from client, `Rvk` from client", peer))

    def abort(self) -> None:
        """Ends the session before its end; the others are told."""
        self._session.step(self._turn)
        self._session.over = True
        self._session.link.end(False)


@final
class AfterGet:
    """A state: `server` sends `Res` to client or `Timeout` to client."""

    __slots__ = ("_session", "_turn", "_tok")

    def __init__(self, session: _Session, turn: int, _tok: str) -> None:
        self._session: Final = session
        self._turn: Final = turn
        self._tok: Final = _tok

    def res(self, content: str) -> AfterSucc:
        """Sends `Res` to client."""
        _fields = _written("Res", lambda: {"content": content})
        _turn = self._session.step(self._turn)
        self._session.send("client", "Res", _fields)
        return AfterSucc(self._session, _turn, self._tok)

    def timeout(self) -> Start:
        """Sends `Timeout` to client."""
        _turn = self._session.step(self._turn)
        self._session.send("client", "Timeout", {})
        return Start(self._session.link, self._session, _turn)

    def abort(self) -> None:
        """Ends the session before its end; the others are told."""
        self._session.step(self._turn)
        self._session.over = True
        self._session.link.end(False)


@final
class End:
    """The end of the session for `server`."""

    __slots__ = ("_session", "_turn")

    def __init__(self, session: _Session, turn: int) -> None:
        self._session: Final = session
        self._turn: Final = turn
        self._session.over = True
        self._session.link.end(True)


# What every endpoint needs.


class SessionError(Exception):
    """A session cannot go on. `blame` is the peer that broke the protocol, if one did."""

    def __init__(self, text: str, blame: str | None = None) -> None:
        super().__init__(text)
        self.blame: Final = blame


class Refused(SessionError):
    """This program wants to send what the protocol forbids. Nothing has left."""


class Violated(SessionError):
    """A peer has broken the protocol."""


class Ended(SessionError):
    """A peer has ended the session before its end."""


class Used(SessionError):
    """This program uses a state of the session that it has left."""


class PredicateFailed(SessionError):
    """A predicate of this program has no answer: nobody is to blame."""


class Link(Protocol):
    """How messages travel: a label, and each field under its name as JSON would have it."""

    def send(self, peer: str, label: str, fields: dict[str, Any]) -> None:
        """Sends a message to `peer`."""

    def receive(self, peers: Sequence[str]) -> tuple[str, str, dict[str, Any]]:
        """The next message of one of `peers`: from whom, its label, its fields."""

    def end(self, over: bool) -> None:
        """The session is over, or aborted: then every peer is told."""


@final
class JsonLines:
    """A link over binary streams, one for each peer: one JSON object a line, its label under `type`."""

    def __init__(self, streams: Mapping[str, tuple[BinaryIO, BinaryIO]], max_line: int = 1 << 20) -> None:
        self._streams: Final = streams
        self._max_line: Final = max_line

    @staticmethod
    def over(peer: str, connection: socket.socket) -> JsonLines:
        """A link to one peer over a connected socket."""
        file = connection.makefile("rwb")
        return JsonLines({peer: (cast(BinaryIO, file), cast(BinaryIO, file))})

    def send(self, peer: str, label: str, fields: dict[str, Any]) -> None:
        try:
            line = json.dumps({"type": label, **fields}, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode()
        except ValueError as error:
            raise Refused(f"`{label}` was not sent: JSON has no form for a value of it") from error
        try:
            self._streams[peer][1].write(line + b"\n")
            self._streams[peer][1].flush()
        except (BrokenPipeError, ConnectionResetError) as error:
            raise Ended(f"{peer} ended the session before its end", peer) from error

    def receive(self, peers: Sequence[str]) -> tuple[str, str, dict[str, Any]]:
        if len(peers) != 1:
            raise SessionError(f"a blocking link cannot wait for several connections at once: {', '.join(peers)}")
        peer = peers[0]
        try:
            line = self._streams[peer][0].readline(self._max_line + 1)
        except ConnectionResetError:
            line = b""
        if not line.endswith(b"\n"):
            if len(line) > self._max_line:
                raise Violated(f"{peer} sent what is no message: a line that is too long", peer)
            raise Ended(f"{peer} ended the session before its end", peer)
        try:
            text = line.decode()
            message = json.loads(text, object_pairs_hook=_members, parse_constant=_no_number)
            json.dumps(message, ensure_ascii=False).encode()
        except (ValueError, RecursionError) as error:
            raise Violated(f"{peer} sent what is no message: {error}", peer) from error
        if not isinstance(message, dict) or not isinstance(message.get("type"), str):
            raise Violated(f"{peer} sent what is no message: no `type`", peer)
        label = cast(str, message.pop("type"))
        return peer, label, message

    def end(self, over: bool) -> None:
        for reader, writer in self._streams.values():
            for stream in (writer, reader):
                try:
                    stream.close()
                except OSError:
                    pass


def _members(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) != len(pairs):
        # Readers differ in which of two they take.
        raise ValueError("an object with a name twice")
    return members


def _no_number(text: str) -> Any:
    raise ValueError(f"{text} is no number of JSON")


@final
class _Session:
    """What the states of one session share: the link, and whose turn it is."""

    def __init__(self, link: Link) -> None:
        self.link: Final = link
        self.turn = 0
        self.over = False

    def __del__(self) -> None:
        # Dropping a session before its end is an abort, which the others are told of.
        if not self.over:
            self.over = True
            self.link.end(False)

    def step(self, turn: int) -> int:
        """Leaves the state of `turn`; gives the turn of the next."""
        if turn != self.turn or self.over:
            raise Used("this state of the session was left before")
        self.turn += 1
        return self.turn

    def fail(self, error: SessionError) -> NoReturn:
        """The session cannot go on: the others are told."""
        self.over = True
        self.link.end(False)
        raise error

    def send(self, peer: str, label: str, fields: dict[str, Any]) -> None:
        try:
            self.link.send(peer, label, fields)
        except SessionError as error:
            self.fail(error)

    def receive(self, peers: Sequence[str]) -> tuple[str, str, dict[str, Any]]:
        try:
            return self.link.receive(peers)
        except SessionError as error:
            self.fail(error)


class _Undefined(Exception):
    """An expression has no value: an overflow, a division by zero, an index outside its list."""


def _written(label: str, fields: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    """The fields of a message as JSON would have them; nothing is sent if one of them has no such form."""
    try:
        return fields()
    except _Undefined as error:
        raise Refused(f"`{label}` was not sent: a field has no value of its type") from error


def _int64(value: int) -> int:
    if not -(1 << 63) <= value < 1 << 63:
        raise _Undefined
    return value


def _divide(left: int, right: int) -> int:
    if right == 0:
        raise _Undefined
    quotient = abs(left) // abs(right)
    return _int64(quotient if (left < 0) == (right < 0) else -quotient)


def _remainder(left: int, right: int) -> int:
    return left - _divide(left, right) * right


def _divide_floats(left: float, right: float) -> float:
    if right != 0.0:
        return left / right
    if left == 0.0 or math.isnan(left):
        return math.nan
    return math.copysign(math.inf, left) * math.copysign(1.0, right)


def _float_to_int(value: float) -> int:
    if not -9223372036854775808.0 <= value < 9223372036854775808.0:
        raise _Undefined
    return int(value)


def _parse_int(text: str) -> int:
    if re.fullmatch(r"[+-]?[0-9]{1,4000}", text) is None:
        raise _Undefined
    return _int64(int(text))


def _parse_float(text: str) -> float:
    number = r"[+-]?(inf|infinity|nan|([0-9]+\.?[0-9]*|\.[0-9]+)(e[+-]?[0-9]+)?)"
    if re.fullmatch(number, text, re.IGNORECASE | re.ASCII) is None:
        raise _Undefined
    return float(text)


def _show_float(value: float) -> str:
    """The shortest decimal that reads back the same, without an exponent."""
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "inf" if value > 0 else "-inf"
    text = format(decimal.Decimal(repr(value)), "f")
    return text[:-2] if text.endswith(".0") else text


def _text(value: bytes) -> str:
    try:
        return value.decode()
    except UnicodeDecodeError as error:
        raise _Undefined from error


_T = TypeVar("_T")


def _ask(name: str, predicate: Callable[..., _T], *arguments: Any) -> _T:
    """The answer of a predicate of this program; one that raises has none."""
    try:
        return predicate(*arguments)
    except Exception as error:
        raise PredicateFailed(f"`{name}` has no answer: {error}") from error


def _element(values: Sequence[_T], index: int) -> _T:
    if not 0 <= index < len(values):
        raise _Undefined
    return values[index]


def _settle(settled: bool, operands: Sequence[Callable[[], bool]]) -> bool:
    """An operand equal to `settled` decides; else the first failure; else all say the opposite."""
    failure: Exception | None = None
    for operand in operands:
        try:
            if operand() == settled:
                return settled
        except (_Undefined, PredicateFailed) as error:
            failure = failure or error
    if failure is not None:
        raise failure
    return not settled


def _min(*values: Any) -> Any:
    best = values[0]
    for value in values[1:]:
        best = value if value < best else best
    return best


def _max(*values: Any) -> Any:
    best = values[0]
    for value in values[1:]:
        best = value if value > best else best
    return best


def _equal(left: Any, right: Any) -> bool:
    """Structural, floats as IEEE 754 says: NaN is unequal to itself wherever it is."""
    if isinstance(left, (list, tuple)):
        return len(left) == len(right) and all(_equal(a, b) for a, b in zip(left, right))
    if hasattr(left, "__dataclass_fields__"):
        return all(_equal(getattr(left, name), getattr(right, name)) for name in left.__dataclass_fields__)
    return bool(left == right)


def _contains(value: Any, values: Sequence[Any]) -> bool:
    return any(_equal(element, value) for element in values)


def _matches(table: tuple[bytes, int, Sequence[int], Sequence[bool]], text: str) -> bool:
    """Whether a pattern, as a table of states by classes of bytes, occurs in `text`."""
    classes, width, following, accepts = table
    state = 0
    for byte in text.encode():
        if accepts[state]:
            return True
        state = following[state * width + classes[byte]]
    return accepts[state] or accepts[following[state * width + width - 1]]


class _WrongType(Exception):
    """A value has not its type."""


def _read_unit(value: Any) -> None:
    if value is not None:
        raise _WrongType


def _read_bool(value: Any) -> bool:
    if not isinstance(value, bool):
        raise _WrongType
    return value


def _read_int(value: Any) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not -(1 << 63) <= value < 1 << 63:
        raise _WrongType
    return value


def _read_float(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise _WrongType
    try:
        number = float(value)
    except OverflowError as error:
        raise _WrongType from error
    if not math.isfinite(number):
        raise _WrongType
    return number


def _read_str(value: Any) -> str:
    if not isinstance(value, str):
        raise _WrongType
    return value


def _read_bytes(value: Any) -> bytes:
    return _read_str(value).encode()


def _read_opaque(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _read_list(value: Any, element: Callable[[Any], _T]) -> list[_T]:
    if not isinstance(value, list):
        raise _WrongType
    return [element(part) for part in value]


def _read_parts(value: Any, count: int) -> list[Any]:
    if not isinstance(value, list) or len(value) != count:
        raise _WrongType
    return value


def _read_record(value: Any, count: int) -> dict[str, Any]:
    if not isinstance(value, dict) or len(value) != count:
        raise _WrongType
    return value
