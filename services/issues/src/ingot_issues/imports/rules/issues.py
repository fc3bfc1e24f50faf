"""Imported issues: inserts of new issues, and merging of changes. Pull requests use these functions, too."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

import msgspec

from ingot_chassis.db.transaction import Tx
from ingot_contracts.limits import ASSIGNEES
from ingot_contracts.repos.imports import (
    ImportedComment,
    ImportedIssue,
    ImportedLabel,
    ImportedMilestone,
    ImportedPerson,
    ImportedPull,
    ImportedReview,
    ImportedTime,
)
from ingot_issues.imports.rules.assignees import merge_assignees
from ingot_issues.imports.rules.changes import (
    ISSUE,
    PULL,
    Merged,
    Run,
    Subject,
    base_text,
    merge,
    reaction_key,
    report_number,
    save,
    with_parts,
)
from ingot_issues.imports.rules.fields import (
    account_list,
    author_columns,
    clipped,
    file_links,
    file_rows,
    one_line,
    reaction_rows,
)
from ingot_issues.imports.rules.placeholders import Deed, add_reactions, deeds_of, record
from ingot_issues.imports.store import current
from ingot_issues.imports.store import objects as store
from ingot_issues.imports.store.current import Record
from ingot_issues.imports.store.objects import ObjectKind
from ingot_issues.imports.store.placeholders import Role
from ingot_issues.markdown.rules.rendering import LARGEST
from ingot_issues.records.store.states import State
from ingot_issues.repositories.store import counters

NO_REPOSITORY = 0
"""The repository of a head that does not exist here, for example of a deleted fork."""
_T = TypeVar(
    "_T",
    ImportedLabel,
    ImportedMilestone,
    ImportedIssue,
    ImportedPull,
    ImportedReview,
    ImportedComment,
    ImportedTime,
)

_Issue = TypeVar("_Issue", ImportedIssue, ImportedPull)


class Refused(Exception):
    """A page cannot be written, and a retry would not help."""


async def split(
    tx: Tx, run: Run, kind: ObjectKind, objects: Sequence[_T]
) -> tuple[list[_T], list[tuple[_T, Record]]]:
    """Return the new objects without duplicates, and the objects that an earlier run wrote.

    The second list is empty in the first run.
    """
    by_id = {one.source_id: one for one in objects}
    records = await current.records(tx, run.repository_id, kind, by_id)
    new = [one for source_id, one in by_id.items() if source_id not in records]
    return new, [(by_id[source_id], row) for source_id, row in records.items()] if run.repeat else []


async def split_numbered(
    tx: Tx, run: Run, kind: ObjectKind, objects: Sequence[_Issue]
) -> tuple[list[_Issue], list[tuple[_Issue, Record]]]:
    """Split issues or pull requests into new objects and imported objects.

    An imported object with another number here is reported, and is in neither list.
    """
    new, records = await split(tx, run, kind, objects)
    numbers = await current.numbers_of(tx, [row.local_id for _, row in records])
    moved = [one for one, row in records if numbers.get(row.local_id, one.number) != one.number]
    for one in moved:
        report_number(run, kind, one.number, one_line(one.title))
    await store.add_taken(tx, run.repository_id, [one.number for one in moved])
    return new, [pair for pair in records if pair[0] not in moved]


async def insert_issues(
    tx: Tx, run: Run, new: Mapping[int, ImportedIssue], kind: ObjectKind
) -> dict[int, int]:
    """Insert issues, or pull requests, with their numbers at the source. Return their ids by number.

    If another issue has such a number, the first run raises Refused. A repeat reports and skips the object.
    """
    if not new:
        return {}
    if taken := await store.issue_ids(tx, run.repository_id, new):
        if not run.repeat:
            raise Refused("a number is taken")
        for number in taken:
            report_number(run, kind, number, one_line(new[number].title))
        await store.add_taken(tx, run.repository_id, taken)
        new = {number: one for number, one in new.items() if number not in taken}
        if not new:
            return {}
    rows = await _issue_rows(tx, run, [*new.values()], kind)
    ids = await store.add_issues(
        tx, [{name: row[name] for name in row if name not in ("labels", "assignees")} for row in rows]
    )
    columns = PULL if kind is ObjectKind.PULL else ISSUE
    bases = dict[int, str]()
    for row, one in zip(rows, new.values(), strict=True):
        values = {**row, **pull_columns(run, one)} if isinstance(one, ImportedPull) else row
        bases[one.source_id] = base_text(columns, values, one)
    objects = {one.source_id: ids[number] for number, one in new.items()}
    await store.add_objects(tx, run.repository_id, kind, objects, bases)
    await store.add_labels(tx, [(ids[row["number"]], label) for row in rows for label in row["labels"]])
    await store.add_assignees(tx, {ids[row["number"]]: row["assignees"] for row in rows})
    await _count_issues(tx, run.repository_id, rows, is_pull=kind is ObjectKind.PULL)
    reactions = [
        row for number, one in new.items() for row in reaction_rows(ids[number], None, one.reactions)
    ]
    await add_reactions(tx, run.repository_id, reactions)
    await record(tx, run.repository_id, [deed for n, one in new.items() for deed in deeds_of(ids[n], one)])
    await store.add_files(
        tx,
        [row for number, one in new.items() for row in file_rows(run.repository_id, ids[number], None, one)],
    )
    return ids


def pull_columns(run: Run, one: ImportedPull) -> dict[str, Any]:
    """Return the columns of a pull request that issues do not have."""
    return {
        "base_branch": one_line(one.base_branch),
        "base_sha": one.base_sha,
        "head_repository_id": run.repository_id if one.is_from_base else NO_REPOSITORY,
        "head_branch": one_line(one.head_branch),
        "head_sha": one.head_sha,
        "merge_base": one.merge_base,
        "additions": one.additions,
        "deletions": one.deletions,
        "changed_files": one.changed_files,
        "mergeable": False,
        "merged": one.merged,
        "merged_at": one.merged_at,
        "merged_by": one.merged_by.account_id if one.merged_by is not None else None,
        "original_merger": one_line(one.merged_by.name) if one.merged_by is not None else "",
        "merge_sha": one.merge_sha,
        "allow_maintainer_edit": one.allow_maintainer_edit,
    }


async def _issue_rows(
    tx: Tx, run: Run, page: Sequence[ImportedIssue], kind: ObjectKind
) -> list[dict[str, Any]]:
    """Return the columns of issues, with the ids of their labels and assignees."""
    label_ids = {label_id for one in page for label_id in one.labels}
    label_rows = await store.local_ids(tx, run.repository_id, ObjectKind.LABEL, label_ids)
    milestone_ids = {one.milestone for one in page}
    milestone_rows = await store.local_ids(tx, run.repository_id, ObjectKind.MILESTONE, milestone_ids)
    if run.repeat:  # some may have been deleted here
        labels = await current.existing_ids(tx, ObjectKind.LABEL, {*label_rows.values()})
        label_rows = {key: one for key, one in label_rows.items() if one in labels}
        milestones = await current.existing_ids(tx, ObjectKind.MILESTONE, {*milestone_rows.values()})
        milestone_rows = {key: one for key, one in milestone_rows.items() if one in milestones}
    return [
        {
            "repository_id": run.repository_id,
            "number": one.number,
            "is_pull": kind is ObjectKind.PULL,
            "title": one_line(one.title) or "-",
            "body": clipped(one.body, LARGEST),
            "state": one.state,
            "milestone_id": milestone_rows.get(one.milestone),
            "locked": one.is_locked,
            "pin_order": one.pin_order,
            "due_date": one.due_date,
            "ref": one_line(one.ref),
            "created_at": one.created_at,
            "updated_at": one.updated_at,
            "closed_at": (one.closed_at or one.updated_at) if one.state == "closed" else None,
            **author_columns(one.author),
            "labels": sorted({label_rows[label_id] for label_id in one.labels if label_id in label_rows}),
            "assignees": account_list(one.assignees)[:ASSIGNEES],
        }
        for one in page
    ]


async def merge_issues(
    tx: Tx, run: Run, kind: ObjectKind, records: Sequence[tuple[ImportedIssue, Record]]
) -> list[Merged]:
    """Write changes at the source since the last run: fields, assignees, new reactions and new files.

    Return the issues that still exist.
    """
    if not records:
        return []
    rows = await _issue_rows(tx, run, [one for one, _ in records], kind)
    subjects, columns = list[Subject](), PULL if kind is ObjectKind.PULL else ISSUE
    for (one, row), values in zip(records, rows, strict=True):
        more = pull_columns(run, one) if isinstance(one, ImportedPull) else {}
        subjects.append(Subject(row, {**values, **more}, number=one.number, files=file_links(one)))
    merged = await merge(tx, run, kind, columns, subjects)
    for each in merged:
        if each.changed & {"state", "milestone"}:
            await _recount(tx, run, each, is_pull=kind is ObjectKind.PULL)
    texts = {row.source_id: text for text, row in records}
    merged = await merge_assignees(tx, run, kind, texts, merged)
    await record(
        tx,
        run.repository_id,
        [
            Deed(pull.merged_by, Role.MERGER, each.subject.record.local_id)
            for each in merged
            if "state" in each.changed
            and isinstance(pull := texts[each.subject.record.source_id], ImportedPull)
            and pull.merged_by is not None
            and not each.before["merged"]
        ],
    )
    parts = [
        (texts[each.subject.record.source_id], each, each.subject.record.local_id, None) for each in merged
    ]
    await save(tx, run, kind, await add_parts(tx, run, parts))
    return merged


async def _recount(tx: Tx, run: Run, one: Merged, *, is_pull: bool) -> None:
    """Update the counts of open and closed issues for a changed issue: of the repository and milestones."""
    before, after = one.before, {**one.before}
    if "state" in one.changed:
        after["state"] = one.subject.values["state"]
    if "milestone" in one.changed:
        after["milestone_id"] = one.subject.values["milestone_id"]
    opened, closed = Counter[int](), Counter[int]()
    for row, difference in ((before, -1), (after, 1)):
        if row["milestone_id"] is not None:
            (opened if row["state"] == State.OPEN else closed)[row["milestone_id"]] += difference
    await store.count_issues(tx, opened, closed)
    difference = (after["state"] == State.OPEN) - (before["state"] == State.OPEN)
    if difference:
        await counters.count_open(tx, run.repository_id, difference, is_pull=is_pull)


async def add_parts(
    tx: Tx, run: Run, parts: Sequence[tuple[ImportedIssue | ImportedComment, Merged, int, int | None]]
) -> list[Merged]:
    """Add reactions and files that are new at the source. Return the objects with their new bases.

    A part has the id of its issue, and the id of its comment or None. A part without a base gets only a base.
    A repeat after this one adds its new reactions and files.
    """
    reactions = list[tuple[dict[str, Any], ImportedPerson]]()
    files, merged = list[dict[str, Any]](), list[Merged]()
    for text, one, issue_id, comment_id in parts:
        base = with_parts(one.base, text)
        if one.subject.record.base is not None:
            new = [each for each in text.reactions if reaction_key(each) not in one.base.reactions]
            reactions += reaction_rows(issue_id, comment_id, new)
            # The new text has the links of files that did not come, too.
            has_new_text = "body" in one.changed
            new_files = [each for each in text.files if has_new_text or each.uuid not in one.base.files]
            changed = msgspec.structs.replace(text, files=new_files)
            files += file_rows(run.repository_id, issue_id, comment_id, changed)
        merged.append(one._replace(base=base))
    here = await current.reactions_of(tx, {row["issue_id"] for row, _ in reactions})
    names = ("issue_id", "comment_id", "account_id", "content")
    absent = [pair for pair in reactions if tuple(pair[0][name] for name in names) not in here]
    await add_reactions(tx, run.repository_id, absent)
    await store.add_files(tx, files)
    return merged


async def _count_issues(tx: Tx, repository_id: int, rows: Sequence[dict[str, Any]], *, is_pull: bool) -> None:
    """Add new issues to the counts of their milestones and of the repository, and raise its next number."""
    totals = Counter((row["milestone_id"], row["state"] == State.OPEN) for row in rows)
    opened, closed = (
        {one: count for (one, is_open), count in totals.items() if one is not None and is_open is state}
        for state in (True, False)
    )
    await store.count_issues(tx, opened, closed)
    open_count = sum(row["state"] == State.OPEN for row in rows)
    await counters.count_open(tx, repository_id, open_count, is_pull=is_pull)
    await counters.raise_number(tx, repository_id, max(row["number"] for row in rows))
