"""Routes for pages of a wiki: reading, search, history, editing, deletion."""

from base64 import b64decode, b64encode
from typing import Any
from urllib.parse import quote, unquote_plus

from litestar import Response, get, post

from ingot_chassis.errors import ApiError, Denied, Invalid, NotFound
from ingot_chassis.http.policy import anyone
from ingot_web.forms.rules.fields import Form
from ingot_web.pages.api.request import WebRequest
from ingot_web.repositories.api.frames import RepositoryFrame

HOME, SIDEBAR, FOOTER = "Home", "_Sidebar", "_Footer"
PARTS = (SIDEBAR, FOOTER)
"""Pages that are shown as parts of every other page."""
SHOWN = 50
SHARED = "/{owner:str}/{repo:str}/wiki"
ACTIONS = {"_edit": "_edit/{}", "_revision": "_history/{}", "_new": "_new", "_pages": "_pages"}
"""Actions in URLs of Gitea, with the URLs here."""


@get([SHARED, f"{SHARED}/{{page:path}}"], policy=anyone(), include_in_schema=False)
async def page(request: WebRequest) -> Response[Any]:
    """Show a page, by default the home page, with sidebar and footer."""
    frame, named = RepositoryFrame(request), _address(request, 3)
    address = named or HOME
    action = ACTIONS.get(request.query_params.get("action", ""))
    if action is not None:
        return request.redirect(f"{frame.base}/wiki/{action.format(address)}")
    ref = request.query_params.get("ref", "")
    (answer,) = await frame.load(_get(frame, address, ref))
    _require_wiki(frame)
    if answer is None:
        if ref or (named and not _may_write(frame)):
            raise NotFound("there is no such page")
        return frame.render(
            "wiki/missing.html",
            tab="wiki",
            status=404 if named else 200,
            title="Wiki",
            page_title=_title(address),
            may_write=_may_write(frame),
        )
    names = ("content_base64", "sidebar", "footer")
    texts = [_text(answer[name]) for name in names]
    if answer["sub_url"] in PARTS:
        texts[1:] = ["", ""]
    content, sidebar, footer = await frame.forge.render(
        texts, context=frame.repository["full_name"], wiki=True
    )
    return frame.render(
        "wiki/page.html",
        tab="wiki",
        title=answer["title"],
        page=answer,
        content=content,
        sidebar=sidebar,
        footer=footer,
        ref=ref,
        may_write=_may_write(frame),
    )


@get(f"{SHARED}/_pages", policy=anyone(), include_in_schema=False)
async def pages(request: WebRequest) -> Response[str]:
    """List all pages by name, or pages whose title or content contains a text."""
    frame, text = RepositoryFrame(request), request.query_params.get("q", "").strip()
    (listing,) = await frame.load(
        frame.forge.listing_if_there(
            "repos", frame.api("wiki", "pages"), page=request.number, limit=SHOWN, q=text
        )
    )
    _require_wiki(frame)
    return frame.render(
        "wiki/pages.html",
        tab="wiki",
        title="Pages of the wiki",
        listing=listing,
        pages=request.pages_of(listing.total, SHOWN),
        text=text,
        may_write=_may_write(frame),
    )


@get(f"{SHARED}/_history/{{page:path}}", policy=anyone(), include_in_schema=False)
async def history(request: WebRequest) -> Response[str]:
    """List the commits that changed a page."""
    frame, address = RepositoryFrame(request), _address(request, 4)
    path = _path(frame, address, "revisions")
    (revisions,) = await frame.load(frame.forge.get("repos", path, page=request.number, limit=SHOWN))
    _require_wiki(frame)
    return frame.render(
        "wiki/history.html",
        tab="wiki",
        title=f"History of {_title(address)}",
        page_title=_title(address),
        page_address=address,
        commits=revisions["commits"] or [],
        pages=request.pages_of(revisions["count"], SHOWN),
    )


@get(f"{SHARED}/_new", policy=anyone(), include_in_schema=False)
async def new(request: WebRequest) -> Response[str]:
    """Show the form of a new page."""
    request.require_signed_in()
    frame = RepositoryFrame(request)
    await _begin(frame)
    return await _form_page(frame, "_new", Form([("title", request.query_params.get("title", ""))]))


@post(f"{SHARED}/_new", policy=anyone(), include_in_schema=False)
async def create(request: WebRequest) -> Response[Any]:
    """Create a page."""
    form, frame = await request.sent_form(), RepositoryFrame(request)
    await _begin(frame)
    if form.has("preview"):
        return await _form_page(frame, "_new", form)
    try:
        created = await frame.forge.send("POST", "repos", frame.api("wiki", "new"), _body(form))
    except ApiError as error:
        return await _form_page(frame, "_new", form, error)
    return frame.redirect(f"/wiki/{created['sub_url']}")


@get(f"{SHARED}/_edit/{{page:path}}", policy=anyone(), include_in_schema=False)
async def edit(request: WebRequest) -> Response[str]:
    """Show the form of an existing page."""
    request.require_signed_in()
    frame, address = RepositoryFrame(request), _address(request, 4)
    await _begin(frame)
    answer = await _get(frame, address)
    if answer is None:
        raise NotFound("there is no such page")
    values = {
        "title": answer["title"],
        "content": _text(answer["content_base64"]),
        "sha": answer["last_commit"]["sha"],
    }
    return await _form_page(frame, f"_edit/{answer['sub_url']}", Form(list(values.items())))


@post(f"{SHARED}/_edit/{{page:path}}", policy=anyone(), include_in_schema=False)
async def save(request: WebRequest) -> Response[Any]:
    """Change content or title of a page."""
    form, frame = await request.sent_form(), RepositoryFrame(request)
    address = _address(request, 4)
    await _begin(frame)
    if form.has("preview"):
        return await _form_page(frame, f"_edit/{address}", form)
    body = _body(form) | {"sha": form.text("sha")}
    try:
        if not body["title"]:
            raise Invalid.field("title", "required", "is required")
        changed = await frame.forge.send("PATCH", "repos", _path(frame, address), body)
    except ApiError as error:
        return await _form_page(frame, f"_edit/{address}", form, error)
    return frame.redirect(f"/wiki/{changed['sub_url']}")


@post(f"{SHARED}/_delete/{{page:path}}", policy=anyone(), include_in_schema=False)
async def delete(request: WebRequest) -> Response[Any]:
    """Delete a page."""
    await request.sent_form()
    frame = RepositoryFrame(request)
    await frame.forge.send("DELETE", "repos", _path(frame, _address(request, 4)))
    return frame.redirect("/wiki/_pages")


def _address(request: WebRequest, segments: int) -> str:
    """Return the quoted address of a page after ``segments`` segments of the path. It may contain slashes."""
    path = request.scope["raw_path"].decode("ascii", "replace").strip("/")
    return "/".join(path.split("/")[segments:])


def _path(frame: RepositoryFrame, address: str, of: str = "page") -> str:
    """Return the API path of a page. ``address`` is already quoted; ``+`` is a space. Raises NotFound."""
    if not address:
        raise NotFound
    return frame.api("wiki", of) + "/" + quote(address, safe="%+")


async def _get(frame: RepositoryFrame, address: str, ref: str = "") -> Any:
    query = {"ref": ref} if ref else {}
    return await frame.forge.get_if_there("repos", _path(frame, address), **query)


def _title(address: str) -> str:
    """Return a title for headings and forms, guessed from the address.

    Only the API can map addresses to pages.
    """
    return unquote_plus(address.removesuffix(".-") if address.endswith(".-") else address.replace("-", " "))


def _text(content: str) -> str:
    return b64decode(content).decode("utf-8", "replace")


def _body(form: Form) -> dict[str, str]:
    content = form.lines("content")
    return {
        "title": form.text("title"),
        "content_base64": b64encode(content.encode()).decode(),
        "message": form.text("message"),
    }


def _require_wiki(frame: RepositoryFrame) -> None:
    """Raise NotFound if the wiki is disabled. Needs ``load``."""
    if not frame.repository["has_wiki"]:
        raise NotFound


def _may_write(frame: RepositoryFrame) -> bool:
    """True if the caller may change pages. Needs ``load``."""
    permissions = frame.repository["permissions"]
    may_push = frame.request.principal.signed_in and permissions and permissions["push"]
    return bool(may_push and not frame.repository["archived"])


async def _begin(frame: RepositoryFrame) -> None:
    """Load the repository of a form. Raises NotFound, and Denied if the caller may not change pages."""
    await frame.load()
    _require_wiki(frame)
    if not _may_write(frame):
        raise Denied("you may not change pages here")


async def _form_page(
    frame: RepositoryFrame, act: str, form: Form, problem: ApiError | None = None
) -> Response[str]:
    """Return the form of a page. ``act`` is the end of its URL."""
    preview = ""
    if form.has("preview"):
        (preview,) = await frame.forge.render(
            [form.lines("content")], context=frame.repository["full_name"], wiki=True
        )
    heading = "New page" if act == "_new" else f"Edit {_title(act.removeprefix('_edit/'))}"
    return frame.render(
        "wiki/form.html",
        tab="wiki",
        title=heading,
        heading=heading,
        error=problem,
        act=act,
        form=form,
        preview=preview,
    )


routes = [page, pages, history, new, create, edit, save, delete]
