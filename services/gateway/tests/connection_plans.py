"""Plans of one connection of a client: the requests, the cuts into reads, and the end."""

import random
from dataclasses import dataclass, field
from itertools import pairwise
from typing import NamedTuple

from .raw_requests import Attempt, Sender
from .request_kinds import KINDS, MAKERS


class Continue(NamedTuple):
    """Wait for an interim response, or for the response to the request of this index."""

    index: int


@dataclass(slots=True)
class Plan:
    """The actions of one client on one connection.

    ``ending``: ``read`` to the end, ``half-close``, ``close`` or ``reset``.
    """

    number: int
    kind: str
    attempts: list[Attempt] = field(default_factory=list)
    steps: list[bytes | int | Continue] = field(default_factory=list)
    ending: str = "read"
    may_be_broken_off: bool = False
    """True if responses may be missing, since the client sends more than the server reads."""

    @property
    def methods(self) -> list[str]:
        """The methods of the requests that may be answered, and one more for a final error."""
        usual = [attempt.method if attempt.method == "HEAD" else "GET" for attempt in self.attempts]
        return [*usual, "GET"]


ABORTED = frozenset(("truncated", "wrong_chunk_size", "too_long_length", "aborted"))
"""Kinds whose client ends the connection."""
AFTER_CLOSE = frozenset(("after_close", "after_version_10", "broken_after_answer", "expect_refused"))
"""Kinds whose client sends more after its last request, so the server may reset the connection."""
VICTIM_SHARE = 4
"""One in so many connections has plain requests only."""


def connection_plan(seed: str, number: int) -> Plan:
    """Return the plan of one connection; the same arguments give the same plan. Kinds take turns."""
    rng = random.Random(f"{seed}/{number}")
    sender = Sender(number, rng)
    is_victim = number % VICTIM_SHARE == 0
    kind = "plain" if is_victim else KINDS[(number - number // VICTIM_SHARE) % len(KINDS)]
    plan = Plan(number, kind)
    plan.attempts = [
        sender.request("plain") for _ in range(rng.choice((1, 2, 3) if is_victim else (0, 0, 1, 2)))
    ]
    plan.attempts += MAKERS[kind](sender)
    if kind in ABORTED:
        plan.ending = rng.choice(("half-close", "close", "reset"))
    elif plan.attempts[-1].outcome == "rejected":
        if rng.random() < 0.5:
            plan.attempts.append(Attempt("ignored", "ignored", data=sender.inner()))
    elif not any(attempt.ends_connection for attempt in plan.attempts):
        plan.attempts.append(sender.request("last", close=True))
    _add_steps(plan, rng)
    return plan


def _add_steps(plan: Plan, rng: random.Random) -> None:
    """Cut the bytes of the requests into reads.

    Some clients wait for each response, others send everything at once.
    """
    waits = rng.random() < 0.4 and plan.kind != "pipelined"
    plan.may_be_broken_off = plan.kind in AFTER_CLOSE
    pending = b""
    for index, attempt in enumerate(plan.attempts):
        if attempt.kind == "expect":
            split = attempt.head_size
            plan.steps += [*_cuts(pending + attempt.data[:split], rng), Continue(index)]
            pending = attempt.data[split:]
        elif attempt.pause:
            plan.steps += [*_cuts(pending + attempt.data[: attempt.pause], rng), index + 1]
            pending = attempt.data[attempt.pause :]
        else:
            pending += attempt.data
        if waits and attempt.outcome in ("answered", "refused") and attempt.kind != "aborted":
            plan.steps += [*_cuts(pending, rng), index + 1]
            pending = b""
    plan.steps += _cuts(pending, rng)


def _cuts(data: bytes, rng: random.Random) -> list[bytes]:
    style = rng.random()
    if style < 0.5 or len(data) < 2:
        return [data] if data else []
    if style < 0.53 and len(data) < 600:
        return [data[cut : cut + 1] for cut in range(len(data))]
    if style < 0.7:
        ends = [cut + 1 for cut in range(min(len(data), 2000)) if data[cut] == 13]
        cuts = rng.sample(ends, min(len(ends), 3))
    else:
        cuts = [rng.randrange(1, len(data)) for _ in range(rng.randrange(1, 4))]
    bounds = [0, *sorted(set(cuts)), len(data)]
    return [data[begin:end] for begin, end in pairwise(bounds) if begin < end]
