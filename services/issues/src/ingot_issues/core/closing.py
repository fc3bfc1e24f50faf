"""Issues that are closed or opened again by a merge or by a commit on the default branch."""

from collections.abc import Iterable

from ingot_chassis.database import Tx
from ingot_issues.core import references
from ingot_issues.core.issues import Edit, edit
from ingot_issues.core.references import Action, Reference, Source
from ingot_issues.core.site import Site
from ingot_issues.store import issues
from ingot_issues.store.issues import IssueRow


async def act_on(tx: Tx, site: Site, source: Source, found: Iterable[Reference]) -> None:
    """Do what references ask for, where there are issues. The actor of ``site`` may write to its repository."""
    for reference in found:
        if reference.action == "none":
            continue
        if not references.is_own(site, reference):
            await references.send_on(tx, site, source, reference, act=True)
            continue
        target = await issues.get(tx, site.repository.id, reference.number)
        if target is not None and site.repository.has_issues:
            await act(tx, site, target, reference.action)


async def act(tx: Tx, site: Site, target: IssueRow, action: Action) -> None:
    """Close or reopen an issue; pull requests end by being merged or closed themselves."""
    if not target.is_pull and action != "none":
        await edit(tx, site, target, Edit(state="closed" if action == "closes" else "open"))
