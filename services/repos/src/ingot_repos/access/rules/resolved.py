"""A repository that was looked up, with the access that was decided."""

from dataclasses import dataclass

from ingot_contracts.repos.access import AccessLevel, Level
from ingot_repos.catalog.store.repositories import RepositoryRow


@dataclass(frozen=True)
class ResolvedRepository:
    """A repository, and what the caller may do to it."""

    row: RepositoryRow
    access: AccessLevel

    @property
    def id(self) -> int:
        return self.row.id

    @property
    def level(self) -> Level:
        """The level in the code. It is admin or owner only if all units are."""
        return self.access.of("code")

    @property
    def full_name(self) -> str:
        return f"{self.row.owner_login}/{self.row.name}"

    @property
    def audit_subject(self) -> str:
        """Return the name of the repository in the audit log."""
        return f"repository {self.full_name}"

    def is_named(self, owner: str, name: str) -> bool:
        """Return True for the present name, False for a former one."""
        return self.full_name.lower() == f"{owner}/{name}".lower()
