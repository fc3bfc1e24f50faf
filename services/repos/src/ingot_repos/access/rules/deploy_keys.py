"""Deploy keys: SSH keys of programs, each for one repository."""

from ingot_chassis.db.transaction import Tx
from ingot_chassis.errors import Invalid
from ingot_chassis.http.paging import Page
from ingot_chassis.security import ssh_keys
from ingot_repos.access.store import deploy_keys
from ingot_repos.access.store.deploy_keys import DeployKeyRow, KeyFilter


async def add(tx: Tx, repository_id: int, *, title: str, key: str, read_only: bool) -> DeployKeyRow:
    """Add a key and return its row. Raises Invalid.

    The same key may be used in other repositories and by a user.
    """
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
        raise Invalid.field("key", "taken", "is already a deploy key of this repository")
    raise Invalid.field("title", "taken", f"a key with the title {title!r} already exists")
