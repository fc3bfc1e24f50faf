"""Variables of Actions: plain configuration that CI systems read and write over the API; Ingot itself uses none.

Those of repositories are kept by repos, those of users and organizations by identity. Nothing about them is secret.
"""

import re

import msgspec

from ingot_contracts.limits import Description, Name, Text

MOST_VARIABLES = 500
"""Of one repository, user or organization."""

_NAME = re.compile(r"(?!CI$|GITEA_|GITHUB_)[A-Z_][A-Z0-9_]{0,254}", re.ASCII | re.IGNORECASE)


class ActionVariable(msgspec.Struct, frozen=True, kw_only=True):
    """`data` is the value. One of `owner_id` and `repo_id` is 0."""

    owner_id: int
    repo_id: int
    name: str
    data: str
    description: str


class CreateActionVariable(msgspec.Struct, kw_only=True):
    value: Text
    description: Description = ""


class EditActionVariable(CreateActionVariable, kw_only=True):
    """`name`: its name from now on; without one it stays."""

    name: Name = ""


def variable_name(text: str) -> str:
    """The name as it is kept, in capital letters; empty if no variable can have it."""
    return text.upper() if _NAME.fullmatch(text) else ""
