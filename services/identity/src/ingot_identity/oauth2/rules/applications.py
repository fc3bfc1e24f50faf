"""OAuth2 applications: programs that request access to accounts of users.

A secret is shown once and stored as SHA-256: it is random, so a slow hash would add no protection.
"""

import uuid
from typing import Any

from ingot_chassis.db.transaction import Tx
from ingot_chassis.errors import Invalid, NotFound
from ingot_chassis.security.principal import Principal
from ingot_identity.accounts.rules.locks import lock_for_update
from ingot_identity.oauth2.rules import redirect_uris
from ingot_identity.oauth2.rules.secrets import new_client_secret
from ingot_identity.oauth2.store import applications as store
from ingot_identity.oauth2.store.tables import OAuth2ApplicationRow
from ingot_identity.tokens import rules as tokens

MOST_APPLICATIONS = 100
"""Maximum number of applications of one account."""


async def create(
    tx: Tx, principal: Principal, fields: dict[str, Any], *, tls: bool
) -> tuple[OAuth2ApplicationRow, str]:
    """Register an application of the caller. Return its row and its secret.

    ``tls``: Ingot itself is served over https. Raises Invalid.
    """
    columns = {"confidential": False, "skip_consent": False}
    columns |= _columns(principal, {"name": "", "redirect_uris": []} | fields, tls=tls)
    await lock_for_update(tx, principal.id)
    if await store.count(tx, principal.id) >= MOST_APPLICATIONS:
        raise Invalid.field("name", "limit", f"you have {MOST_APPLICATIONS} applications already")
    secret = new_client_secret()
    application_id = await store.add(
        tx,
        account_id=principal.id,
        client_id=str(uuid.uuid4()),
        secret_sha256=tokens.digest(secret),
        **columns,
    )
    return await _get(tx, principal, application_id), secret


async def edit(
    tx: Tx, principal: Principal, application_id: int, fields: dict[str, Any], *, tls: bool
) -> tuple[OAuth2ApplicationRow, str]:
    """Change the given fields and replace the secret. Return the row and the new secret.

    Raises Invalid, and NotFound for the application of another user.
    """
    await _get(tx, principal, application_id)
    secret = new_client_secret()
    columns = _columns(principal, fields, tls=tls)
    await store.change(tx, application_id, secret_sha256=tokens.digest(secret), **columns)
    return await _get(tx, principal, application_id), secret


def _columns(principal: Principal, fields: dict[str, Any], *, tls: bool) -> dict[str, Any]:
    """Return the columns for the fields of a request. Raises Invalid."""
    columns: dict[str, Any] = {}
    if "name" in fields:
        columns["name"] = fields["name"].strip()
        if not columns["name"]:
            raise Invalid.field("name", "required", "is required")
    if "redirect_uris" in fields:
        columns["redirect_uris"] = "\n".join(redirect_uris.check(fields["redirect_uris"], tls=tls))
    if "confidential_client" in fields:
        columns["confidential"] = fields["confidential_client"]
    if "skip_secondary_authorization" in fields:
        # Applications of other users always ask for consent.
        columns["skip_consent"] = fields["skip_secondary_authorization"] and principal.admin
    return columns


async def _get(tx: Tx, principal: Principal, application_id: int) -> OAuth2ApplicationRow:
    row = await store.get(tx, principal.id, application_id)
    if row is None:
        raise NotFound
    return row
