"""Presentation of people and repositories. Each subject presents its own rows."""

from datetime import datetime
from typing import Protocol

import msgspec

from ingot_contracts.identity.accounts import GHOST, User, profile_fields
from ingot_contracts.repos.repositories import Repository
from ingot_issues.accounts.store import Person
from ingot_issues.repositories.store.copies import CALLER_FIELDS


class Numbered(Protocol):
    """An issue, or a row of an issue, that has its number and ``is_pull``."""

    @property
    def number(self) -> int: ...

    @property
    def is_pull(self) -> bool: ...


class Presenter:
    """A presenter of people and repositories. ``root`` is the public URL with a slash at the end.

    Without ``show_email`` the e-mail addresses of people are omitted.
    """

    def __init__(self, public_url: str, *, show_email: bool = True) -> None:
        self.root = public_url.rstrip("/") + "/"
        self.show_email = show_email

    def user(self, person: Person | None) -> User:
        """Return a person, or the ghost account for a deleted account."""
        if person is None:
            return GHOST
        return User(
            id=person.id,
            login=person.login,
            full_name=person.full_name,
            email=person.email if self.show_email else "",
            avatar_url=person.avatar_url,
            **profile_fields(person.profile),
        )

    def repository(self, repository: Repository) -> Repository:
        """Return a repository without the fields that depend on the reader."""
        return msgspec.structs.replace(repository, **CALLER_FIELDS)

    def page(self, row: Numbered, repository: Repository) -> str:
        """Return the URL of the page of an issue or pull request."""
        kind = "pulls" if row.is_pull else "issues"
        return f"{self.root}{repository.full_name}/{kind}/{row.number}"


def whole_seconds(moment: datetime | None) -> datetime | None:
    """Return ``moment`` without fractions of a second, which clients cannot read."""
    return None if moment is None else moment.replace(microsecond=0)
