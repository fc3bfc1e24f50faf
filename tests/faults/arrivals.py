"""Expected arrivals at the receivers of webhooks: everything once, and in order."""

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from ingot_testing.receiver import ReceivedRequest

from .load import Ledger


class Claim(NamedTuple):
    """An actual value, and the expected one."""

    what: str
    actual: object
    expected: object


Payloads = list[tuple[str, dict[str, Any]]]
"""The event of each delivery, and its body."""


def of_repository(ledger: Ledger, name: str, received: Iterable[ReceivedRequest]) -> Iterator[Claim]:
    """Each issue, pull request, comment and merge arrived once, and each tip by an unbroken chain.

    All arrived in the order of the hook.
    """
    first = _first_attempts(received)
    sequences = [int(request.headers["X-Ingot-Sequence"]) for request in first]
    yield Claim(f"order of deliveries of {name}", sequences, list(range(1, len(sequences) + 1)))
    payloads = _payloads(first)
    pulls = {number for number, title in ledger.issues[name].items() if title.startswith("topic")}
    of_kinds = {
        "issues": ("issues", "issue", set(ledger.issues[name]) - pulls),
        "pull requests": ("pull_request", "pull_request", pulls),
    }
    for kind, (event, key, numbers) in of_kinds.items():
        opened = [body[key]["number"] for body in _bodies(payloads, event, "opened")]
        yield from _once(f"{kind} of {name}", opened, numbers)
    closed = [body["issue"]["number"] for body in _bodies(payloads, "issues", "closed")]
    yield from _once(
        f"closed issues of {name}",
        closed,
        {number for repository, number in ledger.closed if repository == name},
    )
    texts = {
        text
        for (repository, _), texts in ledger.comments.items()
        if repository == name
        for text in texts
    }  # fmt: skip
    deleted = {
        text for (repository, kind, text), acknowledged in ledger.deletions.items()
        if repository == name and kind == "comments" and acknowledged
    }  # fmt: skip
    for action, all_ in (("created", texts), ("deleted", deleted)):
        comments = [body["comment"]["body"] for body in _bodies(payloads, "issue_comment", action)]
        yield from _once(f"comments of {name}, {action}", comments, all_)
    merged = {
        body["number"]
        for body in _bodies(payloads, "pull_request", "closed")
        if body["pull_request"]["merged"]
    }
    yield Claim(f"merges of {name} not told", sorted(set(ledger.merged[name]) - merged), [])
    yield from _chains(ledger, name, payloads)


def _chains(ledger: Ledger, name: str, payloads: Payloads) -> Iterator[Claim]:
    tips: dict[str, str] = {}
    for event, body in payloads:
        if event == "delete" and body["ref_type"] == "branch":
            tips[f"refs/heads/{body['ref']}"] = "0" * 40
        if event != "push":
            continue
        previous = tips.get(body["ref"])
        if previous is not None:
            yield Claim(f"before of {body['ref']} in {name}", body["before"], previous)
        tips[body["ref"]] = body["after"]
    for (repository, branch), tip in ledger.tips.items():
        pushes = ledger.pushes[repository, branch]
        if repository == name:
            later = pushes[pushes.index(tip) :]
            yield Claim(f"the tip of {branch} in {name} was told", tips.get(branch) in later, True)
    for (repository, kind, branch), acknowledged in ledger.deletions.items():
        if repository == name and kind == "branches" and acknowledged:
            yield Claim(f"{branch} in {name}, deleted", tips.get(f"refs/heads/{branch}"), "0" * 40)


def of_forks(ledger: Ledger, received: Iterable[ReceivedRequest]) -> Iterator[Claim]:
    """Each fork arrived at the hook of its parent. Its creation and deletion arrived at the hook of its
    organization.

    They arrived in this order. A fork that was deleted before it was ready is announced as deleted, or not at
    all.
    """
    payloads = _payloads(_first_attempts(received))
    forked = [body["repository"]["name"] for event, body in payloads if event == "fork"]
    actions = defaultdict(list)
    for event, body in payloads:
        if event == "repository":
            actions[body["repository"]["name"]].append(body["action"])
    yield from _once("forks", forked, set(ledger.forks))
    for name in ledger.forks:
        yield Claim(f"what was told of {name}", actions[name], ["created"])
    for name in ledger.deleted:
        expected = ["created", "deleted"] if name in forked else ["deleted"] if actions[name] else []
        yield Claim(f"what was told of {name}, deleted", actions[name], expected)


def _once(what: str, arrived: list[Any], acknowledged: set[Any]) -> Iterator[Claim]:
    yield Claim(f"{what} told twice", len(arrived), len(set(arrived)))
    yield Claim(f"{what} not told", sorted(acknowledged - set(arrived)), [])


def _bodies(payloads: Payloads, event: str, action: str) -> Iterator[dict[str, Any]]:
    return (body for name, body in payloads if name == event and body["action"] == action)


def _first_attempts(received: Iterable[ReceivedRequest]) -> list[ReceivedRequest]:
    first: dict[str, ReceivedRequest] = {}
    for request in received:
        first.setdefault(request.headers["X-Gitea-Delivery"], request)
    return list(first.values())


def _payloads(requests: Iterable[ReceivedRequest]) -> Payloads:
    return [(each.headers["X-Gitea-Event"], json.loads(each.body)) for each in requests]
