"""Payloads against the reference: names and order of fields, and which notices an event becomes."""

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

from ingot_contracts.issues import ChangedText, Changes, CommentChanged, IssueChanged, PullRequestChanged
from ingot_contracts.repos import NO_COMMIT, RepositoryCreated, RepositoryDeleted, RepositoryForked
from ingot_hooks.core import payloads
from ingot_hooks.core.payloads import Notice
from ingot_hooks.core.subscriptions import EVENTS

from .builders import ACME, ANN, NEW, comment, issue, pull_request, push, release, repository, status
from .reference import PAYLOADS, departures

GOLDEN = Path(__file__).parent / "golden"
CHANGES = Changes(title=ChangedText("before"))
FORK = repository(9, name="fork")
ORGANIZED = repository(owner=ACME)


def everything() -> list[Notice]:
    both = {"repository": repository(), "sender": ANN, "changes": CHANGES}
    return [
        *payloads.notices_of_push(push(before=NO_COMMIT)),
        *payloads.notices_of_push(push(after=NO_COMMIT, commits=0))[1:],
        *payloads.notices_of_fork(RepositoryForked(forkee=repository(), repository=FORK, sender=ANN)),
        *payloads.notices_of_repository(
            RepositoryCreated(repository=ORGANIZED, sender=ANN, owner_kind="organization")
        ),
        *payloads.notices_of_issue(IssueChanged(action="edited", issue=issue(), **both)),
        *payloads.notices_of_comment(
            CommentChanged(action="edited", issue=issue(), comment=comment(), **both)
        ),
        *payloads.notices_of_pull_request(
            PullRequestChanged(action="edited", pull_request=pull_request(), **both)
        ),
        *payloads.notices_of_status(status()),
        *payloads.notices_of_release(release()),
    ]


def sent(notice: Notice) -> dict[str, Any]:
    return json.loads(payloads.native(notice))  # type: ignore[no-any-return]


def within(old: Any, new: Any) -> bool:
    """Whether everything that ``old`` says is said by ``new``, too."""
    if isinstance(old, dict):
        return isinstance(new, dict) and all(key in new and within(old[key], new[key]) for key in old)
    if isinstance(old, list):
        return isinstance(new, list) and len(old) == len(new) and all(map(within, old, new))
    return bool(old == new)


def test_every_event_of_the_reference_is_here() -> None:
    assert {notice.event for notice in everything()} == set(PAYLOADS) == set(EVENTS)


@pytest.mark.parametrize("event", PAYLOADS)
def test_a_golden_payload_has_the_fields_of_the_reference(event: str) -> None:
    assert departures(event, json.loads((GOLDEN / f"{event}.json").read_bytes())) == []


@pytest.mark.parametrize("notice", everything(), ids=lambda notice: notice.event)
def test_a_payload_says_what_the_golden_one_says_and_no_secret(notice: Notice) -> None:
    assert within(json.loads((GOLDEN / f"{notice.event}.json").read_bytes()), sent(notice))
    assert departures(notice.event, sent(notice)) == []
    assert sent(notice)["secret"] == ""


@pytest.mark.parametrize(
    ("event", "spoilt", "told"),
    [
        ("push", {"before": None}, "push.before is null"),
        ("push", {"commits": [{}]}, "push.commits[].id is missing"),
        ("issues", {"number": True}, "issues.number is no int"),
        ("issues", {"sender": []}, "issues.sender is no object"),
        ("status", {"created_at": "2026-03-04T05:06:07"}, "status.created_at has no zone"),
    ],
)
def test_the_table_of_the_reference_tells_what_is_wrong(event: str, spoilt: Any, told: str) -> None:
    payload = json.loads((GOLDEN / f"{event}.json").read_bytes())
    assert told in departures(event, payload | spoilt)
    assert f"{event} has another order" in departures(event, dict(reversed(payload.items())))


def test_at_most_five_commits_are_sent() -> None:
    (notice,) = payloads.notices_of_push(push(commits=30))
    assert len(sent(notice)["commits"]) == 5


def test_the_text_is_indented_json() -> None:
    assert payloads.native(everything()[0]).startswith(b'{\n  "secret": "",\n  "sha": ')


@pytest.mark.parametrize(
    ("ref", "before", "after", "told", "kind", "short"),
    [
        ("refs/heads/main", "a" * 40, NEW, ["push"], None, None),
        ("refs/heads/a/b", NO_COMMIT, NEW, ["create", "push"], "branch", "a/b"),
        ("refs/tags/v1", NO_COMMIT, NEW, ["create", "push"], "tag", "v1"),
        ("refs/heads/a/b", NEW, NO_COMMIT, ["push", "delete"], "branch", "a/b"),
        ("refs/tags/v1", NEW, NO_COMMIT, ["push", "delete"], "tag", "v1"),
    ],
)
def test_a_moved_ref_is_told_in_order(
    ref: str, before: str, after: str, told: list[str], kind: str | None, short: str | None
) -> None:
    notices = payloads.notices_of_push(push(ref=ref, before=before, after=after))
    assert [notice.event for notice in notices] == told
    for notice in notices:
        assert notice.branch == ("" if kind == "tag" else ref.removeprefix("refs/heads/"))
        if notice.event != "push":
            assert (sent(notice)["ref_type"], sent(notice)["ref"]) == (kind, short)


def test_changes_are_left_out_when_nothing_changed() -> None:
    event = IssueChanged(action="opened", issue=issue(), repository=repository(), sender=ANN)
    (notice,) = payloads.notices_of_issue(event)
    assert "changes" not in sent(notice)
    assert sent(notice)["issue"]["pull_request"] is None


def test_changes_hold_the_former_text_under_from() -> None:
    notice = next(notice for notice in everything() if notice.event == "issues")
    assert sent(notice)["changes"] == {"title": {"from": "before"}}


def test_a_fork_is_told_to_the_original() -> None:
    notice = next(notice for notice in everything() if notice.event == "fork")
    assert notice.repository_id == sent(notice)["forkee"]["id"] == 7
    assert sent(notice)["repository"]["id"] == 9


@pytest.mark.parametrize("cls", [RepositoryCreated, RepositoryDeleted])
def test_repository_events_are_for_organizations_and_show_all_permissions(cls: type[msgspec.Struct]) -> None:
    assert payloads.notices_of_repository(cls(repository=repository(), sender=ANN)) == []
    (notice,) = payloads.notices_of_repository(
        cls(repository=ORGANIZED, sender=ANN, owner_kind="organization")
    )
    assert set(sent(notice)["repository"]["permissions"].values()) == {True}
    assert sent(notice)["organization"]["login"] == "acme"
    assert notice.action == cls.__name__.removeprefix("Repository").lower()
