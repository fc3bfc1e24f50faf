"""Keys that verify signatures of commits and tags, and the addresses for which each key is valid."""

from collections import defaultdict

from ingot_chassis.db.driver import Executor
from ingot_contracts.identity.credentials import FindSignatureKeys, SignatureKey
from ingot_identity.accounts.rules.presenter import Presenter
from ingot_identity.accounts.store import queries as accounts
from ingot_identity.emails import store as emails
from ingot_identity.keys.store import gpg as gpg_keys
from ingot_identity.keys.store import ssh as ssh_keys


async def find(db: Executor, presenter: Presenter, query: FindSignatureKeys) -> list[SignatureKey]:
    """Return the requested keys that belong to an account.

    An SSH key is valid for all confirmed addresses of its owner. So is an OpenPGP key with which its owner
    has signed a token. Any other OpenPGP key is valid only for the confirmed addresses that it names. The
    noreply address counts as confirmed, because it is derived from the account's name.
    """
    certified = await gpg_keys.list_certified(db, query.key_ids)
    of_ssh = await ssh_keys.list_by_fingerprint(db, query.fingerprints)
    owner_ids = {key.account_id for key in certified} | {key.account_id for key in of_ssh}
    rows = await accounts.list_by_id(db, owner_ids)
    owners = {row.id: presenter.account(row) for row in rows}
    own: dict[int, list[str]] = defaultdict(list)
    for row in rows:
        own[row.id].append(presenter.noreply_address(row))
    for email in await emails.list_confirmed(db, owner_ids):
        own[email.account_id].append(email.address)
    keys = []
    for key in certified:
        named = set(key.addresses.split())
        keys.append(
            SignatureKey(
                id=key.key_id,
                owner=owners[key.account_id],
                addresses=[address for address in own[key.account_id] if key.verified or address in named],
                certificate=key.certificate,
            )
        )
    return keys + [
        SignatureKey(id=key.fingerprint, owner=owners[key.account_id], addresses=own[key.account_id])
        for key in of_ssh
    ]
