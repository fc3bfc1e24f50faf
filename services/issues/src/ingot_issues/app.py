"""Wiring of issues."""

from collections import OrderedDict
from pathlib import Path

from litestar import Litestar, Router

from ingot_chassis.app import service_app
from ingot_chassis.assembly import assemble
from ingot_chassis.bus import Bus
from ingot_chassis.events import decode_envelope, event_type, subject
from ingot_chassis.jobs import Jobs, Workers
from ingot_chassis.loops import Loop
from ingot_chassis.peers import Peers
from ingot_contracts.repos import AccessChanged, RepositoryDeleted, RepositoryEdited, RepositoryForked
from ingot_issues.api import (
    comments,
    issue_labels,
    issues,
    labels,
    locks,
    markdown,
    merges,
    milestones,
    pull_contents,
    pulls,
    timeline,
    times,
)
from ingot_issues.api.call import Call, enter_repository
from ingot_issues.api.paths import PAGES, REPOSITORY
from ingot_issues.clients.identity import Identity, IdentityPeer
from ingot_issues.clients.repos import Repos, ReposPeer
from ingot_issues.consumers import Following
from ingot_issues.core.views import Viewing
from ingot_issues.settings import Settings
from ingot_issues.store.tables import metadata
from ingot_issues.workers import Counting, Working

SCRIPTS = Path(__file__).parent / "store" / "migrations"
BELOW_REPOSITORY = Router(
    path=REPOSITORY,
    guards=[enter_repository],
    route_handlers=[
        *comments.routes,
        *issue_labels.routes,
        *issues.routes,
        *labels.routes,
        *locks.routes,
        *merges.routes,
        *milestones.routes,
        *pull_contents.routes,
        *pulls.routes,
        *timeline.routes,
        *times.routes,
    ],
)
BESIDE_API = Router(path=PAGES, guards=[enter_repository], route_handlers=pull_contents.pages)
FORGET_ON = [
    subject(event_type(event))
    for event in (AccessChanged, RepositoryEdited, RepositoryDeleted, RepositoryForked)
]
"""Events, keyed by repository, after which nothing may be remembered about it."""


def create_app(
    settings: Settings,
    *,
    bus: Bus | None = None,
    peers: Peers | None = None,
    repos: Repos | None = None,
    identity: Identity | None = None,
) -> Litestar:
    """The app of issues. ``repos`` and ``identity`` are asked over ``peers`` unless given."""
    urls = {"identity": settings.identity_url, "repos": settings.repos_url}
    parts = assemble("issues", settings, metadata=metadata, urls=urls, bus=bus, peers=peers)
    database = parts.require_database()
    asked = repos or ReposPeer(parts.peers["repos"])
    jobs = Jobs(database)
    viewing = Viewing(settings.public_url)
    workers = Workers(
        "issues",
        jobs,
        Working(database, jobs, asked, viewing).work(),
        concurrency=settings.worker_concurrency,
    )
    counting = Counting(database)
    parts.loops += [*workers.loops(), ("issues tells counts", counting.run)]
    if parts.bus is not None:
        parts.subscribe(Following(jobs, viewing).subscriptions())
        parts.listeners += [
            (f"issues forgets on {topic}", _forgetting(parts.bus, topic, asked)) for topic in FORGET_ON
        ]
    return service_app(
        parts,
        routes=[BELOW_REPOSITORY, BESIDE_API, *markdown.routes, *times.own_routes],
        request_class=Call,
        state={
            "repos": asked,
            "identity": identity or IdentityPeer(parts.peers["identity"]),
            "jobs": jobs,
            "workers": workers,
            "counting": counting,
            "known_accounts": OrderedDict(),
        },
    )


def _forgetting(bus: Bus, topic: str, repos: Repos) -> Loop:
    async def forget(body: bytes) -> None:
        repos.forget(int(decode_envelope(body).key))

    return lambda: bus.listen(topic, forget)
