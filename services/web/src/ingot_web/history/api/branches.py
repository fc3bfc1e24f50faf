"""Routes for branches and tags: lists, and forms that create, delete and update a branch."""

from typing import Any
from urllib.parse import quote, urlencode

from litestar import Response, get, post

from ingot_chassis.errors import ApiError
from ingot_chassis.http.policy import anyone
from ingot_web.forms.rules.fields import Form
from ingot_web.pages.api.request import WebRequest
from ingot_web.repositories.api.frames import RepositoryFrame

REFS = 30
"""Number of refs on one page of a list."""
MENU = 20
"""Number of refs in a menu. A filter finds the others."""
LONGEST = 200
"""Maximum characters of a filter."""
CHOICES = ("src", "commits", "find")
"""Pages of a branch or tag that the menu can lead to."""


@get("/{owner:str}/{repo:str}/branches", policy=anyone(), include_in_schema=False)
async def branches(request: WebRequest) -> Response[str]:
    """List all branches. For a menu, list only the first matches."""
    frame = RepositoryFrame(request)
    if not request.wants_part or request.query_params.get("to") not in CHOICES:
        return await _branches_page(frame, Form())
    return await _choices(frame, "branches", "branch")


async def _choices(frame: RepositoryFrame, name: str, kind: str) -> Response[str]:
    """Return the first branches or tags whose names contain ``q``, for a menu."""
    query = frame.request.query_params
    text = query.get("q", "").strip()[:LONGEST]
    filters = {"q": text} if text else {}
    (listing,) = await frame.load(frame.forge.listing("repos", frame.api(name), limit=MENU, **filters))
    return frame.render(
        "history/branches.html",
        in_place="history/ref_choices.html",
        tab="code",
        listing=listing,
        kind=kind,
        text=text,
        to=query["to"],
        current=query.get("from", ""),
    )


async def _branches_page(
    frame: RepositoryFrame, form: Form, problem: ApiError | None = None, *, follows: str = ""
) -> Response[str]:
    """Return the page of branches.

    ``follows`` is the branch that could not be merged with the parent's branch; empty without such an error.
    """
    name, sha, proof = (frame.request.query_params.get(key, "") for key in ("deleted", "sha", "proof"))
    is_own = frame.request.proves(_deletion(frame, name, sha), proof)
    return await frame.list_page(
        "history/branches.html",
        "repos",
        "branches",
        size=REFS,
        tab="code",
        title="Branches",
        error=problem,
        form=form,
        deleted={"name": name, "sha": sha} if is_own else None,
        conflict=follows if problem and problem.status == 409 else "",
    )


def _deletion(frame: RepositoryFrame, name: str, sha: str) -> str:
    """Return the signed text of a link that restores a deleted branch. ``sha`` was its last commit."""
    return f"deleted {frame.base} {name} {sha}"


@post("/{owner:str}/{repo:str}/branches", policy=anyone(), include_in_schema=False)
async def create_branch(request: WebRequest) -> Response[Any]:
    """Create a branch."""
    form, frame = await request.sent_form(), RepositoryFrame(request)
    body = {"new_branch_name": form.text("name"), "old_ref_name": form.text("from")}
    try:
        await frame.forge.send("POST", "repos", frame.api("branches"), body)
    except ApiError as error:
        return await _branches_page(frame, form, error)
    return frame.redirect(f"/src/branch/{quote(form.text('name'))}")


@post("/{owner:str}/{repo:str}/branches/delete", policy=anyone(), include_in_schema=False)
async def delete_branch(request: WebRequest) -> Response[Any]:
    """Delete a branch."""
    name, frame = (await request.sent_form()).text("name"), RepositoryFrame(request)
    try:
        answer = await frame.forge.change("DELETE", "repos", frame.api("branches", *name.split("/")))
    except ApiError as error:
        return await _branches_page(frame, Form(), error)
    sha = answer.headers.get("x-deleted-commit", "")
    if not sha:
        return frame.redirect("/branches")  # repos of an older release
    proof = request.proof(_deletion(frame, name, sha))
    return frame.redirect(f"/branches?{urlencode({'deleted': name, 'sha': sha, 'proof': proof})}")


@post("/{owner:str}/{repo:str}/branches/merge-upstream", policy=anyone(), include_in_schema=False)
async def merge_upstream(request: WebRequest) -> Response[Any]:
    """Merge the parent's branch of the same name into a branch of the fork, and show its commits."""
    branch, frame = (await request.sent_form()).text("branch"), RepositoryFrame(request)
    try:
        merge = await frame.forge.send("POST", "repos", frame.api("merge-upstream"), {"branch": branch})
    except ApiError as error:
        return await _branches_page(frame, Form(), error, follows=branch)
    page = f"{frame.base}/commits/branch/{quote(branch)}"
    return request.redirect_with_outcome(page, merge["merge_type"])


@get("/{owner:str}/{repo:str}/tags", policy=anyone(), include_in_schema=False)
async def tags(request: WebRequest) -> Response[str]:
    """List all tags. For a menu, list only the first matches."""
    frame = RepositoryFrame(request)
    if request.wants_part and request.query_params.get("to") in CHOICES:
        return await _choices(frame, "tags", "tag")
    return await frame.list_page("history/tags.html", "repos", "tags", size=REFS, tab="code", title="Tags")


routes = [branches, create_branch, delete_branch, merge_upstream, tags]
