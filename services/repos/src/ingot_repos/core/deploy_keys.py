"""SSH keys that open one repository and no other, to a program rather than to a person."""

from typing import Any

from ingot_chassis import ssh_keys
from ingot_chassis.database import Tx
from ingot_chassis.errors import Invalid
from ingot_chassis.paging import Page
from ingot_repos.store import deploy_keys
from ingot_repos.store.deploy_keys import Wanted

TITLE_LENGTH = 255


async def add(tx: Tx, repository_id: int, *, title: str, key: str, read_only: bool) -> Any:
    """Let a key in; its row. Raises Invalid. The same key may open other repositories, or be a person's."""
    title = title.strip()
    if not title:
        raise Invalid.field("title", "required", "is required")
    if len(title) > TITLE_LENGTH:
        raise Invalid.field("title", "length", f"has more than {TITLE_LENGTH} characters")
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
    same = Wanted(fingerprint=public.fingerprint)
    if (await deploy_keys.list_of(tx, repository_id, same, Page(1, 1)))[1]:
        raise Invalid.field("key", "taken", "opens the repository already")
    raise Invalid.field("title", "taken", f"there is a key {title!r} already")
