"""Creates accounts of people at sources, and applies their groups to teams and rights.

Groups are applied at each sign-in, and when a source changes them.

Rights from a group are marked (`sources/store/mapped_members.py`). They end with the group, and users cannot
change them.
"""

from collections.abc import Collection, Mapping, Sequence

import structlog

from ingot_chassis.db.audit import Actor, add_entry
from ingot_chassis.db.database import Database
from ingot_chassis.db.driver import Executor
from ingot_chassis.db.transaction import Tx
from ingot_chassis.errors import Conflict, Invalid
from ingot_chassis.operations import Detail
from ingot_identity.access.store import teams as team_rows
from ingot_identity.access.store.teams import TeamPermission
from ingot_identity.accounts.rules.locks import lock_for_share, lock_for_update
from ingot_identity.accounts.rules.names import login_candidates
from ingot_identity.accounts.rules.presenter import Presenter
from ingot_identity.accounts.store import queries as accounts
from ingot_identity.accounts.store.tables import AccountKind, AccountRow
from ingot_identity.keys.store import ssh as ssh_keys
from ingot_identity.passkeys import store as passkeys
from ingot_identity.sessions import rules as sessions
from ingot_identity.sources.rules import identities as identity_rules
from ingot_identity.sources.rules.configs import GroupRules
from ingot_identity.sources.store import identities, mapped_members
from ingot_identity.sources.store.tables import IdentityRow, SourceRow
from ingot_identity.teams import rules as teams
from ingot_identity.teams import store as team_store
from ingot_identity.users import rules as users

log = structlog.get_logger()


async def apply_groups(
    db: Database,
    presenter: Presenter,
    source: SourceRow,
    rules: GroupRules,
    account_id: int,
    groups: Collection[str],
    *,
    complete: bool = True,
) -> dict[str, list[str]]:
    """Grant the rights of ``groups``, and remove rights of former groups. Return changes for the audit log.

    The last owner of an organization and the last administrator keep their right. The next sign-in retries.
    Unless ``complete``, the person may be in more groups, so no restriction ends.
    """
    restriction = await _apply_restriction(db, presenter, source, rules, account_id, groups, may_end=complete)
    return restriction | await _apply_rights(db, presenter, source, rules, account_id, groups)


async def end_rights(
    db: Database, presenter: Presenter, source: SourceRow, account_id: int
) -> dict[str, list[str]]:
    """Remove the rights that groups of a source gave. Return changes for the audit log.

    A restriction stays: people must not end it when they leave their source.
    """
    return await _apply_rights(db, presenter, source, GroupRules(), account_id, [])


async def apply_groups_by(
    db: Database,
    presenter: Presenter,
    source: SourceRow,
    rules: GroupRules,
    row: AccountRow,
    groups: Collection[str],
    actor: Actor,
    *,
    complete: bool = True,
) -> None:
    """Apply groups as ``apply_groups`` does, and record the changes in the audit log."""
    changes = await apply_groups(db, presenter, source, rules, row.id, groups, complete=complete)
    if changes:
        async with db.transaction() as tx:
            details: dict[str, Detail] = {"source": source.name, **changes}
            await add_entry(tx, actor, "source.apply_groups", f"user {row.login}", details)


async def end_access(
    db: Database, presenter: Presenter, source: SourceRow, row: AccountRow, address: str
) -> None:
    """End rights, sessions and keys from a source, for a person who may no longer come from ``address``."""
    changes = await end_rights(db, presenter, source, row.id)
    actor = Actor(row.id, row.login, via=source.kind, address=address)
    async with db.transaction() as tx:
        await lock_for_share(tx, row.id)
        link = await identities.get_of_account(tx, row.id, source.id)
        for key in await ssh_keys.list_of_identity(tx, link.id) if link else ():
            await ssh_keys.remove(tx, key.id)
            key_details = {"title": key.title, "fingerprint": key.fingerprint, "source": source.name}
            await add_entry(tx, actor, "ssh_key.delete", f"user {row.login}", key_details)
        ended = await sessions.end_of_source(tx, source.id, account_id=row.id)
        if ended or changes:
            details: dict[str, Detail] = {"source": source.name, "sessions_ended": bool(ended), **changes}
            await add_entry(tx, actor, "source.apply_groups", f"user {row.login}", details)


class GroupComparison:
    """Compares groups with the rights that a source has given, without statements for each account."""

    def __init__(self, rules: GroupRules, teams: Mapping[int, Collection[int]]) -> None:
        """Compare with ``teams``, which ``mapped_members.list_of_source`` returns."""
        self._rules, self._teams = rules, teams
        self._by_groups = dict[frozenset[str], set[int]]()

    async def differs(self, db: Executor, link: IdentityRow, groups: Collection[str]) -> bool:
        """True if the linked account should have other teams or rights from the source."""
        rules = self._rules
        if link.gave_admin == {*rules.admin_groups}.isdisjoint(groups):
            return True
        if link.gave_restricted == {*rules.restricted_groups}.isdisjoint(groups):
            return True
        mapped = frozenset(self._rules.group_team_map.keys() & {*groups})
        if mapped not in self._by_groups:
            self._by_groups[mapped] = {*await _teams_of(db, self._rules, mapped)}
        return self._by_groups[mapped] != {*self._teams.get(link.account_id, ())}


async def _apply_rights(
    db: Database,
    presenter: Presenter,
    source: SourceRow,
    rules: GroupRules,
    account_id: int,
    groups: Collection[str],
) -> dict[str, list[str]]:
    async with db.transaction() as tx:
        changes = await _apply_teams(tx, source, rules, account_id, groups)
    changes |= await _apply_admin(db, presenter, source, rules, account_id, groups)
    return {name: values for name, values in changes.items() if values}


async def _apply_teams(
    tx: Tx, source: SourceRow, rules: GroupRules, account_id: int, groups: Collection[str]
) -> dict[str, list[str]]:
    current = await _teams_of(tx, rules, groups)
    before = {
        row.team_id: row.organization_id for row in await mapped_members.list_teams(tx, account_id, source.id)
    }
    added, removed = list[str](), list[str]()
    # Organizations are locked one after the other, so all transactions need one order.
    for team_id, _ in sorted((current | before).items(), key=lambda item: (item[1], item[0])):
        if team_id in current:
            is_new = team_id not in before
            if is_new or not await team_store.has_member(tx, team_id, account_id):
                try:
                    await teams.add_member(tx, team_id, account_id)
                except Conflict as error:
                    log.warning("a group cannot give a team", team=team_id, reason=error.message)
                    continue
            if is_new:
                await mapped_members.add(tx, team_id, account_id, source.id)
                added.append(str(team_id))
        elif await _take_team(tx, team_id, account_id, source.id):
            removed.append(str(team_id))
    return {"teams_added": added, "teams_removed": removed}


async def _take_team(tx: Tx, team_id: int, account_id: int, source_id: int) -> bool:
    """Remove a user from a team, unless another source put them there. Return False for the last owner."""
    team = await teams.lock_team(tx, team_id)
    is_owners = team.permission == TeamPermission.OWNER
    if is_owners and await team_rows.owner_ids(tx, team.organization_id, limit=2) == [account_id]:
        log.warning("the last owner keeps the team that a group gave", team=team_id, user=account_id)
        return False
    await mapped_members.remove(tx, team_id, account_id, source_id)
    if not await mapped_members.is_marked(tx, team_id, account_id):
        await teams.remove_member(tx, team_id, account_id)
    return True


async def _teams_of(db: Executor, rules: GroupRules, groups: Collection[str]) -> dict[int, int]:
    """Return the teams of these groups, each with its organization. Groups without a team are skipped."""
    teams = dict[int, int]()
    for group in sorted(set(groups) & rules.group_team_map.keys()):
        for login, names in rules.group_team_map[group].items():
            organization = await accounts.get_by_login(db, login)
            if organization is None or organization.kind != AccountKind.ORGANIZATION:
                log.warning("a group is mapped to an organization that does not exist", name=login)
                continue
            for name in names:
                team_id = await team_store.id_by_name(db, organization.id, name)
                if team_id is None:
                    log.warning("a group is mapped to a team that does not exist", name=f"{login}/{name}")
                    continue
                teams[team_id] = organization.id
    return teams


async def _apply_admin(
    db: Database,
    presenter: Presenter,
    source: SourceRow,
    rules: GroupRules,
    account_id: int,
    groups: Collection[str],
) -> dict[str, list[str]]:
    is_in_admin_group = not {*rules.admin_groups}.isdisjoint(groups)
    async with db.read() as reader:
        link = await identities.get_of_account(reader, account_id, source.id)
        row = await accounts.get(reader, account_id)
        is_by_hand = row is not None and row.admin and not await _has_admin_of_source(reader, account_id)
    if link is None or row is None or is_in_admin_group == link.gave_admin:
        return {}
    if is_by_hand:
        return {}  # marked as given, it would be the source's to take, and the account to change
    try:
        async with db.transaction() as tx:
            await accounts.lock_administrators(tx)
            await identities.change(tx, link.id, gave_admin=is_in_admin_group)
            # Another source may give it as well.
            if row.admin != is_in_admin_group and (
                is_in_admin_group or not await _has_admin_of_source(tx, account_id)
            ):
                await users.edit_user(tx, presenter, account_id, {"admin": is_in_admin_group})
    except Invalid as error:
        log.warning("the last administrator keeps the right that a group gave", reason=error.message)
        return {}
    return {"admin": [str(is_in_admin_group).lower()]}


async def _apply_restriction(
    db: Database,
    presenter: Presenter,
    source: SourceRow,
    rules: GroupRules,
    account_id: int,
    groups: Collection[str],
    *,
    may_end: bool,
) -> dict[str, list[str]]:
    """Restrict a member of the groups for it, or end a restriction that the source gave.

    An account that an administrator restricted stays so, and is not marked. Groups of SCIM say nothing about
    a person whom its client has not sent.
    """
    is_in_group = not {*rules.restricted_groups}.isdisjoint(groups)
    async with db.read() as reader:
        link = await identities.get_of_account(reader, account_id, source.id)
        account = await accounts.get(reader, account_id)
    if link is None or account is None or _is_applied(link, account, is_in_group=is_in_group):
        return {}
    if not is_in_group and (not may_end or (rules.groups_from == "scim" and not link.managed)):
        return {}
    async with db.transaction() as tx:
        row = await lock_for_update(tx, account_id)
        link = await identities.get_of_account(tx, account_id, source.id)
        is_marked = bool(await mapped_members.source_of_column(tx, account_id, "restricted"))
        if link is None or _is_applied(link, row, is_in_group=is_in_group):
            return {}
        if row.restricted and not is_marked:
            return {}
        await identities.change(tx, link.id, gave_restricted=is_in_group)
        # Another source may give it as well.
        is_restricted = is_in_group or bool(
            await mapped_members.source_of_column(tx, account_id, "restricted")
        )
        if row.restricted != is_restricted:
            await users.edit_user(tx, presenter, account_id, {"restricted": is_restricted})
    return {"restricted": [str(is_in_group).lower()]}


def _is_applied(link: IdentityRow, row: AccountRow, *, is_in_group: bool) -> bool:
    """True if the mark of the link agrees with the groups, and a member of the groups is restricted."""
    return is_in_group == link.gave_restricted and (row.restricted or not is_in_group)


async def _has_admin_of_source(db: Executor, account_id: int) -> bool:
    return bool(await mapped_members.source_of_column(db, account_id, "admin"))


def groups_of(value: object) -> Sequence[str]:
    """Return the groups in a claim or attribute: a list of texts, or one text. Ignore other values."""
    if isinstance(value, str):
        return [value] if value else []
    return [item for item in value if isinstance(item, str)] if isinstance(value, list) else []


async def create_account(
    db: Database,
    presenter: Presenter,
    source: SourceRow,
    address: str,
    *,
    login: str,
    email: str,
    email_confirmed: bool,
    full_name: str,
    subject: str,
) -> AccountRow | None:
    """Create the account of a person who signs in by a source, from the IP address ``address``.

    ``login`` is the name at the source; empty: a login is made from ``email``. Return None if the name or the
    e-mail address cannot be used. The caller must not tell which: that reveals an existing one.
    """
    for candidate in login_candidates(login or email) if email else []:
        try:
            async with db.transaction() as tx:
                row = await users.create_user(
                    tx,
                    presenter,
                    login=candidate,
                    email=email,
                    email_confirmed=email_confirmed,
                    password_hash="",
                    full_name=full_name,
                    source_id=source.id,
                    login_name=subject,
                )
                actor = Actor(row.id, row.login, via=source.kind, address=address)
                details = {"id": row.id, "source_id": source.id}
                await add_entry(tx, actor, "user.create", f"user {row.login}", details)
                return row
        except Invalid as error:
            if error.errors[0].field != "username":
                break
    return None


async def unlink(db: Database, presenter: Presenter, source: SourceRow, account_id: int) -> None:
    """Unlink an account from a source. End rights from its groups, and the sessions that it began.

    A restriction from its groups stays, and only administrators end it. Raises NotFound, and Conflict if the
    source is the only way to sign in.
    """
    async with db.transaction() as tx:
        has_passkey = bool(await passkeys.count_of(tx, account_id))
        await identity_rules.require_removable(tx, account_id, source.id, has_passkey=has_passkey)
    await end_rights(db, presenter, source, account_id)
    async with db.transaction() as tx:
        has_passkey = bool(await passkeys.count_of(tx, account_id))
        await identity_rules.unlink(tx, account_id, source.id, has_passkey=has_passkey)
        await ssh_keys.remove_unlinked(tx, account_id)
        await sessions.end_of_source(tx, source.id, account_id=account_id)
