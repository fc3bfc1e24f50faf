"""Labels and milestones that an issue can get. Only web calls this, with one call per page."""

from litestar import get

from ingot_chassis.errors import Denied, NotFound, Unauthenticated
from ingot_chassis.http.paging import Page
from ingot_contracts.issues.choices import CHOICES, CLOSED, IssueChoices
from ingot_contracts.issues.labels import Label
from ingot_issues.access.api.policies import for_peer, in_repository, organization_for
from ingot_issues.access.api.request import IssuesRequest
from ingot_issues.labels.rules.views import label_view
from ingot_issues.labels.store import organization as organization_labels
from ingot_issues.labels.store import repository as labels
from ingot_issues.milestones import store as milestones
from ingot_issues.milestones.rules import milestone_view
from ingot_issues.records.store.states import StateFilter

FIRST, FIRST_CLOSED = Page(1, CHOICES), Page(1, CLOSED)


@get(
    "/internal/repos/{owner:str}/{repo:str}/issue-choices",
    policy=for_peer(in_repository("read", "read:issue"), "web"),
    include_in_schema=False,
)
async def get_choices(request: IssuesRequest) -> IssueChoices:
    """Get the labels and milestones that issues of the repository can get."""
    repository, presenter = request.access.repository, request.presenter
    of_organization = await _labels_of_organization(request)
    async with request.db.read() as db:
        own, _ = await labels.list_page(db, repository.id, FIRST)
        opened, open_total = await milestones.list_page(
            db, repository.id, FIRST, state=StateFilter.OPEN, title="", newest_first=False
        )
        closed, closed_total = await milestones.list_page(
            db, repository.id, FIRST_CLOSED, state=StateFilter.CLOSED, title="", newest_first=True
        )
    return IssueChoices(
        labels=[*(label_view(presenter, row, repository.full_name) for row in own), *of_organization],
        milestones=[milestone_view(row) for row in opened],
        closed_milestones=[milestone_view(row) for row in closed],
        milestone_total=open_total,
        closed_total=closed_total,
    )


async def _labels_of_organization(request: IssuesRequest) -> list[Label]:
    """Return the labels of the organization that owns the repository, if the caller may see it."""
    if request.access.owner_kind != "organization":
        return []
    try:
        owner = await organization_for(request, request.access.repository.owner.login, writes=False)
    except (NotFound, Denied, Unauthenticated):
        return []
    async with request.db.read() as db:
        rows, _ = await organization_labels.list_page(db, owner.id, FIRST)
    return [label_view(request.presenter, row, owner.login) for row in rows]


routes = [get_choices]
