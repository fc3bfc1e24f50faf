"""A client for the public API of the other services, which acts for one caller."""

import hashlib
from asyncio import gather
from collections.abc import Callable, Hashable, Mapping, Sequence
from itertools import accumulate
from typing import Any, NamedTuple, Protocol
from urllib.parse import quote, urlencode

import msgspec
from markupsafe import Markup

from ingot_chassis.errors import (
    Conflict,
    Denied,
    Invalid,
    NotAllowed,
    NotFound,
    Unauthenticated,
    Unavailable,
)
from ingot_chassis.peers.peers import TIMEOUT, Peers
from ingot_chassis.peers.transports import PeerAnswer
from ingot_contracts.identity.invitations import InvitationCode, LinkedInvitation
from ingot_contracts.issues.bulk_edits import EditIssues, EditOutcome, EditOutcomes
from ingot_contracts.issues.check_states import MOST_PULLS, PullCheckStates
from ingot_contracts.issues.choices import IssueChoices
from ingot_contracts.issues.conversations import IssueConversation
from ingot_contracts.issues.file_views import FileViews, ViewFile
from ingot_contracts.issues.head_comparisons import HeadComparison
from ingot_contracts.issues.reviews import PullReviews
from ingot_contracts.issues.rights import IssueRights
from ingot_contracts.rendering import (
    EXCERPT_CHARACTERS,
    FULL_PAGE,
    MOST_TEXTS,
    RenderedTexts,
    RenderTexts,
    plain_html,
)
from ingot_contracts.repos.conflicts import Conflicts, Resolution
from ingot_contracts.repos.front_pages import FrontPage
from ingot_contracts.repos.merges import UpdatedBranch
from ingot_contracts.repos.transfers import TransferOffers
from ingot_web.clients.shapes import complete, shape_of

API = "/api/v1"
ROWS = 50
"""Maximum number of rows that the API returns on one page of a list."""
SENT_CHARACTERS = 600_000
"""Maximum characters of texts that one request sends to be rendered."""
PAGE_HTML = 2_000_000
"""Characters of the HTML of all texts of a page."""
MOST_PAGES = 4
"""Maximum number of API pages of a list that is shown at once."""
NOTHING = (NotFound, Denied, Unauthenticated, Conflict, NotAllowed)
"""Errors that a page ignores: not found, denied, or not available in this repository."""
_TASK = '<input class="task-list-item-checkbox"'
_FOCUSED_PRE = '<pre tabindex="0"'
"""A block that scrolls. It can get the focus, so people without a mouse can scroll it."""
_NAMED_TASK = '<input aria-label="Done" class="task-list-item-checkbox"'
"""The checkbox of a task in a list. It gets a label for screen readers."""
Parameter = str | int | bool | list[str]
"""The value of a query parameter. A list is sent as several values."""


class TextCache(Protocol):
    """A cache of HTML by its source text."""

    def get(self, key: Hashable) -> Markup | None: ...

    def put(self, key: Hashable, html: Markup) -> None: ...


class ListPage(NamedTuple):
    """A page of a list, and the length of the list."""

    rows: list[Any]
    total: int


class Forge:
    """Client of the public API for the caller with the principal token ``principal``.

    Paths are API paths without their prefix; ``at`` quotes segments. Every method raises the ApiError in the
    service's response, or Unavailable. ``on_change`` is called after each change that was not rejected.
    """

    def __init__(
        self, peers: Peers, principal: str, rendered: TextCache, on_change: Callable[[], None]
    ) -> None:
        self._peers, self._principal, self._rendered, self._on_change = peers, principal, rendered, on_change
        self._share = self._colours = 1.0
        """The remaining share of the budget for rendering in this request."""

    async def get(self, service: str, path: str, /, **parameters: Parameter) -> Any:
        """Return the response as plain values. Missing fields get their defaults."""
        decoded = msgspec.json.decode((await self.answer(service, path, **parameters)).body)
        return _completed(decoded, path)

    async def get_if_there(self, service: str, path: str, /, **parameters: Parameter) -> Any:
        """Return the response like ``get``, or None for the errors in NOTHING."""
        try:
            return await self.get(service, path, **parameters)
        except NOTHING:
            return None

    async def listing(self, service: str, path: str, /, **parameters: Parameter) -> ListPage:
        """Return a page of a list."""
        answer = await self.answer(service, path, **parameters)
        rows = msgspec.json.decode(answer.body) or []
        rows = rows["data"] if isinstance(rows, dict) else rows
        return ListPage(_completed(rows, path), int(answer.headers.get("x-total-count", len(rows))))

    async def listing_if_there(self, service: str, path: str, /, **parameters: Parameter) -> ListPage:
        """Return the page like ``listing``, or an empty page for the errors in NOTHING."""
        try:
            return await self.listing(service, path, **parameters)
        except NOTHING:
            return ListPage([], 0)

    async def rows_if_there(self, service: str, path: str, /, **parameters: Parameter) -> list[Any] | None:
        """Return a whole list, for example for a menu, but at most MOST_PAGES pages.

        Return None for the errors in NOTHING.
        """
        try:
            first = await self.listing(service, path, limit=ROWS, **parameters)
        except NOTHING:
            return None
        last = min(MOST_PAGES, -(-first.total // ROWS))
        others = await gather(
            *(self.listing(service, path, page=page, limit=ROWS, **parameters) for page in range(2, last + 1))
        )
        return [*first.rows, *(row for other in others for row in other.rows)]

    async def is_there(self, service: str, path: str) -> bool:
        """True if the service responds with success, False for NotFound."""
        try:
            await self.answer(service, path)
        except NotFound:
            return False
        return True

    async def text(self, service: str, path: str, /, **parameters: Parameter) -> str:
        """Return the response as text."""
        answer = await self.answer(service, path, **parameters)
        return answer.body.decode("utf-8", "replace")

    async def answer(self, service: str, path: str, /, **parameters: Parameter) -> PeerAnswer:
        """Return the raw response."""
        return await self._peers[service].call("GET", _target(path, parameters), principal=self._principal)

    async def send(self, method: str, service: str, path: str, body: Any = None) -> Any:
        """Send a change. Return the response as plain values; None if it is empty.

        Raises the errors of ``change``.
        """
        answer = await self.change(method, service, path, body)
        is_json = answer.headers.get("content-type", "").startswith("application/json")
        return msgspec.json.decode(answer.body) if answer.body and is_json else None

    async def change(self, method: str, service: str, path: str, body: Any = None) -> PeerAnswer:
        """Send a change. Return the raw response.

        Raises Invalid if a segment of the path is empty, because the form lacks the name of an item.
        """
        if "" in path.split("/")[1:]:
            raise Invalid.field("name", "missing", "is empty; write it, and send the form again")
        answer = await self._peers[service].call(
            method, API + path, msgspec.json.encode({} if body is None else body), principal=self._principal
        )
        self._on_change()
        return answer

    async def upload(
        self,
        service: str,
        path: str,
        name: str,
        content: bytes,
        *,
        seconds: float = TIMEOUT,
        **parameters: Parameter,
    ) -> Any:
        """Send a file as the whole body. Return the response as plain values."""
        target = _target(path, {"name": name, **parameters})
        answer = await self._peers[service].call(
            "POST", target, content, principal=self._principal, timeout=seconds
        )
        self._on_change()
        return msgspec.json.decode(answer.body)

    async def offers(self) -> TransferOffers:
        """Return pending transfers of repositories that the caller can accept.

        Empty if repos runs an older release.
        """
        try:
            return await self._peers["repos"].get(
                "/internal/transfers", TransferOffers, principal=self._principal
            )
        except NotFound:
            return TransferOffers()

    async def front_page(self, repository: str) -> Any:
        """Return ``FrontPage`` as plain values, with the latest commit in the format of the API.

        None for the errors in NOTHING, or if repos runs an older release.
        """
        path = f"/internal/repos{repository}/front-page"
        try:
            page = msgspec.to_builtins(
                await self._peers["repos"].get(path, FrontPage, principal=self._principal)
            )
        except NOTHING:
            return None
        if latest := page["latest"]:
            author, committer = {"name": latest["author_name"]}, {"date": latest["committed_at"]}
            latest["commit"] = {"message": latest["message"], "author": author, "committer": committer}
        return page

    async def issue_choices(self, repository: str) -> Mapping[str, Any]:
        """Return the labels and milestones that issues can get, as plain values of ``IssueChoices``.

        Empty for the errors in NOTHING, or if issues runs an older release.
        """
        path = f"/internal/repos{repository}/issue-choices"
        try:
            choices = await self._peers["issues"].get(path, IssueChoices, principal=self._principal)
        except NOTHING:
            choices = IssueChoices()
        values: Mapping[str, Any] = msgspec.to_builtins(choices)
        return values

    async def invitation(self, code: str) -> LinkedInvitation | None:
        """Return the invitation of a link; None if it has ended, or if identity runs an older release."""
        path = f"/internal/invitations?{urlencode({'code': code})}"
        try:
            return await self._peers["identity"].get(path, LinkedInvitation, principal=self._principal)
        except NotFound:
            return None

    async def accept_invitation(self, code: str) -> LinkedInvitation:
        """Accept the invitation of a link for the caller. The link then stops working.

        Raises NotFound if the invitation has ended, and Denied if the inviter may no longer invite.
        """
        linked = await self.invitation(code)
        if linked is None:
            raise NotFound
        is_to_team = linked.kind == "team"
        service = "identity" if is_to_team else "repos"
        path = "/internal/team-invitations" if is_to_team else "/internal/invitations"
        answer = await self._peers[service].post(
            path, InvitationCode(code=code), LinkedInvitation, principal=self._principal
        )
        self._on_change()
        return answer

    async def conversation(self, repository: str, number: int, page: int, *, limit: int) -> Mapping[str, Any]:
        """Return a page of ``IssueConversation`` as plain values. Raises NotFound."""
        path = f"/internal/repos{repository}/issues/{number}/conversation?page={page}&limit={limit}"
        try:
            answer = await self._peers["issues"].call("GET", path, principal=self._principal)
        except NotFound:  # the issue is missing, or issues runs an older release
            return await self._assembled_conversation(f"/repos{repository}/issues/{number}", page, limit)
        values: Mapping[str, Any] = msgspec.json.decode(answer.body)
        complete(values, IssueConversation)
        return values

    async def _assembled_conversation(self, path: str, page: int, limit: int) -> Mapping[str, Any]:
        timeline, reactions, blockers, blocks, scheduled = await gather(
            self.listing("issues", f"{path}/timeline", page=page, limit=limit),
            self.get("issues", f"{path}/reactions/counts"),
            self.rows_if_there("issues", f"{path}/dependencies"),
            self.rows_if_there("issues", f"{path}/blocks"),
            self.get_if_there("issues", f"{path.replace('/issues/', '/pulls/')}/merge/scheduled"),
        )
        return {
            "timeline": timeline.rows,
            "total": timeline.total,
            "reactions": reactions,
            "blockers": blockers or [],
            "blocks": blocks or [],
            "scheduled_merge": scheduled,
        }

    async def reviews(self, repository: str, number: int) -> tuple[list[Any], ListPage]:
        """Return the reviews of a pull request, and its comments on lines, as in ``PullReviews``."""
        path = f"/internal/repos{repository}/pulls/{number}/reviews"
        try:
            answer = await self._peers["issues"].call("GET", path, principal=self._principal)
        except NotFound:  # the pull request is missing, or issues runs an older release
            return await self._assembled_reviews(f"/repos{repository}/pulls/{number}")
        values: dict[str, Any] = msgspec.json.decode(answer.body)
        complete(values, PullReviews)
        return values["reviews"], ListPage(values["comments"], values["comment_total"])

    async def _assembled_reviews(self, path: str) -> tuple[list[Any], ListPage]:
        first, comments = await gather(
            self.listing("issues", f"{path}/reviews", limit=ROWS),
            self.listing("issues", f"{path}/comments"),
        )
        last = -(-first.total // ROWS)
        others = await gather(
            *(
                self.listing("issues", f"{path}/reviews", page=page, limit=ROWS)
                for page in range(max(2, last - 1), last + 1)
            )
        )
        return [*first.rows, *(review for other in others for review in other.rows)], comments

    async def may_edit(self, repository: str, number: int) -> bool:
        """True if the caller may change an issue.

        Also True if issues runs an older release, which checks the change itself.
        """
        path = f"/internal/repos{repository}/issues/{number}/rights"
        try:
            return (await self._peers["issues"].get(path, IssueRights, principal=self._principal)).may_edit
        except NotFound:
            return True

    async def edit_issues(self, repository: str, edit: EditIssues) -> list[EditOutcome]:
        """Change many issues. Return the outcome of each. Raises the errors of ``change``."""
        path = f"/internal/repos{repository}/issues/edits"
        edited = await self._peers["issues"].post(path, edit, EditOutcomes, principal=self._principal)
        self._on_change()
        return edited.outcomes

    async def add_check_states(self, *lists: Sequence[dict[str, Any]]) -> None:
        """Set ``check_state`` of the open pull requests in lists of issues: that of the checks of the head.

        It is success, pending or failure. Without checks, or if issues cannot answer, it is not set.
        """
        pulls = [one for rows in lists for one in rows if one["pull_request"] and one["state"] == "open"]
        ids = sorted({one["id"] for one in pulls})
        for first in range(0, len(ids), MOST_PULLS):
            question = PullCheckStates(ids=ids[first : first + MOST_PULLS])
            try:
                answer = await self._peers["issues"].post(
                    "/internal/pull-check-states", question, PullCheckStates, principal=self._principal
                )
            except (*NOTHING, Unavailable):
                return
            for one in pulls:
                if state := answer.states.get(one["id"]):
                    one["check_state"] = state

    async def file_views(self, repository: str, number: int) -> Mapping[str, str] | None:
        """Return the files of a pull request that the caller has viewed, as in ``FileViews``.

        None for the errors in NOTHING, or if issues runs an older release.
        """
        path = f"/internal/repos{repository}/pulls/{number}/file-views"
        try:
            views = await self._peers["issues"].get(path, FileViews, principal=self._principal)
        except NOTHING:
            return None
        return views.changes

    async def view_file(self, repository: str, number: int, view: ViewFile) -> None:
        """Mark a file as viewed by the caller, or remove the mark."""
        path = f"/internal/repos{repository}/pulls/{number}/file-views"
        await self._peers["issues"].call("PUT", path, msgspec.json.encode(view), principal=self._principal)
        self._on_change()

    async def conflicts(self, repository: str, number: int) -> Conflicts:
        """Return the conflicts of a pull request. The caller needs write access to its head branch."""
        path = f"/internal/repos{repository}/pulls/{number}/conflicts"
        return await self._peers["issues"].get(path, Conflicts, principal=self._principal)

    async def resolve_conflicts(self, repository: str, number: int, resolution: Resolution) -> None:
        """Commit the merge of a pull request with resolved conflicts. Raises the errors of ``change``."""
        path = f"/internal/repos{repository}/pulls/{number}/conflicts"
        await self._peers["issues"].post(path, resolution, UpdatedBranch, principal=self._principal)
        self._on_change()

    async def head_comparison(self, repository: str, number: int, old: str, new: str) -> HeadComparison:
        """Return the heads of a pull request. Compare two of them unless ``old`` and ``new`` are empty."""
        query = f"?{urlencode({'old': old, 'new': new})}" if old or new else ""
        path = f"/internal/repos{repository}/pulls/{number}/range-diff{query}"
        return await self._peers["issues"].get(path, HeadComparison, principal=self._principal)

    async def render(
        self, texts: Sequence[str], *, context: str, images: str = "", wiki: bool = False
    ) -> list[Markup]:
        """Return Markdown as sanitized HTML, rendered by issues.

        ``context``, ``images`` and ``wiki`` have the meaning of RenderTexts. All texts of a request share one
        budget, shortest texts first. Texts that exceed it are shown as plain text.
        """
        keys = {
            text: (hashlib.sha256(text.encode("utf-8", "replace")).digest(), context, images, wiki)
            for text in sorted({*texts} - {""}, key=lambda text: (len(text), text))
        }
        shown = {text: html for text, key in keys.items() if (html := self._rendered.get(key)) is not None}
        new = await self._rendered_now([text for text in keys if text not in shown], context, images, wiki)
        for text, (rendered, stays) in new.items():
            named = rendered.replace(_TASK, _NAMED_TASK).replace("<pre", _FOCUSED_PRE)
            html = Markup(named)  # noqa: S704 - issues sanitizes it
            shown[text] = html
            if stays:
                self._rendered.put(keys[text], html)
        room = PAGE_HTML
        for text in keys:
            room -= len(shown.get(text, ""))
            if text not in shown or room < 0:
                shown[text] = Markup(plain_html(text, FULL_PAGE, EXCERPT_CHARACTERS))  # noqa: S704 - escaped
        return [shown.get(text, Markup()) for text in texts]

    async def _rendered_now(
        self, texts: list[str], context: str, images: str, wiki: bool
    ) -> dict[str, tuple[str, bool]]:
        """Return the HTML of each text, and True if the HTML may be cached.

        Texts are sent to issues in several requests. Texts that are too large for a request are omitted.
        """
        html: dict[str, tuple[str, bool]] = {}
        sizes = accumulate(len(text) for text in texts)
        sent = [text for text, size in zip(texts, sizes, strict=True) if size <= SENT_CHARACTERS] or texts[:1]
        for start in range(0, len(sent), MOST_TEXTS):
            batch = sent[start : start + MOST_TEXTS]
            body = RenderTexts(
                texts=[text[:SENT_CHARACTERS] for text in batch],  # a longer one is not rendered anyway
                context=context,
                images=images,
                wiki=wiki,
                share=self._share,
                colours=self._colours,
            )
            rendered = await self._peers["issues"].post("/internal/markdown", body, RenderedTexts)
            self._share, self._colours = rendered.share, rendered.colours
            stays = [place not in rendered.plain for place in range(len(batch))]
            html |= dict(zip(batch, zip(rendered.html, stays, strict=True), strict=True))
        return html


def at(*segments: str | int) -> str:
    """Return the path of these segments. Slashes inside a segment are quoted."""
    return "".join(f"/{quote(str(segment), safe='')}" for segment in segments)


def _completed(answer: Any, path: str) -> Any:
    if (shape := shape_of(path)) is not None:
        complete(answer, shape)
    return answer


def _target(path: str, parameters: Mapping[str, Parameter]) -> str:
    query = urlencode(
        {
            name: str(value).lower() if isinstance(value, bool) else value
            for name, value in parameters.items()
        },
        doseq=True,
    )
    return f"{API}{path}?{query}" if query else API + path
