"""What happened in a repository: commits, one commit, branches, tags, what two of them differ in."""

from asyncio import to_thread
from collections.abc import Mapping
from datetime import datetime
from typing import Any
from urllib.parse import quote, urlencode

from litestar import Response, get, post

from ingot_chassis.errors import ApiError, NotFound, TooLarge
from ingot_chassis.http.policy import anyone
from ingot_web.api.frames import NamedRef, RepositoryFrame, name_in_git
from ingot_web.api.request import HEADERS, Form, WebRequest, whole_number
from ingot_web.core import diffs
from ingot_web.core.diff_code import coloured_diff

COMMITS = 30
FILES = 20
"""Changed files on one page."""
CHOICES = ("src", "commits", "find")
"""Pages of a branch to which the menu of branches leads."""
MORE_FILES = "repository/more_files.html"
FEEDS = ("atom", "rss")
"""Endings of a feed, which is Atom: each reader of RSS reads that."""
TEXTS = (".diff", ".patch")
"""Endings of a commit as a text."""
LISTED = {"stat": False, "files": False, "verification": False}


@get("/{owner:str}/{repo:str}/commits/{ref:path}", policy=anyone(), include_in_schema=False)
async def commits(request: WebRequest) -> Response[Any]:
    """The commits of a branch, a tag or a commit; of one path if it is named, and of one author if asked for."""
    frame = RepositoryFrame(request)
    if name := await _name_with_feed(frame):
        return await _feed(frame, name)
    if redirect := await frame.redirect_from_old_address("commits"):
        return redirect
    ref = await NamedRef.of(frame, 3)
    author = request.query_params.get("author", "")
    filters: dict[str, Any] = LISTED | ({"author": author} if author else {})
    (listing,) = await frame.load(
        frame.forge.listing(
            "repos",
            frame.api("commits"),
            sha=ref.name,
            path=ref.path,
            page=request.number,
            limit=COMMITS,
            **filters,
        )
    )
    return frame.render(
        "repository/commits.html",
        tab="code",
        title="Commits",
        ref=ref,
        author=author,
        listing=listing,
        pages=request.pages_of(listing.total, COMMITS),
    )


async def _name_with_feed(frame: RepositoryFrame) -> str:
    """The branch, tag or commit of which the path names the feed; empty if it names commits, as those of a file a.atom."""
    rest, _, suffix = frame.request.rest(3).rpartition(".")
    kind, _, name = rest.partition("/")
    if suffix not in FEEDS or not name or ("/" in name and name != await name_in_git(frame, kind, name)):
        return ""
    return name


@get(
    [f"/{{owner:str}}/{{repo:str}}/{name}/{{ref:path}}" for name in FEEDS],
    policy=anyone(),
    include_in_schema=False,
)
async def feed(request: WebRequest) -> Response[str]:
    """The latest commits of a branch, a tag or a commit, of one path if it is named, as an Atom feed."""
    frame = RepositoryFrame(request)
    ref = await NamedRef.of(frame, 3)
    return await _feed(frame, ref.name, ref.path)


async def _feed(frame: RepositoryFrame, name: str, path: str = "") -> Response[str]:
    (listing,) = await frame.load(
        frame.forge.listing("repos", frame.api("commits"), sha=name, path=path, limit=COMMITS, **LISTED)
    )
    entries = [
        {
            "title": commit["commit"]["message"].split("\n", 1)[0],
            "url": commit["html_url"],
            "time": commit["commit"]["committer"]["date"],
            "author": commit["commit"]["author"]["name"],
            "text": commit["commit"]["message"],
        }
        for commit in listing.rows
    ]
    of = f"{name}, {path}" if path else name
    return frame.feed(f"Commits of {frame.repository['full_name']}, {of}", entries)


@get("/{owner:str}/{repo:str}/commit/{sha:str}", policy=anyone(), include_in_schema=False)
async def commit(request: WebRequest, sha: str) -> Response[Any]:
    """One commit with its changes."""
    frame = RepositoryFrame(request)
    if sha.endswith(TEXTS):
        return await _text_page(frame, frame.api("git", "commits", sha))
    return await _commit_page(frame, sha, Form())


@post("/{owner:str}/{repo:str}/commit/{sha:str}/revert", policy=anyone(), include_in_schema=False)
async def revert(request: WebRequest, sha: str) -> Response[Any]:
    """Take back a commit, on a branch or on a new one for a pull request; or say on its page why not."""
    if sha.endswith(TEXTS):
        raise NotFound
    form, frame = await request.sent_form(), RepositoryFrame(request)
    body = {"branch": form.text("branch"), "message": form.lines("message")}
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
    """With the form that reverts the commit, and what was wrong with it."""
    shown, (changes, pages), checks = await frame.load(
        frame.forge.get("repos", frame.api("git", "commits", sha), files=False),
        read_diff(frame, "repos", frame.api("git", "commits", f"{sha}.diff")),
        frame.forge.get_if_there("repos", frame.api("commits", sha, "status")),
    )
    if changes is not None:
        changes.after = shown["sha"]
        changes.before = shown["parents"][0]["sha"] if shown["parents"] else ""
    return frame.render(
        "repository/commit.html",
        in_place="" if problem else MORE_FILES,
        tab="code",
        title=shown["commit"]["message"].split("\n", 1)[0],
        status=problem.status if problem else 200,
        problem=problem.message if problem else "",
        form=form,
        commit=shown,
        changes=changes,
        pages=pages,
        checks=checks,
    )


async def _text_page(frame: RepositoryFrame, path: str, **parameters: str) -> Response[str]:
    """What repos answers as text."""
    (text,) = await frame.load(frame.forge.text("repos", path, **parameters))
    return Response(text, media_type="text/plain", headers=HEADERS)


def file_shown(request: WebRequest) -> int:
    """The number of the one file of a diff whose changes are asked for; 0 for a page of all files."""
    return whole_number(request.query_params.get("file", ""), 7) or 0


def hides_spaces(request: WebRequest) -> bool:
    """Whether changes of white space alone are left out."""
    return request.query_params.get("w") == "1"


async def read_diff(
    frame: RepositoryFrame,
    service: str,
    path: str,
    *,
    size: int = FILES,
    limit: str = "limit",
    **parameters: str,
) -> tuple[diffs.Diff | None, Mapping[str, Any]]:
    """The page of a diff that is asked for, and the links to others: so many files, or lines of one file; None if the text is too large to be made.

    ``limit`` is the name of the parameter that says how many files are answered. Raises NotFound for a file that is not there.
    """
    request, number = frame.request, file_shown(frame.request)
    part: dict[str, Any] = {"page": number or request.number, limit: 1 if number else size}
    if hides_spaces(request):
        part["whitespace"] = "ignore-all"
    try:
        answer = await frame.forge.answer(service, path, **part, **parameters)
    except TooLarge:
        return None, request.pages_of(0)
    text = answer.body.decode("utf-8", "replace")
    if not number:
        changes = await to_thread(_diff, text, (request.number - 1) * size + 1)
        _note_view(changes, request)
        total = len(changes.files) + changes.omitted
        return changes, request.pages_of(int(answer.headers.get("x-total-count", total)), size)
    changes = await to_thread(_diff_of_file, text, number, request.number)
    if not changes.files:
        raise NotFound
    _note_view(changes, request)
    return changes, request.pages_of(changes.files[0].length, diffs.LINES)


def _note_view(changes: diffs.Diff, request: WebRequest) -> None:
    """What its links to other pages of it have."""
    changes.style, changes.hides_spaces = request.query_params.get("style", ""), hides_spaces(request)


def _diff(text: str, number: int) -> diffs.Diff:
    return coloured_diff(diffs.parse(text, number))


def _diff_of_file(text: str, number: int, page: int) -> diffs.Diff:
    return coloured_diff(diffs.parse_file(text, number, page))


@get("/{owner:str}/{repo:str}/branches", policy=anyone(), include_in_schema=False)
async def branches(request: WebRequest) -> Response[str]:
    """All branches; for a menu that is opened, the first of them."""
    frame = RepositoryFrame(request)
    to = request.query_params.get("to", "")
    if not request.wants_part or to not in CHOICES:
        return await _branches_page(frame, Form())
    (listing,) = await frame.load(frame.forge.listing("repos", frame.api("branches"), limit=50))
    return frame.render(
        "repository/branches.html",
        in_place="repository/branch_choice.html",
        tab="code",
        branches=listing,
        to=to,
        current=request.query_params.get("from", ""),
    )


async def _branches_page(
    frame: RepositoryFrame, form: Form, problem: ApiError | None = None, *, follows: str = ""
) -> Response[str]:
    """``follows``: the branch that was to get what the parent has."""
    name, sha, proof = (frame.request.query_params.get(key, "") for key in ("deleted", "sha", "proof"))
    is_own = frame.request.proves(_deletion(frame, name, sha), proof)
    return await frame.list_page(
        "repository/branches.html",
        "repos",
        "branches",
        size=COMMITS,
        tab="code",
        title="Branches",
        status=problem.status if problem else 200,
        problem=problem.message if problem else "",
        form=form,
        deleted={"name": name, "sha": sha} if is_own else None,
        conflict=follows if problem and problem.status == 409 else "",
    )


def _deletion(frame: RepositoryFrame, name: str, sha: str) -> str:
    """A branch that was deleted with its last commit, in the words that an address proves: no other site makes one."""
    return f"deleted {frame.base} {name} {sha}"


@post("/{owner:str}/{repo:str}/branches", policy=anyone(), include_in_schema=False)
async def create_branch(request: WebRequest) -> Response[Any]:
    """Make a branch."""
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
    """Bring what the parent of a fork has on a branch to the same branch here; its commits are shown then."""
    branch, frame = (await request.sent_form()).text("branch"), RepositoryFrame(request)
    try:
        merge = await frame.forge.send("POST", "repos", frame.api("merge-upstream"), {"branch": branch})
    except ApiError as error:
        return await _branches_page(frame, Form(), error, follows=branch)
    page = f"{frame.base}/commits/branch/{quote(branch)}"
    return request.redirect_with_outcome(page, merge["merge_type"])


@get("/{owner:str}/{repo:str}/tags", policy=anyone(), include_in_schema=False)
async def tags(request: WebRequest) -> Response[str]:
    """All tags."""
    return await RepositoryFrame(request).list_page(
        "repository/tags.html", "repos", "tags", size=COMMITS, tab="code", title="Tags"
    )


@get("/{owner:str}/{repo:str}/compare", policy=anyone(), include_in_schema=False)
async def choose_comparison(request: WebRequest) -> Response[Any]:
    """Which branches are compared."""
    frame = RepositoryFrame(request)
    base, head = (request.query_params.get(name, "") for name in ("base", "head"))
    if base and head:
        return frame.redirect(f"/compare/{quote(base)}...{quote(head)}")
    return await _choice_page(frame, base, head)


async def _choice_page(frame: RepositoryFrame, base: str, head: str, *, unknown: str = "") -> Response[str]:
    """The branches, the latest first; ``unknown`` is what was chosen and is not there."""
    (listing,) = await frame.load(frame.forge.listing("repos", frame.api("branches"), limit=50))
    listing.rows.sort(key=lambda row: datetime.fromisoformat(row["commit"]["timestamp"]), reverse=True)
    return frame.render(
        "repository/compare.html",
        tab="pulls",
        title="Compare",
        status=404 if unknown else 200,
        branches=listing,
        base_name=base or frame.repository["default_branch"],
        head_name=head,
        compared=None,
        changes=None,
        pages=frame.request.pages_of(0),
        problem=f"There is no branch {unknown}." if unknown else "",
        form=Form(),
    )


@get("/{owner:str}/{repo:str}/compare/{basehead:path}", policy=anyone(), include_in_schema=False)
async def compare(request: WebRequest) -> Response[str]:
    """What one branch has that another has not, as text if that is asked for; a pull request is opened here."""
    frame = RepositoryFrame(request)
    if request.query_params.get("output") == "diff":
        return await _text_page(frame, frame.api("compare", request.rest(3)), output="diff")
    return await comparison_page(frame)


async def comparison_page(
    frame: RepositoryFrame, *, problem: ApiError | None = None, form: Form | None = None
) -> Response[str]:
    """The comparison with the form of a new pull request, and what was wrong with the last one; a choice if a branch is unknown."""
    basehead = frame.request.rest(3)
    base, separator, head = basehead.partition("..." if "..." in basehead else "..")
    if not separator:
        base, head = "", basehead
    try:
        compared, (changes, pages), listing = await frame.load(
            frame.forge.get("repos", frame.api("compare", basehead), limit=COMMITS, **LISTED),
            read_diff(frame, "repos", frame.api("compare", basehead), output="diff"),
            frame.forge.listing("repos", frame.api("branches"), limit=50),
        )
    except NotFound:
        if frame.repository is None or not head or file_shown(frame.request):
            raise
        name = base or frame.repository["default_branch"]
        if await _is_there(frame, name):
            return await _choice_page(frame, name, head, unknown=head)
        return await _choice_page(frame, "", head, unknown=name)
    if changes is not None:
        changes.before, changes.after = compared.get("before", ""), compared.get("after", "")
        changes.head_repo = compared.get("head_repo", "")
        changes.text = f"/compare/{quote(basehead)}?output=diff"
    base = base or frame.repository["default_branch"]
    return frame.render(
        "repository/compare.html",
        in_place="" if problem else MORE_FILES,
        tab="pulls",
        title=f"{base} and {head}",
        status=problem.status if problem else 200,
        branches=listing,
        base_name=base,
        head_name=head,
        compared=compared,
        changes=changes,
        pages=pages,
        problem=problem.message if problem else "",
        form=form or Form(),
    )


async def _is_there(frame: RepositoryFrame, name: str) -> bool:
    """Whether a branch, a tag or a commit has that name."""
    return bool(await frame.forge.get_if_there("repos", frame.api("commits"), sha=name, limit=1, **LISTED))


routes = [
    commits, feed, commit, revert, branches, create_branch, delete_branch, merge_upstream, tags, choose_comparison, compare,
]  # fmt: skip
