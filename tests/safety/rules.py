"""Access to routes: the result of each caller at each kind of target, without any code of Ingot."""

from dataclasses import dataclass, replace
from typing import Literal

from .routes import Route

Outcome = Literal["open", "refused", "sign in", "shut", "absent", "either", "as the owner", "page"]
"""Expected results of a request.

- ``open``: allowed.
- ``refused``: 403.
- ``sign in``: 401.
- ``shut``: 401, 403 or 404.
- ``absent``: the response for a missing object.
- ``either``: allowed, or 403.
- ``as the owner``: one of these, the one that the owner gets.
- ``page``: takes no credential of the API and decides by itself.
"""


@dataclass(frozen=True)
class Caller:
    """A caller. ``person`` is empty for an anonymous one. ``scopes`` are those of a token, None without one.

    ``blocked`` callers may do nothing. A token is ``restricted`` to the targets, or to other objects. ``by``
    is the origin of a credential, unless it is the person's own token or password. A ``rare`` caller differs
    from another only in the credential: the gate tries it at every fifth route.
    """

    name: str
    person: str = ""
    scopes: tuple[str, ...] | None = None
    restricted: Literal["", "targets", "elsewhere"] = ""
    by: Literal["", "session", "application", "deploy key"] = ""
    blocked: bool = False
    sudo: bool = False
    rare: bool = False

    @property
    def signed_in(self) -> bool:
        return bool(self.person)

    def may(self, scope: str) -> bool:
        if not scope or self.scopes is None or not self.signed_in:
            return True
        # Tokens for issues open notifications, too, as they always did.
        wider = scope.replace(":notification", ":issue")
        enough = {scope, wider, scope.replace("read:", "write:"), wider.replace("read:", "write:"), "all"}
        return not enough.isdisjoint(self.scopes)


READ, WRITE, ADMIN, OWN = 1, 2, 3, 4
COLLABORATORS = {"rita": READ, "will": WRITE, "adam": ADMIN}
"""Collaborators of every repository. Ann owns all. Tess and Mia are in all organizations, Tess in a writing
team."""
MEMBERS = ("tess", "mia", "ann")
OWNER, SITE_ADMINISTRATOR = "ann", "root"
NEEDED = {"write": WRITE, "author": WRITE, "push": WRITE, "poster": ADMIN, "admin": ADMIN, "owner": OWN}
SCOPES = {"fetch": "read:repository", "push": "write:repository"}
"""Git finds out itself what a token needs."""
NEEDED |= {"repository teams": ADMIN, "teams": ADMIN, "collaborator": ADMIN}


@dataclass(frozen=True)
class Target:
    """A repository ``owner/repo``, or an organization (``repo`` is empty). ``visible_to``: all, people, or
    members."""

    name: str
    owner: str
    repo: str = ""
    visible_to: Literal["all", "people", "members", "nobody"] = "all"
    archived: bool = False

    @property
    def of_organization(self) -> bool:
        return self.owner in {organization.owner for organization in ORGANIZATIONS}


REPOSITORIES = (
    Target("public", OWNER, "open"),
    Target("private", OWNER, "closed", visible_to="nobody"),
    Target("archived", OWNER, "old", archived=True),
    Target("in a limited organization", "hall", "kept", visible_to="people"),
    Target("private in a private organization", "vault", "inner", visible_to="nobody"),
    Target("public in a private organization", "vault", "shown", visible_to="members"),
)
ORGANIZATIONS = (
    Target("public", "club"),
    Target("limited", "hall", visible_to="people"),
    Target("private", "vault", visible_to="members"),
)
KEY_TARGET = REPOSITORIES[1]
"""Opened by the deploy key that may read, with the token of LFS that it gets over SSH."""
CALLERS = (
    Caller("nobody"),
    Caller("nobody with headers of their own making", rare=True),
    Caller("nobody with a token that was deleted", rare=True),
    Caller("nobody with a deploy key of the private repository", by="deploy key", rare=True),
    Caller("suspended", "susi", ("all",), blocked=True),
    Caller("stranger", "sam", ("all",)),
    Caller("stranger by password", "sam", rare=True),
    Caller("reader", "rita", ("all",)),
    Caller("writer by password", "will"),
    Caller("administrator", "adam", ("all",)),
    Caller("member with a team", "tess", ("all",)),
    Caller("member", "mia"),
    Caller("owner", "ann", ("all",)),
    Caller("owner by password", "ann", rare=True),
    Caller("owner with a token that reads", "ann", ("read:user", "read:organization", "read:repository",
                                                    "read:issue", "read:hook", "read:misc")),
    Caller("owner with a token for something else", "ann", ("write:admin",)),
    Caller("owner with a token for another repository", "ann", ("all",), "elsewhere"),
    Caller("owner with a token for these repositories", "ann", ("all",), "targets", rare=True),
    Caller("owner by the session of a browser", "ann", by="session", rare=True),
    Caller("owner by an application", "ann", ("read:user", "read:repository", "read:issue"), by="application",
           rare=True),
    Caller("owner who acts as the administrator", "ann", blocked=True, rare=True),
    Caller("administrator of the site", "root", ("all",)),
    Caller("administrator of the site as a stranger", "sam", sudo=True, rare=True),
)  # fmt: skip


def level(caller: Caller, target: Target) -> int:
    """Return the level of a caller in a repository, 0 for no access."""
    person = "" if caller.restricted == "elsewhere" else caller.person
    if person in (OWNER, SITE_ADMINISTRATOR):
        return OWN
    own = COLLABORATORS.get(person, 0)
    if target.of_organization and person == "tess":
        own = WRITE
    return max(own, READ if _is_visible(person, target) else 0)


def _is_visible(person: str, target: Target) -> bool:
    seers = {"all": True, "people": bool(person), "nobody": False}
    return seers.get(target.visible_to, person in (*MEMBERS, SITE_ADMINISTRATOR))


def expected(route: Route, caller: Caller, target: Target | None) -> Outcome:
    """Return the expected result of the caller."""
    if route.policy == "whoever":
        return "open"  # the route does not check its caller
    if route.policy == "scim":
        return "sign in"  # it takes a token of a source alone
    if caller.by == "deploy key" and "/info/lfs/" in route.path:
        return ("open" if route.policy == "fetch" else "refused") if target == KEY_TARGET else "absent"
    if caller.by == "session" and not _is_linked(route):
        caller = replace(caller, person="")  # other sites can make a browser send it
    if (route.path.startswith("/login") and "userinfo" not in route.path) or route.path.startswith("/user/"):
        return "page"
    if caller.blocked:
        return "refused"
    if route.place == "repository" and route.policy != "team repository":
        assert target is not None
        return _of_repository(route, caller, target)
    if target is None:
        return _of_nothing(route, caller)
    if route.place == "organization":
        return _of_organization(route, caller, target)
    return _of_team(route, caller)


def _is_linked(route: Route) -> bool:
    """Return True if the route reads a file that pages link to."""
    if route.path.endswith(("{repo}/export/archive", "{export_id}/archive")):
        return True
    files = ("{repo}/raw/", "{repo}/media/")
    return route.policy == "read" and (
        not route.path.startswith("/api") or any(one in route.path for one in files)
    )


def _of_repository(route: Route, caller: Caller, target: Target) -> Outcome:
    has = level(caller, target)
    if not has:
        return "absent"
    if not caller.may(SCOPES.get(route.policy, route.scope)):
        return "refused"
    if route.policy in ("read", "fetch"):
        return "open"
    if not caller.signed_in:
        return "sign in"
    if route.policy == "sign in to read":
        return "open"
    if caller.restricted == "elsewhere":
        return "shut"
    if caller.restricted and route.policy in ("recipient", "teams", "repository teams"):
        return "refused" if route.policy == "recipient" or target.of_organization else "either"
    needed = NEEDED.get(route.policy, READ)
    if route.path.endswith("git-receive-pack"):
        needed = READ  # readers may propose commits
    if route.policy == "collaborator" and caller.person == "rita":
        needed = READ
    if route.policy == "teams" and target.of_organization and caller.person in MEMBERS:
        needed = READ
    if route.policy == "subscriber":
        if caller.person not in ("will", SITE_ADMINISTRATOR):
            return "refused"
        return "either" if target.archived else "open"
    if has < needed:
        # For every caller, a repository without teams has no route for teams.
        return "either" if "teams" in route.policy and not target.of_organization else "refused"
    if target.archived and route.method != "GET":
        return "as the owner"
    return "open"


def _of_nothing(route: Route, caller: Caller) -> Outcome:
    reads = route.scope.startswith("read:")
    match route.policy:
        case "site":
            return "open" if caller.person == SITE_ADMINISTRATOR else "refused"
        case "own tokens":
            if caller.scopes is not None or not caller.signed_in:
                return "sign in"
            return "open" if caller.person == OWNER else "absent"
        case "token":
            own = caller.scopes is not None and caller.by != "application" and not caller.sudo
            return "open" if own else "sign in"
        case "by password":
            if caller.scopes is not None or not caller.signed_in:
                return "sign in"
            return "either" if caller.sudo else "open"
        case "anyone":
            return "open" if caller.may(route.scope) else "refused"
    if not caller.signed_in:
        return "sign in"
    if not caller.may(route.scope):
        return "refused"
    if caller.restricted and route.policy == "signed in person":
        return "either"  # what everybody may read
    if caller.restricted and (not reads or route.policy == "own hooks"):
        return "refused"
    return "open"


def _of_organization(route: Route, caller: Caller, target: Target) -> Outcome:
    person = "" if caller.restricted else caller.person
    optional = route.policy == "organization"
    if not optional and not caller.signed_in:
        return "sign in" if target.visible_to == "all" else "absent"
    if not caller.may(route.scope) or (caller.restricted and not optional):
        return "shut" if level_in(caller.person) else "absent"
    if not _is_visible(person, target):
        return "absent"
    has = level_in(person)
    if route.policy == "own membership":
        return "open" if person == "mia" else "refused"
    needed = {"organization": 0, "organization owner": 2}.get(route.policy, 1)
    return "open" if has >= needed else "refused"


def _of_team(route: Route, caller: Caller) -> Outcome:
    if not caller.signed_in:
        return "sign in"
    if not caller.may(route.scope) or caller.restricted:
        return "shut" if route.policy != "team member" else "either"
    has = level_in(caller.person)
    if route.policy == "team repository":
        if not has or caller.person == "mia":
            return "absent"
        return "open" if has == 2 or route.method == "GET" else "refused"
    return "open" if has >= (2 if route.policy == "team owner" else 1) else "absent"


def level_in(person: str) -> int:
    """Return the role of a person in the organizations: none (0), member (1), or owner (2)."""
    return 2 if person in (OWNER, SITE_ADMINISTRATOR) else int(person in MEMBERS)
