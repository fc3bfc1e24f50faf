"""Routes for releases: list, release of a tag, publication with files, editing, deletion."""

from typing import Any
from urllib.parse import quote

from litestar import Response, get, post

from ingot_chassis.errors import ApiError, Invalid
from ingot_chassis.http.policy import anyone
from ingot_web.clients.forge import at
from ingot_web.forms.rules.fields import Form
from ingot_web.pages.api.feeds import feed
from ingot_web.pages.api.request import WebRequest
from ingot_web.repositories.api.frames import RepositoryFrame

SHOWN = 10
LABELS = {
    "tag_name": "Tag",
    "target_commitish": "Branch of a new tag",
    "name": "Title",
    "body": "What is new",
}
"""Labels of the form's fields by their API names."""


@get("/{owner:str}/{repo:str}/releases", policy=anyone(), include_in_schema=False)
async def releases(request: WebRequest) -> Response[str]:
    """List all releases, latest first."""
    frame = RepositoryFrame(request)
    (listing,) = await frame.load(
        frame.forge.listing("repos", frame.api("releases"), page=request.number, limit=SHOWN)
    )
    return await _page(frame, "Releases", listing.rows, request.pages_of(listing.total, SHOWN))


@get(
    ["/{owner:str}/{repo:str}/releases.atom", "/{owner:str}/{repo:str}/releases.rss"],
    policy=anyone(),
    include_in_schema=False,
)
async def latest(request: WebRequest) -> Response[str]:
    """Return the latest releases as a feed."""
    frame = RepositoryFrame(request)
    (listing,) = await frame.load(
        frame.forge.listing("repos", frame.api("releases"), limit=SHOWN, draft=False)
    )
    entries = [
        {
            "title": release["name"] or release["tag_name"],
            "url": release["html_url"],
            "time": release["published_at"] or release["created_at"],
            "author": release["author"]["login"],
            "text": release["body"],
        }
        for release in listing.rows
    ]
    kind = request.scope["path"].rpartition(".")[2]
    name = frame.repository["full_name"]
    return feed(request, kind, f"Releases of {name}", f"/{name}/releases", entries)


@get("/{owner:str}/{repo:str}/releases/tag/{tag:path}", policy=anyone(), include_in_schema=False)
async def by_tag(request: WebRequest) -> Response[str]:
    """Show the release of a tag."""
    frame = RepositoryFrame(request)
    tag = request.rest(4)
    (release,) = await frame.load(frame.forge.get("repos", frame.api("releases", "tags", *tag.split("/"))))
    return await _page(frame, release["name"] or tag, [release], request.pages_of(1, SHOWN))


async def _page(frame: RepositoryFrame, title: str, releases: list[Any], pages: Any) -> Response[str]:
    texts = await frame.forge.render(
        [release["body"] for release in releases], context=frame.repository["full_name"]
    )
    return frame.render(
        "releases/list.html",
        tab="releases",
        title=title,
        releases=list(zip(releases, texts, strict=True)),
        pages=pages,
    )


@get("/{owner:str}/{repo:str}/releases/new", policy=anyone(), include_in_schema=False)
async def new(request: WebRequest) -> Response[str]:
    """Show the form of a new release."""
    request.require_signed_in()
    frame = RepositoryFrame(request)
    page = await _new_page(frame, Form())
    frame.require_push("you may not make releases here")
    return page


async def _new_page(frame: RepositoryFrame, form: Form, problem: ApiError | None = None) -> Response[str]:
    (tags,) = await frame.load(frame.forge.listing("repos", frame.api("tags"), limit=50))
    return _form_page(frame, "new", "New release", form, problem, tags=tags.rows)


def _in_labels(problem: ApiError) -> str:
    """Return the errors of fields, with the labels of the form."""
    words = problem.message
    for fault in problem.errors:
        words = words.replace(f"{fault.field}: ", f"{LABELS.get(fault.field, fault.field)}: ")
    return words


def _form_page(
    frame: RepositoryFrame, act: str, title: str, form: Form, problem: ApiError | None, **values: Any
) -> Response[str]:
    """Return the form of a release. ``act`` is the end of its URL."""
    return frame.render(
        "releases/form.html",
        tab="releases",
        title=title,
        heading=title,
        error=problem,
        problem=_in_labels(problem) if problem else "",
        act=act,
        form=form,
        **{"tags": [], "assets": [], **values},
    )


@post("/{owner:str}/{repo:str}/releases/new", policy=anyone(), include_in_schema=False)
async def create(request: WebRequest) -> Response[Any]:
    """Publish a release with its files, or save it as a draft."""
    form, frame = await request.sent_form(), RepositoryFrame(request)
    body = {"tag_name": form.text("tag"), "target_commitish": form.text("target"), **_words(form)}
    try:
        release = await frame.forge.send("POST", "repos", frame.api("releases"), body)
    except ApiError as error:
        return await _new_page(frame, form, error)
    return await _with_files(frame, form, release)


def _words(form: Form) -> dict[str, Any]:
    return {
        "name": form.text("name"),
        "body": form.lines("body"),
        "draft": form.has("draft"),
        "prerelease": form.has("prerelease"),
    }


async def _with_files(frame: RepositoryFrame, form: Form, release: Any) -> Response[Any]:
    """Upload the files of a form to a release.

    If a file is rejected, show the edit page of the release. Files uploaded before it stay.
    """
    try:
        for file in form.files:
            path = frame.api("releases", release["id"], "assets")
            await frame.forge.upload("repos", path, file.name, file.content)
    except ApiError as error:
        problem = Invalid(f"the release is there, but not all of its files: {error.message}")
        return await _edit_page(frame, release["tag_name"], problem)
    return frame.redirect("/releases")


@get("/{owner:str}/{repo:str}/releases/edit/{tag:path}", policy=anyone(), include_in_schema=False)
async def edit(request: WebRequest) -> Response[str]:
    """Show the form to edit an existing release, with its files."""
    request.require_signed_in()
    frame = RepositoryFrame(request)
    page = await _edit_page(frame, request.rest(4))
    frame.require_push("you may not change releases here")
    return page


async def _edit_page(
    frame: RepositoryFrame, tag: str, problem: ApiError | None = None, form: Form | None = None
) -> Response[str]:
    (release,) = await frame.load(frame.forge.get("repos", _tag_path(frame, tag)))
    pairs = [(name, release[name] or "") for name in ("name", "body")]
    pairs += [(name, "1") for name in ("draft", "prerelease") if release[name]]
    title = f"Change {release['name'] or tag}"
    return _form_page(
        frame, f"edit/{tag}", title, form or Form(pairs), problem, assets=release["assets"] or []
    )


def _tag_path(frame: RepositoryFrame, tag: str) -> str:
    return frame.api("releases", "tags", *tag.split("/"))


@post("/{owner:str}/{repo:str}/releases/edit/{tag:path}", policy=anyone(), include_in_schema=False)
async def save(request: WebRequest) -> Response[Any]:
    """Change a release, add files to it, or remove a file. Title and text cannot be emptied."""
    form, frame = await request.sent_form(), RepositoryFrame(request)
    tag = request.rest(4)
    try:
        release = await frame.forge.get("repos", _tag_path(frame, tag))
        path = frame.api("releases", release["id"])
        if form.has("remove"):
            await frame.forge.send("DELETE", "repos", f"{path}/assets{at(form.text('remove'))}")
            return frame.redirect(f"/releases/edit/{quote(tag)}")
        words = _words(form)
        for name in ("name", "body"):
            # The API leaves what comes empty as it is.
            if release[name] and not words[name]:
                raise Invalid(f"“{LABELS[name]}” can be changed, but not emptied; nothing was saved")
        await frame.forge.send("PATCH", "repos", path, words)
    except ApiError as error:
        return await _edit_page(frame, tag, error, form)
    return await _with_files(frame, form, release)


@post("/{owner:str}/{repo:str}/releases/delete", policy=anyone(), include_in_schema=False)
async def delete(request: WebRequest) -> Response[bytes]:
    """Delete a release. Its tag is not deleted."""
    form, frame = await request.sent_form(), RepositoryFrame(request)
    await frame.forge.send("DELETE", "repos", frame.api("releases", form.text("id")))
    return frame.redirect("/releases")


routes = [releases, latest, by_tag, new, create, edit, save, delete]
