"""Client of identity: reads accounts, memberships and teams; reports the owner of each repository."""

from collections.abc import Sequence
from urllib.parse import urlencode

import msgspec

from ingot_chassis.peers.peers import NoRoute, Peer, segment
from ingot_chassis.security.principal import Membership, Principal
from ingot_contracts.identity.accounts import Account, NewOrganization, Ownership
from ingot_contracts.identity.credentials import FindSignatureKeys, RenewPrincipal, SignatureKey
from ingot_contracts.identity.exports import ExportedOrganization
from ingot_contracts.identity.invitations import (
    Invitation,
    InvitationCode,
    Invitations,
    InviteToRepository,
    LinkedInvitation,
)
from ingot_contracts.identity.teams import FindMembers, ImportedTeam, ImportTeam, Team
from ingot_contracts.identity.units import Unit


class SshKeyOwner(msgspec.Struct, kw_only=True):
    """The owner of an SSH key, and the title of the key."""

    principal: Principal
    title: str


class HttpIdentity:
    """Client of identity. Every method raises Unavailable, and NotFound if the resource does not exist."""

    def __init__(self, peer: Peer) -> None:
        self._peer = peer

    async def account(self, account_id: int) -> Account:
        return await self._peer.get(f"/internal/accounts/{account_id}", Account)

    async def create_organization(self, new: NewOrganization) -> Account:
        """Create an organization.

        Raises Invalid, also if the name is taken, and Unavailable if identity runs an older release.
        """
        try:
            return await self._peer.post("/internal/organizations", new, Account)
        except NoRoute as error:
            raise error.unavailable("identity") from error

    async def import_team(self, organization_id: int, new: ImportTeam) -> ImportedTeam:
        """Create the team of an import unless it exists, and add members.

        Raises Unavailable if identity runs an older release.
        """
        path = f"/internal/organizations/{organization_id}/imported-teams"
        try:
            return await self._peer.post(path, new, ImportedTeam)
        except NoRoute as error:
            raise error.unavailable("identity") from error

    async def account_by_name(self, login: str, *, former: bool = False) -> Account:
        """Return an account.

        With ``former``, also find the account that had the name before, while the name is reserved.
        """
        path = f"/internal/accounts/by-name/{segment(login)}"
        return await self._peer.get(f"{path}?former=true" if former else path, Account)

    async def renewed(self, principal: Principal) -> Principal:
        """Return the current state of ``principal``.

        Raises NotFound if its credential is no longer valid, and Denied if its user may not sign in.
        """
        old = RenewPrincipal(id=principal.id, credential=principal.credential)
        return await self._peer.post("/internal/principals", old, Principal)

    async def owner_of_ssh_key(self, fingerprint: str, *, used: bool = False) -> SshKeyOwner:
        """Return the owner of a key. ``used``: a git session uses it.

        Raises Denied if the owner may not sign in.
        """
        query = urlencode({"fingerprint": fingerprint, **({"used": "true"} if used else {})})
        return await self._peer.get(f"/internal/ssh-keys?{query}", SshKeyOwner)

    async def signature_keys(self, query: FindSignatureKeys) -> list[SignatureKey]:
        """Return the keys of the query that belong to an account."""
        return await self._peer.post("/internal/signature-keys", query, list[SignatureKey])

    async def memberships(self, account_id: int, *, public_only: bool = False) -> dict[int, Membership]:
        """Return the current organizations of a user. With ``public_only``, ignore private memberships."""
        path = f"/internal/accounts/{account_id}/organizations"
        return await self._peer.get(f"{path}?public=true" if public_only else path, dict[int, Membership])

    async def team(self, team_id: int) -> Team:
        return await self._peer.get(f"/internal/teams/{team_id}", Team)

    async def teams(
        self, organization_id: int, *, name: str = "", ids: Sequence[int] = (), everywhere: bool = False
    ) -> list[Team]:
        """Return teams of an organization, the owners first, then by name.

        ``name`` or ``ids`` selects teams. ``everywhere`` selects the teams that have all repositories.
        """
        query = urlencode({"name": name, "ids": ids, "everywhere": str(everywhere).lower()}, doseq=True)
        return await self._peer.get(f"/internal/organizations/{organization_id}/teams?{query}", list[Team])

    async def export_organization(self, organization_id: int) -> ExportedOrganization:
        """Return an organization with all teams and their members.

        Raises TooLarge if it has more than an archive may have, and Unavailable if identity runs an older
        release.
        """
        path = f"/internal/organizations/{organization_id}/export"
        try:
            return await self._peer.get(path, ExportedOrganization)
        except NoRoute as error:
            raise error.unavailable("identity") from error

    async def members_of_teams(
        self, organization_id: int, team_ids: Sequence[int], *, write: bool, units: Sequence[Unit]
    ) -> list[int]:
        """Return members of these teams, and of teams with all repositories, such as Owners.

        A team counts only if it may read one of ``units``. With ``write``, it must be allowed to write one.
        """
        query = urlencode({"ids": team_ids, "write": str(write).lower(), "unit": units}, doseq=True)
        return await self._peer.get(
            f"/internal/organizations/{organization_id}/team-members?{query}", list[int]
        )

    async def find_members(self, organization_id: int, query: FindMembers) -> list[int]:
        """Return the users of the query who are in the organization, or in a team of the query.

        Raises Unavailable if identity runs an older release.
        """
        path = f"/internal/organizations/{organization_id}/members"
        try:
            return await self._peer.post(path, query, list[int])
        except NoRoute as error:
            raise error.unavailable("identity") from error

    async def administrators(self) -> list[int]:
        """Return the site administrators who may sign in.

        Raises Unavailable if identity runs an older release.
        """
        try:
            return await self._peer.get("/internal/administrators", list[int])
        except NoRoute as error:
            raise error.unavailable("identity") from error

    async def is_blocked(self, account_id: int, user_id: int) -> bool:
        """Return True if the account blocks the user."""
        return await self._peer.get(f"/internal/accounts/{account_id}/blocks/{user_id}", bool)

    async def invite(self, repository_id: int, invitation: InviteToRepository) -> Invitation:
        """Invite an email address to a repository. Raises Invalid, TooManyRequests."""
        path = f"/internal/repositories/{repository_id}/invitations"
        return await self._peer.post(path, invitation, Invitation)

    async def invitations(self, repository_id: int, page: int, limit: int) -> Invitations:
        """Return a page of the invitations to a repository."""
        path = f"/internal/repositories/{repository_id}/invitations?page={page}&limit={limit}"
        return await self._peer.get(path, Invitations)

    async def withdraw_invitation(self, repository_id: int, invitation_id: int) -> None:
        await self._peer.call("DELETE", f"/internal/repositories/{repository_id}/invitations/{invitation_id}")

    async def invitation(self, code: str) -> LinkedInvitation:
        """Return the invitation of a link."""
        return await self._peer.get(f"/internal/invitations?{urlencode({'code': code})}", LinkedInvitation)

    async def accept_invitation(self, code: InvitationCode) -> LinkedInvitation:
        """Invalidate the link of an invitation to a repository. Return the invitation.

        Raises Denied if the inviter has lost access.
        """
        return await self._peer.post("/internal/repository-invitations", code, LinkedInvitation)

    async def own(self, repository_id: int, ownership: Ownership) -> None:
        """Record the owner of a repository. Raises NotFound when the owner was deleted."""
        path = f"/internal/repositories/{repository_id}"
        await self._peer.call("PUT", path, msgspec.json.encode(ownership))

    async def disown(self, repository_id: int) -> None:
        """Report a deleted repository. An owner without repositories can be deleted at once."""
        await self._peer.call("DELETE", f"/internal/repositories/{repository_id}")
