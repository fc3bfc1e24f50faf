"""Merging of objects that an earlier run of an import wrote.

Each field has three values: in ``Base``, at the source now, and here now. ``Base`` is the value that the
source had when the field was last written. A field that has changed only at the source is written. A field
that has changed only here is kept. A field that has changed on both sides is kept, and reported as a
conflict.
"""

import hashlib
from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple

import msgspec

from ingot_chassis.db.driver import Executor
from ingot_contracts.repos.imports import (
    ConflictKind,
    ImportConflict,
    ImportedComment,
    ImportedIssue,
    ImportedPerson,
    ImportedReaction,
)
from ingot_issues.imports.store import current
from ingot_issues.imports.store.current import Record
from ingot_issues.imports.store.objects import ObjectKind

Columns = Mapping[str, tuple[str, ...]]
"""Columns by field. All are written. The first one, and ``merged``, decide whether the field has changed."""
LABEL: Columns = {
    "name": ("name",),
    "color": ("color",),
    "description": ("description",),
    "exclusive": ("exclusive",),
    "is_archived": ("is_archived",),
}
MILESTONE: Columns = {
    "title": ("title",),
    "description": ("description",),
    "state": ("state", "closed_at"),
    "due_on": ("due_on",),
}
ISSUE: Columns = {
    "title": ("title",),
    "body": ("body",),
    "state": ("state", "closed_at"),
    "milestone": ("milestone_id",),
    "due_date": ("due_date",),
    "is_locked": ("locked",),
    "labels": ("labels",),
}
PULL: Columns = {
    **ISSUE,
    "base": ("base_branch", "base_sha"),
    "head": ("head_sha", "merge_base", "additions", "deletions", "changed_files"),
    "state": ("state", "closed_at", "merged", "merged_at", "merged_by", "original_merger", "merge_sha"),
}
COMMENT: Columns = {"body": ("body",)}
REVIEW: Columns = {"dismissed": ("dismissed",)}
NAMES: Mapping[ObjectKind, ConflictKind] = {
    ObjectKind.LABEL: "label",
    ObjectKind.MILESTONE: "milestone",
    ObjectKind.ISSUE: "issue",
    ObjectKind.PULL: "pull",
    ObjectKind.COMMENT: "comment",
    ObjectKind.REVIEW: "review",
}
_OF_MERGED = ("base", "head")
"""Fields of a pull request that do not change after its merge."""
Values = Mapping[str, Any]


class Base(msgspec.Struct, frozen=True, omit_defaults=True):
    """Digests of an object as it was at the source when it was last written: of its fields, and of its parts.

    ``lines`` has the comments on lines of a review, by id or another key. ``reactions`` are keys, ``files``
    are uuids, and ``blockers`` are numbers of issues. ``assignees`` has the account and name of each assignee
    at the source, by ``person_id``. None: they are unknown.

    ``first_repeat`` is the first run with a base, if earlier runs saved none; otherwise 0.
    ``unknown_blockers`` are blockers that this run found at the source, and not here.
    """

    fields: dict[str, str] = {}
    reactions: list[str] = []
    files: list[str] = []
    lines: dict[str, str] = {}
    blockers: list[int] = []
    assignees: dict[str, tuple[int, str]] | None = None
    first_repeat: int = 0
    unknown_blockers: list[int] = []


class Run(NamedTuple):
    """A run of an import. ``repeat`` is 0 for the first run. ``conflicts`` has the conflicts of this page."""

    repository_id: int
    repeat: int
    conflicts: list[ImportConflict]


class Subject(NamedTuple):
    """An object of the source that an earlier run wrote, with its values at the source now.

    ``number`` and ``name`` identify the object in reports. ``files`` maps file links of the source to local
    links.
    """

    record: Record
    values: Values
    number: int = 0
    name: str = ""
    files: Mapping[str, str] = {}


class Merged(NamedTuple):
    """The row of an object before this page, the fields that were written, and the new base."""

    subject: Subject
    before: Values
    changed: frozenset[str]
    base: Base


def digest(value: Any) -> str:
    """Return a short digest of a value. Fractions of a second are ignored."""
    if isinstance(value, datetime):
        value = int(value.timestamp())
    return hashlib.blake2b(msgspec.json.encode(value), digest_size=6).hexdigest()


def digests(columns: Columns, values: Values) -> dict[str, str]:
    return {
        field: digest([values[names[0]], values["merged"]] if "merged" in names else values[names[0]])
        for field, names in columns.items()
    }


def base_text(columns: Columns, values: Values, text: ImportedIssue | ImportedComment | None = None) -> str:
    """Return the base of a new row, as JSON.

    ``text`` adds its reactions, its files, and an issue's assignees.
    """
    base = Base(digests(columns, values))
    if isinstance(text, ImportedIssue):
        base = msgspec.structs.replace(base, assignees=assigned_people(text))
    return encode(base if text is None else with_parts(base, text))


def encode(base: Base) -> str:
    return msgspec.json.encode(base).decode()


def base_of(row: Record) -> Base | None:
    return msgspec.json.decode(row.base, type=Base) if row.base is not None else None


def with_parts(base: Base, text: ImportedIssue | ImportedComment) -> Base:
    """Return a base with the reactions and files of a text."""
    reactions = sorted({reaction_key(one) for one in text.reactions})
    files = sorted({one.uuid for one in text.files})
    return msgspec.structs.replace(base, reactions=reactions, files=files)


def reaction_key(reaction: ImportedReaction) -> str:
    """Return a key that identifies a reaction, even after its author was renamed at the source."""
    person = reaction.author
    return digest([person.source_id or person.name, reaction.content])


def assigned_people(one: ImportedIssue) -> dict[str, tuple[int, str]]:
    """Return the accounts and names of the assignees of an issue, by ``person_id``."""
    return {person_id(person): (person.account_id, person.name) for person in one.assignees}


def person_id(person: ImportedPerson) -> str:
    """Return a key that identifies a person at the source."""
    return str(person.source_id or person.name.lower() or f"account {person.account_id}")


def line_key(original_author_id: int, original_author: str, created_at: datetime, diff_hunk: str) -> str:
    """Return a key that identifies a comment on a line without its id. Later commits move its line."""
    return digest([original_author_id or original_author, int(created_at.timestamp()), diff_hunk])


def line_digest(body: str, *, is_resolved: bool) -> str:
    return digest([body, is_resolved])


async def merge(
    db: Executor, run: Run, kind: ObjectKind, columns: Columns, subjects: Sequence[Subject]
) -> list[Merged]:
    """Write the fields that have changed only at the source. Return all objects whose rows still exist.

    The caller saves the bases. These conflicts are reported: fields that have changed on both sides, and
    objects that have changed at the source and were deleted here.
    """
    rows = await current.rows_of(db, kind, {one.record.local_id for one in subjects})
    merged = list[Merged]()
    for subject in subjects:
        before, base = rows.get(subject.record.local_id), base_of(subject.record)
        theirs = digests(columns, subject.values)
        if before is None:
            if base is not None and base.fields != theirs:
                report(run, kind, subject, ["deleted"])
            continue
        ours = digests(columns, _with_local_links(before, subject.files))
        fields, changed, both = _compare(base, theirs, ours)
        if base is not None and before.get("merged") and ours["state"] != base.fields.get("state"):
            final = [field for field in changed if field in _OF_MERGED]  # it was merged here
            changed, both = [field for field in changed if field not in final], [*both, *final]
            fields |= {field: base.fields[field] for field in final}
        if both:
            report(run, kind, subject, both)
        if changed:
            await _write(db, kind, columns, subject, before, changed)
        new_base = msgspec.structs.replace(base or Base(first_repeat=run.repeat), fields=fields)
        merged.append(Merged(subject, before, frozenset(changed), new_base))
    return merged


async def save(db: Executor, run: Run, kind: ObjectKind, merged: Iterable[Merged]) -> None:
    """Save the bases that have changed."""
    rows = []
    for one in merged:
        text = encode(one.base)
        if text != one.subject.record.base:
            rows.append(one.subject.record._replace(base=text))
    await current.save_bases(db, run.repository_id, kind, rows)


def _compare(
    base: Base | None, theirs: Mapping[str, str], ours: Mapping[str, str]
) -> tuple[dict[str, str], list[str], list[str]]:
    """Return the new base, the fields to write, and the fields that have changed on both sides.

    Without a base, a difference counts as a change on both sides.
    """
    fields = dict(base.fields) if base is not None else {}
    changed, both = list[str](), list[str]()
    for field, new in theirs.items():
        old = fields.get(field)
        if new == old:
            continue
        if new == ours[field]:
            fields[field] = new
        elif old is not None and ours[field] == old:
            fields[field] = new
            changed.append(field)
        else:
            both.append(field)
    return fields, changed, both


async def _write(
    db: Executor,
    kind: ObjectKind,
    columns: Columns,
    subject: Subject,
    before: Values,
    changed: Collection[str],
) -> None:
    values = {name: subject.values[name] for field in changed for name in columns[field]}
    row_id = subject.record.local_id
    label_ids = values.pop("labels", None)
    if "updated_at" in subject.values:
        times = (subject.values["updated_at"], before.get("updated_at"))
        values["updated_at"] = max(time for time in times if time is not None)
    await current.change_row(db, kind, row_id, values)
    if label_ids is not None:
        await current.replace_labels(db, row_id, label_ids)


def _with_local_links(row: Values, files: Mapping[str, str]) -> Values:
    """Return a row whose text has local links for all ``files``, as the new text has.

    The stored text has links to the source for files that could not be fetched.
    """
    if not files or "body" not in row:
        return row
    body = row["body"]
    for original, local in files.items():
        body = body.replace(original, local)
    return {**row, "body": body}


def report(run: Run, kind: ObjectKind, subject: Subject, fields: Sequence[str]) -> None:
    """Add fields to the conflict of an object, or add a new conflict."""
    conflict = ImportConflict(kind=NAMES[kind], number=subject.number, name=subject.name)
    for one in run.conflicts:
        if msgspec.structs.replace(one, fields=[]) == conflict:
            one.fields.extend(field for field in fields if field not in one.fields)
            return
    run.conflicts.append(msgspec.structs.replace(conflict, fields=[*fields]))


def report_number(run: Run, kind: ObjectKind, number: int, title: str) -> None:
    """Report that an object cannot have its number at the source, or has another number here."""
    run.conflicts.append(ImportConflict(kind=NAMES[kind], number=number, name=title, fields=["number"]))
