"""Who may do what to a repository: the one function that decides, for every door. Default deny."""

from typing import Any, Literal

from ingot_chassis.errors import Denied, NotFound, Unauthenticated
from ingot_chassis.principal import ANONYMOUS, Principal
from ingot_contracts.identity import Team
from ingot_contracts.repos import LEVELS, Level, reaches
from ingot_repos.store.repositories import Viewer

Asked = Level | Literal["signed-in"]
"""``signed-in`` is for whoever may read and has a name."""


def level(row: Any, who: Principal) -> Level:
    """What ``who`` may do to the repository of ``row``, which was read for their ``viewer``."""
    who = who.towards(row.id)
    if who.admin:
        return "owner"
    held: list[Level] = ["none"]
    if not row.private and is_visible(row.owner_id, row.owner_visibility, who):
        held.append("read")
    if who.signed_in:
        membership = who.organizations.get(row.owner_id)
        if row.owner_id == who.id or (membership and membership.owner):
            return "owner"
        if row.mode:
            held.append(_known(row.mode))
        if row.granted and membership:
            granted = {int(team) for team in row.granted.split(",")}
            held += [_known(mode) for team, mode in membership.teams.items() if team in granted]
    return max(held, key=LEVELS.index)


def is_visible(account_id: int, visibility: str, who: Principal) -> bool:
    """Whether ``who`` may know of an account."""
    if visibility == "public" or who.admin:
        return True
    if visibility == "limited":
        return who.signed_in
    return who.signed_in and (account_id == who.id or account_id in who.organizations)


def suffices(held: Level, asked: Asked) -> bool:
    """Whether ``held`` is enough, apart from having a name."""
    return reaches(held, "read" if asked == "signed-in" else asked)


def require(row: Any, held: Level, asked: Asked, who: Principal) -> None:
    """Raises NotFound, Unauthenticated or Denied, in this order, unless ``held`` is enough."""
    if held == "none":
        raise NotFound
    if asked != "read" and not who.signed_in:
        raise Unauthenticated("sign in to do that")
    if asked != "read" and not who.towards(row.id).signed_in:
        raise Denied("the token is restricted to other repositories")
    if not suffices(held, asked):
        raise Denied(f"needs {asked} access to the repository")


def key_level(row: Any, key: Any) -> Level:
    """What a deploy key may do to the repository of ``row``: a key of another one nothing, not even read."""
    if key.repository_id != row.id:
        return "none"
    return "read" if key.read_only else "write"


def is_owners(team: Team) -> bool:
    """Whether it is the team that has every repository of its organization."""
    return team.permission == "owner"


def require_open(row: Any) -> None:
    """Raises Denied for an archived repository: its contents do not change."""
    if row.archived:
        raise Denied("the repository is archived")


def outside(who: Principal) -> Principal:
    """Who they are to accounts and teams: nobody, with a token that is restricted to repositories."""
    return who if who.confined_to is None else ANONYMOUS


def require_unconfined(who: Principal) -> None:
    """Raises Denied for a token that is restricted to some repositories: it does not decide who owns them."""
    if who.confined_to is not None:
        raise Denied("the token is restricted to some repositories")


def viewer(who: Principal) -> Viewer:
    """What SQL must know of ``who`` to read rows for ``level``, and to leave out what they may not see."""
    return Viewer(
        id=who.id,
        admin=who.admin,
        owned=[id_ for id_, membership in who.organizations.items() if membership.owner],
        inside=list(who.organizations),
        teams=[team for membership in who.organizations.values() for team in membership.teams],
        confined_to=who.confined_to,
    )


def _known(mode: str) -> Level:
    return next((level for level in LEVELS if level == mode), "none")
