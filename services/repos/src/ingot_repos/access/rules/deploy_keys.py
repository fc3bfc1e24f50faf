"""Deploy keys: SSH keys of programs, each for one repository.

A key is valid only while its creator may sign in. A key whose creator is not known is always valid.
"""

from collections.abc import Sequence

from ingot_chassis.db.transaction import Tx
from ingot_chassis.errors import Invalid, NotFound
from ingot_chassis.http.paging import Page
from ingot_chassis.security import ssh_keys
from ingot_repos.access.store import deploy_keys
from ingot_repos.access.store.deploy_keys import DeployKeyRow, KeyFilter
from ingot_repos.clients.identity import HttpIdentity

MOST_CREATORS = 10
"""Limit of creators of one key that identity is asked about for a new connection."""


async def add(
    tx: Tx, repository_id: int, *, creator_id: int, title: str, key: str, read_only: bool
) -> DeployKeyRow:
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
        creator_id=creator_id,
    )
    if row is not None:
        return row
    same = KeyFilter(fingerprint=public.fingerprint)
    if (await deploy_keys.list_page(tx, repository_id, same, Page(1, 1)))[1]:
        raise Invalid.field("key", "taken", "is already a deploy key of this repository")
    raise Invalid.field("title", "taken", f"a key with the title {title!r} already exists")


async def is_valid(identity: HttpIdentity, key: DeployKeyRow) -> bool:
    """Return True if the creator of the key may sign in, or is not known. Raises Unavailable."""
    if key.creator_id is None:
        return True
    try:
        return (await identity.account(key.creator_id)).active
    except NotFound:
        return False


async def first_valid(identity: HttpIdentity, keys: Sequence[DeployKeyRow]) -> DeployKeyRow:
    """Return the first valid key. Raises NotFound, Unavailable."""
    for key in keys:
        if await is_valid(identity, key):
            return key
    raise NotFound
