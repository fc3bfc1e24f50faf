"""Releases of a repository: the list, one of them by its tag, publishing and removing one."""

from typing import Any

from litestar import Response, get, post

from ingot_chassis.errors import ApiError
from ingot_chassis.http.policy import anyone
from ingot_web.api.frames import RepositoryFrame
from ingot_web.api.request import Form, WebRequest

SHOWN = 10


@get("/{owner:str}/{repo:str}/releases", policy=anyone(), include_in_schema=False)
async def releases(request: WebRequest) -> Response[str]:
    """All releases, newest first."""
    frame = RepositoryFrame(request)
    (listing,) = await frame.load(
        frame.forge.listing("repos", frame.api("releases"), page=request.number, limit=SHOWN)
    )
    return await _page(frame, "Releases", listing.rows, request.pages_of(listing.total, SHOWN))


@get("/{owner:str}/{repo:str}/releases.atom", policy=anyone(), include_in_schema=False)
async def feed(request: WebRequest) -> Response[str]:
    """The latest releases as an Atom feed."""
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
    return frame.feed(f"Releases of {frame.repository['full_name']}", entries)


@get("/{owner:str}/{repo:str}/releases/tag/{tag:path}", policy=anyone(), include_in_schema=False)
async def by_tag(request: WebRequest) -> Response[str]:
    """The release of a tag."""
    frame = RepositoryFrame(request)
    tag = request.rest(4)
    (release,) = await frame.load(frame.forge.get("repos", frame.api("releases", "tags", *tag.split("/"))))
    return await _page(frame, release["name"] or tag, [release], request.pages_of(1, SHOWN))


async def _page(frame: RepositoryFrame, title: str, releases: list[Any], pages: Any) -> Response[str]:
    texts = await frame.forge.render(
        [release["body"] for release in releases], context=frame.repository["full_name"]
    )
    return frame.render(
        "repository/releases.html",
        tab="releases",
        title=title,
        releases=list(zip(releases, texts, strict=True)),
        pages=pages,
    )


@get("/{owner:str}/{repo:str}/releases/new", policy=anyone(), include_in_schema=False)
async def new(request: WebRequest) -> Response[str]:
    """The form of a new release."""
    request.require_signed_in()
    return await _new_page(RepositoryFrame(request), Form())


async def _new_page(frame: RepositoryFrame, form: Form, problem: ApiError | None = None) -> Response[str]:
    (tags,) = await frame.load(frame.forge.listing("repos", frame.api("tags"), limit=50))
    return frame.render(
        "repository/new_release.html",
        tab="releases",
        title="New release",
        status=problem.status if problem else 200,
        problem=problem.message if problem else "",
        form=form,
        tags=tags.rows,
    )


@post("/{owner:str}/{repo:str}/releases/new", policy=anyone(), include_in_schema=False)
async def create(request: WebRequest) -> Response[Any]:
    """Publish a release, or keep it as a draft."""
    form, frame = await request.sent_form(), RepositoryFrame(request)
    body = {
        "tag_name": form.text("tag"),
        "target_commitish": form.text("target"),
        "name": form.text("name"),
        "body": form.lines("body"),
        "draft": form.has("draft"),
        "prerelease": form.has("prerelease"),
    }
    try:
        await frame.forge.send("POST", "repos", frame.api("releases"), body)
    except ApiError as error:
        return await _new_page(frame, form, error)
    return frame.redirect("/releases")


@post("/{owner:str}/{repo:str}/releases/delete", policy=anyone(), include_in_schema=False)
async def delete(request: WebRequest) -> Response[bytes]:
    """Remove a release; its tag stays."""
    form, frame = await request.sent_form(), RepositoryFrame(request)
    await frame.forge.send("DELETE", "repos", frame.api("releases", form.text("id")))
    return frame.redirect("/releases")


routes = [releases, feed, by_tag, new, create, delete]
