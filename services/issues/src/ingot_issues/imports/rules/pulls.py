"""Imported pull requests with their reviews and comments on lines."""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from ingot_chassis.db.transaction import Tx
from ingot_chassis.jobs.jobs import Jobs
from ingot_contracts.issues.reviews import LONGEST_HUNK
from ingot_contracts.limits import TEXT_CHARACTERS
from ingot_contracts.repos.comparisons import MOST_HEADS
from ingot_contracts.repos.imports import (
    GHOST_ID,
    ImportedLineComment,
    ImportedPull,
    ImportedReview,
)
from ingot_issues.imports.rules.changes import (
    REVIEW,
    Base,
    Merged,
    Run,
    Subject,
    digests,
    encode,
    line_digest,
    line_key,
    merge,
    report,
    save,
)
from ingot_issues.imports.rules.fields import author_columns, clipped, one_line
from ingot_issues.imports.rules.issues import insert_issues, merge_issues, pull_columns, split, split_numbered
from ingot_issues.imports.rules.placeholders import Deed, record, request_details
from ingot_issues.imports.store import current
from ingot_issues.imports.store import objects as store
from ingot_issues.imports.store.current import LineCommentRow, Record
from ingot_issues.imports.store.objects import ObjectKind
from ingot_issues.imports.store.placeholders import Role
from ingot_issues.markdown.rules.rendering import LARGEST
from ingot_issues.pulls.rules.mergeability import CheckMergeability, add_check
from ingot_issues.reviewers.store.states import ReviewState


async def write_pulls(
    tx: Tx, jobs: Jobs, run: Run, page: Sequence[ImportedPull]
) -> dict[int, list[ImportedReview]]:
    """Write pull requests with their reviews. Return the new reviews by number, for the timelines.

    Also add jobs that compare new and changed open pull requests with their base branches.
    """
    objects, records = await split_numbered(tx, run, ObjectKind.PULL, page)
    new = {one.number: one for one in objects}
    ids = await insert_issues(tx, run, new, ObjectKind.PULL)
    rows = [{"issue_id": ids[number], **pull_columns(run, new[number])} for number in ids]
    if rows:
        await store.add_pulls(tx, rows)
    requests = [
        {
            "issue_id": ids[number],
            "author_id": request.reviewer.account_id,
            "state": ReviewState.REQUEST_REVIEW,
            **request_details(new[number], request),
        }
        for number in ids
        for request in new[number].requests
        if request.reviewer.account_id != GHOST_ID
    ]
    await store.add_requests(tx, requests)
    outdated = {number: new[number] for number in ids}
    texts = {row.source_id: one for one, row in records}
    for merged in await merge_issues(tx, run, ObjectKind.PULL, records):
        if merged.changed & {"head", "base", "state"}:
            outdated[merged.subject.number] = texts[merged.subject.record.source_id]
            ids[merged.subject.number] = merged.subject.record.local_id
    reviews = {number: one.reviews for number, one in new.items() if number in ids}
    reviewed = {one.number: one for one in new.values() if one.number in ids}
    if records:
        here = await current.existing_ids(tx, ObjectKind.PULL, {row.local_id for _, row in records})
        alive = [(one, row) for one, row in records if row.local_id in here]
        reviews |= await _merge_reviews(tx, run, alive)
        reviewed |= {
            one.number: msgspec.structs.replace(one, reviews=reviews[one.number]) for one, _ in alive
        }
        review_ids = {**ids, **{one.number: row.local_id for one, row in alive}}
    else:
        review_ids = ids
    await _write_reviews(tx, run, reviewed, review_ids)
    await _compare(tx, jobs, run, outdated, ids)
    return reviews


async def _compare(
    tx: Tx, jobs: Jobs, run: Run, pulls: Mapping[int, ImportedPull], ids: Mapping[int, int]
) -> None:
    """Add jobs that compare open pull requests with their base branches."""
    open_ids = defaultdict[str, list[int]](list)
    for number, one in pulls.items():
        if one.state == "open":
            open_ids[one_line(one.base_branch)].append(ids[number])
    for base_branch, issue_ids in open_ids.items():
        for start in range(0, len(issue_ids), MOST_HEADS):
            check = CheckMergeability(
                repository_id=run.repository_id,
                base_branch=base_branch,
                issue_ids=issue_ids[start : start + MOST_HEADS],
                sha="",
                pusher_id=GHOST_ID,
                restricted=True,
                side="head",
            )
            await add_check(tx, jobs, check)


async def _write_reviews(
    tx: Tx, run: Run, pulls: Mapping[int, ImportedPull], issue_ids: Mapping[int, int]
) -> None:
    """Write new reviews with their comments on lines. No protection rule counts them."""
    rows = {
        review.source_id: {
            "issue_id": issue_ids[number],
            "state": review.state,
            "body": clipped(review.body, LARGEST),
            "commit_sha": review.commit_sha,
            "base_branch": one_line(one.base_branch),
            "merge_base": one.merge_base,
            "official": False,
            "dismissed": review.dismissed,
            "submitted_at": review.submitted_at,
            "updated_at": review.updated_at,
            **author_columns(review.author),
        }
        for number, one in pulls.items()
        for review in one.reviews
    }
    reviews = [review for one in pulls.values() for review in one.reviews]
    bases = {
        one.source_id: encode(Base(digests(REVIEW, rows[one.source_id]), lines=_lines(one)))
        for one in reviews
    }
    ids = await store.add_rows(tx, run.repository_id, ObjectKind.REVIEW, rows, bases)
    lines = [
        (issue_ids[number], ids[review.source_id], comment)
        for number, one in pulls.items()
        for review in one.reviews
        for comment in review.comments
    ]
    await _add_lines(tx, run, lines)


async def _add_lines(tx: Tx, run: Run, lines: Sequence[tuple[int, int, ImportedLineComment]]) -> None:
    """Insert comments on lines. Each has the ids of its pull request and its review.

    Comments whose id at the source is already recorded are skipped.
    """
    ids = {one.source_id for _, _, one in lines if one.source_id}
    written, new = {*await store.local_ids(tx, run.repository_id, ObjectKind.LINE, ids)}, []
    for line in lines:
        source_id = line[2].source_id
        if source_id not in written:
            new.append(line)
        if source_id:
            written.add(source_id)
    row_ids = await store.add_line_comments(tx, [_line_columns(review_id, one) for _, review_id, one in new])
    pairs = [(issue_id, one, row_id) for (issue_id, _, one), row_id in zip(new, row_ids, strict=True)]
    objects = {one.source_id: row_id for _, one, row_id in pairs if one.source_id}
    await store.add_objects(tx, run.repository_id, ObjectKind.LINE, objects, {})
    deeds = [
        Deed(one.resolver, Role.RESOLVER, issue_id, row_id)
        for issue_id, one, row_id in pairs
        if one.resolver is not None
    ]
    await record(tx, run.repository_id, deeds)


def _line_columns(review_id: int, comment: ImportedLineComment) -> dict[str, Any]:
    return {
        "review_id": review_id,
        "path": clipped(comment.path, TEXT_CHARACTERS),
        "old_position": comment.old_position,
        "new_position": 0 if comment.old_position else comment.new_position,
        "created_at": comment.created_at,
        "body": clipped(comment.body, LARGEST),
        "commit_sha": comment.commit_sha,
        "diff_hunk": clipped(comment.diff_hunk, LONGEST_HUNK),
        "resolver_id": comment.resolver.account_id if comment.resolver is not None else None,
        "updated_at": comment.updated_at,
        **author_columns(comment.author),
    }


def _keyed(review: ImportedReview) -> dict[str, ImportedLineComment]:
    """Return the comments on lines of a review, by id or, without an id, by another key."""
    other_keys = _keys_without_ids(review)
    return {str(one.source_id or key): one for key, one in zip(other_keys, review.comments, strict=True)}


def _keys_without_ids(review: ImportedReview) -> list[str]:
    """Return the keys of the comments on lines of a review, made without their ids.

    Equal keys get a number.
    """
    keys, counts = list[str](), Counter[str]()
    for one in review.comments:
        hunk = clipped(one.diff_hunk, LONGEST_HUNK)
        key = line_key(one.author.source_id, one_line(one.author.name), one.created_at, hunk)
        keys.append(f"{key}{counts[key] or ''}")
        counts[key] += 1
    return keys


def _lines(review: ImportedReview) -> dict[str, str]:
    return {
        key: line_digest(clipped(one.body, LARGEST), is_resolved=one.resolver is not None)
        for key, one in _keyed(review).items()
    }


async def _merge_reviews(
    tx: Tx, run: Run, pulls: Sequence[tuple[ImportedPull, Record]]
) -> dict[int, list[ImportedReview]]:
    """Merge reviews of earlier runs and their comments on lines. Return the new reviews by number."""
    numbers = {review.source_id: one.number for one, _ in pulls for review in one.reviews}
    reviews = [review for one, _ in pulls for review in one.reviews]
    new, records = await split(tx, run, ObjectKind.REVIEW, reviews)
    subjects = [
        Subject(row, {"dismissed": one.dismissed}, number=numbers[one.source_id], name=str(one.source_id))
        for one, row in records
    ]
    merged = await merge(tx, run, ObjectKind.REVIEW, REVIEW, subjects)
    by_id = {one.source_id: one for one, _ in records}
    changed = [
        one
        for one in merged
        if one.subject.record.base is not None
        and one.base.lines != _lines(by_id[one.subject.record.source_id])
    ]
    local = await _local_lines(tx, run, changed, by_id)
    bases = {one.subject.record.source_id: one.base for one in merged}
    added = list[tuple[int, int, ImportedLineComment]]()
    issue_ids = {one.number: row.local_id for one, row in pulls}
    for one in changed:
        review = by_id[one.subject.record.source_id]
        rows = local[one.subject.record.local_id]
        lines = await _merge_lines(tx, run, one, review, rows, issue_ids[one.subject.number])
        added += [
            (issue_ids[one.subject.number], one.subject.record.local_id, each)
            for key, each in _keyed(review).items()
            if key not in one.base.lines
        ]
        bases[review.source_id] = msgspec.structs.replace(one.base, lines=lines)
    await _add_lines(tx, run, added)
    for one in merged:
        if one.subject.record.base is None:
            lines = _lines(by_id[one.subject.record.source_id])
            bases[one.subject.record.source_id] = msgspec.structs.replace(one.base, lines=lines)
    renewed = [one._replace(base=bases[one.subject.record.source_id]) for one in merged]
    await save(tx, run, ObjectKind.REVIEW, renewed)
    groups: dict[int, list[ImportedReview]] = {one.number: [] for one, _ in pulls}
    for review in new:
        groups[numbers[review.source_id]].append(review)
    return groups


async def _local_lines(
    tx: Tx, run: Run, changed: Sequence[Merged], reviews: Mapping[int, ImportedReview]
) -> dict[int, dict[str, LineCommentRow]]:
    """Return local comments on lines by the ids of their reviews, and by their keys at the source.

    Imports of earlier releases have not recorded ids of comments, so these comments are found by other
    columns.
    """
    rows = await current.line_comments(tx, [one.subject.record.local_id for one in changed])
    own = [reviews[one.subject.record.source_id] for one in changed]
    source_ids = {line.source_id for review in own for line in review.comments if line.source_id}
    ids = await store.local_ids(tx, run.repository_id, ObjectKind.LINE, source_ids)
    names = {row_id: str(source_id) for source_id, row_id in ids.items()}
    local, counts = defaultdict[int, dict[str, LineCommentRow]](dict), Counter[tuple[int, str]]()
    for row in rows:
        if row.id in names:
            local[row.review_id][names[row.id]] = row
        key = line_key(row.original_author_id, row.original_author, row.created_at, row.diff_hunk)
        local[row.review_id][f"{key}{counts[row.review_id, key] or ''}"] = row
        counts[row.review_id, key] += 1
    for one, review in zip(changed, own, strict=True):
        of_review = local[one.subject.record.local_id]
        for key, line in zip(_keys_without_ids(review), review.comments, strict=True):
            if line.source_id and line.source_id not in ids and key in of_review:
                of_review[str(line.source_id)] = of_review[key]
    return local


async def _merge_lines(
    tx: Tx,
    run: Run,
    one: Merged,
    review: ImportedReview,
    rows: Mapping[str, LineCommentRow],
    issue_id: int,
) -> dict[str, str]:
    """Write changed comments on lines of a review, and report conflicts.

    Return the new ``lines`` of its base.
    """
    lines, keyed = {**one.base.lines}, _keyed(review)
    for key, new in _lines(review).items():
        comment, old, row = keyed[key], lines.get(key), rows.get(key)
        if new == old:
            continue
        ours = line_digest(row.body, is_resolved=row.resolver_id is not None) if row is not None else None
        if old is None or new == ours:
            lines[key] = new
        elif row is not None and ours == old:
            values = _line_columns(row.review_id, comment)
            names = ["body", "updated_at"]
            if (comment.resolver is None) != (row.resolver_id is None):  # who resolved it may have no account
                names.append("resolver_id")
            await current.change_line_comment(tx, row.id, {name: values[name] for name in names})
            if comment.resolver is not None and row.resolver_id is None:
                await record(tx, run.repository_id, [Deed(comment.resolver, Role.RESOLVER, issue_id, row.id)])
            lines[key] = new
        else:
            report(run, ObjectKind.REVIEW, one.subject, ["comments"])
    return lines
