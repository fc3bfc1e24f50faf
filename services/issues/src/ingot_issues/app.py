"""Wiring of issues."""

from functools import partial

from litestar import Litestar, Router

from ingot_chassis.events.bus import Bus
from ingot_chassis.events.envelope import decode_envelope, event_type, subject
from ingot_chassis.http.app import service_app
from ingot_chassis.jobs.jobs import Jobs
from ingot_chassis.jobs.loops import Loop
from ingot_chassis.jobs.workers import Workers
from ingot_chassis.objects.files import FileLimits, StoredFiles
from ingot_chassis.objects.store import ObjectStore
from ingot_chassis.peers.peers import Peers
from ingot_chassis.service import assemble
from ingot_contracts.issues import (
    CommentChanged,
    IssueChanged,
    PullRequestChanged,
    ReviewChanged,
    ReviewRequested,
)
from ingot_contracts.repos import AccessChanged, RepositoryDeleted, RepositoryEdited, RepositoryForked
from ingot_issues.api import (
    attachments,
    comments,
    deadlines,
    dependencies,
    file_views,
    issue_assignees,
    issue_labels,
    issues,
    labels,
    locks,
    markdown,
    merges,
    milestones,
    notifications,
    organization_labels,
    pins,
    pull_contents,
    pull_updates,
    pulls,
    reaction_counts,
    reactions,
    review_comments,
    review_requests,
    reviews,
    rights,
    searches,
    stopwatches,
    subscriptions,
    timeline,
    times,
)
from ingot_issues.api.paths import PAGES, REPOSITORY
from ingot_issues.api.request import IssuesRequest
from ingot_issues.clients.identity import HttpIdentity
from ingot_issues.clients.repos import HttpRepos
from ingot_issues.components import Components
from ingot_issues.consumers import EventSubscriptions
from ingot_issues.core.attachments import OBJECTS, AttachmentEditor
from ingot_issues.core.presenter import Presenter
from ingot_issues.settings import Settings
from ingot_issues.store.attachments import existing_uuids
from ingot_issues.store.tables import metadata
from ingot_issues.workers.jobs import JobHandlers
from ingot_issues.workers.open_counts import OpenCountsAnnouncer
from ingot_issues.workers.proposals import ProposalJobs
from ingot_issues.workers.pull_heads import PullHeads
from ingot_issues.workers.scheduled_merges import ScheduledMerges

REPOSITORY_ROUTES = Router(
    path=REPOSITORY,
    route_handlers=[
        *attachments.routes,
        *comments.routes,
        *deadlines.routes,
        *issue_assignees.routes,
        *dependencies.routes,
        *issue_labels.routes,
        *issues.routes,
        *labels.routes,
        *locks.routes,
        *merges.routes,
        *milestones.routes,
        *notifications.routes,
        *pins.routes,
        *pull_contents.routes,
        *pull_updates.routes,
        *pulls.routes,
        *reaction_counts.routes,
        *reactions.routes,
        *review_comments.routes,
        *review_requests.routes,
        *reviews.routes,
        *stopwatches.routes,
        *subscriptions.routes,
        *timeline.routes,
        *times.routes,
    ],
)
PAGE_ROUTES = Router(path=PAGES, route_handlers=[*attachments.pages, *pull_contents.pages])
DROP_GRANTS_ON = [
    subject(event_type(event))
    for event in (AccessChanged, RepositoryEdited, RepositoryDeleted, RepositoryForked)
]
"""Events, keyed by repository, that end every grant for it."""
WAKE_ON = [
    subject(event_type(event))
    for event in (IssueChanged, CommentChanged, PullRequestChanged, ReviewChanged, ReviewRequested)
]
"""Events of issues itself, of transactions that add jobs: other processes may have committed them."""


def create_app(settings: Settings, *, bus: Bus | None = None, peers: Peers | None = None) -> Litestar:
    """The app of issues."""
    urls = {"identity": settings.identity_url, "repos": settings.repos_url}
    parts = assemble("issues", settings, metadata=metadata, urls=urls, bus=bus, peers=peers)
    database = parts.require_database()
    jobs, presenter = Jobs(database), Presenter(settings.public_url)
    repos = HttpRepos(parts.peers["repos"])
    objects = _objects(settings)
    components = Components(
        identity=HttpIdentity(parts.peers["identity"]),
        repos=repos,
        jobs=jobs,
        attachments=AttachmentEditor(database, jobs, objects, _limits(settings)) if objects else None,
    )
    scheduled = ScheduledMerges(database, jobs, repos, presenter)
    proposals = ProposalJobs(database, jobs, repos, presenter)
    job_handlers = JobHandlers(database, jobs, repos, presenter, components.identity).handlers()
    job_handlers |= scheduled.handlers() | proposals.handlers()
    if objects is not None:
        files = StoredFiles(database, objects, OBJECTS, existing_uuids)
        job_handlers |= files.work()
        parts.loops.append(("issues sweeps attachments", files.sweep_for_ever))
        parts.close.append(objects.close)
    workers = Workers("issues", jobs, job_handlers, concurrency=settings.worker_concurrency)
    jobs.wake = workers.wake
    if not database.is_sqlite:  # which has one process
        parts.loops += [
            (f"issues wakes workers on {topic}", partial(parts.bus.wake, topic, workers.wake))
            for topic in WAKE_ON
        ]
    open_counts = OpenCountsAnnouncer(database)
    parts.tasks += [*workers.tasks(), scheduled.task(), PullHeads(database, jobs).task()]
    parts.loops += [*workers.loops(), ("issues announces open counts", open_counts.run)]
    parts.subscribe(EventSubscriptions(jobs, presenter).subscriptions())
    parts.listeners += [
        (f"issues drops grants on {topic}", _grant_dropper(parts.bus, topic, repos))
        for topic in DROP_GRANTS_ON
    ]
    return service_app(
        parts,
        routes=[
            REPOSITORY_ROUTES,
            PAGE_ROUTES,
            *file_views.routes,
            *markdown.routes,
            *notifications.own_routes,
            *organization_labels.routes,
            *rights.routes,
            *searches.routes,
            *stopwatches.own_routes,
            *times.own_routes,
        ],
        request_class=IssuesRequest,
        state={"components": components},
    )


def _objects(settings: Settings) -> ObjectStore | None:
    """Where attachments are; None: nowhere, then there are none."""
    if not settings.objects_url:
        return None
    return ObjectStore(
        settings.objects_url,
        prefix="issues",
        key_id=settings.objects_key_id,
        secret=settings.objects_secret,
    )


def _limits(settings: Settings) -> FileLimits:
    endings = tuple(ending.lower() for ending in settings.attachment_types)
    return FileLimits(settings.max_attachment_bytes, settings.max_attachments, endings)


def _grant_dropper(bus: Bus, topic: str, repos: HttpRepos) -> Loop:
    async def drop_grants(body: bytes) -> None:
        repos.drop_grants(int(decode_envelope(body).key))

    return lambda: bus.listen(topic, drop_grants)
