"""The account of a person whom a provider has identified.

An account is found only by the id of the person at the provider. Names and addresses never identify a person:
people choose them, and providers reassign them.
"""

from typing import NamedTuple

from ingot_chassis.db.database import Database
from ingot_chassis.db.driver import Executor
from ingot_chassis.errors import Denied
from ingot_identity.accounts.rules.presenter import Presenter
from ingot_identity.accounts.store import queries as accounts
from ingot_identity.accounts.store.tables import AccountRow
from ingot_identity.emails import store as emails
from ingot_identity.mappings import rules as mappings
from ingot_identity.providers.rules.people import Person
from ingot_identity.sources.rules.configs import OidcConfig
from ingot_identity.sources.store import identities
from ingot_identity.sources.store.tables import SourceRow

UNKNOWN = "No account of this site is linked with this person. Ask those who run this site."
NO_ACCOUNT = "An account cannot be made from what the provider says. Ask those who run this site."


class Account(NamedTuple):
    """The account of a person.

    ``must_prove``: the account is not linked yet, and the person must give its password.
    """

    row: AccountRow
    must_prove: bool = False


async def find_account(
    db: Database, presenter: Presenter, source: SourceRow, config: OidcConfig, person: Person, address: str
) -> Account:
    """Return the account of the person. Create it if the configuration of the source allows this.

    Raises Denied. If the claims forbid the sign-in, the access of a linked account ends, too.
    """
    async with db.read() as reader:
        link = await identities.get(reader, source.id, person.subject)
        row = await accounts.get(reader, link.account_id) if link else None
    if person.refusal:
        if row is not None:
            await mappings.end_access(db, presenter, source, row, address)
        raise Denied(person.refusal)
    if row is not None:
        return Account(row)
    if config.first_sign_in in ("link", "link_or_create") and person.email_verified:
        async with db.read() as reader:
            owner = await _owner_of(reader, person.email)
            # An account has one link with a source; another person must not replace it.
            if owner is not None and await identities.get_of_account(reader, owner.id, source.id) is None:
                return Account(owner, must_prove=True)
    if config.first_sign_in in ("create", "link_or_create"):
        return Account(await _create(db, presenter, source, person, address))
    raise Denied(UNKNOWN)


async def _owner_of(reader: Executor, email: str) -> AccountRow | None:
    """Return the user with this confirmed address and a local password, or None.

    A claimed address is not sufficient.
    """
    row = await emails.get_confirmed_owner(reader, email)
    return row if row is not None and row.password_hash else None


async def _create(
    db: Database, presenter: Presenter, source: SourceRow, person: Person, address: str
) -> AccountRow:
    """Create the account of a person.

    Raises Denied with the same text for every reason, so it does not reveal existing names or addresses.
    """
    row = await mappings.create_account(
        db,
        presenter,
        source,
        address,
        login=person.login,
        email=person.email,
        email_confirmed=person.email_verified,
        full_name=person.full_name,
        subject=person.subject,
    )
    if row is None:
        raise Denied(NO_ACCOUNT)
    return row
