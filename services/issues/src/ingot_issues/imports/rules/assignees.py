"""Merging of the assignees of imported issues. Assignees at the source may have no account here."""

from collections.abc import Mapping, Sequence

import msgspec

from ingot_chassis.db.transaction import Tx
from ingot_contracts.limits import ASSIGNEES
from ingot_contracts.repos.imports import GHOST_ID, ImportedIssue
from ingot_issues.imports.rules.changes import Merged, Run, assigned_people, person_id, report
from ingot_issues.imports.rules.placeholders import Deed, person_key, record
from ingot_issues.imports.store import current, placeholders
from ingot_issues.imports.store.objects import ObjectKind
from ingot_issues.imports.store.placeholders import Role
from ingot_issues.issues.store import assignees


async def merge_assignees(
    tx: Tx, run: Run, kind: ObjectKind, texts: Mapping[int, ImportedIssue], merged: Sequence[Merged]
) -> list[Merged]:
    """Merge changes of assignees at the source since the last run. Return the issues with their new bases.

    Without a base, removals at the source are unknown. Then differences are reported as a conflict, and
    nothing changes.
    """
    renewed, deeds = list[Merged](), list[Deed]()
    for one in merged:
        text, old = texts[one.subject.record.source_id], one.base.assignees
        theirs, here = assigned_people(text), one.before["assignees"]
        if old is None:
            is_same = {account for account, _ in theirs.values()} <= {GHOST_ID, *here}
            if not is_same:
                report(run, kind, one.subject, ["assignees"])
            base = msgspec.structs.replace(one.base, assignees=theirs if is_same else None)
            renewed.append(one._replace(base=base))
            continue
        came = [person for person in text.assignees if person_id(person) not in old]
        gone = {key: value for key, value in old.items() if key not in theirs}
        if came or gone:
            issue_id = one.subject.record.local_id
            await _assign(
                tx, one, [person.account_id for person in came], {each for each, _ in gone.values()}
            )
            names = {person_key(name) for _, name in gone.values()}
            await placeholders.remove_assignees(tx, run.repository_id, issue_id, names)
            deeds += [Deed(person, Role.ASSIGNEE, issue_id) for person in came]
        people = {key: _merge_person(old.get(key), value) for key, value in theirs.items()}
        renewed.append(one._replace(base=msgspec.structs.replace(one.base, assignees=people)))
    await record(tx, run.repository_id, deeds)
    return renewed


async def _assign(tx: Tx, one: Merged, came: Sequence[int], gone: set[int]) -> None:
    """Add and remove assignees of an issue. Other assignees keep their order."""
    here, issue_id = one.before["assignees"], one.subject.record.local_id
    stay = [account for account in here if account not in gone or account in came]
    new = [account for account in dict.fromkeys(came) if account not in (*stay, GHOST_ID)]
    accounts = [*stay, *new[: max(0, ASSIGNEES - len(stay))]]
    if accounts != here:
        await assignees.replace(tx, issue_id, accounts)
        updated_at = max(one.subject.values["updated_at"], one.before["updated_at"])
        await current.change_row(tx, ObjectKind.ISSUE, issue_id, {"updated_at": updated_at})


def _merge_person(old: tuple[int, str] | None, new: tuple[int, str]) -> tuple[int, str]:
    """Return the account and name of an assigned person.

    An account and a name of an earlier run are kept, except the ghost as account.
    """
    if old is None:
        return new
    account, name = old
    return (new[0] if account == GHOST_ID else account), name
