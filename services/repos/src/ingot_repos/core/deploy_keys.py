"""SSH keys that open one repository and no other, to a program rather than to a person."""

from ingot_chassis.db.transaction import Tx
from ingot_chassis.errors import Invalid
from ingot_chassis.http.paging import Page
from ingot_chassis.security import ssh_keys
from ingot_repos.store import deploy_keys
from ingot_repos.store.deploy_keys import DeployKeyRow, KeyFilter


async def add(tx: Tx, repository_id: int, *, title: str, key: str, read_only: bool) -> DeployKeyRow:
    """Add a key; its row. Raises Invalid. The same key may open other repositories, or be a user's."""
    title = title.strip()
    if not title:
        raise Invalid.field("title", "required", "is required")
    public = ssh_keys.read(key)
    row = await deploy_keys.add(
        tx,
        repository_id=repository_id,
        title=title,
        content=public.content,
        fingerprint=public.fingerprint,
        read_only=read_only,
    )
    if row is not None:
        return row
    same = KeyFilter(fingerprint=public.fingerprint)
    if (await deploy_keys.list_page(tx, repository_id, same, Page(1, 1)))[1]:
        raise Invalid.field("key", "taken", "opens the repository already")
    raise Invalid.field("title", "taken", f"there is a key {title!r} already")
