"""Checks of each connection of a client, and of each connection to the service."""

import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence

from .byte_tap import Exchange, TappedConnection
from .connection_plans import Plan
from .h11_streams import Message, MessageReader, StreamError, read_exchanges
from .oracle_world import RawClient, answer_body, answer_status
from .raw_requests import Attempt
from .raw_variants import BROKEN_CHUNKS, TRAILERS

MARK = re.compile(rb"s\d+[ri]\d+z")
INTENDED = ("answered", "lenient")
"""Outcomes of requests that may be complete at a service."""
REJECTED_IN_BODY = frozenset((*BROKEN_CHUNKS, *TRAILERS))
"""Kinds whose head is plain, so the service may get a part of the request."""


class OracleError(AssertionError):
    """The gateway and h11 disagree about a message, or about whom it belongs to."""


def check_client(plan: Plan, client: RawClient) -> set[bytes]:
    """Check what one client received. Raises OracleError.

    Returns the marks of the requests that the service has answered.
    """
    responses = _responses(plan, client)
    waits_for_all = plan.ending == "read" and not plan.may_be_broken_off
    if waits_for_all and client.error is not None:
        raise OracleError(f"the gateway reset the connection: {client.error!r}")
    if waits_for_all and client.is_cut:
        raise OracleError("the gateway cut a response")
    expected = [attempt for attempt in plan.attempts if attempt.outcome != "ignored"]
    if len(responses) > len(expected):
        raise OracleError(f"{len(responses)} responses to {len(expected)} requests")
    if waits_for_all and len(responses) < len(expected):
        raise OracleError(f"only {len(responses)} responses to {len(expected)} requests")
    for attempt, response in zip(expected, responses, strict=False):
        _check_response(attempt, response)
    return {mark for response in responses for mark in response.values(b"x-mark")}


def check_executions(connections: Sequence[TappedConnection], answered: Collection[bytes]) -> None:
    """Check that no request was carried out twice, and each answered one once. Raises OracleError."""
    counts = Counter(exchange.mark for connection in connections for exchange in connection.exchanges)
    for mark, count in counts.items():
        if count > 1:
            raise OracleError(f"the request {mark!r} was carried out {count} times")
    if missing := set(answered) - counts.keys():
        raise OracleError(f"these requests were answered, but not carried out: {missing!r}")


def _responses(plan: Plan, client: RawClient) -> list[Message]:
    """Return all responses. An error for a rejected HEAD may have a body: its head is perhaps not read."""
    if client.failure is None:
        return client.reader.messages
    methods = [
        "GET" if attempt.outcome in ("rejected", "lenient") else attempt.method for attempt in plan.attempts
    ]
    reader = MessageReader(methods)
    try:
        reader.feed(b"".join(client.received))
    except StreamError as failure:
        raise OracleError(f"the client cannot read the responses: {failure}") from failure
    return reader.messages


def _check_response(attempt: Attempt, response: Message) -> None:
    answered_mark = response.values(b"x-mark")
    is_answer = answered_mark == [attempt.mark]
    if answered_mark and not is_answer:
        raise OracleError(f"the request {attempt.mark!r} got the response of {answered_mark!r}")
    may_be_answered = attempt.outcome in INTENDED or (attempt.outcome == "cut" and attempt.do == "early")
    if is_answer and not may_be_answered:
        raise OracleError(f"the request {attempt.mark!r} was answered, but must be {attempt.outcome}")
    if is_answer:
        body = b"" if attempt.method == "HEAD" else answer_body(attempt.do, attempt.mark, attempt.body)
        is_same = response.body == body if response.is_complete else body.startswith(response.body)
        if response.status != answer_status(attempt.do) or not is_same:
            raise OracleError(
                f"a wrong response to {attempt.mark!r}: {response.status} {response.body[:200]!r}"
            )
    elif attempt.outcome == "answered":
        raise OracleError(f"{attempt.mark!r} is plain, but got {response.status} {response.body[:300]!r}")
    elif not 400 <= response.status < 600 or MARK.search(response.body):
        raise OracleError(f"a wrong error for {attempt.mark!r}: {response.status} {response.body[:200]!r}")
    elif _must_end(attempt) and response.is_complete and not response.is_last:
        raise OracleError(f"the connection goes on after a rejected request: {response.headers!r}")


def _must_end(attempt: Attempt) -> bool:
    return attempt.outcome == "rejected" or (attempt.outcome == "refused" and attempt.ends_connection)


def check_connection(
    connection: TappedConnection, attempts: Mapping[bytes, Attempt], *, has_ended: bool
) -> None:
    """Check one connection to the service.

    Each message is that of one request of a client. Raises OracleError.
    """
    try:
        requests, responses = read_exchanges(connection.record)
    except StreamError as error:
        raise OracleError(f"a connection to the service: {error}") from error
    for number, request in enumerate(requests):
        _check_request(request, attempts, is_last=number == len(requests) - 1)
    exchanges = connection.exchanges
    if not len(requests) - 1 <= len(exchanges) <= len(requests):
        raise OracleError(f"h11 reads {len(requests)} requests, the service {len(exchanges)}")
    for number, (request, exchange) in enumerate(zip(requests, exchanges, strict=False)):
        _check_exchange(request, exchange, is_last=number == len(requests) - 1)
    if not len(requests) - 1 <= len(responses) <= len(requests):
        raise OracleError(f"{len(responses)} responses to {len(requests)} requests")
    for request, response in zip(requests, responses, strict=False):
        if response.values(b"x-mark") != request.values(b"x-mark"):
            raise OracleError(f"the service answers {request.target!r} with {response.headers!r}")
    if not has_ended:
        raise OracleError("a request on this connection does not end")


def _check_request(request: Message, attempts: Mapping[bytes, Attempt], *, is_last: bool) -> None:
    mark = MARK.search(request.target) or MARK.search(b",".join(request.values(b"x-mark")))
    attempt = attempts.get(mark[0]) if mark else None
    if attempt is None:
        raise OracleError(f"no client sent this request: {request.method} {request.target!r}")
    if request.values(b"x-mark") != [attempt.mark]:
        raise OracleError(f"{request.target!r} has the mark {request.values(b'x-mark')!r}")
    if attempt.outcome == "answered" and (request.method, request.target) != (attempt.method, attempt.target):
        raise OracleError(f"{attempt.target!r} arrived as {request.method} {request.target!r}")
    if attempt.outcome == "rejected" and attempt.kind not in REJECTED_IN_BODY:
        raise OracleError(f"a request whose head must be rejected began at the service: {attempt.kind}")
    if request.is_complete:
        if attempt.outcome not in INTENDED:
            raise OracleError(
                f"a request that must be {attempt.outcome} is complete at the service: {attempt.kind}"
            )
        if request.body != attempt.body:
            raise OracleError(f"the body of {attempt.mark!r} arrived as {request.body[:300]!r}")
    elif not is_last:
        raise OracleError(f"another request follows the unfinished {attempt.mark!r}")
    elif not attempt.body.startswith(request.body) and attempt.outcome in INTENDED:
        raise OracleError(f"the body of {attempt.mark!r} began as {request.body[:300]!r}")
    elif foreign := {own for own in MARK.findall(request.body) if not _are_of_one_sender(own, attempt.mark)}:
        raise OracleError(f"the body of {attempt.mark!r} has marks of others: {foreign!r}")


def _are_of_one_sender(one: bytes, other: bytes) -> bool:
    return re.split(rb"[ri]", one, maxsplit=1)[0] == re.split(rb"[ri]", other, maxsplit=1)[0]


def _check_exchange(request: Message, exchange: Exchange, *, is_last: bool) -> None:
    if (exchange.method, exchange.target) != (request.method, request.target):
        raise OracleError(f"h11 reads {request.method} {request.target!r}, the service {exchange.target!r}")
    if [exchange.mark] != request.values(b"x-mark"):
        raise OracleError(f"h11 reads the mark {request.values(b'x-mark')!r}, the service {exchange.mark!r}")
    if exchange.parts is None:
        return
    body = b"".join(exchange.parts)
    if exchange.ended == ["complete"]:
        if not request.is_complete or body != request.body:
            raise OracleError(f"h11 and the service read different bodies of {request.target!r}")
    elif not is_last or not request.body.startswith(body):
        raise OracleError(f"the service lost the client of {request.target!r}, and the connection went on")
