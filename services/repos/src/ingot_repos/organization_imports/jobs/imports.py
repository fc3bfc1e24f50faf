"""The jobs that import an organization: they list repositories, import teams, and start imports.

At most ``AT_ONCE`` imports of repositories run at once. Each page of the list is stored in one transaction
with the place of the next page. A repository is created in one transaction with its state. So after a job is
killed, the next run continues without loss.
"""

from collections.abc import Awaitable, Callable
from contextlib import suppress
from datetime import timedelta

import msgspec

from ingot_chassis.clock import now
from ingot_chassis.db.transaction import Tx
from ingot_chassis.errors import Conflict, Invalid, NotFound
from ingot_chassis.jobs.jobs import Job, Jobs
from ingot_chassis.jobs.workers import Work
from ingot_chassis.security.sealing import Seal, Unreadable
from ingot_contracts.identity.accounts import GHOST, Ownership
from ingot_remotes.interface.source import TRANSIENT, SourceBusy, SourceFailed
from ingot_repos.catalog.rules import names
from ingot_repos.catalog.store import accounts
from ingot_repos.catalog.store.accounts import AccountRow
from ingot_repos.catalog.store.states import ImportState
from ingot_repos.clients.identity import HttpIdentity
from ingot_repos.imports.rules import lifecycle, people
from ingot_repos.imports.rules.lifecycle import NewImport
from ingot_repos.imports.rules.openings import SourceOpener
from ingot_repos.organization_imports import store
from ingot_repos.organization_imports.jobs.administrators import NotAdministrator, may_import
from ingot_repos.organization_imports.jobs.teams import TeamImporter, grant_teams
from ingot_repos.organization_imports.rules import (
    IMPORT_ORGANIZATION,
    REASSIGN_ORGANIZATION,
    REPEAT_ORGANIZATION,
    ReassignOrganization,
    begin_again,
    is_more_visible,
    options_of,
    remote_of,
    rows_of,
)
from ingot_repos.organization_imports.store import ListedRow, ListedState, OrganizationImportRow
from ingot_repos.presentation.rules.announcements import current_row
from ingot_repos.presentation.rules.presenter import Presenter
from ingot_repos.remotes.rules.credentials import open_credentials
from ingot_repos.remotes.rules.urls import lfs_url
from ingot_repos.repositories.rules.deletions import delete

AT_ONCE = 4
"""Imports of repositories that run at once."""
WATCH_SECONDS = 2.0
"""Seconds between two looks at the imports that run."""
MOST_FAILURES = 10
"""Failed requests in a row after which an import fails."""
LONGEST_PAUSE = 300.0


class OrganizationImportJobs:
    """The worker for jobs that import an organization, repeat this, or reassign imported data."""

    def __init__(
        self,
        jobs: Jobs,
        identity: HttpIdentity,
        opener: SourceOpener,
        seal: Seal,
        presenter: Presenter,
        *,
        default_branch: str,
    ) -> None:
        self._jobs, self._db, self._identity = jobs, jobs.database, identity
        self._opener, self._seal, self._default_branch = opener, seal, default_branch
        self._presenter = presenter
        self._teams = TeamImporter(self._db, identity, opener)

    def work(self) -> dict[str, Work]:
        return {
            IMPORT_ORGANIZATION: self.run,
            REPEAT_ORGANIZATION: self.run,
            REASSIGN_ORGANIZATION: self.reassign,
        }

    async def run(self, job: Job) -> None:
        """Do the next step of an import, and queue the job again until all imports have ended."""
        import_id, is_repeat = int(job.key), job.kind.startswith(REPEAT_ORGANIZATION)
        pause: float | None
        async with self._db.transaction() as tx:
            row = await store.get(tx, import_id)
            if row is not None and is_repeat == (row.repeat > 0):
                await store.change(tx, import_id, state=ImportState.RUNNING)
                row = await store.get(tx, import_id)
        if row is None or is_repeat != (row.repeat > 0):
            pause = None
        elif row.state != ImportState.RUNNING:
            await self._record_owners(row)
            pause = None
        elif row.place is not None:
            pause = await self._ask(row, self._list)
        elif await self._teams.has_next(row):
            pause = await self._bring_teams(row)
        else:
            pause = await self._begin_next(row)
        async with self._db.transaction() as tx:
            if pause is None and is_repeat:
                present = await store.get_locked(tx, import_id)
                if present is not None and present.state == ImportState.WAITING:
                    pause = 0.0  # it was begun again since it ended
            again_at = now() + timedelta(seconds=pause) if pause is not None else None
            await self._jobs.finish(tx, job, again_at=again_at)

    async def _ask(
        self, row: OrganizationImportRow, step: Callable[[OrganizationImportRow], Awaitable[None]]
    ) -> float | None:
        """Do a step that sends requests to the source.

        Return the pause in seconds before the next step, or None if the import failed.
        """
        try:
            await step(row)
        except SourceBusy as busy:
            return busy.seconds
        except SourceFailed as error:
            return await self._fail(row, error.fault, is_final=error.fault not in TRANSIENT)
        except TimeoutError:
            return await self._fail(row, "unreachable", is_final=False)
        except Unreadable:
            return await self._fail(row, "secrets", is_final=True)
        except (NotFound, NotAdministrator) as error:
            reason = "gone" if isinstance(error, NotFound) else "administrator"
            return await self._fail(row, reason, is_final=True)
        return 0.0

    async def _list(self, row: OrganizationImportRow) -> None:
        """Fetch the next page of the list of repositories, and store it."""
        async with self._opener.open_organization(row.service, row.site, row.source, row.sealed) as there:
            visibility, page = await there.visibility(), await there.repositories(row.place or "")
        options = options_of(row)
        async with self._db.transaction() as tx:
            owner = await accounts.get(tx, row.organization_id)
            if owner is None or is_more_visible(owner.visibility, visibility):
                options = msgspec.structs.replace(options, private=True)
            if await store.change_run(tx, row, place=page.following or None, failures=0):
                await store.add_repositories(tx, row.id, rows_of(options, page.repositories))

    async def _fail(self, row: OrganizationImportRow, reason: str, *, is_final: bool) -> float | None:
        """Count a failure, or fail the import if ``is_final`` or after ``MOST_FAILURES`` failures in a row.

        Return the pause in seconds before the next step, or None if the import failed.
        """
        is_final = is_final or row.failures >= MOST_FAILURES
        async with self._db.transaction() as tx:
            if is_final:
                await store.end_run(tx, row, ImportState.FAILED, reason)
            else:
                await store.change_run(tx, row, failures=row.failures + 1)
        return None if is_final else min(2.0**row.failures, LONGEST_PAUSE)

    async def _begin_next(self, row: OrganizationImportRow) -> float | None:
        """Start or repeat imports of repositories, or end the import.

        Return the pause in seconds before the next step, or None at the end.
        """
        try:
            login = open_credentials(self._seal, row.sealed) or ("", "")
        except Unreadable:
            return await self._fail(row, "secrets", is_final=True)
        is_owned = await self._record_owners(row)
        async with self._db.read() as db:
            running = await store.list_unended(db, row.id)
            room = max(AT_ONCE - len(running), 0)
            due = await store.list_due(db, row.id, limit=room)
            new = await store.list_in_state(db, row.id, ListedState.LISTED, limit=room - len(due))
            following = [*due, *new]
            owner = await accounts.get(db, row.organization_id)
        if owner is None or not is_owned:
            return await self._fail(row, "gone", is_final=True)
        is_allowed = True
        for listed in following:
            is_allowed = await may_import(self._identity, row.user_id)
            if not is_allowed:
                break
            if listed.due:
                await self._repeat(row, listed)
                continue
            await self._create_or_refuse(row, owner, listed, login)
        if not await self._record_owners(row):
            return await self._fail(row, "gone", is_final=True)
        if not is_allowed:
            return await self._fail(row, "administrator", is_final=True)
        if running or following:
            return WATCH_SECONDS if running or len(following) == AT_ONCE else 0.0
        async with self._db.transaction() as tx:
            await store.end_run(tx, row, ImportState.DONE, row.reason)
        return None

    async def _repeat(self, row: OrganizationImportRow, listed: ListedRow) -> None:
        """Repeat the import of an existing repository, or restart it if it has failed."""
        reason = "owner" if listed.owner_id != row.organization_id else "archived" if listed.archived else ""
        if not reason:
            try:
                async with self._db.transaction() as tx:
                    if await store.change_run(tx, row, failures=0):  # it was not cancelled
                        await begin_again(tx, self._jobs, self._presenter, row, listed)
                        await store.change_repository(tx, listed.id, due=False)
            except Conflict:
                reason = "not-repeated"
        if reason:
            async with self._db.transaction() as tx:
                if await store.change_run(tx, row, failures=0):
                    await store.change_repository(tx, listed.id, due=False, reason=reason)

    async def reassign(self, job: Job) -> None:
        """Reassign data of the ghost account in each repository of an import, in one transaction each.

        A job that was killed starts again with the data that the ghost account still has. The job ends if the
        administrator who requested it is no longer one. Deleted accounts are skipped.
        """
        request = msgspec.json.decode(job.payload, type=ReassignOrganization)
        async with self._db.read() as db:
            row = await store.get(db, request.import_id)
            if row is None:
                return
            repositories = await store.repositories_of(db, row.id, row.organization_id)
        for repository_id in repositories.values():
            if not await may_import(self._identity, request.user_id or row.user_id):
                return
            async with self._db.transaction() as tx:
                existing = {one.id for one in await accounts.list_by_ids(tx, {*request.accounts.values()})}
                theirs = {login: one for login, one in request.accounts.items() if one in existing}
                await people.reassign(tx, repository_id, theirs)

    async def _bring_teams(self, row: OrganizationImportRow) -> float | None:
        """Do the next step of the teams.

        Return the pause in seconds before the next step, or None if the import failed.
        """
        if not await self._record_owners(row):
            return await self._fail(row, "gone", is_final=True)
        if not await may_import(self._identity, row.user_id):
            return await self._fail(row, "administrator", is_final=True)
        return await self._ask(row, self._teams.step)

    async def _create_or_refuse(
        self, row: OrganizationImportRow, owner: AccountRow, listed: ListedRow, login: tuple[str, str]
    ) -> None:
        try:
            async with self._db.transaction() as tx:
                await self._create(tx, row, owner, listed, login)
        except (Conflict, Invalid) as error:
            reason = "taken" if isinstance(error, Conflict) else "name"
            async with self._db.transaction() as tx:
                if await store.change_run(tx, row, failures=0):
                    await store.refuse(tx, listed.id, reason)

    async def _create(
        self,
        tx: Tx,
        row: OrganizationImportRow,
        owner: AccountRow,
        listed: ListedRow,
        login: tuple[str, str],
    ) -> None:
        """Create a repository of the list with its import, unless the run has ended.

        Raises Conflict, Invalid.
        """
        options = options_of(row)
        if not await store.change_run(tx, row, failures=0):
            return  # cancelled
        names.check_repository(listed.name)
        remote = remote_of(row.site, row.source, listed.name)
        added = await lifecycle.request(
            tx,
            self._jobs,
            self._seal,
            owner,
            row.user_id,
            NewImport(
                name=listed.name,
                description=listed.description,
                private=listed.private,
                default_branch=self._default_branch,
                remote=msgspec.structs.replace(remote, username=login[0], password=login[1]),
                lfs_url=lfs_url(remote.url) if options.lfs else None,
                source=options.source,
            ),
            shard=row.shard,
            most=0,
        )
        await store.change_repository(tx, listed.id, state=ListedState.CREATED, repository_id=added.id)
        await grant_teams(tx, row, listed.name, added.id)

    async def _record_owners(self, row: OrganizationImportRow) -> bool:
        """Record the owner of new repositories at identity. Return False if the owner was deleted.

        The repositories of a deleted owner are deleted. Raises Unavailable, so the job is retried.
        """
        is_owned = True
        async with self._db.read() as db:
            created = await store.list_in_state(db, row.id, ListedState.CREATED, limit=AT_ONCE)
        for listed in created:
            if listed.repository_id is not None:
                ownership = Ownership(owner_id=row.organization_id, name=listed.name, private=listed.private)
                try:
                    await self._identity.own(listed.repository_id, ownership)
                except NotFound:
                    is_owned = False
                    await self._delete(listed.id, listed.repository_id)
                    continue
            async with self._db.transaction() as tx:
                await store.change_repository(tx, listed.id, state=ListedState.BEGUN)
        return is_owned

    async def _delete(self, listed_id: int, repository_id: int) -> None:
        """Delete the new repository of a deleted owner."""
        async with self._db.transaction() as tx:
            with suppress(NotFound):
                repository = await current_row(tx, repository_id)
                await delete(tx, self._jobs, self._presenter, repository, GHOST)
            await store.change_repository(tx, listed_id, state=ListedState.REFUSED, reason="gone")
