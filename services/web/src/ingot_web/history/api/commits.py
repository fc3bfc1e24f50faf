"""Routes for history: commits and their feeds, and one commit and its revert."""

from typing import Any
from urllib.parse import quote

from litestar import Response, get, post

from ingot_chassis.errors import ApiError, Conflict, NotFound
from ingot_chassis.http.policy import anyone
from ingot_web.clients.forge import ListPage, Parameter
from ingot_web.diffs.api.changes import MORE_FILES, read_diff, text_page
from ingot_web.forms.rules.fields import Form
from ingot_web.pages.api.feeds import feed
from ingot_web.pages.api.request import WebRequest
from ingot_web.pages.rules.templates import subject
from ingot_web.repositories.api.frames import NamedRef, RepositoryFrame, full_id, name_in_git

COMMITS = 30
"""Number of commits on one page of a list."""
FEEDS = ("atom", "rss")
"""Kinds of feeds: endings of a URL of commits, or its third segment."""
TEXTS = (".diff", ".patch")
"""Endings of the URL of a commit as text."""
LISTED = {"stat": False, "files": False, "verification": False}
"""Parts of commits that a list omits."""


@get("/{owner:str}/{repo:str}/commits/{ref:path}", policy=anyone(), include_in_schema=False)
async def commits(request: WebRequest) -> Response[Any]:
    """List commits of a branch, tag or commit, filtered by path and author.

    Return a feed if the path ends with a feed suffix.
    """
    frame = RepositoryFrame(request)
    if named := await _ref_with_feed(frame):
        return await _feed(frame, named, request.scope["path"].rpartition(".")[2])
    if redirect := await frame.redirect_from_old_address("commits"):
        return redirect
    ref = await NamedRef.of(frame, 3)
    author = request.query_params.get("author", "")
    filters: dict[str, Any] = LISTED | ({"author": author} if author else {})
    listing = await _commits_of(frame, ref, page=request.number, **filters)
    return frame.render(
        "history/commits.html",
        tab="code",
        title="Commits",
        ref=ref,
        author=author,
        listing=listing,
        pages=request.pages_of(listing.total, COMMITS),
    )


async def _commits_of(frame: RepositoryFrame, ref: NamedRef, **parameters: Parameter) -> ListPage:
    """Return a page of commits; empty if the repository is empty."""
    try:
        (listing,) = await frame.load(
            frame.forge.listing(
                "repos", frame.api("commits"), sha=ref.full, path=ref.path, limit=COMMITS, **parameters
            )
        )
    except Conflict:
        if frame.repository is None or not frame.repository["empty"]:
            raise
        return ListPage([], 0)
    page: ListPage = listing
    return page


async def _ref_with_feed(frame: RepositoryFrame) -> NamedRef | None:
    """Return the branch, tag or commit whose feed is requested.

    None for a page of commits, for example the commits of a file ``a.atom``.
    """
    rest, _, suffix = frame.request.rest(3).rpartition(".")
    kind, _, name = rest.partition("/")
    if suffix not in FEEDS or not name:
        return None
    if "/" in name and name != await name_in_git(frame, kind, name):
        await frame.load()
        if not frame.repository["empty"]:
            return None
    return NamedRef(kind, await full_id(frame, name) if kind == "commit" else name, "")


@get(
    [f"/{{owner:str}}/{{repo:str}}/{name}/{{ref:path}}" for name in FEEDS],
    policy=anyone(),
    include_in_schema=False,
)
async def latest(request: WebRequest) -> Response[str]:
    """Return a feed of the latest commits of a branch, tag or commit, optionally of one path."""
    frame = RepositoryFrame(request)
    ref = await NamedRef.of(frame, 3)
    return await _feed(frame, ref, request.scope["path"].split("/")[3])


async def _feed(frame: RepositoryFrame, ref: NamedRef, kind: str) -> Response[str]:
    listing = await _commits_of(frame, ref, **LISTED)
    entries = [
        {
            "title": subject(commit["commit"]["message"]),
            "url": commit["html_url"],
            "time": commit["commit"]["committer"]["date"],
            "author": commit["commit"]["author"]["name"],
            "text": commit["commit"]["message"],
        }
        for commit in listing.rows
    ]
    of = f"{ref.name}, {ref.path}" if ref.path else ref.name
    name = frame.repository["full_name"]
    page = f"/{name}/commits/{ref.url}" + (f"/{ref.path}" if ref.path else "")
    return feed(frame.request, kind, f"Commits of {name}, {of}", page, entries)


@get("/{owner:str}/{repo:str}/commit/{sha:str}", policy=anyone(), include_in_schema=False)
async def commit(request: WebRequest, sha: str) -> Response[Any]:
    """Show one commit with its changes."""
    frame = RepositoryFrame(request)
    stem, suffix = next(((sha.removesuffix(one), one) for one in TEXTS if sha.endswith(one)), (sha, ""))
    sha = await full_id(frame, stem)
    if suffix:
        return await text_page(frame, frame.api("git", "commits", sha + suffix))
    return await _commit_page(frame, sha, Form())


@post("/{owner:str}/{repo:str}/commit/{sha:str}/revert", policy=anyone(), include_in_schema=False)
async def revert(request: WebRequest, sha: str) -> Response[Any]:
    """Revert a commit on a branch, or on a new branch for a pull request. The page shows errors."""
    if sha.endswith(TEXTS):
        raise NotFound
    form, frame = await request.sent_form(), RepositoryFrame(request)
    body = {"branch": form.text("branch"), "message": form.lines("message")}
    sha = await full_id(frame, sha)
    try:
        if new_branch := form.branch_to_make():
            body["new_branch"] = new_branch
        answer = await frame.forge.send("POST", "repos", frame.api("commits", sha, "revert"), body)
    except ApiError as error:
        return await _commit_page(frame, sha, form, error)
    if new_branch:
        return frame.redirect(f"/compare/{quote(body['branch'])}...{quote(new_branch)}")
    return frame.redirect(f"/commit/{answer['commit']['sha']}")


async def _commit_page(
    frame: RepositoryFrame, sha: str, form: Form, problem: ApiError | None = None
) -> Response[str]:
    """Return the page of a commit, with the form to revert it and the form's error."""
    shown, (changes, pages), checks = await frame.load(
        frame.forge.get("repos", frame.api("git", "commits", sha), stat=False, files=False),
        read_diff(frame, "repos", frame.api("git", "commits", f"{sha}.diff")),
        frame.forge.get_if_there("repos", frame.api("commits", sha, "status")),
    )
    if changes is not None:
        changes.after = shown["sha"]
        changes.before = shown["parents"][0]["sha"] if shown["parents"] else ""
    return frame.render(
        "history/commit.html",
        in_place="" if problem else MORE_FILES,
        tab="code",
        title=subject(shown["commit"]["message"]),
        error=problem,
        form=form,
        commit=shown,
        changes=changes,
        pages=pages,
        checks=checks,
    )


routes = [commits, latest, commit, revert]
