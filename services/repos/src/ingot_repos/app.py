"""Wiring of repos."""

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
from ingot_chassis.events.doctor import examine_space
from ingot_chassis.events.envelope import event_type, subject
from ingot_chassis.http.app import service_app
from ingot_chassis.http.concurrency import ConcurrencyLimiter
from ingot_chassis.jobs.jobs import Jobs
from ingot_chassis.jobs.periodic import CLEANUP, PeriodicTask
from ingot_chassis.jobs.workers import Work, Workers
from ingot_chassis.objects.files import FileLimits, StoredFiles
from ingot_chassis.objects.store import ObjectStore
from ingot_chassis.peers.peers import Peers
from ingot_chassis.security.egress import Egress
from ingot_chassis.security.keys import SigningKey
from ingot_chassis.security.own_servers import own_servers, read_servers
from ingot_chassis.security.principal import ServiceIdentity
from ingot_chassis.security.sealing import Seal
from ingot_chassis.service import ServiceParts, assemble, origins
from ingot_chassis.settings import SettingsError
from ingot_contracts.repos import ForkRequested
from ingot_repos.api import (
    action_variables,
    blame,
    branch_changes,
    branch_protections,
    branches,
    code_facts,
    collaborators,
    commits,
    compare,
    contents,
    deploy_keys,
    failures,
    file_changes,
    file_contents,
    forks,
    generation,
    git_data,
    git_http,
    imports,
    internal,
    internal_heads,
    internal_moves,
    internal_old,
    internal_pulls,
    internal_ssh,
    internal_transfers,
    issue_forms,
    lfs,
    lfs_locks,
    lfs_ssh,
    listings,
    mirrors,
    push_mirrors,
    release_assets,
    releases,
    repositories,
    repository_teams,
    search,
    stars,
    statuses,
    tag_protections,
    tags,
    team_repositories,
    templates,
    topics,
    transfers,
    upstreams,
    watches,
)
from ingot_repos.api.request import RepositoryRequest, release_slots
from ingot_repos.api.shards import forward_to_shard
from ingot_repos.clients.identity import HttpIdentity
from ingot_repos.clients.shards import Shards
from ingot_repos.clients.socks_proxy import SocksProxy
from ingot_repos.components import Components
from ingot_repos.consumers import EventSubscriptions
from ingot_repos.core import lfs_objects
from ingot_repos.core.accounts import AccountCopies
from ingot_repos.core.admission import LONG_REQUESTS, Admission
from ingot_repos.core.job_kinds import on_shard
from ingot_repos.core.lfs_objects import LfsLimits, LfsObjects
from ingot_repos.core.lfs_pushes import LfsPushes
from ingot_repos.core.loads import RepositoryLoads
from ingot_repos.core.placements import OnAnotherShard
from ingot_repos.core.presenter import Presenter
from ingot_repos.core.protected_contents import ContentJudge
from ingot_repos.core.pushes import Pushes
from ingot_repos.core.release_assets import OBJECTS, AssetEditor
from ingot_repos.core.remote_urls import PORTS
from ingot_repos.core.storage_checks import examine_storage
from ingot_repos.git.archive import Archives
from ingot_repos.git.errors import HooksNotRun
from ingot_repos.git.fetch_cache import FetchCache
from ingot_repos.git.hook_questions import HookQuestions
from ingot_repos.git.read_cache import ReadCache
from ingot_repos.git.storage import Storage
from ingot_repos.git.update_hook import hooks_folder
from ingot_repos.settings import Settings
from ingot_repos.store import lfs_objects as lfs_objects_store
from ingot_repos.store import release_assets as release_assets_store
from ingot_repos.store import shards as shards_store
from ingot_repos.store.tables import metadata
from ingot_repos.workers.connections import RemoteConnector, require_files_of_remotes
from ingot_repos.workers.imports import ImportJobs
from ingot_repos.workers.lfs_fetches import LfsFetches
from ingot_repos.workers.maintenance import Maintenance
from ingot_repos.workers.mirrors import MirrorJobs
from ingot_repos.workers.moves import MoveJobs
from ingot_repos.workers.push_mirrors import PushMirrorJobs
from ingot_repos.workers.replicas import Replicas
from ingot_repos.workers.repositories import RepositoryJobs
from ingot_repos.workers.shard_commands import ShardCommands
from ingot_repos.workers.upkeep import UpkeepJobs
from ingot_wire.client import Origin

ROUTES = Router(
    path="/",
    middleware=[release_slots],
    exception_handlers={OnAnotherShard: forward_to_shard},
    route_handlers=[
        *action_variables.routes,
        *blame.routes,
        *branch_changes.routes,
        *branch_protections.routes,
        *branches.routes,
        *code_facts.routes,
        *collaborators.routes,
        *commits.routes,
        *compare.routes,
        *contents.routes,
        *deploy_keys.routes,
        *file_changes.routes,
        *file_contents.routes,
        *forks.routes,
        *generation.routes,
        *git_data.routes,
        *git_http.routes,
        *imports.routes,
        *internal.routes,
        *internal_heads.routes,
        *internal_moves.routes,
        *internal_old.routes,
        *internal_pulls.routes,
        *issue_forms.routes,
        *internal_ssh.routes,
        *internal_transfers.routes,
        lfs.ROUTES,
        lfs_locks.ROUTES,
        *lfs_ssh.routes,
        *listings.routes,
        *mirrors.routes,
        *push_mirrors.routes,
        *release_assets.routes,
        *releases.routes,
        *repositories.routes,
        *repository_teams.routes,
        *search.routes,
        *stars.routes,
        *statuses.routes,
        *tag_protections.routes,
        *tags.routes,
        *team_repositories.routes,
        *templates.routes,
        *topics.routes,
        *transfers.routes,
        *upstreams.routes,
        *watches.routes,
    ],
)


def create_app(
    settings: Settings,
    *,
    bus: Bus | None = None,
    peers: Peers | None = None,
    own_urls: Sequence[str] | None = None,
) -> Litestar:
    """The app of repos. ``own_urls``: where Ingot listens for itself alone; None: as the settings say. Raises SettingsError."""
    if not settings.storage_root:
        raise SettingsError(["INGOT_REPOS_STORAGE_ROOT is not set; see docs/settings.md"])
    require_files_of_remotes(settings)
    parts = assemble(
        "repos",
        settings,
        metadata=metadata,
        urls={"identity": settings.identity_url},
        peers=peers,
        bus=bus,
    )
    components = _components(settings, parts, own_urls)
    jobs, workers = components.jobs, components.workers
    parts.subscribe(EventSubscriptions(jobs).subscriptions())
    parts.close += [components.proxy.close, components.shards.close, components.objects.close]

    async def trim_archives() -> None:
        await asyncio.to_thread(components.archives.trim)

    replicas = Replicas(
        jobs.database, components.storage, components.archives, components.shards, settings.shard, parts.bus
    )
    maintenance = Maintenance(jobs, components.storage, settings.shard)
    grace = timedelta(seconds=settings.prune_seconds)
    upkeep = UpkeepJobs(jobs, components.storage, components.lfs, settings.shard, grace)
    upkeep_workers = Workers("repos", jobs, on_shard(upkeep.work(), settings.shard), concurrency=1)

    async def examine(repair: bool) -> list[str]:
        lines = examine_space("repos", components.storage.root)
        return lines + await examine_storage(
            parts.require_database(),
            components.storage,
            components.objects,
            settings.shard,
            repair=repair,
        )

    parts.examinations.append(examine)
    questions = HookQuestions(components.storage.root, components.judge.answer, components.lfs_pushes.answer)
    parts.start += [trim_archives, questions.open]
    parts.close.append(questions.close)
    parts.listeners.append(("repos writes loads", components.loads.write_for_ever))
    parts.listeners.append(("repos watches reads of repositories", components.storage.watch.run))
    parts.listeners.append(("repos learns what may not be read", components.storage.watch.collect_for_ever))
    parts.tasks += [
        *workers.tasks(),
        *components.pushes.tasks(),
        *maintenance.tasks(),
        *upkeep.tasks(),
        PeriodicTask("repos_free_lfs_objects", CLEANUP, components.lfs.free_unlinked),
    ]
    parts.loops += [
        *workers.loops(),
        ("repos imports repositories", components.import_workers.run),
        ("repos syncs mirrors", components.mirror_workers.run),
        ("repos moves repositories", components.move_workers.run),
        ("repos packs and checks repositories", upkeep_workers.run),
        ("repos sweeps files of releases", components.asset_files.sweep_for_ever),
        ("repos sweeps objects of LFS", components.lfs_files.sweep_for_ever),
        ("repos wakes workers", partial(parts.bus.wake, subject(event_type(ForkRequested)), workers.wake)),
        *replicas.loops(),
    ]
    return service_app(
        parts,
        routes=[ROUTES],
        request_class=RepositoryRequest,
        translations=failures.TRANSLATIONS,
        state={"components": components, "upkeep": upkeep, "questions": questions, "replicas": replicas},
    )


async def fsck(settings: Settings) -> None:
    """Check all repositories of the shard now, and print which are damaged."""
    settings.background = False
    app = create_app(settings)
    async with app.lifespan():
        async for line in app.state.upkeep.check_all():
            print(line, flush=True)  # noqa: T201 - this is what the operator asked for


async def run_shard_command(settings: Settings, options: Namespace) -> None:
    """Run a command of `ingot-repos shards`, and print what it says."""
    settings.background = False
    app = create_app(settings)
    components: Components = app.state.components
    commands = ShardCommands(components.jobs, [settings.shard, *components.shards.names])
    async with app.lifespan():
        async for line in commands.run(options):
            print(line, flush=True)  # noqa: T201 - this is what the operator asked for


def _components(settings: Settings, parts: ServiceParts, own_urls: Sequence[str] | None) -> Components:
    database = parts.require_database()
    jobs = Jobs(database)
    presenter = Presenter(
        settings.public_url,
        ssh_user=settings.ssh_user,
        ssh_host=settings.ssh_host,
        ssh_port=settings.ssh_port,
    )
    storage = Storage(Path(settings.storage_root), threads=settings.git_threads)
    try:
        hooks_folder(storage.root)
    except HooksNotRun as error:
        raise CannotStart(str(error)) from error
    archives = Archives(storage.root / "archives", max_bytes=settings.archive_cache_bytes)
    reads = ReadCache()
    pushes = Pushes(
        database,
        storage,
        presenter,
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
    asset_files = StoredFiles(database, objects, OBJECTS, release_assets_store.existing_uuids)
    lfs_limits = LfsLimits(settings.max_lfs_object_bytes, settings.max_lfs_owner_bytes)
    seal = Seal(settings.sealing_key, "INGOT_REPOS_SEALING_KEY")
    egress = Egress(settings.allowed_remotes, "INGOT_REPOS_ALLOWED_REMOTES", ports=(*PORTS.values(),))
    refused = read_servers(settings.refused_remotes, "INGOT_REPOS_REFUSED_REMOTES")
    own = own_servers(settings, [settings.identity_url, *settings.shards.values()], own_urls, refused)
    proxy = SocksProxy(egress, own)
    connector = RemoteConnector(seal, proxy, settings)
    lfs = LfsObjects(database, jobs, objects, lfs_limits, settings.shard)
    lfs_fetches = LfsFetches(lfs, egress, own, settings)

    shards = Shards(
        origins(settings, settings.shards),
        partial(_added_url, database),
        partial(_connected, settings),
        ServiceIdentity("repos", SigningKey.read(settings.private_key)),
    )

    def workers(work: dict[str, Work], concurrency: int) -> Workers:
        return Workers("repos", jobs, on_shard(work, settings.shard), concurrency=concurrency)

    identity = HttpIdentity(parts.peers["identity"])
    return Components(
        identity=identity,
        accounts=AccountCopies(database, identity),
        presenter=presenter,
        storage=storage,
        archives=archives,
        fetches=FetchCache(storage.root, max_bytes=settings.fetch_cache_bytes),
        objects=objects,
        assets=AssetEditor(database, jobs, objects, limits),
        asset_files=asset_files,
        lfs=lfs,
        lfs_pushes=LfsPushes(storage, lfs, enabled=settings.lfs_enabled),
        lfs_files=StoredFiles(database, objects, lfs_objects.OBJECTS, lfs_objects_store.existing_uuids),
        reads=reads,
        pushes=pushes,
        judge=ContentJudge(storage, identity, reads.verdicts),
        loads=RepositoryLoads(database),
        jobs=jobs,
        # Apart from each other, so that a slow remote delays neither a fork nor another mirror.
        workers=workers(
            RepositoryJobs(jobs, storage, archives, objects, presenter).work() | asset_files.work(),
            settings.job_concurrency,
        ),
        import_workers=workers(
            ImportJobs(jobs, storage, presenter, connector, lfs_fetches).work(),
            settings.migration_concurrency,
        ),
        mirror_workers=workers(
            MirrorJobs(jobs, storage, presenter, pushes, connector, lfs_fetches).work()
            | PushMirrorJobs(jobs, storage, identity, connector).work(),
            settings.mirror_concurrency,
        ),
        seal=seal,
        proxy=proxy,
        move_workers=workers(
            MoveJobs(jobs, storage, archives, objects, shards, settings.shard).work(), concurrency=1
        ),
        shards=shards,
        limiter=ConcurrencyLimiter(settings.git_concurrency_per_caller),
        admission=Admission(settings.git_concurrency, settings.git_concurrency_per_repository),
        long_requests=Admission(LONG_REQUESTS, 0),
    )


async def _added_url(database: Database, shard: str) -> str:
    """Of a shard that an operator added; empty without one."""
    async with database.read() as db:
        row = await shards_store.get(db, shard)
    return "" if row is None else row.url


def _connected(settings: Settings, url: str) -> Origin:
    return origins(settings, {"shard": url})["shard"]
