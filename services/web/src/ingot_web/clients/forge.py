"""The other services behind the pages: their public API, asked for one caller."""

import hashlib
from asyncio import gather
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any, NamedTuple, Protocol
from urllib.parse import quote, urlencode

import msgspec
from markupsafe import Markup

from ingot_chassis.errors import Conflict, Denied, Invalid, NotAllowed, NotFound, Unauthenticated
from ingot_chassis.peers.peers import Peers
from ingot_chassis.peers.transports import PeerAnswer
from ingot_contracts.file_views import FileViews, ViewFile
from ingot_contracts.issue_rights import IssueRights
from ingot_contracts.issues import MOST_TEXTS, RenderedTexts, RenderTexts
from ingot_contracts.transfers import TransferOffers

API = "/api/v1"
ROWS = 50
"""The most that the API answers on one page of a list."""
MOST_PAGES = 4
"""Of a list that is shown at once."""
NOTHING = (NotFound, Denied, Unauthenticated, Conflict, NotAllowed)
"""What a page leaves out: the caller does not find it or may not see it, or the repository has none."""
_TASK = '<input class="task-list-item-checkbox"'
_NAMED_TASK = '<input aria-label="Done" class="task-list-item-checkbox"'
"""The box of a task in a list has no words of its own for those who hear a page."""
Parameter = str | int | bool | list[str]
"""The value of a parameter; each text of a list is a value of its own."""


class TextCache(Protocol):
    """Keeps HTML by what it was made of."""

    def get(self, key: Hashable) -> Markup | None: ...

    def put(self, key: Hashable, html: Markup) -> None: ...


class ListPage(NamedTuple):
    """One page of a list, and how many there are."""

    rows: list[Any]
    total: int


class Forge:
    """What services answer to the caller whose principal token is ``principal``.

    A path is one of the public API without its prefix; its segments are quoted by ``at``. Every method raises the
    ApiError that the service answered, or Unavailable. ``on_change`` is called after each change that was not refused.
    """

    def __init__(
        self, peers: Peers, principal: str, rendered: TextCache, on_change: Callable[[], None]
    ) -> None:
        self._peers, self._principal, self._rendered, self._on_change = peers, principal, rendered, on_change

    async def get(self, service: str, path: str, /, **parameters: Parameter) -> Any:
        """The answer as plain values."""
        return msgspec.json.decode((await self.answer(service, path, **parameters)).body)

    async def get_if_there(self, service: str, path: str, /, **parameters: Parameter) -> Any:
        """The same; None for NOTHING."""
        try:
            return await self.get(service, path, **parameters)
        except NOTHING:
            return None

    async def listing(self, service: str, path: str, /, **parameters: Parameter) -> ListPage:
        """A page of a list."""
        answer = await self.answer(service, path, **parameters)
        rows = msgspec.json.decode(answer.body) or []
        rows = rows["data"] if isinstance(rows, dict) else rows
        return ListPage(rows, int(answer.headers.get("x-total-count", len(rows))))

    async def listing_if_there(self, service: str, path: str, /, **parameters: Parameter) -> ListPage:
        """The same; empty for NOTHING."""
        try:
            return await self.listing(service, path, **parameters)
        except NOTHING:
            return ListPage([], 0)

    async def rows_if_there(self, service: str, path: str, /, **parameters: Parameter) -> list[Any] | None:
        """A list that no page cuts, as for a menu: of a very long one the first MOST_PAGES pages. None for NOTHING."""
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
        """Whether the service answers with success and not that there is nothing."""
        try:
            await self.answer(service, path)
        except NotFound:
            return False
        return True

    async def text(self, service: str, path: str, /, **parameters: Parameter) -> str:
        """The answer as text."""
        answer = await self.answer(service, path, **parameters)
        return answer.body.decode("utf-8", "replace")

    async def answer(self, service: str, path: str, /, **parameters: Parameter) -> PeerAnswer:
        """The answer as it came."""
        return await self._peers[service].call("GET", _target(path, parameters), principal=self._principal)

    async def send(self, method: str, service: str, path: str, body: Any = None) -> Any:
        """Change something; the answer as plain values, None where there is none. Raises as ``change``."""
        answer = await self.change(method, service, path, body)
        is_json = answer.headers.get("content-type", "").startswith("application/json")
        return msgspec.json.decode(answer.body) if answer.body and is_json else None

    async def change(self, method: str, service: str, path: str, body: Any = None) -> PeerAnswer:
        """Change something; the answer as it came.

        Raises Invalid where a field of a form that names what is to change was left empty.
        """
        if "" in path.split("/")[1:]:
            raise Invalid.field("name", "missing", "is empty; write it, and send the form again")
        answer = await self._peers[service].call(
            method, API + path, msgspec.json.encode({} if body is None else body), principal=self._principal
        )
        self._on_change()
        return answer

    async def upload(self, service: str, path: str, name: str, content: bytes) -> Any:
        """Send a file as the whole body; the answer as plain values."""
        answer = await self._peers[service].call(
            "POST", _target(path, {"name": name}), content, principal=self._principal
        )
        self._on_change()
        return msgspec.json.decode(answer.body)

    async def offers(self) -> TransferOffers:
        """The transfers of repositories that wait for the caller's answer; none of a repos of an older release."""
        try:
            return await self._peers["repos"].get(
                "/internal/transfers", TransferOffers, principal=self._principal
            )
        except NotFound:
            return TransferOffers()

    async def may_edit(self, repository: str, number: int) -> bool:
        """Whether the caller may change an issue; True for an issues of an older release, which refuses it itself."""
        path = f"/internal/repos{repository}/issues/{number}/rights"
        try:
            return (await self._peers["issues"].get(path, IssueRights, principal=self._principal)).may_edit
        except NotFound:
            return True

    async def file_views(self, repository: str, number: int) -> Mapping[str, str] | None:
        """What the caller has looked at of a pull request, as ``FileViews``; None for NOTHING, or issues of an older release."""
        path = f"/internal/repos{repository}/pulls/{number}/file-views"
        try:
            views = await self._peers["issues"].get(path, FileViews, principal=self._principal)
        except NOTHING:
            return None
        return views.changes

    async def view_file(self, repository: str, number: int, view: ViewFile) -> None:
        """Note that the caller has looked at a file, or has not."""
        path = f"/internal/repos{repository}/pulls/{number}/file-views"
        await self._peers["issues"].call("PUT", path, msgspec.json.encode(view), principal=self._principal)
        self._on_change()

    async def render(self, texts: Sequence[str], *, context: str, images: str = "") -> list[Markup]:
        """Markdown as sanitized HTML, made by the service that owns it. ``context`` and ``images`` as in RenderTexts."""
        keys = [(hashlib.sha256(text.encode("utf-8", "replace")).digest(), context, images) for text in texts]
        html_by_key = {key: self._rendered.get(key) for key in keys}
        missing = {
            key: text for key, text in zip(keys, texts, strict=True) if text and html_by_key[key] is None
        }
        new = await self._rendered_now(list(missing.values()), context=context, images=images)
        for key, (text, stays) in zip(missing, new, strict=True):
            html = Markup(text.replace(_TASK, _NAMED_TASK))  # noqa: S704 - issues sanitizes it
            html_by_key[key] = html
            if stays:
                self._rendered.put(key, html)
        return [html_by_key[key] or Markup() for key in keys]

    async def _rendered_now(self, texts: list[str], *, context: str, images: str) -> list[tuple[str, bool]]:
        """HTML as issues makes it, of as many texts at a time as it takes, and whether it stays so."""
        html: list[tuple[str, bool]] = []
        for start in range(0, len(texts), MOST_TEXTS):
            body = RenderTexts(texts=texts[start : start + MOST_TEXTS], context=context, images=images)
            rendered = await self._peers["issues"].post("/internal/markdown", body, RenderedTexts)
            html += [(text, place not in rendered.plain) for place, text in enumerate(rendered.html)]
        return html


def at(*segments: str | int) -> str:
    """A path of these segments; slashes inside one are quoted, too."""
    return "".join(f"/{quote(str(segment), safe='')}" for segment in segments)


def _target(path: str, parameters: Mapping[str, Parameter]) -> str:
    query = urlencode(
        {
            name: str(value).lower() if isinstance(value, bool) else value
            for name, value in parameters.items()
        },
        doseq=True,
    )
    return f"{API}{path}?{query}" if query else API + path
