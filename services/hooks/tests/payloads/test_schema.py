"""Deliveries of every kind of event, compared with the reference field by field."""

import json
from typing import Any

import msgspec
import pytest

from ingot_contracts.attachments import Attachment
from ingot_contracts.hooks.webhooks import FAMILIES, PARTS
from ingot_contracts.identity.accounts import GHOST
from ingot_contracts.issues.events import (
    CommentChanged,
    IssueChanged,
    IssueChanges,
    PullRequestChanged,
    ReviewChanged,
    ReviewRequested,
)
from ingot_contracts.issues.issues import PullRequestMeta, RepositoryMeta
from ingot_contracts.issues.pulls import RequestedTeam
from ingot_contracts.issues.reviews import PullReview
from ingot_contracts.repos.events import ReleaseChanged
from ingot_contracts.repos.trackers import ExternalTracker, ExternalWiki, InternalTracker

from ..builders import (
    ANN,
    EVENTS_BY_NAME,
    THEN,
    comment,
    hook,
    issue,
    pull_request,
    pull_request_part,
    push,
    release,
    repository,
)
from ..payload_reference import LATER, MISSING, NEVER_SENT, PAYLOADS, SHAPES, differences
from ..world import HOOKS, OWNER

FILE = Attachment(
    id=1, uuid="u", name="a.txt", size=1, created_at=THEN, browser_download_url="http://forge/a"
)
TEAM = RequestedTeam(id=5, name="ops")
WHOLE = msgspec.structs.replace(
    repository(),
    internal_tracker=InternalTracker(),
    external_tracker=ExternalTracker(),
    external_wiki=ExternalWiki(),
)
ABOUT: Any = {"repository": WHOLE, "sender": ANN}
ISSUE = msgspec.structs.replace(
    issue(),
    assets=[FILE],
    pull_request=PullRequestMeta(),
    repository=RepositoryMeta(id=7, name="app", owner="ann", full_name="ann/app"),
)
PULL = msgspec.structs.replace(
    pull_request(), requested_reviewers=[ANN], requested_reviewers_teams=[TEAM], labels=issue().labels
)
LABELS = IssueChanges(added_labels=issue().labels)


def changed(action: Any, changes: IssueChanges | None = None) -> list[msgspec.Struct]:
    return [
        IssueChanged(action=action, issue=ISSUE, changes=changes, **ABOUT),
        PullRequestChanged(action=action, pull_request=PULL, changes=changes, **ABOUT),
    ]


def commented(**fields: Any) -> CommentChanged:
    shown = msgspec.structs.replace(comment(), assets=[FILE])
    return CommentChanged(action="created", issue=ISSUE, comment=shown, **ABOUT, **fields)


def reviewed(state: Any) -> ReviewChanged:
    review = PullReview(id=1, user=ANN, state=state, body="so")
    return ReviewChanged(action="submitted", review=review, pull_request=PULL, **ABOUT)


EVENTS = [
    *EVENTS_BY_NAME.values(),
    *changed("opened"),
    *changed("assigned"),
    *changed("label_updated", LABELS),
    *changed("label_cleared", LABELS),
    *changed("milestoned"),
    PullRequestChanged(action="synchronized", pull_request=PULL, **ABOUT),
    commented(),
    commented(is_pull=True, pull_request=pull_request_part()),
    commented(is_pull=True, on_line=True, pull_request=pull_request_part()),
    *(reviewed(state) for state in ("APPROVED", "REQUEST_CHANGES", "COMMENT")),
    ReviewRequested(reviewer=ANN, pull_request=PULL, **ABOUT),
    ReviewRequested(reviewer=GHOST, team=TEAM, pull_request=PULL, removed=True, **ABOUT),
    push(ref="refs/tags/v1", commits=0),
    ReleaseChanged(
        action="updated", release=msgspec.structs.replace(release().release, assets=[FILE]), **ABOUT
    ),
]
KINDS = {family.name for family in FAMILIES} | {
    part.name for part in PARTS if part.actions or part.review or part.name == "pull_request_comment"
}
FAMILY_BY_KIND = {family.name: family.name for family in FAMILIES} | {part.name: part.of for part in PARTS}


def family_of(event_type: str, payload: dict[str, Any]) -> str:
    """Return the family whose fields the payload has: that of a comment on a line is a comment."""
    if isinstance(payload.get("comment"), dict):
        return "issue_comment"
    while FAMILY_BY_KIND[event_type] != event_type:
        event_type = FAMILY_BY_KIND[event_type]
    return event_type


@pytest.fixture
async def deliveries(world, receiver):
    """Headers and payload of a delivery for every event, of hooks of a repository and of an organization."""
    body = hook(receiver.url, events=sorted(KINDS))
    for hooks, caller in ((HOOKS, {}), ("/orgs/acme/hooks", {"organizations": OWNER})):
        created = await world.call("POST", hooks, body, **caller)
        assert created.status_code == 201, created.text
    for event in EVENTS:
        await world.deliver(event)
    while await world.worker.step():
        pass
    return [
        (request.headers["X-Gitea-Event-Type"], json.loads(request.body)) for request in receiver.requests
    ]


async def test_a_delivery_of_each_kind_has_the_fields_of_the_reference(deliveries):
    shapes = set()
    for kind, payload in deliveries:
        assert (kind, differences(family_of(kind, payload), payload, shapes=shapes)) == (kind, [])
    assert {kind for kind, _ in deliveries} == KINDS
    assert shapes == {*PAYLOADS, *SHAPES} - set(NEVER_SENT)


async def test_deliveries_of_labels_and_of_comments_on_pull_requests_have_what_only_they_have(deliveries):
    labels = [payload["changes"] for kind, payload in deliveries if kind.endswith("_label")]
    assert len(labels) == 4
    assert all(changes["added_labels"] for changes in labels)
    for kind in ("pull_request_comment", "pull_request_review_comment"):
        [payload] = [one for name, one in deliveries if name == kind and "comment" in one]
        assert payload["pull_request"]["base"]["repo"]["full_name"] == "ann/app"


def test_every_exception_is_a_field_of_the_reference_and_has_a_reason():
    for (shape, name), reason in MISSING.items():
        assert name in {field.partition(":")[0] for field in LATER[shape].split()}
        assert len(reason) > 20
