"""Payloads against the reference: names and order of their fields, and the notices of each event."""

import json
from pathlib import Path
from typing import Any, get_args

import msgspec
import pytest

from ingot_contracts.hooks.webhooks import FAMILIES, Payload
from ingot_contracts.identity.accounts import GHOST
from ingot_contracts.issues.events import (
    CommentChanged,
    IssueChanged,
    IssueChanges,
    PullRequestChanged,
    ReviewChanged,
    ReviewRequested,
)
from ingot_contracts.issues.pulls import RequestedTeam
from ingot_contracts.issues.reviews import PullReview
from ingot_contracts.limits import Omitted
from ingot_contracts.repos.commits import NO_COMMIT
from ingot_contracts.repos.events import RepositoryCreated, RepositoryDeleted
from ingot_hooks.payloads.rules import notices
from ingot_hooks.payloads.rules.notices import Notice
from ingot_hooks.payloads.rules.subscriptions import EVENTS

from ..builders import (
    ACME,
    ANN,
    EVENTS_BY_NAME,
    NEW,
    comment,
    commit,
    issue,
    pull_request,
    pull_request_part,
    push,
    release,
    repository,
)
from ..payload_reference import PAYLOADS, differences

GOLDEN = Path(__file__).parent / "golden"
FORK = repository(9, name="fork")
ORGANIZED = repository(owner=ACME)
ABOUT: Any = {"repository": repository(), "sender": ANN}


def sample_notices() -> list[Notice]:
    """Return a notice of each family."""
    return [
        next(notice for notice in notices.NOTICES_OF[type(event)](event) if notice.event == name)
        for name, event in EVENTS_BY_NAME.items()
    ]


def sent(notice: Notice) -> dict[str, Any]:
    return json.loads(notices.native(notice))  # type: ignore[no-any-return]


def contains(new: Any, old: Any) -> bool:
    """Return True if ``new`` has every field and value of ``old``."""
    if isinstance(old, dict):
        return isinstance(new, dict) and all(key in new and contains(new[key], old[key]) for key in old)
    if isinstance(old, list):
        return isinstance(new, list) and len(old) == len(new) and all(map(contains, new, old))
    return bool(old == new)


def test_every_family_has_a_sample_and_a_golden_payload_and_those_of_the_reference_are_here():
    assert list(EVENTS_BY_NAME) == list(EVENTS)
    assert {file.stem for file in GOLDEN.glob("*.json")} == set(EVENTS)
    assert set(PAYLOADS) <= set(EVENTS)


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.name)
def test_a_notice_is_of_an_event_and_has_a_payload_that_the_table_names(family):
    notice = next(notice for notice in sample_notices() if notice.event == family.name)
    assert type(EVENTS_BY_NAME[family.name]) in family.events
    assert type(notice.payload) is family.payload


def test_the_table_names_all_events_of_which_notices_are_made_and_all_payloads():
    assert {event for family in FAMILIES for event in family.events} == set(notices.NOTICES_OF)
    assert {family.payload for family in FAMILIES} == set(get_args(Payload))


@pytest.mark.parametrize("event", PAYLOADS)
def test_a_golden_payload_has_the_fields_of_the_reference(event):
    assert differences(event, json.loads((GOLDEN / f"{event}.json").read_bytes()), later={}) == []


@pytest.mark.parametrize("notice", sample_notices(), ids=lambda notice: notice.event)
def test_a_payload_has_what_the_golden_one_has_and_no_secret(notice):
    assert contains(sent(notice), json.loads((GOLDEN / f"{notice.event}.json").read_bytes()))
    assert notice.event not in PAYLOADS or differences(notice.event, sent(notice)) == []
    assert sent(notice)["secret"] == ""


@pytest.mark.parametrize(
    ("event", "change", "difference"),
    [
        ("push", {"before": None}, "push.before is null"),
        ("push", {"commits": [{}]}, "push.commits[].id is missing"),
        ("issues", {"number": True}, "issues.number is no int"),
        ("issues", {"sender": []}, "issues.sender is no object"),
        ("status", {"created_at": "2026-03-04T05:06:07"}, "status.created_at has no zone"),
    ],
)
def test_the_reference_names_each_difference(event, change, difference):
    payload = json.loads((GOLDEN / f"{event}.json").read_bytes())
    assert difference in differences(event, payload | change)
    assert f"{event} has another order" in differences(event, dict(reversed(payload.items())))


def test_at_most_five_commits_are_sent():
    (notice,) = notices.notices_of_push(push(commits=30))
    assert len(sent(notice)["commits"]) == 5


def test_the_text_is_indented_json():
    assert notices.native(sample_notices()[0]).startswith(b'{\n  "secret": "",\n  "sha": ')


@pytest.mark.parametrize(
    ("ref", "before", "after", "events", "kind", "short"),
    [
        ("refs/heads/main", "a" * 40, NEW, ["push"], None, None),
        ("refs/heads/a/b", NO_COMMIT, NEW, ["create", "push"], "branch", "a/b"),
        ("refs/tags/v1", NO_COMMIT, NEW, ["create", "push"], "tag", "v1"),
        ("refs/heads/a/b", NEW, NO_COMMIT, ["delete"], "branch", "a/b"),
        ("refs/tags/v1", NEW, NO_COMMIT, ["push", "delete"], "tag", "v1"),
    ],
)
def test_a_moved_ref_makes_notices_in_order(ref, before, after, events, kind, short):
    of_push = notices.notices_of_push(push(ref=ref, before=before, after=after))
    assert [notice.event for notice in of_push] == events
    for notice in of_push:
        assert notice.branch == ("" if kind == "tag" else ref.removeprefix("refs/heads/"))
        if notice.event != "push":
            assert (sent(notice)["ref_type"], sent(notice)["ref"]) == (kind, short)


def test_changes_are_left_out_when_nothing_changed():
    event = IssueChanged(action="opened", issue=issue(), repository=repository(), sender=ANN)
    (notice,) = notices.notices_of_issue(event)
    assert "changes" not in sent(notice)
    assert sent(notice)["issue"]["pull_request"] is None


def test_changes_hold_the_former_text_under_from():
    notice = next(notice for notice in sample_notices() if notice.event == "issues")
    assert sent(notice)["changes"] == {
        "title": {"from": "before"},
        "added_labels": [],
        "removed_labels": [],
    }


@pytest.mark.parametrize("action", ["label_updated", "label_cleared"])
def test_events_of_labels_name_what_was_put_on_and_taken_off(action):
    [label] = issue().labels
    changes = IssueChanges(added_labels=[label], removed_labels=[])
    [of_issue] = notices.notices_of_issue(
        IssueChanged(action=action, issue=issue(), changes=changes, **ABOUT)
    )
    [of_pull] = notices.notices_of_pull_request(
        PullRequestChanged(action=action, pull_request=pull_request(), changes=changes, **ABOUT)
    )
    for notice in (of_issue, of_pull):
        assert notice.kind.endswith("_label")
        assert sent(notice)["changes"] == {
            "added_labels": [msgspec.to_builtins(label)],
            "removed_labels": [],
        }


def test_a_fork_is_for_the_hooks_of_the_original():
    notice = next(notice for notice in sample_notices() if notice.event == "fork")
    assert notice.repository_id == sent(notice)["forkee"]["id"] == 7
    assert sent(notice)["repository"]["id"] == 9


@pytest.mark.parametrize("cls", [RepositoryCreated, RepositoryDeleted])
def test_repository_events_are_for_organizations_and_show_all_permissions(cls):
    assert notices.notices_of_repository(cls(repository=repository(), sender=ANN)) == []
    (notice,) = notices.notices_of_repository(
        cls(repository=ORGANIZED, sender=ANN, owner_kind="organization")
    )
    assert set(sent(notice)["repository"]["permissions"].values()) == {True}
    assert sent(notice)["organization"]["login"] == "acme"
    assert notice.action == cls.__name__.removeprefix("Repository").lower()


CHANGED = [
    (notices.notices_of_push, push()),
    (notices.notices_of_issue, IssueChanged(action="opened", issue=issue(), **ABOUT)),
    (
        notices.notices_of_comment,
        CommentChanged(action="created", issue=issue(), comment=comment(), **ABOUT),
    ),
    (
        notices.notices_of_pull_request,
        PullRequestChanged(action="opened", pull_request=pull_request(), **ABOUT),
    ),
    (notices.notices_of_release, release()),
]


@pytest.mark.parametrize(("notices", "event"), CHANGED)
def test_what_an_event_leaves_out_is_counted(notices, event):
    (whole,) = notices(event)
    assert "omitted" not in sent(whole)
    clipped = msgspec.structs.replace(event, omitted=Omitted(characters=7, labels=2))
    (notice,) = notices(clipped)
    assert sent(notice) == sent(whole) | {"omitted": {"characters": 7, "labels": 2}}
    assert differences(notice.event, sent(notice)) == []


def test_a_push_tells_its_options():
    (whole,) = notices.notices_of_push(push())
    assert "push_options" not in sent(whole)
    (notice,) = notices.notices_of_push(msgspec.structs.replace(push(), options=["ci.skip"]))
    assert sent(notice) == sent(whole) | {"push_options": ["ci.skip"]}
    assert differences(notice.event, sent(notice)) == []


@pytest.mark.parametrize(
    ("fields", "head"),
    [
        ({}, NEW),
        ({"before": NO_COMMIT}, NEW),
        ({"commits": 0}, "c"),
        ({"commits": 0, "ref": "refs/tags/v1"}, "c"),
        ({"after": "d" * 40}, "c"),
        ({"after": NO_COMMIT, "commits": 0, "ref": "refs/tags/v1"}, None),
    ],
)
def test_a_push_names_the_commit_that_the_ref_is_at(fields, head):
    """Also where no commit is new: a branch that was set back, and a tag."""
    event = push(**fields)
    if head == "c":
        event = msgspec.structs.replace(event, head_commit=commit(id_="c"))
    body = sent(next(notice for notice in notices.notices_of_push(event) if notice.event == "push"))
    assert (body["head_commit"] and body["head_commit"]["id"]) == head
    assert body["total_commits"] == len(body["commits"])


def test_a_push_counts_all_its_commits():
    (notice,) = notices.notices_of_push(push(commits=30))
    assert sent(notice)["total_commits"] == 30


def test_a_new_branch_leaves_nothing_out():
    create, push_ = notices.notices_of_push(
        msgspec.structs.replace(push(before=NO_COMMIT), omitted=Omitted(paths=3))
    )
    assert "omitted" not in sent(create)
    assert sent(push_)["omitted"] == {"paths": 3}


@pytest.mark.parametrize(
    ("state", "event", "kind"),
    [
        ("APPROVED", "pull_request_approved", "pull_request_review_approved"),
        ("REQUEST_CHANGES", "pull_request_rejected", "pull_request_review_rejected"),
        ("COMMENT", "pull_request_comment", "pull_request_review_comment"),
    ],
)
def test_a_review_is_told_under_the_name_of_what_it_says(state, event, kind):
    changed = ReviewChanged(
        action="submitted",
        review=PullReview(id=1, user=ANN, state=state, body="so"),
        pull_request=pull_request(),
        **ABOUT,
    )
    [notice] = notices.notices_of_review(changed)
    assert (notice.event, notice.kind) == (event, kind)
    body = sent(notice)
    assert (body["action"], body["number"], body["review"]) == (
        "reviewed",
        4,
        {"type": kind, "content": "so"},
    )
    assert body["requested_reviewer"] is None
    dismissed = msgspec.structs.replace(changed, action="dismissed")
    assert notices.notices_of_review(dismissed) == []


@pytest.mark.parametrize(
    ("removed", "action"), [(False, "review_requested"), (True, "review_request_removed")]
)
def test_a_request_for_a_review_names_the_reviewer(removed, action):
    requested = ReviewRequested(reviewer=ANN, pull_request=pull_request(), removed=removed, **ABOUT)
    [notice] = notices.notices_of_review_request(requested)
    assert (notice.event, notice.kind) == ("pull_request", "pull_request_review_request")
    body = sent(notice)
    assert (body["action"], body["requested_reviewer"]["login"]) == (action, "ann")
    assert body["review"] is None
    assert "requested_team" not in body
    of_team = msgspec.structs.replace(requested, reviewer=GHOST, team=RequestedTeam(id=5, name="ops"))
    [notice] = notices.notices_of_review_request(of_team)
    body = sent(notice)
    assert (body["action"], body["requested_team"]["name"]) == (action, "ops")
    assert body["requested_reviewer"] is None


@pytest.mark.parametrize(
    ("fields", "event", "kind"),
    [
        ({}, "issue_comment", "issue_comment"),
        ({"is_pull": True}, "issue_comment", "pull_request_comment"),
        ({"is_pull": True, "on_line": True}, "pull_request_comment", "pull_request_review_comment"),
    ],
)
def test_a_comment_is_announced_under_the_name_of_where_it_stands(fields, event, kind):
    """Ids of comments on lines are their own, so they do not come as `issue_comment`."""
    changed = CommentChanged(action="deleted", issue=issue(), comment=comment(), **ABOUT, **fields)
    [notice] = notices.notices_of_comment(changed)
    assert (notice.event, notice.kind, notice.action) == (event, kind, "deleted")
    body = sent(notice)
    assert "pull_request" not in body
    assert (body["comment"]["id"], body["is_pull"]) == (comment().id, fields.get("is_pull", False))


@pytest.mark.parametrize("fork", [None, repository(9, name="fork")])
def test_a_comment_on_a_pull_request_has_it_whole(fork):
    pull = pull_request()
    part = pull_request_part()
    if fork is not None:
        part = msgspec.structs.replace(part, head=msgspec.structs.replace(part.head, repo_id=9, repo=fork))
    event = CommentChanged(
        action="created", issue=issue(), comment=comment(), is_pull=True, pull_request=part, **ABOUT
    )
    [notice] = notices.notices_of_comment(event)
    body = sent(notice)["pull_request"]
    assert (body["id"], body["number"], body["title"], body["body"]) == (60, 3, "It <burns>", "all of it")
    assert [label["name"] for label in body["labels"]] == ["bug"]
    assert body["base"]["repo"]["full_name"] == "ann/app"
    assert body["head"]["repo"]["full_name"] == ("ann/fork" if fork else "ann/app")
    assert set(body) == set(msgspec.to_builtins(pull))


def test_a_comment_on_a_pull_request_of_a_deleted_fork_has_no_repository():
    part = pull_request_part()
    part = msgspec.structs.replace(part, head=msgspec.structs.replace(part.head, repo_id=9))
    event = CommentChanged(
        action="created", issue=issue(), comment=comment(), is_pull=True, pull_request=part, **ABOUT
    )
    [notice] = notices.notices_of_comment(event)
    assert sent(notice)["pull_request"]["head"]["repo"] is None
