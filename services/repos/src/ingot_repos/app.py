"""Wiring of repos."""

import asyncio
import ssl
from pathlib import Path

from litestar import Litestar, Router

from ingot_chassis.app import service_app
from ingot_chassis.assembly import assemble
from ingot_chassis.bus import Bus
from ingot_chassis.egress import Egress
from ingot_chassis.events import event_type, subject
from ingot_chassis.jobs import Jobs, Workers
from ingot_chassis.peers import Peers
from ingot_chassis.sealing import Seal
from ingot_chassis.settings import SettingsError
from ingot_contracts.repos import ForkRequested
from ingot_repos.api import (
    branches,
    collaborators,
    contents,
    deploy_keys,
    failures,
    forks,
    git_http,
    internal,
    internal_pulls,
    listings,
    marks,
    migrations,
    mirrors,
    releases,
    repositories,
    search,
    statuses,
    team_repositories,
    templates,
    transfers,
)
from ingot_repos.api.call import Call, Elsewhere, Parts, enter_repository
from ingot_repos.api.places import Places, giving_back
from ingot_repos.api.shards import Shards, hand_on
from ingot_repos.clients.identity import IdentityOverPeers
from ingot_repos.clients.proxy import Proxy
from ingot_repos.consumers import subscriptions
from ingot_repos.core.pushes import Pushes
from ingot_repos.core.releases import Releasing
from ingot_repos.core.repositories import Creating
from ingot_repos.core.shards import on_shard
from ingot_repos.core.sources import PORTS
from ingot_repos.core.views import Viewing
from ingot_repos.git.archive import Archives
from ingot_repos.git.storage import Storage
from ingot_repos.remotes import Remotes
from ingot_repos.settings import Settings
from ingot_repos.store.tables import metadata
from ingot_repos.upkeep import Upkeep
from ingot_repos.workers import Working

SCRIPTS = Path(__file__).parent / "store" / "migrations"
PUBLIC = Router(
    path="/",
    middleware=[giving_back],
    guards=[enter_repository],
    exception_handlers={Elsewhere: hand_on},
    route_handlers=[
        *branches.routes,
        *collaborators.routes,
        *contents.routes,
        *deploy_keys.routes,
        *forks.routes,
        *git_http.routes,
        *listings.routes,
        *marks.routes,
        *migrations.routes,
        *mirrors.routes,
        *releases.routes,
        *repositories.routes,
        *search.routes,
        *statuses.routes,
        *team_repositories.routes,
        *templates.routes,
        *transfers.routes,
    ],
)
SISTERS = Router(
    path="/",
    middleware=[giving_back],
    exception_handlers={Elsewhere: hand_on},
    route_handlers=[*internal.routes, *internal_pulls.routes],
)


def create_app(settings: Settings, *, bus: Bus | None = None, peers: Peers | None = None) -> Litestar:
    """The app of repos. Raises SettingsError."""
    if not settings.storage_root:
        raise SettingsError(["INGOT_REPOS_STORAGE_ROOT is not set; see docs/settings.md"])
    _require_files_of_remotes(settings)
    parts = assemble(
        "repos",
        settings,
        metadata=metadata,
        urls={"identity": settings.identity_url},
        peers=peers,
        bus=bus,
    )
    database = parts.require_database()
    viewing = Viewing(
        settings.public_url,
        ssh_user=settings.ssh_user,
        ssh_host=settings.ssh_host,
        ssh_port=settings.ssh_port,
    )
    identity = IdentityOverPeers(parts.peers)
    storage = Storage(Path(settings.storage_root), threads=settings.git_threads)
    jobs = Jobs(database)
    parts.subscribe(subscriptions(jobs))
    archives = Archives(storage.root / "archives", max_bytes=settings.archive_cache_bytes)
    working = Working(jobs, storage, archives, viewing)
    workers = Workers(
        "repos", jobs, on_shard(working.kinds(), settings.shard), concurrency=settings.job_concurrency
    )
    pushes = Pushes(
        database, storage, viewing, lease_seconds=settings.push_lease_seconds, shard=settings.shard
    )
    seal = Seal(settings.sealing_key, "INGOT_REPOS_SEALING_KEY")
    proxy = Proxy(Egress(settings.allowed_remotes, "INGOT_REPOS_ALLOWED_REMOTES", ports=(*PORTS.values(),)))
    remotes = Remotes(jobs, storage, viewing, pushes, seal, proxy, settings)
    # Apart from each other: a slow remote holds up neither a fork nor a mirror.
    migrators = Workers(
        "repos",
        jobs,
        on_shard(remotes.migrating(), settings.shard),
        concurrency=settings.migration_concurrency,
    )
    mirrorers = Workers(
        "repos", jobs, on_shard(remotes.syncing(), settings.shard), concurrency=settings.mirror_concurrency
    )
    shards = Shards(settings.shards)
    parts.close += [proxy.close, shards.close]

    async def wake(_message: bytes) -> None:
        workers.wake.set()

    async def wake_on_forks() -> None:
        if parts.bus is not None:
            await parts.bus.listen(subject(event_type(ForkRequested)), wake)

    async def trim_archives() -> None:
        await asyncio.to_thread(archives.trim)

    parts.start.append(trim_archives)
    parts.loops += [
        *workers.loops(),
        ("repos migrates", migrators.run),
        ("repos syncs mirrors", mirrorers.run),
        ("repos looks after mirrors and leftovers", Upkeep(jobs, storage, settings.shard).run),
        ("repos wakes workers", wake_on_forks),
        ("repos finishes pushes", pushes.sweep_for_ever),
    ]
    return service_app(
        parts,
        routes=[PUBLIC, SISTERS],
        request_class=Call,
        translations=failures.TRANSLATIONS,
        state={
            "repos": Parts(
                identity=identity,
                storage=storage,
                archives=archives,
                viewing=viewing,
                pushes=pushes,
                creating=Creating(database, storage, viewing, identity, settings.shard),
                releasing=Releasing(database, storage, pushes, viewing),
                jobs=jobs,
                workers=workers,
                migrators=migrators,
                mirrorers=mirrorers,
                seal=seal,
                shards=shards,
                proxy=proxy,
                places=Places(settings.places_per_caller),
                max_push_bytes=settings.max_push_bytes,
                default_branch=settings.default_branch,
            )
        },
    )


def _require_files_of_remotes(settings: Settings) -> None:
    """Git and ssh read them later, and from a folder of their own: a wrong one would look like a wrong remote."""
    for name, file in (
        ("KNOWN_HOSTS", "" if settings.known_hosts == "any" else settings.known_hosts),
        ("REMOTE_AUTHORITIES", settings.remote_authorities),
    ):
        if file and not (Path(file).is_absolute() and Path(file).is_file()):
            raise SettingsError([f"INGOT_REPOS_{name} does not name a file by its whole path"])
    if settings.remote_authorities:
        try:
            ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT).load_verify_locations(settings.remote_authorities)
        except OSError as error:
            raise SettingsError([f"INGOT_REPOS_REMOTE_AUTHORITIES holds no certificates: {error}"]) from error
