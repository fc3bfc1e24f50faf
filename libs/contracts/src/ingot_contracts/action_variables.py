"""Variables of Actions: configuration that CI systems read and write over the API. Ingot does not use them.

repos stores variables of repositories, identity stores variables of users and organizations. They are not
secret.
"""

import re

import msgspec

from ingot_contracts.limits import Description, Name, Text

MOST_VARIABLES = 500
"""Variables per repository, user or organization."""

_NAME = re.compile(r"(?!CI$|GITEA_|GITHUB_)[A-Z_][A-Z0-9_]{0,254}", re.ASCII | re.IGNORECASE)


class ActionVariable(msgspec.Struct, frozen=True, kw_only=True):
    """A variable with its value in ``data``. One of ``owner_id`` and ``repo_id`` is 0."""

    owner_id: int
    repo_id: int
    name: str
    data: str
    description: str


class CreateActionVariable(msgspec.Struct, kw_only=True):
    value: Text
    description: Description = ""


class EditActionVariable(CreateActionVariable, kw_only=True):
    """A change of a variable. ``name`` renames it; an empty name keeps the current name."""

    name: Name = ""


def variable_name(text: str) -> str:
    """Return the name in its stored form, in capital letters; empty if no variable may have this name."""
    return text.upper() if _NAME.fullmatch(text) else ""
