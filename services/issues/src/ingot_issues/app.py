"""The app of issues, and the assembly of its parts."""

from functools import partial

from litestar import Litestar, Router

from ingot_chassis.db.database import Database
from ingot_chassis.events.bus import Bus
from ingot_chassis.events.consumers import Subscriptions, combine
from ingot_chassis.events.envelope import decode_envelope, event_type, subject
from ingot_chassis.http.app import service_app
from ingot_chassis.http.parts import PARTS, Parts
from ingot_chassis.jobs.jobs import Jobs
from ingot_chassis.jobs.loops import Loop
from ingot_chassis.jobs.periodic import CLEANUP, PeriodicTask
from ingot_chassis.jobs.workers import Work, Workers
from ingot_chassis.objects.files import FileLimits, StoredFiles
from ingot_chassis.objects.store import ObjectStore
from ingot_chassis.peers.peers import Peers
from ingot_chassis.service import assemble
from ingot_contracts.issues.events import (
    CommentChanged,
    IssueChanged,
    MergeRequested,
    PullRequestChanged,
    ReviewChanged,
    ReviewRequested,
)
from ingot_contracts.repos.events import AccessChanged, RepositoryDeleted, RepositoryEdited, RepositoryForked
from ingot_issues.access.api.paths import PAGES, REPOSITORY
from ingot_issues.access.api.request import IssuesRequest
from ingot_issues.access.components import AccessComponents
from ingot_issues.accounts import events as account_events
from ingot_issues.accounts.rules import fill_profiles
from ingot_issues.attachments import api as attachments
from ingot_issues.attachments.components import AttachmentComponents
from ingot_issues.attachments.rules import OBJECTS, AttachmentEditor
from ingot_issues.attachments.store import existing_uuids
from ingot_issues.clients.identity import HttpIdentity
from ingot_issues.clients.repos import HttpRepos
from ingot_issues.closing.events import ClosingEvents
from ingot_issues.closing.jobs import ClosingJobs
from ingot_issues.comments import api as comments
from ingot_issues.conversations import api as conversations
from ingot_issues.exports import events as export_events
from ingot_issues.exports.jobs import ExportJobs
from ingot_issues.imports import events as import_events
from ingot_issues.imports.jobs import ImportJobs
from ingot_issues.issues import events as issue_events
from ingot_issues.issues.api import assignees as issue_assignees
from ingot_issues.issues.api import bulk_edits, choices, deadlines, dependencies, locks, pins, rights
from ingot_issues.issues.api import labels as issue_labels
from ingot_issues.issues.api import routes as issues
from ingot_issues.labels import events as label_events
from ingot_issues.labels.api import organization as organization_labels
from ingot_issues.labels.api import repository as labels
from ingot_issues.markdown.api import rendering as markdown
from ingot_issues.markdown.components import MarkdownComponents
from ingot_issues.merges import api as merges
from ingot_issues.merges.events import MergeEvents
from ingot_issues.merges.jobs.branches import BranchJobs
from ingot_issues.merges.jobs.comparisons import ComparisonJobs
from ingot_issues.merges.jobs.scheduled import ScheduledMerges
from ingot_issues.milestones import api as milestones
from ingot_issues.milestones import events as milestone_events
from ingot_issues.notifications import events as notification_events
from ingot_issues.notifications import internal as notices
from ingot_issues.notifications.api import subscriptions as issue_subscriptions
from ingot_issues.notifications.api import threads as notifications
from ingot_issues.notifications.jobs.notices import NoticeJobs
from ingot_issues.pull_heads.jobs import PullHeads
from ingot_issues.pulls.api import check_states, conflicts, file_views, range_diffs
from ingot_issues.pulls.api import contents as pull_contents
from ingot_issues.pulls.api import routes as pulls
from ingot_issues.pulls.api import updates as pull_updates
from ingot_issues.pulls.events import PullEvents
from ingot_issues.pulls.jobs.head_visibility import HeadJobs
from ingot_issues.pulls.jobs.proposals import ProposalJobs
from ingot_issues.reactions import api as reactions
from ingot_issues.records.rules.presenter import Presenter
from ingot_issues.repositories import events as repository_events
from ingot_issues.repositories.jobs import OpenCountsAnnouncer
from ingot_issues.reviews.api import comments as review_comments
from ingot_issues.reviews.api import pages as reviews_of_pull
from ingot_issues.reviews.api import requests as review_requests
from ingot_issues.reviews.api import routes as reviews
from ingot_issues.reviews.events import ReviewEvents
from ingot_issues.scheduled_merges.events import ScheduledMergeEvents
from ingot_issues.schema import metadata
from ingot_issues.search import api as searches
from ingot_issues.settings import Settings
from ingot_issues.timeline import api as timeline
from ingot_issues.times import events as time_events
from ingot_issues.times.api import stopwatches
from ingot_issues.times.api import tracked as times

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
        *reactions.routes,
        *review_comments.routes,
        *review_requests.routes,
        *reviews.routes,
        *stopwatches.routes,
        *issue_subscriptions.routes,
        *timeline.routes,
        *times.routes,
    ],
)
PAGE_ROUTES = Router(path=PAGES, route_handlers=[*attachments.pages, *pull_contents.pages])
DROP_GRANTS_ON = [
    subject(event_type(event))
    for event in (AccessChanged, RepositoryEdited, RepositoryDeleted, RepositoryForked)
]
"""Events, keyed by repository, that end every cached grant for it."""
WAKE_ON = (
    IssueChanged,
    CommentChanged,
    PullRequestChanged,
    ReviewChanged,
    ReviewRequested,
    MergeRequested,
)
"""Events of issues in transactions that also add jobs. Other processes may have committed them."""


def create_app(settings: Settings, *, bus: Bus | None = None, peers: Peers | None = None) -> Litestar:
    """Return the app of issues."""
    urls = {"identity": settings.identity_url, "repos": settings.repos_url}
    parts = assemble("issues", settings, metadata=metadata, urls=urls, bus=bus, peers=peers)
    database = parts.require_database()
    jobs, presenter = Jobs(database), Presenter(settings.public_url)
    repos = HttpRepos(parts.peers["repos"])
    objects = _objects(settings)
    identity = HttpIdentity(parts.peers["identity"])
    editor = AttachmentEditor(database, jobs, objects, _limits(settings)) if objects else None
    components = Parts(
        AccessComponents(identity, repos, jobs),
        AttachmentComponents(editor),
        MarkdownComponents(),
    )
    handlers = job_handlers(database, jobs, repos, presenter, identity, editor)
    if objects is not None:
        files = StoredFiles(database, objects, OBJECTS, existing_uuids)
        handlers |= files.work()
        parts.loops.append(("issues sweeps attachments", files.sweep_for_ever))
        parts.close.append(objects.close)
    workers = Workers("issues", jobs, handlers, concurrency=settings.worker_concurrency)
    parts.wake_on(WAKE_ON, workers.wake)
    scheduled = ScheduledMerges(database, jobs, repos, presenter)
    open_counts = OpenCountsAnnouncer(database)
    parts.tasks += [
        *workers.tasks(),
        scheduled.task(),
        PullHeads(database, jobs).task(),
        PeriodicTask("issues_fill_profiles", CLEANUP, partial(fill_profiles, database, identity)),
    ]
    parts.loops += [*workers.loops(), ("issues announces open counts", open_counts.run)]
    parts.subscribe(subscriptions(jobs, presenter))
    parts.listeners += [
        (f"issues drops grants on {topic}", _grant_dropper(parts.bus, topic, repos))
        for topic in DROP_GRANTS_ON
    ]
    return service_app(
        parts,
        routes=[
            REPOSITORY_ROUTES,
            PAGE_ROUTES,
            *bulk_edits.routes,
            *check_states.routes,
            *choices.routes,
            *comments.internal_routes,
            *conversations.routes,
            *file_views.routes,
            *conflicts.routes,
            *markdown.routes,
            *notices.routes,
            *notifications.own_routes,
            *organization_labels.routes,
            *range_diffs.routes,
            *reviews_of_pull.routes,
            *rights.routes,
            *searches.routes,
            *stopwatches.own_routes,
            *times.own_routes,
        ],
        request_class=IssuesRequest,
        state={PARTS: components},
    )


def job_handlers(
    database: Database,
    jobs: Jobs,
    repos: HttpRepos,
    presenter: Presenter,
    identity: HttpIdentity,
    attachments: AttachmentEditor | None,
) -> dict[str, Work]:
    """Return the handlers of all jobs, by kind.

    ``attachments`` is None if no storage for files is configured.
    """
    clients = (database, jobs, repos, presenter)
    return {
        **BranchJobs(*clients).handlers(),
        **ClosingJobs(*clients).handlers(),
        **ComparisonJobs(*clients).handlers(),
        **ExportJobs(database, jobs, repos, attachments).handlers(),
        **HeadJobs(database, jobs, repos).handlers(),
        **ImportJobs(database, jobs, repos, identity, attachments).handlers(),
        **NoticeJobs(database, jobs, repos, identity).handlers(),
        **ProposalJobs(*clients).handlers(),
        **ScheduledMerges(*clients).handlers(),
    }


def subscriptions(jobs: Jobs, presenter: Presenter) -> Subscriptions:
    """Return the handlers of all events.

    Handlers of accounts come first, because other handlers present accounts. Handlers of repositories come
    last: other handlers compare an edit with the copy, and delete rows before the repository is closed.
    """
    return combine(
        account_events.SUBSCRIPTIONS,
        MergeEvents(jobs, presenter).subscriptions(),
        PullEvents(jobs).subscriptions(),
        ClosingEvents(jobs, presenter).subscriptions(),
        ReviewEvents(jobs).subscriptions(),
        ScheduledMergeEvents(jobs).subscriptions(),
        notification_events.SUBSCRIPTIONS,
        export_events.subscriptions(jobs),
        import_events.subscriptions(jobs),
        time_events.SUBSCRIPTIONS,
        issue_events.SUBSCRIPTIONS,
        label_events.SUBSCRIPTIONS,
        milestone_events.SUBSCRIPTIONS,
        repository_events.SUBSCRIPTIONS,
    )


def _objects(settings: Settings) -> ObjectStore | None:
    """Return the object store for attachments, or None if the settings name none."""
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
