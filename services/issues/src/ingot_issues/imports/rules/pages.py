"""Writes a page of an import.

Imported rows have the numbers, times and states of the source. They cause no notifications, references or
events. The first run does not change existing objects, because a page may be read twice. A repeat merges them
(see ``changes``).

Labels and milestones come before issues. Issues come before comments, times and dependencies. A page of pull
requests has their comments. Timelines show rows in the order of insertion, so comments and reviews are
written in the order of their times.
"""

from collections import Counter, defaultdict
from collections.abc import Collection, Mapping, Sequence
from typing import Any, TypeVar

import msgspec

from ingot_chassis.db.transaction import Tx
from ingot_chassis.jobs.jobs import Jobs
from ingot_contracts.limits import DESCRIPTION_CHARACTERS, TEXT_CHARACTERS
from ingot_contracts.repos.imports import (
    GHOST_ID,
    ImportConflict,
    ImportedComment,
    ImportedDependency,
    ImportedIssue,
    ImportedLabel,
    ImportedMilestone,
    ImportedPull,
    ImportedReview,
    ImportedTime,
    ImportPage,
)
from ingot_issues.imports.rules.changes import (
    COMMENT,
    LABEL,
    MILESTONE,
    Base,
    Columns,
    Run,
    Subject,
    base_of,
    base_text,
    encode,
    merge,
    report,
    save,
)
from ingot_issues.imports.rules.fields import (
    author_columns,
    clean_label_color,
    clipped,
    file_links,
    file_rows,
    one_line,
    reaction_rows,
)
from ingot_issues.imports.rules.issues import (
    Refused,
    add_parts,
    insert_issues,
    merge_issues,
    split,
    split_numbered,
)
from ingot_issues.imports.rules.placeholders import Deed, add_reactions, record
from ingot_issues.imports.rules.pulls import write_pulls
from ingot_issues.imports.store import current
from ingot_issues.imports.store import objects as store
from ingot_issues.imports.store.current import Record
from ingot_issues.imports.store.objects import ObjectKind
from ingot_issues.imports.store.placeholders import Role
from ingot_issues.markdown.rules.rendering import LARGEST
from ingot_issues.records.store.timeline import CommentKind, Details
from ingot_issues.repositories.store import counters

IMPORT = "import"
"""The kind of import jobs."""
_T = TypeVar("_T")
_Issue = TypeVar("_Issue", ImportedIssue, ImportedPull)


class ReadPages(msgspec.Struct, frozen=True, kw_only=True):
    """A job that reads and writes the pages of an import."""

    repository_id: int


async def write_page(
    tx: Tx, jobs: Jobs, repository_id: int, page: ImportPage, *, repeat: int = 0
) -> list[ImportConflict]:
    """Write the objects of a page and the next cursor. Return the conflicts of the page. Raises Refused.

    A ``repeat`` also merges changes of objects that an earlier run wrote.
    """
    if not await counters.lock(tx, repository_id):
        raise Refused("the repository is deleted")
    run = Run(repository_id, repeat, [])
    await _write_labels(tx, run, page.labels)
    await _write_milestones(tx, run, page.milestones)
    await _write_issues(tx, run, page.issues)
    reviews = await write_pulls(tx, jobs, run, page.pulls)
    await _write_timelines(tx, run, page.comments, reviews)
    await _write_times(tx, run, page.times)
    await _write_dependencies(tx, run, page.dependencies)
    conflicts = msgspec.json.encode(run.conflicts).decode()
    await store.save_cursor(tx, repository_id, page.cursor, conflicts)
    return run.conflicts


def account_ids(page: ImportPage) -> set[int]:
    """Return the ids of accounts that a page names, without the ghost."""
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
    """Return the ids of accounts that must be able to read the repository.

    They are assignees and requested reviewers, without the ghost.
    """
    people = [person for one in (*page.issues, *page.pulls) for person in one.assignees]
    people += [request.reviewer for one in page.pulls for request in one.requests]
    return {person.account_id for person in people} - {GHOST_ID}


def without_outsiders(page: ImportPage, outsiders: Collection[int]) -> ImportPage:
    """Return the page without the accounts in ``outsiders``, who cannot read the repository.

    Their review requests are removed. As assignees they are replaced by the ghost, because the source has not
    unassigned them.
    """

    def with_readers(one: _Issue) -> _Issue:
        readers = [
            msgspec.structs.replace(person, account_id=GHOST_ID) if person.account_id in outsiders else person
            for person in one.assignees
        ]
        return msgspec.structs.replace(one, assignees=readers)

    def with_reviewers(one: ImportedPull) -> ImportedPull:
        requests = [request for request in one.requests if request.reviewer.account_id not in outsiders]
        return msgspec.structs.replace(with_readers(one), requests=requests)

    return msgspec.structs.replace(
        page,
        issues=[with_readers(one) for one in page.issues],
        pulls=[with_reviewers(one) for one in page.pulls],
    )


async def _write_labels(tx: Tx, run: Run, page: Sequence[ImportedLabel]) -> None:
    new, records = await split(tx, run, ObjectKind.LABEL, page)
    rows = {
        label.source_id: {
            "repository_id": run.repository_id,
            "name": one_line(label.name) or "-",
            "color": clean_label_color(label.color),
            "description": clipped(label.description, DESCRIPTION_CHARACTERS),
            "exclusive": label.exclusive,
            "is_archived": label.is_archived,
        }
        for label in page
    }
    await _write_named(tx, run, ObjectKind.LABEL, LABEL, "name", rows, new, records)


async def _write_milestones(tx: Tx, run: Run, page: Sequence[ImportedMilestone]) -> None:
    new, records = await split(tx, run, ObjectKind.MILESTONE, page)
    rows = {
        milestone.source_id: {
            "repository_id": run.repository_id,
            "title": one_line(milestone.title) or "-",
            "description": clipped(milestone.description, TEXT_CHARACTERS),
            "state": milestone.state,
            "due_on": milestone.due_on,
            "closed_at": milestone.closed_at if milestone.state == "closed" else None,
            "created_at": milestone.created_at,
            "updated_at": milestone.updated_at,
        }
        for milestone in page
    }
    await _write_named(tx, run, ObjectKind.MILESTONE, MILESTONE, "title", rows, new, records)


async def _write_named(
    tx: Tx,
    run: Run,
    kind: ObjectKind,
    columns: Columns,
    name: str,
    rows: Mapping[int, dict[str, Any]],
    new: Sequence[ImportedLabel] | Sequence[ImportedMilestone],
    records: Sequence[tuple[ImportedLabel | ImportedMilestone, Record]],
) -> None:
    """Write labels or milestones. A repeat reuses an existing row with the same name in any letter case."""
    new_ids = [one.source_id for one in new]
    twins = dict[int, int]()
    if run.repeat and new_ids:
        here = await current.ids_by_name(tx, run.repository_id, kind, {rows[one][name] for one in new_ids})
        twins = {one: here[key] for one in new_ids if (key := rows[one][name].lower()) in here}
        await store.add_objects(tx, run.repository_id, kind, twins, {})
    added = {one: rows[one] for one in new_ids if one not in twins}
    bases = {one: base_text(columns, row) for one, row in added.items()}
    await store.add_rows(tx, run.repository_id, kind, added, bases)
    rest = [row for _, row in records] + [Record(source, local, None) for source, local in twins.items()]
    subjects = [Subject(row, rows[row.source_id], name=rows[row.source_id][name]) for row in rest]
    await save(tx, run, kind, await merge(tx, run, kind, columns, subjects))


async def _write_issues(tx: Tx, run: Run, page: Sequence[ImportedIssue]) -> None:
    new, records = await split_numbered(tx, run, ObjectKind.ISSUE, page)
    await insert_issues(tx, run, {one.number: one for one in new}, ObjectKind.ISSUE)
    await merge_issues(tx, run, ObjectKind.ISSUE, records)


async def _write_timelines(
    tx: Tx,
    run: Run,
    page: Sequence[ImportedComment],
    reviews: Mapping[int, Sequence[ImportedReview]],
) -> None:
    """Write comments, and the timeline rows of reviews, in the order of their times.

    Rows without an issue or pull request here are skipped.
    """
    repository_id = run.repository_id
    new, records = await split(tx, run, ObjectKind.COMMENT, page)
    review_ids = await store.local_ids(
        tx, repository_id, ObjectKind.REVIEW, [one.source_id for group in reviews.values() for one in group]
    )
    issue_ids = await _issue_ids(tx, run, {*reviews, *(one.number for one in (*new, *_first(records)))})
    rows: list[tuple[ImportedComment | ImportedReview, dict[str, Any]]] = [
        (
            one,
            {
                "issue_id": issue_ids[one.number],
                "repository_id": repository_id,
                "kind": CommentKind.COMMENT,
                "body": clipped(one.body, LARGEST),
                "details": None,
                "created_at": one.created_at,
                "updated_at": one.updated_at,
                **author_columns(one.author),
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
                "body": clipped(one.body, LARGEST),
                "details": msgspec.json.encode(Details(review=review_ids[one.source_id])).decode(),
                "created_at": one.submitted_at,
                "updated_at": one.submitted_at,
                **author_columns(one.author),
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
    bases = {
        one.source_id: base_text(COMMENT, {"body": clipped(one.body, LARGEST)}, one) for one, _ in comments
    }
    await store.add_objects(tx, repository_id, ObjectKind.COMMENT, written, bases)
    await store.count_comments(tx, Counter(issue_ids[one.number] for one, _ in comments))
    reactions = [
        row for one, row_id in comments for row in reaction_rows(issue_ids[one.number], row_id, one.reactions)
    ]
    await add_reactions(tx, repository_id, reactions)
    await store.add_files(
        tx,
        [
            row
            for one, row_id in comments
            for row in file_rows(repository_id, issue_ids[one.number], row_id, one)
        ],
    )

    await _merge_comments(tx, run, records, issue_ids)


async def _merge_comments(
    tx: Tx, run: Run, records: Sequence[tuple[ImportedComment, Record]], issue_ids: Mapping[int, int]
) -> None:
    """Merge comments of earlier runs: write changed texts, new reactions and new files."""
    subjects = [
        Subject(
            row,
            {"body": clipped(one.body, LARGEST), "updated_at": one.updated_at},
            number=one.number,
            name=str(one.source_id),
            files=file_links(one),
        )
        for one, row in records
        if one.number in issue_ids
    ]
    merged = await merge(tx, run, ObjectKind.COMMENT, COMMENT, subjects)
    texts = {row.source_id: text for text, row in records}
    parts = [
        (texts[records.source_id], one, issue_ids[one.subject.number], records.local_id)
        for one in merged
        for records in (one.subject.record,)
    ]
    await save(tx, run, ObjectKind.COMMENT, await add_parts(tx, run, parts))


async def _issue_ids(tx: Tx, run: Run, numbers: Collection[int]) -> dict[int, int]:
    """Return the ids of imported issues by number.

    A repeat skips issues that were not imported, because users can open issues between two runs.
    """
    read = current.imported_issue_ids if run.repeat else store.issue_ids
    return await read(tx, run.repository_id, numbers)


def _first(pairs: Sequence[tuple[_T, Record]]) -> list[_T]:
    return [one for one, _ in pairs]


async def _write_times(tx: Tx, run: Run, page: Sequence[ImportedTime]) -> None:
    repository_id = run.repository_id
    new, _ = await split(tx, run, ObjectKind.TIME, page)
    issue_ids = await _issue_ids(tx, run, {one.number for one in new})
    rows: dict[int, dict[str, Any]] = {
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
    ids = await store.add_rows(tx, repository_id, ObjectKind.TIME, rows, {})
    people = {one.source_id: one.author for one in new}
    deeds = [Deed(people[key], Role.TIME, rows[key]["issue_id"], row_id) for key, row_id in ids.items()]
    await record(tx, repository_id, deeds)


async def _write_dependencies(tx: Tx, run: Run, page: Sequence[ImportedDependency]) -> None:
    """Write dependencies. A dependency of an earlier run that was removed here is not restored.

    Imports of earlier releases have no bases. Their first repeat finds dependencies that are missing here.
    Each of them may be new at the source, or may have been removed here. It is reported, and not written.
    """
    numbers = {number for one in page for number in (one.number, one.blocker)}
    issue_ids = await _issue_ids(tx, run, numbers)
    rows = await current.issues_by_local_id(tx, run.repository_id, issue_ids.values())
    bases = {local_id: base_of(row) or Base(first_repeat=run.repeat) for local_id, (_, row) in rows.items()}
    blockers = defaultdict[int, set[int]](set)
    for one in page:
        if one.number in issue_ids:
            blockers[one.number].add(one.blocker)
    here = set[tuple[int, int]]()
    if any(base.first_repeat for base in bases.values()):
        here = await current.dependencies_of(tx, [issue_ids[number] for number in blockers])
    pairs, changed = set[tuple[int, int]](), defaultdict[ObjectKind, list[Record]](list)
    for number, blocking in blockers.items():
        local_id = issue_ids[number]
        base = bases.get(local_id, Base())
        others = {
            issue_ids[one]: (one, bases.get(issue_ids[one], Base()))
            for one in blocking
            if one in issue_ids and one != number
        }
        absent = {one: other for one, other in others.items() if (local_id, one) not in here}
        new, unknown = _compare_blockers(run, base, absent)
        pairs |= {(local_id, one) for one in new}
        if local_id not in rows:
            continue
        kind, row = rows[local_id]
        if unknown:
            report(run, kind, Subject(row, {}, number=number), ["dependencies"])
        new_base = msgspec.structs.replace(
            base, blockers=sorted({*base.blockers, *blocking}), unknown_blockers=sorted(unknown)
        )
        if row.base is not None and new_base != base:
            changed[kind].append(row._replace(base=encode(new_base)))
    await store.add_dependencies(tx, pairs)
    for kind, changed_rows in changed.items():
        await current.save_bases(tx, run.repository_id, kind, changed_rows)


def _compare_blockers(
    run: Run, base: Base, absent: Mapping[int, tuple[int, Base]]
) -> tuple[set[int], set[int]]:
    """Return the ids of new blockers, and the numbers of blockers that may have been removed here.

    ``absent`` has the blockers of an issue at the source that are missing here: their numbers and bases, by
    id.
    """
    if not run.repeat:
        return {*absent}, set()
    new, unknown = set[int](), set[int]()
    for local_id, (number, other) in absent.items():
        if number in base.blockers:
            unknown |= {number} & {*base.unknown_blockers}
        elif run.repeat == base.first_repeat == other.first_repeat:
            unknown.add(number)
        else:
            new.add(local_id)
    return new, unknown
