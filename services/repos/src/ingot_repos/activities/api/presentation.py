"""Conversion of activities into API responses."""

from datetime import datetime
from typing import Any

import msgspec

from ingot_contracts.identity.accounts import User
from ingot_contracts.issues.issues import Comment
from ingot_contracts.repos.repositories import Repository
from ingot_git.refs.refs import ZERO_OID
from ingot_repos.activities.rules import EXCERPT, CommitDetails, Details
from ingot_repos.activities.store import ActivityRow
from ingot_repos.presentation.rules.presenter import Presenter


class Activity(msgspec.Struct, frozen=True, kw_only=True):
    """An activity. `content` has the format of Gitea.

    - pushes: JSON with the latest commits; empty if a branch or tag was deleted;
    - issues, pull requests, comments and reviews: the number, `|`, and the title or the first 200 characters
      of the text;
    - `rename_repo`: the former name;
    - `publish_release`: the title.
    """

    id: int
    user_id: int
    op_type: str
    act_user_id: int
    act_user: User
    repo_id: int
    repo: Repository
    comment_id: int
    comment: Comment | None
    ref_name: str
    is_private: bool
    content: str
    created: datetime


class UserHeatmapData(msgspec.Struct, frozen=True):
    """The number of activities in a period of 15 minutes. `timestamp` is its start, in seconds since 1970."""

    timestamp: int
    contributions: int


def activity_view(presenter: Presenter, row: ActivityRow, repository: Repository, user_id: int) -> Activity:
    """Return an activity for responses. ``user_id`` is the account of the feed; 0 stands for the actor."""
    details = msgspec.json.decode(row.details, type=Details)
    actor = presenter.joined_user(row.actor_id, row)
    return Activity(
        id=row.id,
        user_id=user_id or row.actor_id,
        op_type=row.kind,
        act_user_id=row.actor_id,
        act_user=actor,
        repo_id=row.repository_id,
        repo=repository,
        comment_id=row.comment_id,
        comment=_comment(row, details, actor, repository) if row.comment_id else None,
        ref_name=details.ref,
        is_private=repository.private,
        content=_content(row, details, repository),
        created=row.created_at.replace(microsecond=0),
    )


def _content(row: ActivityRow, details: Details, repository: Repository) -> str:
    if row.kind == "pull_review_dismissed":
        return f"{row.subject_id}||"
    if row.kind == "publish_release" or not (row.subject_id or details.after):
        return details.title
    if row.subject_id:
        return f"{row.subject_id}|{details.title or details.text[:EXCERPT]}"
    if details.after == ZERO_OID or not details.commits:
        return ""
    return msgspec.json.encode(_push(details, repository)).decode()


def _push(details: Details, repository: Repository) -> dict[str, Any]:
    commits = [_commit(one) for one in details.commits]
    is_update = details.before != ZERO_OID
    compare = f"{repository.full_name}/compare/{details.before}...{details.after}" if is_update else ""
    return {"Commits": commits, "HeadCommit": commits[0], "CompareURL": compare, "Len": details.total}


def _commit(commit: CommitDetails) -> dict[str, Any]:
    return {
        "Sha1": commit.id,
        "Message": commit.message,
        "AuthorEmail": commit.author_email,
        "AuthorName": commit.author_name,
        "CommitterEmail": commit.committer_email,
        "CommitterName": commit.committer_name,
        "Timestamp": commit.timestamp,
    }


def _comment(row: ActivityRow, details: Details, actor: User, repository: Repository) -> Comment:
    is_pull = row.kind == "comment_pull"
    url = f"{repository.html_url}/{'pulls' if is_pull else 'issues'}/{row.subject_id}"
    created = row.created_at.replace(microsecond=0)
    return Comment(
        id=row.comment_id,
        html_url=f"{url}#issuecomment-{row.comment_id}",
        pull_request_url=url if is_pull else "",
        issue_url="" if is_pull else url,
        user=actor,
        body=details.text,
        created_at=created,
        updated_at=details.updated_at or created,
    )
