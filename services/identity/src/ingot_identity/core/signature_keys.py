"""Keys by which signatures of commits and tags are verified, and for which addresses each of them vouches."""

from collections import defaultdict

from ingot_chassis.db.driver import Executor
from ingot_contracts.identity import FindSignatureKeys, SignatureKey
from ingot_identity.core.presenter import Presenter
from ingot_identity.store import accounts, emails, gpg_keys, ssh_keys


async def find(db: Executor, presenter: Presenter, query: FindSignatureKeys) -> list[SignatureKey]:
    """The keys that somebody has. An OpenPGP key vouches for the addresses of its owner that it names, SSH keys for all."""
    certified = await gpg_keys.list_certified(db, query.key_ids)
    of_ssh = await ssh_keys.list_by_fingerprint(db, query.fingerprints)
    owner_ids = {key.account_id for key in certified} | {key.account_id for key in of_ssh}
    owners = {row.id: presenter.account(row) for row in await accounts.list_by_id(db, owner_ids)}
    own: dict[int, list[str]] = defaultdict(list)
    for row in await emails.list_verified(db, owner_ids):
        own[row.account_id].append(row.address)
    keys = []
    for key in certified:
        named = set(key.addresses.split())
        keys.append(
            SignatureKey(
                id=key.key_id,
                owner=owners[key.account_id],
                addresses=[address for address in own[key.account_id] if address in named],
                certificate=key.certificate,
            )
        )
    return keys + [
        SignatureKey(id=key.fingerprint, owner=owners[key.account_id], addresses=own[key.account_id])
        for key in of_ssh
    ]
