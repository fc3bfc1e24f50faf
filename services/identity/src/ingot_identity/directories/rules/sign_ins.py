"""Sign-ins by the passwords of directories.

An account is found only by the id of the person at the directory. A name never leads to the account of
another person: the password for the name of an account goes only to the directories that it is linked with.
All directories get a request for each wrong password, so the time reveals no account.
"""

import asyncio
from typing import NamedTuple

import structlog

from ingot_chassis.clock import now
from ingot_chassis.db.audit import Actor
from ingot_chassis.db.database import Database
from ingot_chassis.errors import Denied, Unavailable
from ingot_chassis.security.sealing import Unreadable
from ingot_identity.accounts.rules.presenter import Presenter
from ingot_identity.accounts.store import queries as accounts
from ingot_identity.accounts.store.tables import AccountRow
from ingot_identity.directories.clients.ldap import Directories
from ingot_identity.directories.clients.queries import DirectoryFailed, is_usable
from ingot_identity.directories.rules.attributes import apply_avatar, apply_keys
from ingot_identity.directories.rules.people import (
    DirectoryPerson,
    has_required_group,
    person_of,
    query_of,
    raw_subject,
    server_of,
)
from ingot_identity.mappings import rules as mappings
from ingot_identity.passwords.rules.proofs import DirectorySignIn
from ingot_identity.sources.rules.configs import LdapConfig, read_ldap
from ingot_identity.sources.rules.sources import Secrets
from ingot_identity.sources.store import identities
from ingot_identity.sources.store import sources as source_store
from ingot_identity.sources.store.tables import IdentityRow, SourceKind, SourceRow

log = structlog.get_logger()

UNKNOWN = "No account of this site is linked with this person. Ask those who run this site."
NO_ACCOUNT = "An account cannot be made from what the directory says. Ask those who run this site."
NOT_NOW = (
    "The directory with the passwords cannot be used at the moment. Try again later, or use an access token. "
    "Those who run this site find the reason in the log."
)


class _Answer(NamedTuple):
    """A directory, the name that it was asked for, and the person that it found."""

    source: SourceRow
    config: LdapConfig
    name: str
    person: DirectoryPerson | None


class DirectoryPasswords:
    """Checks passwords at the directories of this site."""

    def __init__(
        self,
        db: Database,
        presenter: Presenter,
        secrets: Secrets,
        directories: Directories,
        *,
        avatar_bytes: int,
    ) -> None:
        self._db, self._presenter, self._secrets = db, presenter, secrets
        self._directories, self._avatar_bytes = directories, avatar_bytes

    async def sign_in(
        self, name: str, account: AccountRow | None, password: str, address: str
    ) -> DirectorySignIn | None:
        """Return the account of a person by name and password, or None if no directory accepts them.

        ``account`` has the name as its login or address. An account is created if the source may do that.
        Groups are applied. Raises Denied, also while a directory does not answer; Unavailable.
        """
        answers = await self._ask_all(name, account, password, picture=True)
        answer = next((each for each in answers if each.person is not None), None)
        if answer is None or answer.person is None:
            return None
        row = await self._account_of(answer, answer.person, address)
        await self._follow(answer, answer.person, row, address)
        async with self._db.read() as reader:
            row = await accounts.get(reader, row.id) or row
        return DirectorySignIn(row, answer.source.id)

    async def matches(self, account: AccountRow, password: str) -> bool:
        """True if a directory that the account is linked with accepts the password.

        A directory that cannot be asked accepts none, so the attempt counts as failed.
        """
        try:
            return any(each.person for each in await self._ask_all(account.login, account, password))
        except (Denied, Unavailable):
            return False

    async def _ask_all(
        self, name: str, account: AccountRow | None, password: str, *, picture: bool = False
    ) -> list[_Answer]:
        """Ask all directories at the same time.

        Those that the account of the name is not linked with get no password. Raises Denied if one fails and
        none finds a person.
        """
        async with self._db.read() as reader:
            sources = [row for row in await source_store.list_enabled(reader) if row.kind == SourceKind.LDAP]
            links = await identities.list_of_account(reader, account.id) if account and sources else []
        by_source = {link.source_id: link for link in links}
        if not password or not is_usable(name):
            return []
        answers = await asyncio.gather(
            *(
                self._ask(
                    source,
                    by_source.get(source.id),
                    name,
                    password if account is None or source.id in by_source else None,
                    picture=picture,
                )
                for source in sources
            ),
            return_exceptions=True,
        )
        complete = [each for each in answers if isinstance(each, _Answer)]
        failures = [each for each in answers if isinstance(each, BaseException)]
        for failure in failures:
            if not isinstance(failure, DirectoryFailed):
                raise failure
        if failures and not any(each.person for each in complete):
            raise Denied(NOT_NOW)
        return complete

    async def _ask(
        self,
        source: SourceRow,
        link: IdentityRow | None,
        name: str,
        password: str | None,
        *,
        picture: bool,
    ) -> _Answer:
        """Ask one directory. A linked account is found by its id, or by the name of its last direct bind.

        Raises DirectoryFailed, Unavailable.
        """
        config = read_ldap(source.config)
        lookup = link.login_name if link is not None and is_usable(link.login_name) else name
        subject = raw_subject(config, link.subject) if link is not None else b""
        try:
            server = server_of(config, self._secrets.open(source.sealed_secret))
            verified = await self._directories.find_person(
                server, query_of(config, picture=picture), lookup, password, subject=subject
            )
            person = person_of(config, verified.entry, verified.groups) if verified else None
        except (DirectoryFailed, Unreadable) as error:
            log.warning("a directory failed", source=source.name, reason=str(error))
            raise DirectoryFailed(str(error)) from error
        if person is not None and link is not None and link.subject != person.subject:
            person = None  # the directory gave the name to another person
        return _Answer(source, config, lookup, person)

    async def _account_of(self, answer: _Answer, person: DirectoryPerson, address: str) -> AccountRow:
        """Return the account of the person. It is created if the source may do that. Raises Denied."""
        source, config = answer.source, answer.config
        async with self._db.read() as reader:
            link = await identities.get(reader, source.id, person.subject)
            row = await accounts.get(reader, link.account_id) if link else None
        if not has_required_group(config, person.groups):
            if row is not None:
                await mappings.end_access(self._db, self._presenter, source, row, address)
            raise Denied("Only members of certain groups may come.")
        if row is not None:
            return row
        if config.first_sign_in == "create":
            return await self._create(source, config, person, address)
        raise Denied(UNKNOWN)

    async def _create(
        self, source: SourceRow, config: LdapConfig, person: DirectoryPerson, address: str
    ) -> AccountRow:
        """Create the account of a person.

        Raises Denied with one text, which reveals no existing name or address.
        """
        row = await mappings.create_account(
            self._db,
            self._presenter,
            source,
            address,
            login=person.login,
            email=person.email,
            email_confirmed=config.trust_email,
            full_name=person.full_name,
            subject=person.subject,
        )
        if row is None:
            raise Denied(NO_ACCOUNT)
        return row

    async def _follow(self, answer: _Answer, person: DirectoryPerson, row: AccountRow, address: str) -> None:
        """Apply the groups, keys and picture of the person. Store the name and address at the directory."""
        source, actor = answer.source, Actor(row.id, row.login, via=answer.source.kind, address=address)
        # A directory that hides groups gives none, without an error. Only a round can tell the difference.
        await mappings.apply_groups_by(
            self._db,
            self._presenter,
            source,
            answer.config,
            row,
            person.groups,
            actor,
            complete=bool(person.groups),
        )
        async with self._db.transaction() as tx:
            identity = await identities.get(tx, source.id, person.subject)
            if identity is None or identity.account_id != row.id:
                raise Denied(UNKNOWN)
            login_name = answer.name if answer.config.user_dn else person.login
            await identities.change(
                tx, identity.id, login_name=login_name, email=person.email, last_sign_in_at=now()
            )
        await apply_keys(self._db, source, identity, actor, person.ssh_keys)
        if person.picture is not None:
            picture, most = person.picture, self._avatar_bytes
            await apply_avatar(self._db, self._presenter, source, identity, picture, most)
