"""Changed pages of a wiki, from the commits of a push."""

from collections.abc import Sequence

from ingot_contracts.limits import EVENT_NAME_BYTES, clip
from ingot_contracts.repos.events import WikiPageChange
from ingot_git.history.changes import CommitChanges
from ingot_repos.catalog.rules.wiki_names import address_of_file


def page_changes(commits: Sequence[CommitChanges]) -> list[WikiPageChange]:
    """Return the latest change of each wiki page, the latest last. ``commits`` are latest first.

    A commit that removes one page and adds one has renamed it. A new page stays ``created`` when it is
    edited, and is omitted when it is deleted again.
    """
    changes = dict[str, WikiPageChange]()
    for commit in reversed(commits):
        added, modified, removed = (
            [page for path in paths if (page := address_of_file(path)) is not None]
            for paths in (commit.added, commit.modified, commit.removed)
        )
        comment = clip(commit.commit.message, EVENT_NAME_BYTES)
        if len(added) == len(removed) == 1:
            changes.pop(removed[0], None)
            added, modified, removed = [], [*modified, *added], []
        for action, pages in (("created", added), ("edited", modified), ("deleted", removed)):
            for page in pages:
                before = changes.pop(page, None)
                is_new = before is not None and before.action == "created"
                if action == "deleted" and is_new:
                    continue
                changes[page] = WikiPageChange(
                    action="created" if is_new else action,  # type: ignore[arg-type]
                    page=clip(page, EVENT_NAME_BYTES),
                    comment=comment,
                )
    return list(changes.values())
