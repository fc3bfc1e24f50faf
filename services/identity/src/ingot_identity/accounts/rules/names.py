"""Rules for names of accounts and teams, and for email addresses."""

import re
import unicodedata

from ingot_chassis.errors import Invalid
from ingot_contracts.limits import EMAIL, EMAIL_CHARACTERS

USERNAME_LENGTH = 35
TEAM_LENGTH = 30

_NAME = re.compile(r"[A-Za-z0-9_.-]+")
_NO_LOGIN = re.compile(r"[^A-Za-z0-9_.-]+")
_RESERVED = frozenset(
    [
        ".",
        "..",
        ".well-known",
        "admin",
        "api",
        "assets",
        "avatar",
        "avatars",
        "by-id",
        "commits",
        "css",
        "debug",
        "explore",
        "help",
        "img",
        "install",
        "internal",
        "issues",
        "js",
        "less",
        "livez",
        "login",
        "metrics",
        "migrate",
        "new",
        "org",
        "plugins",
        "pulls",
        "raw",
        "readyz",
        "repo",
        "scim",
        "search",
        "stars",
        "template",
        "user",
    ]
)


def check_login(login: str, *, field: str = "username") -> str:
    """Return ``login``, if a new account may have it. Raises Invalid."""
    _check_charset(login, field, USERNAME_LENGTH)
    lower = login.lower()
    if lower in _RESERVED or lower.endswith((".keys", ".gpg", ".git", ".atom", ".rss")):
        raise Invalid.field(field, "reserved", f"{login!r} is reserved")
    return login


def login_candidates(name: str) -> list[str]:
    """Return possible logins for a new account of a person with that name or address, the best one first.

    The list is empty if the name has no characters that a login may have.
    """
    login = _NO_LOGIN.sub("-", name.partition("@")[0]).strip("-.")[: USERNAME_LENGTH - 3].strip("-.")
    if not login:
        return []
    return [login, *(f"{login}-{number}" for number in range(2, 20))]


def check_team(name: str) -> str:
    """Return ``name``, if a team may have it. Raises Invalid."""
    _check_charset(name, "name", TEAM_LENGTH)
    if name.lower() == "new":
        raise Invalid.field("name", "reserved", f"{name!r} is reserved")
    return name


def check_email(address: str, *, field: str = "email") -> str:
    """Return ``address`` in lower case. Raises Invalid if it is too long, or does not look like local@host.

    Letters must be in NFC (RFC 6532). Without NFC, the lower case of a letter, such as the kelvin sign, can
    be a letter of another address.
    """
    # The stored form is measured: some letters are longer in lower case.
    lower = address.lower()
    if len(lower) > EMAIL_CHARACTERS:
        raise Invalid.field(field, "length", f"has more than {EMAIL_CHARACTERS} characters")
    is_normal = address.isprintable() and unicodedata.is_normalized("NFC", address)
    if not is_normal or not EMAIL.fullmatch(address):
        raise Invalid.field(field, "format", f"{address!r} is no e-mail address")
    return lower


def _check_charset(name: str, field: str, longest: int) -> None:
    if not name:
        raise Invalid.field(field, "required", "is required")
    if len(name) > longest:
        raise Invalid.field(field, "length", f"has more than {longest} characters")
    if not _NAME.fullmatch(name):
        raise Invalid.field(field, "charset", "may hold only letters, digits, '_', '-' and '.'")
