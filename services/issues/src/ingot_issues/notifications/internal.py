"""An internal route for mail: the content of a notice, for a reader who may read it now."""

from litestar import get

from ingot_chassis.db.driver import Executor
from ingot_chassis.errors import NotFound
from ingot_chassis.http.policy import services
from ingot_contracts.issues.notices import IssueNotice, NoticeState
from ingot_issues.access.api.request import IssuesRequest
from ingot_issues.access.rules.repositories import reads
from ingot_issues.accounts import store as accounts
from ingot_issues.comments import store as comments
from ingot_issues.notifications.store import pulls
from ingot_issues.records.store import issues as issue_rows
from ingot_issues.records.store.issues import IssueRow
from ingot_issues.records.store.states import State
from ingot_issues.reviews import store as reviews


@get("/internal/issues/{issue_id:int}/notice", policy=services("mail"), include_in_schema=False)
async def get_notice(
    request: IssuesRequest,
    issue_id: int,
    user: int,
    actor: int = 0,
    comment: int = 0,
    review: int = 0,
    reply: int = 0,
) -> IssueNotice:
    """Return the notice about an issue or pull request, for ``user``.

    Raises NotFound if the user may not read it now, or if the issue, comment or review was deleted.
    """
    async with request.db.read() as db:
        issue = await issue_rows.get_by_id(db, issue_id)
    if issue is None:
        raise NotFound
    access = await request.components.repos.access_of_user_by_id(user, issue.repository_id)
    if not reads(access, is_pull=issue.is_pull):
        raise NotFound
    async with request.db.read() as db:
        text = await _text(db, issue, comment, review, reply)
        pull = await issue_rows.get_pull_by_id(db, issue_id) if issue.is_pull else None
        head_sha = await pulls.get_head(db, issue_id) if issue.is_pull else ""
        people = await accounts.get_people(db, [actor])
    state: NoticeState = "open" if issue.state == State.OPEN else "closed"
    page = request.presenter.page(issue, access.repository)
    return IssueNotice(
        repository_id=issue.repository_id,
        full_name=access.repository.full_name,
        number=issue.number,
        title=issue.title,
        is_pull=issue.is_pull,
        state="merged" if pull is not None and pull.merged else state,
        url=f"{page}#issuecomment-{comment}" if comment else page,
        head_sha=head_sha,
        actor=people[actor].login if actor in people else "",
        text=text,
    )


async def _text(db: Executor, issue: IssueRow, comment: int, review: int, reply: int) -> str:
    """Return the current text of the comment, review or issue. Raises NotFound if it was deleted."""
    if comment:
        rows = [row for row in await comments.list_by_id(db, [comment]) if row.issue_id == issue.id]
        if not rows:
            raise NotFound
        return rows[0].body
    if not review:
        return issue.body
    row = await reviews.get(db, issue.id, review)
    if row is None and not reply:
        raise NotFound
    on_lines = await reviews.list_comments(db, review)
    if reply:
        texts = [one.body for one in on_lines if one.id == reply]
    else:
        texts = [row.body if row is not None else "", *(one.body for one in on_lines)]
    if reply and not texts:
        raise NotFound
    return "\n\n".join(text for text in texts if text)


routes = [get_notice]
