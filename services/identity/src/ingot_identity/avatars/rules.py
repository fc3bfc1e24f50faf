"""Uploaded pictures of accounts."""

from ingot_chassis.db.transaction import Tx
from ingot_chassis.http.pictures import Picture
from ingot_identity.accounts.rules.edits import announce_edit
from ingot_identity.accounts.rules.locks import lock_for_update
from ingot_identity.accounts.rules.presenter import Presenter
from ingot_identity.accounts.store import queries
from ingot_identity.avatars import store


async def save_picture(tx: Tx, presenter: Presenter, account_id: int, picture: Picture | None) -> None:
    """Replace the picture of an account; None replaces it by a generated picture. Raises NotFound."""
    before = await lock_for_update(tx, account_id)
    if picture is None:
        await store.remove(tx, account_id)
    else:
        await store.save(tx, account_id, **picture._asdict())
    await queries.change(tx, account_id, avatar_digest=picture.digest if picture else "")
    await announce_edit(tx, presenter, before)
