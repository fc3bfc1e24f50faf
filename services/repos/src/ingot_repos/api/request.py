"""The request class of repos, the repository that a path names, and how long a request has a slot of its caller."""

from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass

from litestar.types import ASGIApp, Receive, Scope, Send

from ingot_chassis.http.concurrency import caller_of
from ingot_chassis.http.database_request import DatabaseRequest
from ingot_contracts.identity import Team
from ingot_contracts.repos import Level
from ingot_repos.components import Components
from ingot_repos.core.presenter import Presenter
from ingot_repos.core.ssh_sessions import KEY_HEADER
from ingot_repos.git.hook_questions import HookQuestions
from ingot_repos.git.storage import Storage
from ingot_repos.settings import Settings
from ingot_repos.store.accounts import AccountRow
from ingot_repos.store.repositories import RepositoryRow
from ingot_repos.store.transfers import TransferRow

ACQUIRED_BY = "slot_acquired_by"
"""The scope has the caller here for whom the request holds a slot of the ConcurrencyLimiter."""


@dataclass(frozen=True)
class ResolvedRepository:
    """A repository, and what the caller may do to it."""

    row: RepositoryRow
    level: Level

    @property
    def id(self) -> int:
        return self.row.id

    @property
    def full_name(self) -> str:
        return f"{self.row.owner_login}/{self.row.name}"

    @property
    def audit_subject(self) -> str:
        """What the audit log calls it."""
        return f"repository {self.full_name}"

    def is_named(self, owner: str, name: str) -> bool:
        """False when it was found by a former name."""
        return self.full_name.lower() == f"{owner}/{name}".lower()


@dataclass(frozen=True)
class TeamRepository:
    """A team, and a repository of its organization."""

    team: Team
    repository: ResolvedRepository


@dataclass(frozen=True)
class WaitingTransfer:
    """A transfer that the caller may accept or reject, and its repository."""

    repository: ResolvedRepository
    row: TransferRow


class RepositoryRequest(DatabaseRequest):
    """A request to repos."""

    @property
    def components(self) -> Components:
        return self.app.state.components  # type: ignore[no-any-return]

    @property
    def settings(self) -> Settings:
        return self.app.state.settings  # type: ignore[no-any-return]

    @property
    def storage(self) -> Storage:
        return self.components.storage

    @property
    def questions(self) -> HookQuestions:
        return self.app.state.questions  # type: ignore[no-any-return]

    @property
    def presenter(self) -> Presenter:
        """Shows addresses of users only to callers who are signed in."""
        presenter = self.components.presenter
        return presenter if self.principal.signed_in else presenter.without_emails

    @property
    def resource(self) -> ResolvedRepository:
        """The repository in the path, of a route with ``policies.in_repository``."""
        return self.scope["resource"]  # type: ignore[typeddict-item,no-any-return]

    @property
    def account(self) -> AccountRow:
        """The account in the path, of a route with a policy ``of_user``, ``of_organization``, ``into_organization``."""
        return self.scope["resource"]  # type: ignore[typeddict-item,no-any-return]

    @property
    def team(self) -> Team:
        """The team in the path, of a route with the policy ``in_team``."""
        return self.scope["resource"]  # type: ignore[typeddict-item,no-any-return]

    @property
    def team_repository(self) -> TeamRepository:
        """The team and the repository in the path, of a route of both."""
        return self.scope["resource"]  # type: ignore[typeddict-item,no-any-return]

    @property
    def waiting_transfer(self) -> WaitingTransfer:
        """The transfer of the repository in the path, of a route with the policy ``waiting_transfer``."""
        return self.scope["resource"]  # type: ignore[typeddict-item,no-any-return]

    @property
    def max_repositories(self) -> int:
        """How many repositories an account may have through the caller; 0: no limit."""
        return 0 if self.principal.admin else self.settings.max_repositories

    @property
    def max_git_memory(self) -> int | None:
        """Bytes of private memory for each process of a git that a client started; None: no limit."""
        return self.settings.max_git_memory_bytes or None

    @property
    def counts_as_signed_in(self) -> bool:
        """Whether the caller is signed in; a deploy key is nobody's, but known."""
        return self.principal.signed_in or KEY_HEADER in self.headers

    def git_slot(self, repository_id: int) -> AbstractAsyncContextManager[None]:
        """Room for a git that costs much, inside the block; it is waited for. Raises Unavailable."""
        return self.components.admission.slot(repository_id, signed_in=self.counts_as_signed_in)

    def acquire_slot(self) -> None:
        """Count this request among the expensive ones of the caller. Raises TooManyRequests."""
        if ACQUIRED_BY in self.scope:
            return
        caller = caller_of(self.principal)
        self.components.limiter.acquire(caller)
        self.scope[ACQUIRED_BY] = caller  # type: ignore[literal-required]

    def rest_of_path(self, segments: int) -> str:
        """The path after that many segments, with its slashes. A path parameter would come normalized."""
        parts = self.scope["path"].split("/", segments + 1)
        return parts[-1].strip("/") if len(parts) == segments + 2 else ""


def release_slots(app: ASGIApp) -> ASGIApp:
    """The middleware that releases the slot of a request when its answer has ended, however it ended.

    A function, because the framework copies objects.
    """

    async def handle(scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await app(scope, receive, send)
        finally:
            if ACQUIRED_BY in scope:
                components: Components = scope["litestar_app"].state.components
                components.limiter.release(scope.pop(ACQUIRED_BY))  # type: ignore[misc]

    return handle
