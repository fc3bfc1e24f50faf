"""Scopes of tokens, and scopes of OpenID Connect.

``sudo`` is never granted. ``all`` is expanded to its scopes, so users can read what they grant.
"""

from ingot_identity.tokens.rules import FOREIGN_GROUPS, GROUPS, NARROW_GROUPS, SCOPES

IDENTITY = ("openid", "profile", "email")
"""Scopes that add claims to id tokens and userinfo."""
FULL = tuple(f"write:{group}" for group in GROUPS)
DEFAULT = tuple(scope for scope in FULL if scope != "write:admin")
"""Scopes of a request that names none, because such clients expect to act for the user."""
GRANTED = frozenset([*IDENTITY, *SCOPES]) - {"all", "sudo"}
_IGNORED = frozenset(
    ["groups", *FOREIGN_GROUPS, *(f"{act}:{name}" for act in ("read", "write") for name in FOREIGN_GROUPS)]
)
"""Scopes of other servers. They are ignored here."""
_WORDS = {
    "openid": "know who you are",
    "profile": "see your name and picture",
    "email": "see your e-mail address",
    "user": "your account: profile, keys, follows",
    "organization": "your organizations and teams",
    "repository": "repositories that you can reach, also private ones",
    "issue": "issues and pull requests",
    "notification": "notifications",
    "hook": "webhooks",
    "admin": "the administration of this server, if you may",
    "misc": "markdown, templates and the like",
}


def normalized(scope: str) -> str:
    """Return the scopes of a request with Ingot's names, separated by spaces; "none" if none are left.

    An empty request gets the default scopes. Unknown scopes are kept, so they are rejected later. Clients may
    separate scopes by commas. A group such as ``repository`` means write access to the group.
    """
    names = scope.replace(",", " ").split()
    if not names:
        return " ".join(DEFAULT)
    scopes: list[str] = []
    for name in names:
        if name == "all":
            scopes += FULL
        elif name in (*GROUPS, *NARROW_GROUPS):
            scopes.append(f"write:{name}")
        elif name not in _IGNORED:
            scopes.append(name)
    return " ".join(dict.fromkeys(scopes)) or "none"


def covers(granted: str, requested: str) -> bool:
    """True if all requested scopes are already granted. A write scope includes its read scope."""
    have = set(granted.split())
    return all(scope in have or scope.replace("read:", "write:", 1) in have for scope in requested.split())


def union(granted: str, requested: str) -> str:
    return " ".join(dict.fromkeys([*granted.split(), *requested.split()]))


def described(scope: str) -> list[str]:
    """Return descriptions of the scopes for the consent page."""
    lines = []
    for name in scope.split():
        act, _, group = name.rpartition(":")
        words = _WORDS[group]
        lines.append({"read": f"read {words}", "write": f"read and change {words}"}.get(act, words))
    return lines
