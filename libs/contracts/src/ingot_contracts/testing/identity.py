"""Identity's internal API with data from tables: an ASGI app for tests of services that call identity."""

from collections.abc import Collection, Mapping, MutableMapping
from datetime import UTC, datetime
from typing import Any
from urllib.parse import parse_qs

import msgspec

from ingot_contracts.identity.accounts import Account, NewOrganization, Ownership, Profile, User
from ingot_contracts.identity.credentials import (
    Authenticate,
    Authenticated,
    FindSignatureKeys,
    ProxySession,
    ProxySignIn,
    RenewPrincipal,
    SignatureKey,
)
from ingot_contracts.identity.exports import ExportedOrganization
from ingot_contracts.identity.invitations import (
    Invitation,
    InvitationCode,
    Invitations,
    InviteToRepository,
    LinkedInvitation,
)
from ingot_contracts.identity.messages import MailRecipient, Message, ReplyPrincipal, ReplySender
from ingot_contracts.identity.teams import FindMembers, ImportedTeam, ImportTeam, Team
from ingot_contracts.identity.units import UNITS, level_in
from ingot_contracts.testing.calls import Receive, Send, error_body, id_of, read_body

CREATED = datetime(2026, 1, 2, tzinfo=UTC)
"""The time at which every account was created."""


class Membership(msgspec.Struct, frozen=True, omit_defaults=True):
    """A user's membership in one organization, with the fields of the chassis's ``Membership``."""

    owner: bool = False
    teams: dict[int, str] = {}
    everywhere: str = ""
    creates: bool = False


class FakeIdentity:
    """A fake with the ``internal`` routes of identity. Tests may change the tables at any time.

    ``/internal/jwks`` publishes the key ``x`` with the id ``kid``. Any other request without
    ``Ingot-Service`` gets 404. The signature in that header is not verified.
    """

    def __init__(self, *, kid: str = "", x: str = "") -> None:
        self.kid, self.x = kid, x
        self.accounts: dict[int, Account] = {}
        self.former_names: dict[str, int] = {}
        """Former names of renamed accounts, in lower case, to account ids."""
        self.memberships: dict[int, dict[int, Any]] = {}
        """User id to organization id to ``Membership`` (this one or the chassis's)."""
        self.concealed: set[tuple[int, int]] = set()
        """Pairs of user and organization: the user hides the membership."""
        self.blocks: set[tuple[int, int]] = set()
        """Pairs of an account and a user whom it blocks."""
        self.teams: dict[int, Team] = {}
        self.credentials: dict[Authenticate, Authenticated] = {}
        self.principals: dict[tuple[int, str], dict[str, Any]] = {}
        """Id and credential of a principal to its fields other than ``id``, ``name``, ``organizations``."""
        self.ssh_keys: dict[str, tuple[int, str]] = {}
        """Fingerprint to the id of the owner and the title of the key."""
        self.read_only_ssh_keys: set[str] = set()
        """Fingerprints of those keys that may not push."""
        self.signature_keys: dict[str, SignatureKey] = {}
        """Id of the OpenPGP key, or fingerprint of the SSH key, to the key."""
        self.ownerships: dict[int, Ownership] = {}
        """The last ``PUT`` for each repository, even if it was rejected."""
        self.imported_teams: dict[tuple[int, int, int], int] = {}
        """Teams of imports by organization, import and id at the source."""
        self.claims: set[str] = set()
        """Addresses that no user has confirmed."""
        self.imported_members: dict[int, set[int]] = {}
        """Users who joined the team of an import, by its id."""
        self.recipients: dict[int, MailRecipient] = {}
        """Confirmed addresses of users, by their ids."""
        self.reply_principals: dict[tuple[int, str], str] = {}
        """Principal tokens for replies by mail, by user and confirmed address."""
        self.messages: dict[int, Message] = {}
        """Messages that are due, by their ids."""
        self.invitations: dict[str, LinkedInvitation] = {}
        """Invitations by the secrets of their links. Those to repositories are ``invited``, too."""
        self.invited: dict[int, tuple[int, Invitation]] = {}
        """Invitations to repositories by their ids, each with the id of its repository."""
        self.proxy_sessions: dict[ProxySignIn, ProxySession] = {}
        """Sessions of users of a reverse proxy. Others have none."""
        self.unavailable = False
        """True: every request gets 503."""
        self.paths: list[str] = []
        """The path of every request, in order."""

    def add_account(self, account_id: int, login: str, **fields: Any) -> Account:
        """Add a user. With the ``kind`` "organization", add an organization."""
        profile = Profile(html_url=f"http://ingot.test/{login}", created=CREATED)
        values: dict[str, Any] = {"kind": "user", "profile": profile, "hide_activity": False}
        account = Account(id=account_id, login=login, **values | fields)
        self.accounts[account_id] = account
        return account

    def add_team(
        self,
        team_id: int,
        organization_id: int,
        permission: str = "write",
        *,
        name: str = "",
        description: str = "",
        units: Collection[str] = ("repo.code",),
        units_map: Mapping[str, str] | None = None,
        includes_all_repositories: bool = False,
        can_create_org_repo: bool = False,
    ) -> Team:
        """Add a team with its permission in ``units``, or with a level for each unit.

        Its members are in ``memberships``.
        """
        is_owners = permission == "owner"
        units_map = dict.fromkeys(units, permission) if units_map is None else dict(units_map)
        team = Team(
            id=team_id,
            organization_id=organization_id,
            name=name or f"team{team_id}",
            permission=permission,
            description=description,
            units=list(units_map),
            units_map=units_map,
            includes_all_repositories=is_owners or includes_all_repositories,
            can_create_org_repo=is_owners or can_create_org_repo,
        )
        self.teams[team_id] = team
        return team

    def join(
        self,
        user_id: int,
        organization_id: int,
        *,
        owner: bool = False,
        teams: dict[int, str] | None = None,
        public: bool = True,
        **fields: Any,
    ) -> None:
        """Make a user a member of an organization.

        ``teams`` maps team id to permission. ``fields`` are fields of ``Membership``.
        """
        membership = Membership(owner=owner, teams=teams or {}, **fields)
        self.memberships.setdefault(user_id, {})[organization_id] = membership
        self.concealed.discard((user_id, organization_id))
        if not public:
            self.concealed.add((user_id, organization_id))

    async def __call__(self, scope: MutableMapping[str, Any], receive: Receive, send: Send) -> None:
        body = await read_body(receive)
        self.paths.append(scope["path"])
        status, answer = self._answer(scope, body)
        await send({"type": "http.response.start", "status": status, "headers": _headers(status)})
        content = b"" if answer is None else msgspec.json.encode(answer)
        await send({"type": "http.response.body", "body": content})

    def _answer(self, scope: MutableMapping[str, Any], body: bytes) -> tuple[int, Any]:
        """Return status and body of the response."""
        if self.unavailable:
            return 503, error_body("identity is not available")
        headers = {name.lower() for name, _ in scope["headers"]}
        if scope["path"] != "/internal/jwks" and b"ingot-service" not in headers:
            return _not_found()
        return self._routed(scope["method"], scope["path"], scope["query_string"].decode(), body)

    def _routed(self, method: str, path: str, query: str, body: bytes) -> tuple[int, Any]:
        match method, *path.strip("/").split("/"):
            case _, "internal", "repositories", repository_id, "invitations", *ids if id_of(repository_id):
                return _answer_or_404(self._invitations_of(method, id_of(repository_id), ids, body))
            case "GET", "internal", "ssh-keys":
                return self._owner_of_ssh_key(parse_qs(query))
            case "GET", *_:
                return _answer_or_404(self._get(path, query))
            case "POST", "internal", *names:
                return self._post(names, body)
            case "PUT" | "DELETE", "internal", "repositories", repository_id if id_of(repository_id):
                return self._own(method, id_of(repository_id), body)
        return _not_found()

    def _post(self, names: list[str], body: bytes) -> tuple[int, Any]:
        match names:
            case ["authenticate" | "proxy-sign-ins" as name]:
                is_proxied = name == "proxy-sign-ins"
                return self._start_proxy_session(body) if is_proxied else self._authenticate(body)
            case ["repository-invitations"]:
                code = msgspec.json.decode(body, type=InvitationCode).code
                return _answer_or_404(self.invitations.pop(code, None))
            case ["principals" | "signature-keys" as name]:
                return self._renew(body) if name == "principals" else self._find_signature_keys(body)
            case ["accounts", account_id, "reply-principal"] if id_of(account_id):
                return _answer_or_404(self._reply_principal(id_of(account_id), body))
            case "organizations", *rest:
                return self._post_of_organizations(rest, body)
        return _not_found()

    def _post_of_organizations(self, names: list[str], body: bytes) -> tuple[int, Any]:
        match names:
            case []:
                return self._create_organization(body)
            case organization_id, "members" if id_of(organization_id):
                return self._find_members(id_of(organization_id), body)
            case organization_id, "imported-teams" if id_of(organization_id):
                return self._import_team(id_of(organization_id), body)
            case _:
                return _not_found()

    def _reply_principal(self, account_id: int, body: bytes) -> ReplyPrincipal | None:
        address = msgspec.json.decode(body, type=ReplySender).address.lower()
        token = self.reply_principals.get((account_id, address))
        return ReplyPrincipal(principal_token=token) if token else None

    def _invitations_of(self, method: str, repository_id: int, ids: list[str], body: bytes) -> Any:
        """Return the response body, or None if the invitation does not exist."""
        answer: Any = None
        if method == "GET":
            rows = [one for of, one in self.invited.values() if of == repository_id]
            answer = Invitations(rows=rows, total=len(rows))
        elif method == "POST":
            sent = msgspec.json.decode(body, type=InviteToRepository)
            answer = Invitation(
                id=len(self.invited) + 1,
                email=sent.email,
                permission=sent.permission,
                inviter=User(id=sent.inviter_id, login=self.accounts[sent.inviter_id].login),
                created_at=CREATED,
                expires_at=CREATED,
            )
            self.invited[answer.id] = (repository_id, answer)
        elif self.invited.get(id_of(ids[0]), (0,))[0] == repository_id:
            _, answer = self.invited.pop(id_of(ids[0]))
        return answer

    def _get(self, path: str, query: str) -> Any:
        """Return the response body, or None if the object does not exist."""
        answer: Any = None
        match path.strip("/").split("/"):
            case "internal", "jwks":
                key = {"kid": self.kid, "x": self.x, "kty": "OKP"}
                answer = {"keys": [key | {"crv": "Ed25519", "alg": "EdDSA", "use": "sig"}]}
            case "internal", "accounts", "by-name", login:
                answer = self._by_name(login, former=parse_qs(query).get("former") == ["true"])
            case "internal", "accounts", account_id:
                answer = self.accounts.get(id_of(account_id))
            case "internal", "accounts", account_id, "blocks", user_id if id_of(account_id) and id_of(
                user_id
            ):
                answer = (id_of(account_id), id_of(user_id)) in self.blocks
            case "internal", "accounts", account_id, "organizations" if id_of(account_id):
                answer = self._memberships(
                    id_of(account_id), public=parse_qs(query).get("public") == ["true"]
                )
            case "internal", "accounts", account_id, "mail-recipient":
                answer = self.recipients.get(id_of(account_id))
            case "internal", "administrators" | "invitations" as what:
                answer = self._administrators() if what == "administrators" else self._linked(query)
            case "internal", "messages", message_id if id_of(message_id):
                answer = self.messages.get(id_of(message_id))
            case "internal", "organizations" | "teams", *_:
                answer = self._get_of_teams(path, query)
        return answer

    def _get_of_teams(self, path: str, query: str) -> Any:
        """Return the response body, or None if the team or organization does not exist."""
        answer: Any = None
        match path.strip("/").split("/"):
            case "internal", "organizations", organization_id, "team-members" if id_of(organization_id):
                answer = self._members(id_of(organization_id), parse_qs(query))
            case "internal", "teams", team_id:
                answer = self.teams.get(id_of(team_id))
            case "internal", "teams", team_id, "members" if id_of(team_id):
                answer = self._members_of(id_of(team_id))
            case "internal", "organizations", organization_id, "teams" if id_of(organization_id):
                answer = self._teams(id_of(organization_id), parse_qs(query))
            case "internal", "organizations", organization_id, "export" if id_of(organization_id):
                answer = self._export(id_of(organization_id))
        return answer

    def _export(self, organization_id: int) -> ExportedOrganization | None:
        account = self.accounts.get(organization_id)
        if account is None or account.kind != "organization":
            return None
        teams = [one for one in self.teams.values() if one.organization_id == organization_id]
        teams.sort(key=lambda one: (one.permission != "owner", one.name.lower()))
        logins = {one.id: sorted(self._logins_of(one.id)) for one in teams}
        return ExportedOrganization(
            name=account.login,
            full_name=account.full_name,
            email=account.email,
            visibility=account.visibility,
            teams=teams,
            members={team_id: some for team_id, some in logins.items() if some},
        )

    def _logins_of(self, team_id: int) -> list[str]:
        return [self.accounts[one].login for one in self._members_of(team_id) if one in self.accounts]

    def _administrators(self) -> list[int]:
        return [one.id for _, one in sorted(self.accounts.items()) if one.admin and one.active]

    def _linked(self, query: str) -> LinkedInvitation | None:
        return self.invitations.get(parse_qs(query).get("code", [""])[0])

    def _by_name(self, login: str, *, former: bool) -> Account | None:
        named = (account for account in self.accounts.values() if account.login.lower() == login.lower())
        account = next(named, None)
        if account is None and former:
            account = self.accounts.get(self.former_names.get(login.lower(), 0))
        return account

    def _authenticate(self, body: bytes) -> tuple[int, Any]:
        try:
            credential = msgspec.json.decode(body, type=Authenticate)
        except msgspec.DecodeError as error:
            return _unreadable(error)
        return 200, self.credentials.get(credential, Authenticated(principal_token="", user_id=0))

    def _start_proxy_session(self, body: bytes) -> tuple[int, Any]:
        sign_in = msgspec.json.decode(body, type=ProxySignIn)
        return 200, self.proxy_sessions.get(sign_in, ProxySession(secret="", seconds=0))

    def _renew(self, body: bytes) -> tuple[int, Any]:
        try:
            old = msgspec.json.decode(body, type=RenewPrincipal)
        except msgspec.DecodeError as error:
            return _unreadable(error)
        fields = self.principals.get((old.id, old.credential))
        if fields is None:
            return _not_found()
        return self._principal(old.id, {"credential": old.credential} | fields)

    def _owner_of_ssh_key(self, query: dict[str, list[str]]) -> tuple[int, Any]:
        fingerprint = query.get("fingerprint", [""])[0]
        account_id, title = self.ssh_keys.get(fingerprint, (0, ""))
        is_read_only = fingerprint in self.read_only_ssh_keys
        scopes = {"scopes": ["read:repository", "write:admin"]} if is_read_only else {}
        status, principal = self._principal(account_id, {"via": "ssh"} | scopes)
        return status, {"principal": principal, "title": title} if status == 200 else principal

    def _principal(self, account_id: int, fields: dict[str, Any]) -> tuple[int, Any]:
        account = self.accounts.get(account_id)
        if account is None:
            return _not_found()
        if not account.active:
            return 403, error_body("this account may not sign in")
        principal = {"id": account.id, "name": account.login} | fields
        if account.admin:
            principal["admin"] = True
        if account.granted_only:
            principal["granted_only"] = True
        if organizations := self._memberships(account.id, public=False):
            principal["organizations"] = organizations
        return 200, principal

    def _find_signature_keys(self, body: bytes) -> tuple[int, Any]:
        try:
            query = msgspec.json.decode(body, type=FindSignatureKeys)
        except msgspec.DecodeError as error:
            return _unreadable(error)
        ids = [*query.key_ids, *query.fingerprints]
        return 200, [self.signature_keys[id_] for id_ in ids if id_ in self.signature_keys]

    def _create_organization(self, body: bytes) -> tuple[int, Any]:
        try:
            new = msgspec.json.decode(body, type=NewOrganization)
        except msgspec.DecodeError as error:
            return _unreadable(error)
        if self._by_name(new.login, former=False) is not None or not new.login.isidentifier():
            return 422, error_body("the name is taken or not valid")
        if new.owner_id not in self.accounts:
            return _not_found()
        organization_id, visibility = max(self.accounts) + 1, new.visibility
        profile = Profile(html_url=f"http://ingot.test/{new.login}", created=CREATED, visibility=visibility)
        return 200, self.add_account(
            organization_id, new.login, kind="organization", visibility=visibility, profile=profile
        )

    def _find_members(self, organization_id: int, body: bytes) -> tuple[int, Any]:
        try:
            query = msgspec.json.decode(body, type=FindMembers)
        except msgspec.DecodeError as error:
            return _unreadable(error)
        return 200, [
            user_id
            for user_id, memberships in sorted(self.memberships.items())
            if user_id in query.ids
            and (membership := memberships.get(organization_id))
            and (query.team_ids is None or not membership.teams.keys().isdisjoint(query.team_ids))
        ]

    def _import_team(self, organization_id: int, body: bytes) -> tuple[int, Any]:
        """Create a team, or add members to the team that the import has created."""
        try:
            new = msgspec.json.decode(body, type=ImportTeam)
        except msgspec.DecodeError as error:
            return _unreadable(error)
        organization = self.accounts.get(organization_id)
        if organization is None or organization.kind != "organization":
            return _not_found()
        if new.permission == "owner" and not new.is_new:
            return 200, ImportedTeam(reason="owners")
        key = (organization_id, new.import_id, new.source_id)
        names = {one.name.lower() for one in self.teams.values() if one.organization_id == organization_id}
        if key not in self.imported_teams:
            if new.permission != "owner" and new.name.lower() in names:
                return 200, ImportedTeam(reason="taken")
            if not new.name.isascii() or " " in new.name or not new.name:
                return 200, ImportedTeam(reason="name")
            self.imported_teams[key] = max(self.teams, default=0) + 1
            team = Team(
                id=self.imported_teams[key],
                organization_id=organization_id,
                name=new.name,
                permission=new.permission,
                description=new.description,
                units_map=dict(new.units_map),
                includes_all_repositories=new.includes_all_repositories and new.is_new,
                can_create_org_repo=new.can_create_org_repo and new.is_new,
            )
            self.teams[team.id] = team
        team_id = self.imported_teams[key]
        users = {one.id for one in self.accounts.values() if one.kind == "user" and one.active}
        is_open = new.is_new or organization.visibility != "private"
        joined = [
            one
            for one in sorted(users & {*new.members})
            if (is_open or organization_id in self.memberships.get(one, {}))
            and (one not in new.addresses or new.addresses[one].lower() not in self.claims)
        ]
        self.imported_members.setdefault(team_id, set()).update(joined)
        return 200, ImportedTeam(id=team_id, members=joined)

    def _memberships(self, user_id: int, *, public: bool) -> dict[int, Any]:
        return {
            organization_id: membership
            for organization_id, membership in self.memberships.get(user_id, {}).items()
            if not public or (user_id, organization_id) not in self.concealed
        }

    def _teams(self, organization_id: int, query: dict[str, list[str]]) -> list[Team]:
        """Return the team of that name, the teams of these ids, or teams with all repositories.

        Owners comes first, then the others by name.
        """
        name, ids = query.get("name", [""])[0].lower(), {id_of(one) for one in query.get("ids", [])}
        everywhere = query.get("everywhere", [""])[0] == "true"
        named = [
            team
            for team in self.teams.values()
            if team.organization_id == organization_id
            and (
                team.name.lower() == name or team.id in ids or (everywhere and team.includes_all_repositories)
            )
        ]
        return sorted(named, key=lambda team: (team.permission != "owner", team.name.lower()))

    def _members(self, organization_id: int, query: dict[str, list[str]]) -> list[int]:
        """Return owners, members of teams with all repositories, and members of the requested teams.

        Teams need read access or, with ``write``, write access. Access to one of the units ``unit`` is
        enough.
        """
        ids, write = {id_of(one) for one in query.get("ids", [])}, query.get("write") == ["true"]
        least = ("write", "admin") if write else ("read", "write", "admin")
        units = [unit for unit in UNITS if unit in query.get("unit", UNITS)]

        def suffices(permission: str) -> bool:
            return any(level_in(permission, unit) in least for unit in units)

        return [
            user_id
            for user_id, memberships in sorted(self.memberships.items())
            if (membership := memberships.get(organization_id))
            and (
                membership.owner
                or suffices(membership.everywhere)
                or any(suffices(membership.teams.get(one, "none")) for one in ids)
            )
        ]

    def _members_of(self, team_id: int) -> list[int]:
        return [
            user_id
            for user_id, memberships in sorted(self.memberships.items())
            if any(team_id in membership.teams for membership in memberships.values())
        ]

    def _own(self, method: str, repository_id: int, body: bytes) -> tuple[int, Any]:
        if method == "DELETE":
            self.ownerships.pop(repository_id, None)
            return 204, None
        try:
            ownership = msgspec.json.decode(body, type=Ownership)
        except msgspec.DecodeError as error:
            return _unreadable(error)
        self.ownerships[repository_id] = ownership
        return (204, None) if ownership.owner_id in self.accounts else _not_found()


def _answer_or_404(answer: Any) -> tuple[int, Any]:
    return (200, answer) if answer is not None else _not_found()


def _not_found() -> tuple[int, Any]:
    return 404, error_body("Not found.")


def _unreadable(error: msgspec.DecodeError) -> tuple[int, Any]:
    return 422, error_body(str(error))


def _headers(status: int) -> list[tuple[bytes, bytes]]:
    content_type = [(b"content-type", b"application/json")] if status != 204 else []
    return content_type + ([(b"retry-after", b"1")] if status == 503 else [])
