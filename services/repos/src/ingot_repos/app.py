"""Creates the app of repos and connects its parts."""

import asyncio
from argparse import Namespace
from collections.abc import Sequence
from datetime import timedelta
from functools import partial
from pathlib import Path

from litestar import Litestar, Router

from ingot_chassis.db.database import Database
from ingot_chassis.errors import CannotStart
from ingot_chassis.events.bus import Bus
from ingot_chassis.events.consumers import combine
from ingot_chassis.events.doctor import examine_space
from ingot_chassis.http.app import service_app
from ingot_chassis.http.concurrency import ConcurrencyLimiter, ConcurrencyQueue
from ingot_chassis.http.parts import PARTS, Parts
from ingot_chassis.jobs.jobs import Jobs
from ingot_chassis.jobs.periodic import CLEANUP, PeriodicTask
from ingot_chassis.jobs.workers import Workers
from ingot_chassis.objects.files import FileLimits
from ingot_chassis.objects.store import ObjectStore
from ingot_chassis.peers.peers import Peers
from ingot_chassis.security.egress import Egress
from ingot_chassis.security.keys import SigningKey
from ingot_chassis.security.own_servers import own_servers, read_servers
from ingot_chassis.security.principal import ServiceIdentity
from ingot_chassis.security.sealing import Seal
from ingot_chassis.service import ServiceParts, assemble, origins
from ingot_chassis.settings import SettingsError
from ingot_contracts.repos.events import (
    ForkRequested,
    ImportRequested,
    MirrorPushRequested,
    MirrorSyncRequested,
)
from ingot_git.history.archive import Archives
from ingot_git.hooks.hook_questions import HookQuestions
from ingot_git.hooks.update_hook import hooks_folder
from ingot_git.process.errors import GitUnsupported, HooksNotRun
from ingot_git.process.version import require_git
from ingot_git.protocol.fetch_cache import FetchCache
from ingot_git.storage.read_cache import ReadCache
from ingot_git.storage.storage import Storage
from ingot_remotes.connections.socks_proxy import SocksProxy
from ingot_repos.access.api import collaborators, deploy_keys, failures, invitations, repository_teams
from ingot_repos.access.api.request import RepositoryRequest, release_slots
from ingot_repos.access.rules.account_copies import AccountCopies
from ingot_repos.access.rules.admission import ARCHIVES_AT_ONCE, WAITING_ARCHIVES, Admission, LongRequests
from ingot_repos.access.rules.archive_cpu import ArchiveCpu
from ingot_repos.access.rules.levels import access_to
from ingot_repos.activities import events as activity_events
from ingot_repos.activities.api import feeds
from ingot_repos.activities.jobs import ActivitySweep
from ingot_repos.archives import internal as internal_exports
from ingot_repos.archives.api import exports
from ingot_repos.archives.api import imports as archive_imports
from ingot_repos.archives.jobs import ArchiveFolders, ExportJobs
from ingot_repos.archives.rules import exports as repository_exports
from ingot_repos.archives.rules.exports import ExportPages
from ingot_repos.catalog.store.tables import metadata
from ingot_repos.changes.api import branch_reads as branches
from ingot_repos.changes.api import branches as branch_changes
from ingot_repos.changes.api import files as file_changes
from ingot_repos.changes.api import tags
from ingot_repos.clients.identity import HttpIdentity
from ingot_repos.commits.api import blame, commits, compare, signing_keys, statuses
from ingot_repos.commits.api import facts as code_facts
from ingot_repos.commits.rules.server_keys import read_server_keys
from ingot_repos.commits.rules.signatures import Signatures
from ingot_repos.files.api import code_search, contents, file_contents, issue_forms
from ingot_repos.files.api import git_objects as git_data
from ingot_repos.forks.api import creation as forks
from ingot_repos.forks.api import parents, upstreams
from ingot_repos.forks.jobs import ForkJobs
from ingot_repos.imports import internal as import_pages
from ingot_repos.imports.api import creation as import_creation
from ingot_repos.imports.api import migrations
from ingot_repos.imports.api import people as imported_people
from ingot_repos.imports.api import repeats as import_repeats
from ingot_repos.imports.jobs.archives import ArchiveUnpacker
from ingot_repos.imports.jobs.forge_data import ForgeData
from ingot_repos.imports.jobs.imports import ImportJobs, ImportWorkers
from ingot_repos.imports.jobs.repeats import RepeatedImports
from ingot_repos.imports.rules.openings import SourceOpener
from ingot_repos.imports.rules.pages import SourcePages
from ingot_repos.lfs.api import locks as lfs_locks
from ingot_repos.lfs.api import objects as lfs
from ingot_repos.lfs.api import ssh as lfs_ssh
from ingot_repos.lfs.rules.objects import LfsFiles, LfsLimits, LfsObjects
from ingot_repos.lfs.rules.pushes import LfsPushes
from ingot_repos.mirrors.api import mirrors, push_mirrors
from ingot_repos.mirrors.jobs.mirrors import MirrorJobs, MirrorWorkers
from ingot_repos.mirrors.jobs.push_mirrors import PushMirrorJobs
from ingot_repos.mirrors.rules.push_mirrors import request_pushes
from ingot_repos.organization_exports import api as organization_exports
from ingot_repos.organization_exports import events as organization_export_events
from ingot_repos.organization_exports import internal as internal_organization_exports
from ingot_repos.organization_exports import rules as organization_export_rules
from ingot_repos.organization_exports.jobs import ExportFiles, OrganizationExportJobs
from ingot_repos.organization_imports import api as organization_imports
from ingot_repos.organization_imports.jobs.imports import OrganizationImportJobs
from ingot_repos.placement.api.forwarding import forward_to_shard
from ingot_repos.placement.clients import Shards
from ingot_repos.placement.rules.job_kinds import on_shard
from ingot_repos.placement.rules.loads import RepositoryLoads
from ingot_repos.placement.rules.owners import OnAnotherShard
from ingot_repos.placement.store import shards as shards_store
from ingot_repos.presentation.rules.presenter import Presenter
from ingot_repos.protection.api import branches as branch_protections
from ingot_repos.protection.api import tags as tag_protections
from ingot_repos.protection.rules.contents import ContentJudge
from ingot_repos.pulls.internal import comparisons as internal_comparisons
from ingot_repos.pulls.internal import conflicts as internal_conflicts
from ingot_repos.pulls.internal import heads as internal_heads
from ingot_repos.pulls.internal import pulls as internal_pulls
from ingot_repos.pulls.internal import range_diffs as internal_range_diffs
from ingot_repos.pushes.rules.journal import Pushes
from ingot_repos.pushes.rules.sessions import PushParts
from ingot_repos.releases import internal as internal_releases
from ingot_repos.releases.api import assets as release_assets
from ingot_repos.releases.api import releases
from ingot_repos.releases.rules.assets import AssetEditor, AssetFiles
from ingot_repos.remotes.jobs.connections import RemoteConnector, require_files_of_remotes
from ingot_repos.remotes.jobs.lfs import LfsFetches
from ingot_repos.remotes.rules.urls import PORTS
from ingot_repos.repositories.api import (
    action_variables,
    avatars,
    creation,
    edits,
    generation,
    listings,
    repositories,
    search,
    templates,
    topics,
    transfers,
)
from ingot_repos.repositories.api import teams as team_repositories
from ingot_repos.repositories.events import EventSubscriptions
from ingot_repos.repositories.internal import commit_states, front_pages
from ingot_repos.repositories.internal import former as internal_old
from ingot_repos.repositories.internal import lookups as internal
from ingot_repos.repositories.internal import transfers as internal_transfers
from ingot_repos.repositories.jobs import RepositoryJobs, RepositoryWorkers
from ingot_repos.settings import Settings
from ingot_repos.shards import internal as internal_moves
from ingot_repos.shards.jobs.commands import ShardCommands
from ingot_repos.shards.jobs.moves import MoveJobs, MoveWorkers
from ingot_repos.shards.jobs.replicas import Replicas
from ingot_repos.social.api import stars, watches
from ingot_repos.transport import internal as internal_ssh
from ingot_repos.transport.api import http as git_http
from ingot_repos.transport.rules.shared_fetches import FetchParts
from ingot_repos.transport.store import push_conditions
from ingot_repos.upkeep import api as unadopted
from ingot_repos.upkeep import internal as internal_unadopted
from ingot_repos.upkeep.jobs.maintenance import Maintenance
from ingot_repos.upkeep.jobs.upkeep import UpkeepJobs
from ingot_repos.upkeep.rules.examinations import examine_storage
from ingot_repos.wiki import api as wiki
from ingot_wire.client import Origin

ROUTES = Router(
    path="/",
    middleware=[release_slots],
    exception_handlers={OnAnotherShard: forward_to_shard},
    route_handlers=[
        *action_variables.routes,
        *avatars.routes,
        *blame.routes,
        *branch_changes.routes,
        *branch_protections.routes,
        *branches.routes,
        *code_facts.routes,
        *code_search.routes,
        *collaborators.routes,
        *commits.routes,
        *compare.routes,
        *contents.routes,
        *deploy_keys.routes,
        *invitations.routes,
        *feeds.routes,
        *file_changes.routes,
        *file_contents.routes,
        *forks.routes,
        *generation.routes,
        *git_data.routes,
        *git_http.routes,
        *archive_imports.routes,
        *exports.routes,
        *internal_exports.routes,
        *import_creation.routes,
        *migrations.routes,
        *import_repeats.routes,
        *imported_people.routes,
        *import_pages.routes,
        *internal.routes,
        *internal_comparisons.routes,
        *internal_heads.routes,
        *internal_moves.routes,
        *internal_old.routes,
        *internal_pulls.routes,
        *internal_conflicts.routes,
        *internal_range_diffs.routes,
        *issue_forms.routes,
        *internal_ssh.routes,
        *commit_states.routes,
        *front_pages.routes,
        *internal_transfers.routes,
        lfs.ROUTES,
        lfs_locks.ROUTES,
        *lfs_ssh.routes,
        *listings.routes,
        *internal_organization_exports.routes,
        *organization_exports.routes,
        *organization_imports.routes,
        *parents.routes,
        *mirrors.routes,
        *push_mirrors.routes,
        *release_assets.routes,
        *internal_releases.routes,
        *releases.routes,
        *creation.routes,
        *repositories.routes,
        *edits.routes,
        *repository_teams.routes,
        *search.routes,
        *signing_keys.routes,
        *stars.routes,
        *statuses.routes,
        *tag_protections.routes,
        *tags.routes,
        *team_repositories.routes,
        *templates.routes,
        *topics.routes,
        *transfers.routes,
        *unadopted.routes,
        *internal_unadopted.routes,
        *upstreams.routes,
        *watches.routes,
        *wiki.routes,
    ],
)


def create_app(
    settings: Settings,
    *,
    bus: Bus | None = None,
    peers: Peers | None = None,
    own_urls: Sequence[str] | None = None,
) -> Litestar:
    """Return the app of repos. Raises SettingsError.

    ``own_urls`` are internal addresses that Ingot listens on; None takes them from the settings.
    """
    if not settings.storage_root:
        raise SettingsError(["INGOT_REPOS_STORAGE_ROOT is not set; see docs/reference/settings.md"])
    require_files_of_remotes(settings)
    service = assemble(
        "repos",
        settings,
        metadata=metadata,
        urls={"identity": settings.identity_url},
        peers=peers,
        bus=bus,
    )
    parts = _parts(settings, service, own_urls)
    jobs, storage, objects = parts[Jobs], parts[Storage], parts[ObjectStore]
    workers, replicas, upkeep = parts[RepositoryWorkers], parts[Replicas], parts[UpkeepJobs]
    service.subscribe(
        combine(
            EventSubscriptions(jobs).subscriptions(),
            activity_events.subscriptions(),
            organization_export_events.subscriptions(jobs),
        )
    )
    service.close += [parts[SocksProxy].close, parts[Shards].close, objects.close]

    async def trim_archives() -> None:
        await asyncio.to_thread(parts[Archives].trim)

    async def expire_exports() -> None:
        for exports_of in (repository_exports, organization_export_rules):
            await exports_of.expire(jobs.database, jobs, settings.shard)

    maintenance = Maintenance(jobs, storage, settings.shard)
    upkeep_workers = Workers("repos", jobs, on_shard(upkeep.work(), settings.shard), concurrency=1)

    async def examine(repair: bool) -> list[str]:
        database = service.require_database()
        lines = examine_space("repos", storage.root)
        return lines + await examine_storage(database, storage, objects, settings.shard, repair=repair)

    service.examinations.append(examine)
    service.start += [trim_archives, parts[HookQuestions].open]
    service.close.append(parts[HookQuestions].close)
    service.listeners.append(("repos writes loads", parts[RepositoryLoads].write_for_ever))
    service.listeners.append(("repos watches reads of repositories", storage.watch.run))
    service.listeners.append(("repos learns what may not be read", storage.watch.collect_for_ever))
    service.tasks += [
        *workers.tasks(),
        *parts[Pushes].tasks(),
        *maintenance.tasks(),
        *upkeep.tasks(),
        PeriodicTask("repos_free_lfs_objects", CLEANUP, parts[LfsObjects].free_unlinked),
        PeriodicTask("repos_delete_expired_exports", CLEANUP, expire_exports),
        PeriodicTask("repos_delete_old_activities", CLEANUP, parts[ActivitySweep].sweep),
        PeriodicTask("repos_fill_profiles", CLEANUP, parts[AccountCopies].fill_profiles),
    ]
    service.loops += [
        *workers.loops(),
        ("repos imports repositories", parts[ImportWorkers].run),
        ("repos syncs mirrors", parts[MirrorWorkers].run),
        ("repos moves repositories", parts[MoveWorkers].run),
        ("repos packs and checks repositories", upkeep_workers.run),
        ("repos sweeps files of releases", parts[AssetFiles].sweep_for_ever),
        ("repos sweeps objects of LFS", parts[LfsFiles].sweep_for_ever),
        ("repos sweeps archives", parts[ExportFiles].sweep_for_ever),
        *replicas.loops(),
    ]
    service.wake_on([ForkRequested], workers.wake)
    service.wake_on([ImportRequested], parts[ImportWorkers].wake)
    service.wake_on([MirrorSyncRequested, MirrorPushRequested], parts[MirrorWorkers].wake)
    return service_app(
        service,
        routes=[ROUTES],
        request_class=RepositoryRequest,
        translations=failures.TRANSLATIONS,
        state={PARTS: parts},
    )


async def fsck(settings: Settings) -> None:
    """Check all repositories of the shard now. Print a line per damaged repository, and a summary."""
    settings.background = False
    app = create_app(settings)
    async with app.lifespan():
        async for line in app.state[PARTS][UpkeepJobs].check_all():
            print(line, flush=True)  # noqa: T201 - this is what the operator asked for


async def run_shard_command(settings: Settings, options: Namespace) -> None:
    """Run a command of `ingot-repos shards` and print its output."""
    settings.background = False
    app = create_app(settings)
    parts: Parts = app.state[PARTS]
    commands = ShardCommands(parts[Jobs], [settings.shard, *parts[Shards].names])
    async with app.lifespan():
        async for line in commands.run(options):
            print(line, flush=True)  # noqa: T201 - this is what the operator asked for


def _parts(settings: Settings, service: ServiceParts, own_urls: Sequence[str] | None) -> Parts:
    """Create the objects that live as long as the process."""
    database = service.require_database()
    jobs = Jobs(database)
    presenter = Presenter(
        settings.public_url,
        access_to,
        ssh_user=settings.ssh_user,
        ssh_host=settings.ssh_host,
        ssh_port=settings.ssh_port,
    )
    storage = Storage(Path(settings.storage_root), threads=settings.git_threads)
    try:
        require_git()
        hooks_folder(storage.root)
    except (GitUnsupported, HooksNotRun) as error:
        raise CannotStart(str(error)) from error
    archives = Archives(storage.root / "archives", max_bytes=settings.archive_cache_bytes)
    reads = ReadCache()
    pushes = Pushes(
        database,
        storage,
        presenter,
        request_pushes,
        lease_seconds=settings.push_lease_seconds,
        shard=settings.shard,
        languages=reads.languages,
    )
    objects = ObjectStore(
        settings.objects_url or (storage.root / "files").as_uri(),
        prefix="repos",
        key_id=settings.objects_key_id,
        secret=settings.objects_secret,
    )
    limits = FileLimits(
        settings.max_asset_bytes,
        settings.max_release_assets,
        tuple(ending.lower() for ending in settings.asset_types),
    )
    asset_files = AssetFiles(database, objects)
    lfs_limits = LfsLimits(settings.max_lfs_object_bytes, settings.max_lfs_owner_bytes)
    seal = Seal(settings.sealing_key, "INGOT_REPOS_SEALING_KEY")
    egress = Egress(settings.allowed_remotes, "INGOT_REPOS_ALLOWED_REMOTES", ports=(*PORTS.values(),))
    refused = read_servers(settings.refused_remotes, "INGOT_REPOS_REFUSED_REMOTES")
    own = own_servers(settings, [settings.identity_url, *settings.shards.values()], own_urls, refused)
    proxy = SocksProxy(egress, own)
    connector = RemoteConnector(seal, proxy, settings)
    lfs = LfsObjects(database, jobs, objects, lfs_limits, settings.shard)
    lfs_fetches = LfsFetches(lfs, egress, own, settings)
    opener = SourceOpener(seal, egress, own, settings, storage)
    unpacker = ArchiveUnpacker(storage, lfs, lfs_enabled=settings.lfs_enabled)
    asset_editor = AssetEditor(database, jobs, objects, limits)
    forge_data = ForgeData(
        database,
        storage,
        asset_editor,
        opener,
        connector,
        unpacker,
        max_bytes=settings.max_remote_bytes,
        public_url=settings.public_url,
    )
    repeats = RepeatedImports(database, storage, pushes, connector, lfs_fetches, forge_data)

    shards = Shards(
        origins(settings, settings.shards),
        partial(_added_url, database),
        partial(_connected, settings),
        ServiceIdentity("repos", SigningKey.read(settings.private_key)),
    )

    identity = HttpIdentity(service.peers["identity"])
    accounts = AccountCopies(database, identity)
    server_keys = read_server_keys(
        settings.signing_key,
        passphrase=settings.signing_key_passphrase,
        name=settings.signing_name,
        email=settings.signing_email,
        former=settings.former_signing_keys,
    )
    signatures = Signatures(database, identity, reads.verdicts, settings.default_trust_model, server_keys)
    judge = ContentJudge(storage, signatures)
    lfs_pushes = LfsPushes(storage, lfs)
    questions = HookQuestions(storage.root, judge.answer, lfs_pushes.answer)
    admission = Admission(settings.git_concurrency, settings.git_concurrency_per_repository)
    fetches = FetchCache(storage.root, max_bytes=settings.fetch_cache_bytes)
    long_requests, loads = LongRequests(), RepositoryLoads(database)
    return Parts(
        settings,
        identity,
        accounts,
        presenter,
        storage,
        archives,
        fetches,
        objects,
        ActivitySweep(database, timedelta(days=settings.activity_days)),
        asset_editor,
        asset_files,
        lfs,
        LfsFiles(database, objects),
        ExportFiles(database, objects),
        ExportPages(database, jobs, storage, max_bytes=settings.max_remote_bytes),
        lfs_pushes,
        SourcePages(database, presenter, opener, storage),
        opener,
        reads,
        pushes,
        server_keys,
        signatures,
        judge,
        loads,
        jobs,
        RepositoryWorkers(
            "repos",
            jobs,
            on_shard(
                RepositoryJobs(jobs, presenter, storage, archives, objects).work()
                | ForkJobs(jobs, storage, presenter, identity).work()
                | ArchiveFolders(storage).work()
                | asset_files.work(),
                settings.shard,
            ),
            concurrency=settings.job_concurrency,
        ),
        ImportWorkers(
            "repos",
            jobs,
            on_shard(
                ImportJobs(
                    jobs, storage, presenter, connector, lfs_fetches, forge_data, unpacker, repeats
                ).work()
                | ExportJobs(
                    jobs, storage, objects, lfs, presenter, max_bytes=settings.max_remote_bytes
                ).work()
                | OrganizationExportJobs(
                    jobs,
                    identity,
                    objects,
                    shards,
                    presenter,
                    shard=settings.shard,
                    max_bytes=settings.max_organization_export_bytes,
                ).work()
                | OrganizationImportJobs(
                    jobs, identity, opener, seal, presenter, default_branch=settings.default_branch
                ).work(),
                settings.shard,
            ),
            concurrency=settings.migration_concurrency,
        ),
        MirrorWorkers(
            "repos",
            jobs,
            on_shard(
                MirrorJobs(jobs, storage, presenter, pushes, connector, lfs_fetches).work()
                | PushMirrorJobs(jobs, storage, identity, connector).work(),
                settings.shard,
            ),
            concurrency=settings.mirror_concurrency,
        ),
        MoveWorkers(
            "repos",
            jobs,
            on_shard(
                MoveJobs(jobs, storage, archives, objects, shards, settings.shard).work(), settings.shard
            ),
            concurrency=1,
        ),
        questions,
        Replicas(database, storage, archives, shards, settings.shard, service.bus),
        UpkeepJobs(jobs, storage, lfs, settings.shard, timedelta(seconds=settings.prune_seconds)),
        seal,
        proxy,
        shards,
        ConcurrencyLimiter(settings.git_concurrency_per_caller),
        ConcurrencyQueue(ARCHIVES_AT_ONCE, waiting=WAITING_ARCHIVES),
        ArchiveCpu(),
        admission,
        long_requests,
        PushParts(
            settings,
            database,
            storage,
            identity,
            accounts,
            pushes,
            admission,
            questions,
            loads,
            push_conditions.get,
        ),
        FetchParts(settings, storage, fetches, reads, admission, long_requests, loads),
    )


async def _added_url(database: Database, shard: str) -> str:
    """Return the URL of a shard that an operator added; empty if there is none."""
    async with database.read() as db:
        row = await shards_store.get(db, shard)
    return "" if row is None else row.url


def _connected(settings: Settings, url: str) -> Origin:
    return origins(settings, {"shard": url})["shard"]
