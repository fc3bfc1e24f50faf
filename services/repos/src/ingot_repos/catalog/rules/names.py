"""Checks of the names of repositories, tags and branches."""

import re
from typing import Annotated

import msgspec

from ingot_chassis.errors import Invalid
from ingot_contracts.limits import EMAIL, EMAIL_CHARACTERS
from ingot_git.refs.refs import (
    LIKE_AN_ID,
    ends_like_an_id,
    is_valid_ref_name,
)

LONGEST = 100
LONGEST_BRANCH = 255
_NAME = re.compile(r"[A-Za-z0-9_.-]+")


def check_repository(name: str) -> str:
    """Return ``name`` if a repository may have it. Raises Invalid."""
    if not name:
        raise Invalid.field("name", "required", "is required")
    if len(name) > LONGEST:
        raise Invalid.field("name", "length", f"has more than {LONGEST} characters")
    if not _NAME.fullmatch(name):
        raise Invalid.field("name", "charset", "may hold only letters, digits, '_', '-' and '.'")
    if name in (".", "..") or name.lower().endswith((".git", ".wiki", ".atom", ".rss")):
        raise Invalid.field("name", "reserved", f"{name!r} is reserved")
    return name


def check_tag(name: str) -> str:
    """Return ``name`` if a tag may have it. Raises Invalid."""
    if not name:
        raise Invalid.field("tag_name", "required", "is required")
    _check_ref(name, "tag_name", "tag")
    return name


def check_branch(name: str, *, field: str = "default_branch") -> str:
    """Return ``name`` if a branch may have it. Raises Invalid."""
    _check_ref(name, field, "branch")
    return name


def check_email(address: str, *, field: str) -> str:
    """Return ``address`` if it looks like local@domain.tld. Raises Invalid."""
    if len(address) > EMAIL_CHARACTERS:
        raise Invalid.field(field, "length", f"has more than {EMAIL_CHARACTERS} characters")
    if not EMAIL.fullmatch(address):
        raise Invalid.field(field, "format", f"{address!r} is no e-mail address")
    return address


def _check_ref(name: str, field: str, kind: str) -> None:
    if len(name) > LONGEST_BRANCH or not is_valid_ref_name(name):
        raise Invalid.field(field, "format", f"{name!r} cannot name a {kind}")
    if ends_like_an_id(name):
        raise Invalid.field(field, "reserved", f"{name!r} cannot name a {kind}: {LIKE_AN_ID}")


Secret = Annotated[str, msgspec.Meta(max_length=4096, pattern=r"^[^\x00-\x1f\x7f]*$")]
