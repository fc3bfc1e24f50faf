"""Reads recorded HTTP/1.1 with h11, which shares no code with the parser of the servers and the client."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache

import h11

from .byte_tap import REQUEST, RESPONSE, SURPLUS

MAX_HEAD_BYTES = 300_000


class StreamError(AssertionError):
    """A stream that h11 cannot read, or whose messages are in the wrong order."""


@dataclass(slots=True)
class Message:
    """A request or a response.

    ``is_last``: after it the connection must end. Names of headers are in lower case.
    """

    headers: list[tuple[bytes, bytes]]
    method: str = ""
    target: bytes = b""
    status: int = 0
    parts: list[bytes] = field(default_factory=list)
    is_complete: bool = False
    is_last: bool = False

    @property
    def body(self) -> bytes:
        return b"".join(self.parts)

    def values(self, name: bytes) -> list[bytes]:
        """Return all values of one header."""
        return [value for own, value in self.headers if own == name]


@cache
def _sent_request(method: str) -> h11.Request:
    return h11.Request(method=method, target="/", headers=[("host", "x")])


class MessageReader:
    """Reads the messages of one direction.

    ``methods``: those of the requests to which a stream of responses belongs; None for a stream of requests.
    """

    def __init__(self, methods: Sequence[str] | None = None) -> None:
        self._methods = methods
        self._connection: h11.Connection | None = None
        self.messages: list[Message] = []
        self.interim = 0
        """The number of interim responses that were read."""
        self.begun = self.complete = 0
        """The numbers of messages that have begun with at least one byte, and that are complete."""

    def _open(self) -> h11.Connection:
        if self.messages and self.messages[-1].is_last:
            raise StreamError("bytes follow the last message of the connection")
        if self._methods is None:
            connection = h11.Connection(h11.SERVER, MAX_HEAD_BYTES)
        else:
            if self.begun >= len(self._methods):
                raise StreamError("a response to no request")
            connection = h11.Connection(h11.CLIENT, MAX_HEAD_BYTES)
            connection.send(_sent_request(self._methods[self.begun]))
            connection.send(h11.EndOfMessage())
        self.begun += 1
        self._connection = connection
        return connection

    def feed(self, data: bytes) -> None:
        """Read the next bytes; none are the end of the stream. Raises StreamError."""
        if not data and self._connection is None:
            return
        connection = self._connection or self._open()
        try:
            connection.receive_data(data)
            while connection is not None and (event := connection.next_event()) is not h11.NEED_DATA:
                connection = self._take(connection, event)
        except h11.RemoteProtocolError as error:
            raise StreamError(f"h11 rejects message {self.begun}: {error}") from error

    def _take(self, connection: h11.Connection, event: object) -> h11.Connection | None:
        """Take an event. Returns the connection that reads on; None if every byte was read."""
        if isinstance(event, h11.Data):
            self.messages[-1].parts.append(bytes(event.data))
        elif isinstance(event, h11.EndOfMessage):
            if event.headers:
                raise StreamError("a message has trailers")
            message = self.messages[-1]
            message.is_complete, message.is_last = True, connection.their_state is h11.MUST_CLOSE
            self.complete += 1
            self._connection = None
            rest, _ = connection.trailing_data
            if not rest:
                return None
            connection = self._open()
            connection.receive_data(rest)
        elif isinstance(event, h11.Request):
            self.messages.append(Message(list(event.headers), event.method.decode(), event.target))
        elif isinstance(event, h11.Response):
            self.messages.append(Message(list(event.headers), status=event.status_code))
        elif isinstance(event, h11.InformationalResponse):
            self.interim += 1
        else:
            return None
        return connection


def read_exchanges(record: list[tuple[str, bytes]]) -> tuple[list[Message], list[Message]]:
    """Return the requests and the responses of a recorded connection.

    A request begins only after the end of the previous request and its response. It never follows surplus
    bytes. Raises StreamError.
    """
    methods: list[str] = []
    requests, responses = MessageReader(), MessageReader(methods)
    has_surplus = False
    for direction, data in record:
        if direction == REQUEST:
            if has_surplus:
                raise StreamError("a request follows bytes that belong to no request")
            requests.feed(data)
            methods.extend(message.method for message in requests.messages[len(methods) :])
            if requests.begun > responses.complete + 1:
                raise StreamError(f"request {requests.begun} begins before the end of the response before it")
            if requests.begun > 1 and responses.messages[requests.begun - 2].is_last:
                raise StreamError(f"request {requests.begun} follows a response that ends the connection")
        elif direction == RESPONSE:
            responses.feed(data)
        has_surplus = has_surplus or direction == SURPLUS
    return requests.messages, responses.messages
