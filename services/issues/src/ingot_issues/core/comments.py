"""Writing, changing and deleting comments."""

from ingot_chassis.database import Tx
from ingot_chassis.errors import Invalid, NotFound
from ingot_contracts.issues import ChangedText, Changes, Comment
from ingot_issues.core import references
from ingot_issues.core.references import Reference, Source
from ingot_issues.core.site import Site
from ingot_issues.store import comments as store
from ingot_issues.store import issues
from ingot_issues.store.comments import CommentRow
from ingot_issues.store.issues import IssueRow


def clean_body(body: str) -> str:
    """Raises Invalid for a comment that says nothing or too much."""
    if not body.strip():
        raise Invalid.field("body", "required", "is required")
    return references.clean_text(body)


async def comment_on(tx: Tx, site: Site, issue: IssueRow, body: str, found: list[Reference]) -> Comment:
    """Write a comment, which is clean and refers to what was ``found``."""
    await site.enter(tx)
    row = await store.write(tx, issue, site.actor_id, body)
    await issues.count_comments(tx, issue.id, 1)
    await _note(tx, site, row, found)
    return await site.announce_comment(tx, row, "created")


async def change_comment(tx: Tx, site: Site, seen: CommentRow, body: str, found: list[Reference]) -> Comment:
    """Replace what a comment says, likewise."""
    await site.enter(tx)
    row = await store.change(tx, seen, body)
    if row is None:
        raise NotFound
    await _note(tx, site, row, found)
    changed = Changes(body=ChangedText(seen.body))
    return await site.announce_comment(tx, row, "edited" if body != seen.body else None, changed)


async def delete_comment(tx: Tx, site: Site, seen: CommentRow) -> None:
    """Delete a comment with its references; nothing happens when it is gone already."""
    await site.enter(tx)
    if await store.remove(tx, seen.id):
        await issues.count_comments(tx, seen.issue_id, -1)
        await site.announce_comment(tx, seen, "deleted")


async def _note(tx: Tx, site: Site, row: CommentRow, found: list[Reference]) -> None:
    source = Source(repository_id=site.repository.id, issue_id=row.issue_id, comment_id=row.id)
    await references.note_all(tx, site, source, found)
