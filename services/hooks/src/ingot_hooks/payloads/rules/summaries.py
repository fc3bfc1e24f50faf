"""Lines that a chat shows for a notice, before they are converted to the markup of the chat."""

from collections.abc import Callable, Sequence
from typing import assert_never

import msgspec
from msgspec import UNSET

from ingot_contracts.hooks.webhooks import (
    CreatePayload,
    DeletePayload,
    ForkPayload,
    ImportPayload,
    IssueCommentPayload,
    IssuePayload,
    Payload,
    PullRequestPayload,
    PushPayload,
    ReleasePayload,
    RepositoryPayload,
    StatusPayload,
    WikiPayload,
)
from ingot_contracts.identity.accounts import User
from ingot_contracts.repos.commits import NO_COMMIT, PASSED, Commit
from ingot_contracts.repos.repositories import Repository
from ingot_hooks.payloads.rules.notices import BRANCHES, TAGS, Notice

_REVIEWS = {"pull_request_review_approved": "approved", "pull_request_review_rejected": "rejected"}
"""The word in chats for each kind of review. All other reviews are comments."""
SUCCESS, WARNING, FAILURE = "1ac600", "ffd930", "ff3232"
_STATUS_COLORS: dict[str, str] = {**dict.fromkeys(PASSED, SUCCESS), "pending": WARNING, "warning": WARNING}
MAX_TEXT = 2000


class Link(msgspec.Struct, frozen=True):
    """Text with a URL."""

    url: str
    text: str


Line = Sequence[str | Link]


class Summary(msgspec.Struct, frozen=True, kw_only=True):
    """A summary for a chat. ``color`` is six hex digits. ``url`` is the subject's page; empty if deleted."""

    headline: Line
    detail: list[Line] = []
    url: str
    color: str = SUCCESS
    sender: User
    repository: Repository


def summary_of(notice: Notice) -> Summary:
    """Return the summary of ``notice``."""
    payload = notice.payload
    repository = Link(payload.repository.html_url, payload.repository.full_name)
    headline, detail, url, color = _describe(payload, repository)
    return Summary(
        headline=[*headline, f" by {payload.sender.login}"],
        detail=detail,
        url=url,
        color=color,
        sender=payload.sender,
        repository=payload.repository,
    )


def render_line(line: Line, escape: Callable[[str], str], link: Callable[[str, str], str]) -> str:
    """Return ``line`` in the markup of a chat: ``link`` gets a URL and its escaped text."""
    return "".join(
        link(part.url, escape(part.text)) if isinstance(part, Link) else escape(part) for part in line
    )


def clip(text: str, max_length: int = MAX_TEXT) -> str:
    return text if len(text) <= max_length else text[: max_length - 1] + "…"


_Description = tuple[Line, list[Line], str, str]


def _describe(payload: Payload, repository: Link) -> _Description:  # noqa: C901, PLR0911, PLR0912
    headline: Line
    match payload:
        case CreatePayload():
            return (
                ["[", repository, f"] {payload.ref_type} {payload.ref} created"],
                [],
                repository.url,
                SUCCESS,
            )
        case DeletePayload():
            return (
                ["[", repository, f"] {payload.ref_type} {payload.ref} deleted"],
                [],
                repository.url,
                FAILURE,
            )
        case ForkPayload():
            original = Link(payload.forkee.html_url, payload.forkee.full_name)
            return [original, " forked to ", repository], [], repository.url, SUCCESS
        case RepositoryPayload(action="deleted"):
            return [f"[{repository.text}] repository deleted"], [], "", FAILURE
        case RepositoryPayload():
            return ["[", repository, f"] repository {payload.action}"], [], repository.url, SUCCESS
        case PushPayload():
            return _describe_push(payload, repository)
        case IssuePayload(issue=issue):
            url = f"{repository.url}/issues/{issue.number}"
            headline = [
                "[",
                repository,
                "] issue ",
                Link(url, f"#{issue.number} {issue.title}"),
                f" {payload.action}",
            ]
            return headline, _quoted(issue.body, payload.action), url, _color(payload.action)
        case IssueCommentPayload(issue=issue, comment=comment):
            subject = Link(comment.html_url, f"#{issue.number} {issue.title}")
            headline = ["[", repository, "] comment on ", subject, f" {payload.action}"]
            detail: list[Line] = [[clip(comment.body)]] if payload.action != "deleted" else []
            return headline, detail, comment.html_url, _color(payload.action)
        case PullRequestPayload():
            return _describe_pull_request(payload, repository)
        case StatusPayload():
            return _describe_status(payload, repository)
        case ReleasePayload(release=release):
            name = Link(release.html_url, release.name or release.tag_name)
            detail = [[clip(release.body)]] if release.body and payload.action == "published" else []
            headline = ["[", repository, "] release ", name, f" {payload.action}"]
            return headline, detail, release.html_url, _color(payload.action)
        case WikiPayload():
            return _describe_page(payload, repository)
        case ImportPayload(reason=reason):
            headline = ["[", repository, f"] import {payload.action}"]
            return headline, [[reason]] if reason else [], repository.url, FAILURE if reason else SUCCESS
        case _:
            assert_never(payload)


def _describe_page(payload: WikiPayload, repository: Link) -> _Description:
    is_deleted = payload.action == "deleted"
    url = f"{repository.url}/wiki" if is_deleted else f"{repository.url}/wiki/{payload.page}"
    page = payload.page if is_deleted else Link(url, payload.page)
    headline: Line = ["[", repository, "] page ", page, f" of the wiki {payload.action}"]
    detail: list[Line] = [[clip(payload.comment)]] if payload.comment and not is_deleted else []
    return headline, detail, url, FAILURE if is_deleted else SUCCESS


def _describe_pull_request(payload: PullRequestPayload, repository: Link) -> _Description:
    pull, review = payload.pull_request, payload.review
    reviewer, team = payload.requested_reviewer, payload.requested_team
    subject = Link(pull.html_url, f"#{pull.number} {pull.title}")
    headline: Line
    if review is not None:
        verb = _REVIEWS.get(review.type, "commented")
        detail: list[Line] = [[clip(review.content)]] if review.content else []
        color = FAILURE if verb == "rejected" else SUCCESS
        headline = ["[", repository, "] pull request ", subject, f" {verb}"]
        return headline, detail, pull.html_url, color
    if reviewer is not None or team is not UNSET:
        verb = "requested" if payload.action == "review_requested" else "no longer requested"
        whom = f"the team {team.name}" if team is not UNSET else reviewer.login if reviewer else ""
        headline = ["[", repository, "] review of ", subject, f" {verb} from {whom}"]
        return headline, [], pull.html_url, SUCCESS
    action = "merged" if payload.action == "closed" and pull.merged else payload.action
    headline = ["[", repository, "] pull request ", subject, f" {action}"]
    return headline, _quoted(pull.body, action), pull.html_url, _color(action)


def _describe_push(payload: PushPayload, repository: Link) -> _Description:
    ref = payload.ref.removeprefix(BRANCHES).removeprefix(TAGS)
    if payload.after == NO_COMMIT:
        return ["[", repository, f"] {ref} removed by a push"], [], repository.url, FAILURE
    count = payload.total_commits
    what = f"{count} new commit{'' if count == 1 else 's'} pushed" if count else "pushed"
    detail: list[Line] = [_commit_line(commit) for commit in payload.commits]
    return ["[", repository, f":{ref}] {what}"], detail, payload.compare_url or repository.url, SUCCESS


def _describe_status(payload: StatusPayload, repository: Link) -> _Description:
    commit = Link(f"{repository.url}/commit/{payload.sha}", payload.sha[:7])
    color = _STATUS_COLORS.get(payload.state, FAILURE)
    detail: list[Line] = [[clip(payload.description)]] if payload.description else []
    headline: Line = ["[", repository, "] ", payload.context, " of ", commit, f": {payload.state}"]
    return headline, detail, payload.target_url or commit.url, color


def _commit_line(commit: Commit) -> Line:
    subject = commit.message.lstrip().split("\n", 1)[0]
    return [Link(commit.url, commit.id[:7]), f": {clip(subject, 200)} - {commit.author.name}"]


def _quoted(body: str, action: str) -> list[Line]:
    """Return the text of an issue or pull request, if it is new."""
    return [[clip(body)]] if body and action in ("opened", "edited") else []


def _color(action: str) -> str:
    return {
        "closed": FAILURE,
        "deleted": FAILURE,
        "edited": WARNING,
        "reopened": WARNING,
        "updated": WARNING,
    }.get(action, SUCCESS)
