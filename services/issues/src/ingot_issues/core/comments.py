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
from ingot_issues.store.surroundings import people


def clean_body(body: str) -> str:
    """Raises Invalid for a comment that says nothing or too much."""
    if not body.strip():
        raise Invalid.field("body", "required", "is required")
    return references.clean_text(body)


async def comment_on(tx: Tx, site: Site, issue: IssueRow, body: str, found: list[Reference]) -> Comment:
    """Write a comment, which is clean and refers to what was ``found``."""
    await site.enter(tx)
    comment_id = await store.add(
        tx,
        repository_id=site.repository.id,
        issue_id=issue.id,
        author_id=site.actor_id,
        body=body,
    )
    await issues.count_comments(tx, issue.id, 1)
    return await _told(tx, site, issue.id, comment_id, found)


async def change_comment(tx: Tx, site: Site, seen: CommentRow, body: str, found: list[Reference]) -> Comment:
    """Replace what a comment says, likewise."""
    await site.enter(tx)
    await store.change(tx, seen.id, body)
    return await _told(tx, site, seen.issue_id, seen.id, found, former=seen.body)


async def delete_comment(tx: Tx, site: Site, seen: CommentRow) -> None:
    """Delete a comment with its references; nothing happens when it is gone already."""
    await site.enter(tx)
    if await store.get(tx, site.repository.id, seen.id) is None:
        return
    await store.remove(tx, seen.id)
    await issues.count_comments(tx, seen.issue_id, -1)
    around = await people(tx, [seen.author_id])
    comment = site.viewing.comment(seen, site.repository, around)
    await site.announce_comment(tx, seen.issue_id, comment, "deleted")


async def _told(
    tx: Tx, site: Site, issue_id: int, comment_id: int, found: list[Reference], *, former: str | None = None
) -> Comment:
    """Follow what a comment refers to and announce it as it is now; its view."""
    row = await store.get(tx, site.repository.id, comment_id)
    if row is None:
        raise NotFound
    source = Source(repository_id=site.repository.id, issue_id=issue_id, comment_id=comment_id)
    await references.note_all(tx, site, source, found)
    around = await people(tx, [row.author_id])
    comment = site.viewing.comment(row, site.repository, around)
    if former is None:
        await site.announce_comment(tx, issue_id, comment, "created")
    elif former != row.body:
        await site.announce_comment(tx, issue_id, comment, "edited", Changes(body=ChangedText(former)))
    return comment
