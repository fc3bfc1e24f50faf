"""Payloads against the reference: names and order of fields, and which notices an event becomes."""

import json
from typing import Any

import msgspec
import pytest

from ingot_contracts.issues import ChangedText, Changes, CommentChanged, IssueChanged, PullRequestChanged
from ingot_contracts.repos import NO_COMMIT, RepositoryCreated, RepositoryDeleted, RepositoryForked
from ingot_hooks.core import payloads
from ingot_hooks.core.payloads import Notice

from .builders import ACME, ANN, NEW, comment, issue, pull_request, push, release, repository, status

FIELDS = {
    "create": "secret sha ref ref_type repository sender",
    "push": "secret ref before after compare_url commits repository pusher sender",
    "delete": "secret ref ref_type pusher_type repository sender",
    "fork": "secret forkee repository sender",
    "repository": "secret action repository organization sender",
    "issues": "secret action number changes issue repository sender",
    "issue_comment": "secret action issue comment changes repository sender is_pull",
    "pull_request": "secret action number changes pull_request repository sender",
    "status": "secret id sha state context description target_url created_at updated_at repository sender",
    "release": "secret action release repository sender",
}
NESTED = {
    "sender": "id login full_name email avatar_url",
    "repository": "id owner name full_name description empty private fork parent mirror size html_url ssh_url "
    "clone_url website stars_count forks_count watchers_count open_issues_count default_branch created_at "
    "updated_at permissions",
    "issue": "id url number user title body labels milestone assignee state comments created_at updated_at "
    "pull_request",
    "release": "id tag_name target_commitish name body url tarball_url zipball_url draft prerelease created_at "
    "published_at author",
    "comment": "id html_url pull_request_url issue_url user body created_at updated_at",
    "pull_request": "id url number user title body labels milestone assignee state comments html_url diff_url "
    "patch_url mergeable merged merged_at merge_commit_sha merged_by base head merge_base created_at updated_at",
}
COMMIT = "id message url author committer verification timestamp"
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


def test_every_event_of_the_reference_is_here() -> None:
    assert {notice.event for notice in everything()} == set(FIELDS)


@pytest.mark.parametrize("notice", everything(), ids=lambda notice: notice.event)
def test_a_payload_has_the_fields_of_the_reference_in_their_order(notice: Notice) -> None:
    payload = sent(notice)
    assert list(payload) == FIELDS[notice.event].split()
    assert payload["secret"] == ""
    for name, fields in NESTED.items():
        if name in payload:
            assert [field for field in payload[name] if field in fields.split()] == fields.split()


def test_commits_have_the_fields_of_the_reference() -> None:
    (notice,) = payloads.notices_of_push(push())
    (commit,) = sent(notice)["commits"]
    assert [field for field in commit if field in COMMIT.split()] == COMMIT.split()
    assert list(commit["author"]) == ["name", "email", "username"]


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
    assert sent(notice)["issue"]["assignee"] is None


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
