"""A repository that was looked up, with the access that was decided."""

from dataclasses import dataclass

from ingot_contracts.repos.access import AccessLevel, Level
from ingot_repos.catalog.store.repositories import RepositoryRow


@dataclass(frozen=True)
class ResolvedRepository:
    """A repository, and the caller's access to it."""

    row: RepositoryRow
    access: AccessLevel

    @property
    def id(self) -> int:
        return self.row.id

    @property
    def level(self) -> Level:
        """The caller's level for the code. It is admin or owner only if the caller has it in all units."""
        return self.access.of("code")

    @property
    def full_name(self) -> str:
        return f"{self.row.owner_login}/{self.row.name}"

    @property
    def audit_subject(self) -> str:
        """Return the name of the repository in the audit log."""
        return f"repository {self.full_name}"

    def is_named(self, owner: str, name: str) -> bool:
        """Return True for the current full name, in any letter case. False for a former name."""
        return self.full_name.lower() == f"{owner}/{name}".lower()
