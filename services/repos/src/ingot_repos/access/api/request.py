"""The request class of repos, and the slots that a request holds until its response ends."""

from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass

from litestar.types import ASGIApp, Receive, Scope, Send

from ingot_chassis.http.concurrency import ConcurrencyLimiter, caller_of
from ingot_chassis.http.database_request import DatabaseRequest
from ingot_chassis.http.parts import PARTS, Parts
from ingot_contracts.identity.teams import Team
from ingot_git.hooks.hook_questions import HookQuestions
from ingot_git.storage.storage import Storage
from ingot_repos.access.rules.admission import Admission
from ingot_repos.access.rules.resolved import ResolvedRepository
from ingot_repos.catalog.store.accounts import AccountRow
from ingot_repos.catalog.store.transfers import TransferRow
from ingot_repos.presentation.rules.presenter import Presenter
from ingot_repos.settings import Settings
from ingot_ssh.sessions import KEY_HEADER

ACQUIRED_BY = "slot_acquired_by"
"""Key of the scope. Its value is the caller for whom the request holds a slot of the ConcurrencyLimiter."""


@dataclass(frozen=True)
class TeamRepository:
    """A team and a repository of its organization."""

    team: Team
    repository: ResolvedRepository


@dataclass(frozen=True)
class WaitingTransfer:
    """A transfer that the caller may accept or reject, with its repository."""

    repository: ResolvedRepository
    row: TransferRow


class RepositoryRequest(DatabaseRequest):
    """A request to repos."""

    @property
    def settings(self) -> Settings:
        return self.part(Settings)

    @property
    def storage(self) -> Storage:
        return self.part(Storage)

    @property
    def questions(self) -> HookQuestions:
        return self.part(HookQuestions)

    @property
    def presenter(self) -> Presenter:
        """The presenter. It shows email addresses of users only to callers who are signed in."""
        presenter = self.part(Presenter)
        return presenter if self.principal.signed_in else presenter.without_emails

    @property
    def resource(self) -> ResolvedRepository:
        """The repository in the path, in routes with the policy ``in_repository``."""
        return self.scope["resource"]  # type: ignore[typeddict-item,no-any-return]

    @property
    def account(self) -> AccountRow:
        """The account in the path, for ``of_user``, ``of_organization`` and ``into_organization``."""
        return self.scope["resource"]  # type: ignore[typeddict-item,no-any-return]

    @property
    def team(self) -> Team:
        """The team in the path, in routes with the policy ``in_team``."""
        return self.scope["resource"]  # type: ignore[typeddict-item,no-any-return]

    @property
    def team_repository(self) -> TeamRepository:
        """The team and the repository in the path, in routes that name both."""
        return self.scope["resource"]  # type: ignore[typeddict-item,no-any-return]

    @property
    def waiting_transfer(self) -> WaitingTransfer:
        """The transfer of the repository in the path, in routes with the policy ``waiting_transfer``."""
        return self.scope["resource"]  # type: ignore[typeddict-item,no-any-return]

    @property
    def max_repositories(self) -> int:
        """The limit of repositories per account for this caller. 0 means no limit."""
        return 0 if self.principal.admin else self.settings.max_repositories

    @property
    def counts_as_signed_in(self) -> bool:
        """Return whether the caller is known: signed in, or with a deploy key of a repository."""
        return self.principal.signed_in or KEY_HEADER in self.headers

    def git_slot(self, repository_id: int) -> AbstractAsyncContextManager[None]:
        """Wait for a slot for an expensive git process and hold it inside the block. Raises Unavailable."""
        return self.part(Admission).slot(repository_id, signed_in=self.counts_as_signed_in)

    def acquire_slot(self) -> None:
        """Take one concurrency slot of the caller, once per request. Raises TooManyRequests."""
        if ACQUIRED_BY in self.scope:
            return
        caller = caller_of(self.principal)
        self.part(ConcurrencyLimiter).acquire(caller)
        self.scope[ACQUIRED_BY] = caller  # type: ignore[literal-required]

    def rest_of_path(self, segments: int) -> str:
        """Return the rest of the path after ``segments`` segments. Empty if the path is shorter.

        Inner slashes stay as they are. A path parameter would be normalized.
        """
        parts = self.scope["path"].split("/", segments + 1)
        return parts[-1].strip("/") if len(parts) == segments + 2 else ""


def release_slots(app: ASGIApp) -> ASGIApp:
    """Return middleware that releases the slot of a request after its response, also after errors.

    It is a function and not an object, because the framework copies objects.
    """

    async def handle(scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await app(scope, receive, send)
        finally:
            if ACQUIRED_BY in scope:
                parts: Parts = scope["litestar_app"].state[PARTS]
                parts[ConcurrencyLimiter].release(scope.pop(ACQUIRED_BY))  # type: ignore[misc]

    return handle
