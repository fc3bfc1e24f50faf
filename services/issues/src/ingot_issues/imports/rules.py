"""Writes a page of an import.

Imported rows have the numbers, times and states of the source. They cause no notifications, references or
events. Objects that already exist are not changed, because a page may be read twice. Labels and milestones
come before issues, and issues before comments, times and dependencies. A page of pull requests has their
comments. Timelines show rows in the order of insertion, so comments and reviews are written in the order of
their times.
"""

from collections import Counter, defaultdict
from collections.abc import Collection, Mapping, Sequence
from typing import Any, TypeVar, get_args

import msgspec

from ingot_chassis.db.transaction import Tx
from ingot_chassis.errors import Invalid
from ingot_chassis.jobs.jobs import Jobs
from ingot_contracts.issues.reactions import ReactionContent
from ingot_contracts.issues.reviews import LONGEST_HUNK
from ingot_contracts.limits import ASSIGNEES, DESCRIPTION_CHARACTERS, NAME_CHARACTERS, TEXT_CHARACTERS
from ingot_contracts.repos.comparisons import MOST_HEADS
from ingot_contracts.repos.imports import (
    GHOST_ID,
    ImportedComment,
    ImportedDependency,
    ImportedIssue,
    ImportedLabel,
    ImportedMilestone,
    ImportedPerson,
    ImportedPull,
    ImportedReaction,
    ImportedReview,
    ImportedTime,
    ImportPage,
)
from ingot_issues.imports import store
from ingot_issues.imports.store import ObjectKind
from ingot_issues.labels.rules.repository import clean_color
from ingot_issues.markdown.rules.rendering import LARGEST
from ingot_issues.pulls.rules.mergeability import CheckMergeability, add_check
from ingot_issues.records.store.states import State
from ingot_issues.records.store.timeline import CommentKind, Details
from ingot_issues.repositories.store import counters
from ingot_issues.reviewers.store.states import ReviewState

IMPORT = "import"
"""The kind of import jobs."""
NO_COLOR = "ededed"
"""The color of a label whose own color is not valid."""
NO_REPOSITORY = 0
"""The repository of a head that does not exist here, for example of a deleted fork."""
REACTIONS: frozenset[str] = frozenset(get_args(ReactionContent))
CLIPPED = "\n\n… (the rest of this text is longer than the limit)"
_T = TypeVar(
    "_T", ImportedLabel, ImportedMilestone, ImportedIssue, ImportedPull, ImportedComment, ImportedTime
)
_Issue = TypeVar("_Issue", ImportedIssue, ImportedPull)


class ReadPages(msgspec.Struct, frozen=True, kw_only=True):
    """A job that reads and writes the pages of an import."""

    repository_id: int


class Refused(Exception):
    """A page cannot be written, and a retry would not help."""


async def write_page(tx: Tx, jobs: Jobs, repository_id: int, page: ImportPage) -> None:
    """Write the objects of a page and the next cursor. Raises Refused."""
    if not await counters.lock(tx, repository_id):
        raise Refused("the repository is deleted")
    await _write_labels(tx, repository_id, page.labels)
    await _write_milestones(tx, repository_id, page.milestones)
    await _write_issues(tx, repository_id, page.issues)
    reviews = await _write_pulls(tx, jobs, repository_id, page.pulls)
    await _write_timelines(tx, repository_id, page.comments, reviews)
    await _write_times(tx, repository_id, page.times)
    await _write_dependencies(tx, repository_id, page.dependencies)
    await store.save_cursor(tx, repository_id, page.cursor)


def account_ids(page: ImportPage) -> set[int]:
    """Return the accounts that a page names."""
    issues: list[ImportedIssue] = [*page.issues, *page.pulls]
    people = [person for one in issues for person in (one.author, *one.assignees)]
    people += [one.author for one in page.comments]
    people += [one.author for one in page.times]
    people += [one.merged_by for one in page.pulls if one.merged_by is not None]
    people += [reaction.author for one in issues for reaction in one.reactions]
    people += [reaction.author for one in page.comments for reaction in one.reactions]
    people += [request.reviewer for one in page.pulls for request in one.requests]
    for review in (review for one in page.pulls for review in one.reviews):
        people += [review.author, *(one.author for one in review.comments)]
        people += [one.resolver for one in review.comments if one.resolver is not None]
    return {person.account_id for person in people} - {GHOST_ID}


def reader_ids(page: ImportPage) -> set[int]:
    """Return the accounts that must be able to read the repository: assignees, and requested reviewers."""
    people = [person for one in (*page.issues, *page.pulls) for person in one.assignees]
    people += [request.reviewer for one in page.pulls for request in one.requests]
    return {person.account_id for person in people} - {GHOST_ID}


def without_outsiders(page: ImportPage, outsiders: Collection[int]) -> ImportPage:
    """Return the page without assignees and requested reviewers who cannot read the repository."""

    def with_readers(one: _Issue) -> _Issue:
        readers = [person for person in one.assignees if person.account_id not in outsiders]
        return msgspec.structs.replace(one, assignees=readers)

    def with_reviewers(one: ImportedPull) -> ImportedPull:
        requests = [request for request in one.requests if request.reviewer.account_id not in outsiders]
        return msgspec.structs.replace(with_readers(one), requests=requests)

    return msgspec.structs.replace(
        page,
        issues=[with_readers(one) for one in page.issues],
        pulls=[with_reviewers(one) for one in page.pulls],
    )


async def _new(tx: Tx, repository_id: int, kind: ObjectKind, objects: Sequence[_T]) -> list[_T]:
    """Return the objects that do not exist here, without duplicates."""
    by_id = {one.source_id: one for one in objects}
    existing = await store.local_ids(tx, repository_id, kind, by_id)
    return [one for source_id, one in by_id.items() if source_id not in existing]


async def _write_labels(tx: Tx, repository_id: int, page: Sequence[ImportedLabel]) -> None:
    new = await _new(tx, repository_id, ObjectKind.LABEL, page)
    rows = {
        label.source_id: {
            "repository_id": repository_id,
            "name": _line(label.name) or "-",
            "color": _color(label.color),
            "description": _text(label.description, DESCRIPTION_CHARACTERS),
            "exclusive": label.exclusive,
            "is_archived": label.is_archived,
        }
        for label in new
    }
    await store.add_rows(tx, repository_id, ObjectKind.LABEL, rows)


async def _write_milestones(tx: Tx, repository_id: int, page: Sequence[ImportedMilestone]) -> None:
    new = await _new(tx, repository_id, ObjectKind.MILESTONE, page)
    rows = {
        milestone.source_id: {
            "repository_id": repository_id,
            "title": _line(milestone.title) or "-",
            "description": _text(milestone.description, TEXT_CHARACTERS),
            "state": milestone.state,
            "due_on": milestone.due_on,
            "closed_at": milestone.closed_at if milestone.state == "closed" else None,
            "created_at": milestone.created_at,
            "updated_at": milestone.updated_at,
        }
        for milestone in new
    }
    await store.add_rows(tx, repository_id, ObjectKind.MILESTONE, rows)


async def _write_issues(tx: Tx, repository_id: int, page: Sequence[ImportedIssue]) -> None:
    new = {one.number: one for one in await _new(tx, repository_id, ObjectKind.ISSUE, page)}
    await _insert(tx, repository_id, new, ObjectKind.ISSUE)


async def _write_pulls(
    tx: Tx, jobs: Jobs, repository_id: int, page: Sequence[ImportedPull]
) -> dict[int, list[ImportedReview]]:
    """Write pull requests. Return the reviews of the new ones by number.

    Jobs then compare open pull requests with their base branches.
    """
    new = {one.number: one for one in await _new(tx, repository_id, ObjectKind.PULL, page)}
    ids = await _insert(tx, repository_id, new, ObjectKind.PULL)
    rows = [
        {
            "issue_id": ids[number],
            "base_branch": _line(one.base_branch),
            "base_sha": one.base_sha,
            "head_repository_id": repository_id if one.is_from_base else NO_REPOSITORY,
            "head_branch": _line(one.head_branch),
            "head_sha": one.head_sha,
            "merge_base": one.merge_base,
            "additions": one.additions,
            "deletions": one.deletions,
            "changed_files": one.changed_files,
            "mergeable": False,
            "merged": one.merged,
            "merged_at": one.merged_at,
            "merged_by": one.merged_by.account_id if one.merged_by is not None else None,
            "merge_sha": one.merge_sha,
            "allow_maintainer_edit": one.allow_maintainer_edit,
        }
        for number, one in new.items()
    ]
    if rows:
        await store.add_pulls(tx, rows)
    requests = [
        {
            "issue_id": ids[number],
            "author_id": request.reviewer.account_id,
            "state": ReviewState.REQUEST_REVIEW,
            "commit_sha": request.commit_sha,
            "base_branch": _line(one.base_branch),
            "merge_base": one.merge_base,
            "submitted_at": request.created_at,
            "updated_at": request.created_at,
        }
        for number, one in new.items()
        for request in one.requests
        if request.reviewer.account_id != GHOST_ID
    ]
    await store.add_requests(tx, requests)
    await _write_reviews(tx, repository_id, new, ids)
    open_ids = defaultdict[str, list[int]](list)
    for number, one in new.items():
        if one.state == "open":
            open_ids[_line(one.base_branch)].append(ids[number])
    for base_branch, issue_ids in open_ids.items():
        for start in range(0, len(issue_ids), MOST_HEADS):
            check = CheckMergeability(
                repository_id=repository_id,
                base_branch=base_branch,
                issue_ids=issue_ids[start : start + MOST_HEADS],
                sha="",
                pusher_id=GHOST_ID,
                restricted=True,
                side="head",
            )
            await add_check(tx, jobs, check)
    return {number: one.reviews for number, one in new.items()}


async def _insert(
    tx: Tx, repository_id: int, new: Mapping[int, ImportedIssue], kind: ObjectKind
) -> dict[int, int]:
    """Insert issues, or pull requests, under their own numbers. Return their ids by number.

    Raises Refused if another issue already has such a number.
    """
    if not new:
        return {}
    if await store.issue_ids(tx, repository_id, new):
        raise Refused("a number is taken")
    label_ids = {label_id for one in new.values() for label_id in one.labels}
    label_rows = await store.local_ids(tx, repository_id, ObjectKind.LABEL, label_ids)
    milestone_ids = {one.milestone for one in new.values()}
    milestone_rows = await store.local_ids(tx, repository_id, ObjectKind.MILESTONE, milestone_ids)
    rows = [
        {
            "repository_id": repository_id,
            "number": one.number,
            "is_pull": kind is ObjectKind.PULL,
            "title": _line(one.title) or "-",
            "body": _text(one.body, LARGEST),
            "state": one.state,
            "milestone_id": milestone_rows.get(one.milestone),
            "locked": one.is_locked,
            "pin_order": one.pin_order,
            "due_date": one.due_date,
            "ref": _line(one.ref),
            "created_at": one.created_at,
            "updated_at": one.updated_at,
            "closed_at": (one.closed_at or one.updated_at) if one.state == "closed" else None,
            **_author(one.author),
        }
        for one in new.values()
    ]
    ids = await store.add_issues(tx, rows)
    await store.add_objects(
        tx, repository_id, kind, {one.source_id: ids[number] for number, one in new.items()}
    )
    await store.add_labels(
        tx,
        [
            (ids[number], label_rows[label_id])
            for number, one in new.items()
            for label_id in dict.fromkeys(one.labels)
            if label_id in label_rows
        ],
    )
    accounts = {ids[number]: _accounts(one.assignees)[:ASSIGNEES] for number, one in new.items()}
    await store.add_assignees(tx, accounts)
    await _count_issues(tx, repository_id, rows, is_pull=kind is ObjectKind.PULL)
    reactions = [row for number, one in new.items() for row in _reactions(ids[number], None, one.reactions)]
    await store.add_reactions(tx, reactions)
    await store.add_files(
        tx, [row for number, one in new.items() for row in _files(repository_id, ids[number], None, one)]
    )
    return ids


async def _write_reviews(
    tx: Tx, repository_id: int, pulls: Mapping[int, ImportedPull], issue_ids: Mapping[int, int]
) -> None:
    """Write the reviews of new pull requests with their comments on lines. No protection rule counts them."""
    rows = {
        review.source_id: {
            "issue_id": issue_ids[number],
            "state": review.state,
            "body": _text(review.body, LARGEST),
            "commit_sha": review.commit_sha,
            "base_branch": _line(one.base_branch),
            "merge_base": one.merge_base,
            "official": False,
            "dismissed": review.dismissed,
            "submitted_at": review.submitted_at,
            "updated_at": review.updated_at,
            **_author(review.author),
        }
        for number, one in pulls.items()
        for review in one.reviews
    }
    ids = await store.add_rows(tx, repository_id, ObjectKind.REVIEW, rows)
    comments = [
        {
            "review_id": ids[review.source_id],
            "path": _text(comment.path, TEXT_CHARACTERS),
            "old_position": comment.old_position,
            "new_position": 0 if comment.old_position else comment.new_position,
            "body": _text(comment.body, LARGEST),
            "commit_sha": comment.commit_sha,
            "diff_hunk": _text(comment.diff_hunk, LONGEST_HUNK),
            "resolver_id": comment.resolver.account_id if comment.resolver is not None else None,
            "created_at": comment.created_at,
            "updated_at": comment.updated_at,
            **_author(comment.author),
        }
        for one in pulls.values()
        for review in one.reviews
        for comment in review.comments
    ]
    await store.add_line_comments(tx, comments)


async def _count_issues(tx: Tx, repository_id: int, rows: Sequence[dict[str, Any]], *, is_pull: bool) -> None:
    """Add issues to the counts of their milestones and of the repository; raise its next number."""
    totals = Counter((row["milestone_id"], row["state"] == State.OPEN) for row in rows)
    opened, closed = (
        {one: count for (one, is_open), count in totals.items() if one is not None and is_open is state}
        for state in (True, False)
    )
    await store.count_issues(tx, opened, closed)
    open_count = sum(row["state"] == State.OPEN for row in rows)
    await counters.count_open(tx, repository_id, open_count, is_pull=is_pull)
    await counters.raise_number(tx, repository_id, max(row["number"] for row in rows))


async def _write_timelines(
    tx: Tx,
    repository_id: int,
    page: Sequence[ImportedComment],
    reviews: Mapping[int, Sequence[ImportedReview]],
) -> None:
    """Write comments, and the timeline rows of reviews, in the order of their times.

    Rows of issues or pull requests that do not exist here are skipped.
    """
    new = await _new(tx, repository_id, ObjectKind.COMMENT, page)
    review_ids = await store.local_ids(
        tx, repository_id, ObjectKind.REVIEW, [one.source_id for group in reviews.values() for one in group]
    )
    issue_ids = await store.issue_ids(tx, repository_id, {*reviews, *(one.number for one in new)})
    rows: list[tuple[ImportedComment | ImportedReview, dict[str, Any]]] = [
        (
            one,
            {
                "issue_id": issue_ids[one.number],
                "repository_id": repository_id,
                "kind": CommentKind.COMMENT,
                "body": _text(one.body, LARGEST),
                "details": None,
                "created_at": one.created_at,
                "updated_at": one.updated_at,
                **_author(one.author),
            },
        )
        for one in new
        if one.number in issue_ids
    ]
    rows += [
        (
            one,
            {
                "issue_id": issue_ids[number],
                "repository_id": repository_id,
                "kind": CommentKind.REVIEW,
                "body": _text(one.body, LARGEST),
                "details": msgspec.json.encode(Details(review=review_ids[one.source_id])).decode(),
                "created_at": one.submitted_at,
                "updated_at": one.submitted_at,
                **_author(one.author),
            },
        )
        for number, group in reviews.items()
        for one in group
    ]
    rows.sort(key=lambda row: row[1]["created_at"])
    ids = await store.add_timeline_rows(tx, [values for _, values in rows])
    comments = [
        (one, row_id) for (one, _), row_id in zip(rows, ids, strict=True) if isinstance(one, ImportedComment)
    ]
    written = {one.source_id: row_id for one, row_id in comments}
    await store.add_objects(tx, repository_id, ObjectKind.COMMENT, written)
    await store.count_comments(tx, Counter(issue_ids[one.number] for one, _ in comments))
    reactions = [
        row for one, row_id in comments for row in _reactions(issue_ids[one.number], row_id, one.reactions)
    ]
    await store.add_reactions(tx, reactions)
    await store.add_files(
        tx,
        [
            row
            for one, row_id in comments
            for row in _files(repository_id, issue_ids[one.number], row_id, one)
        ],
    )


async def _write_times(tx: Tx, repository_id: int, page: Sequence[ImportedTime]) -> None:
    new = await _new(tx, repository_id, ObjectKind.TIME, page)
    issue_ids = await store.issue_ids(tx, repository_id, {one.number for one in new})
    rows = {
        one.source_id: {
            "issue_id": issue_ids[one.number],
            "repository_id": repository_id,
            "account_id": one.author.account_id,
            "seconds": one.seconds,
            "created_at": one.created_at,
        }
        for one in new
        if one.number in issue_ids
    }
    await store.add_rows(tx, repository_id, ObjectKind.TIME, rows)


async def _write_dependencies(tx: Tx, repository_id: int, page: Sequence[ImportedDependency]) -> None:
    issue_ids = await store.issue_ids(
        tx, repository_id, {number for one in page for number in (one.number, one.blocker)}
    )
    pairs = {
        (issue_ids[one.number], issue_ids[one.blocker])
        for one in page
        if one.number in issue_ids and one.blocker in issue_ids and one.number != one.blocker
    }
    await store.add_dependencies(tx, pairs)


def _reactions(
    issue_id: int, comment_id: int | None, reactions: Sequence[ImportedReaction]
) -> list[dict[str, Any]]:
    """Return the rows of reactions, without duplicates of person and content."""
    unique = {(one.author, one.content): one for one in reactions if one.content in REACTIONS}
    return [
        {
            "issue_id": issue_id,
            "comment_id": comment_id,
            "account_id": one.author.account_id,
            "content": one.content,
            "created_at": one.created_at,
        }
        for one in unique.values()
    ]


def _files(
    repository_id: int, issue_id: int, comment_id: int | None, text: ImportedIssue | ImportedComment
) -> list[dict[str, Any]]:
    """Return the rows of the files of an issue or comment."""
    return [
        {
            "repository_id": repository_id,
            "uuid": one.uuid,
            "issue_id": issue_id,
            "comment_id": comment_id,
            "uploader_id": text.author.account_id,
            "address": one.address.replace("\0", ""),
            "name": one.name.replace("\0", ""),
            "local_url": one.local_url,
            "original_url": one.original_url.replace("\0", ""),
            "created_at": one.created_at,
        }
        for one in text.files
    ]


def _accounts(people: Sequence[ImportedPerson]) -> list[int]:
    """Return the ids of those people who have an account here."""
    return list(dict.fromkeys(one.account_id for one in people if one.account_id != GHOST_ID))


def _author(person: ImportedPerson) -> dict[str, Any]:
    return {
        "author_id": person.account_id,
        "original_author": _line(person.name),
        "original_author_id": person.source_id,
    }


def _line(text: str) -> str:
    return " ".join(text.replace("\0", "").split())[:NAME_CHARACTERS]


def _text(text: str, most: int) -> str:
    """Return a text without characters that no column can store, clipped to the limit."""
    text = text.replace("\0", "")
    return text if len(text) <= most else text[: most - len(CLIPPED)] + CLIPPED


def _color(color: str) -> str:
    try:
        return clean_color(color)
    except Invalid:
        return NO_COLOR
