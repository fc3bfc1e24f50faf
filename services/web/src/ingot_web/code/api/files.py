"""Routes for the first page of a repository, and its files: folders, files, raw files."""

from asyncio import gather, to_thread
from base64 import b64decode
from posixpath import normpath
from typing import Any, NamedTuple
from urllib.parse import quote

import msgspec
from litestar import Response, get
from markupsafe import Markup

from ingot_chassis.csv_tables import read_table
from ingot_chassis.errors import Invalid, NotFound, TooLarge, Unavailable
from ingot_chassis.http.policy import anyone
from ingot_web.activities.api import repository_feed, without_ending
from ingot_web.clients.forge import NOTHING, ListPage
from ingot_web.code.rules.first_lines import first_lines
from ingot_web.code.rules.highlighting import highlight
from ingot_web.code.rules.submodules import SubmodulePage, page_of
from ingot_web.pages.api.request import HEADERS, WebRequest
from ingot_web.pages.rules.pictures import PICTURES
from ingot_web.repositories.api.frames import NamedRef, RepositoryFrame
from ingot_web.repositories.api.imports import error_of, import_without_issues, page_without_commits

SHOWN_BYTES = 1_000_000
"""Maximum bytes of a file that is shown as text."""
RAW_BYTES = 50_000_000
"""Largest raw file that web returns, in bytes.

Larger files and LFS files come from the API, because pointers can be wrong.
"""
MARKDOWN = (".md", ".markdown", ".mkd")
DRAWINGS = (".svg",)
"""Text files shown as pictures. A browser runs no script in a picture; opened alone it is sandboxed."""
SNIFFED = 8_000
"""Number of first bytes in which a NUL means that a file is not text."""
ENTRIES = 500
"""Number of entries of a folder on one page, as in repos."""
LISTED = "commit_metadata,commit_message"


async def _contents(frame: RepositoryFrame, *path: str, ref: str = "") -> tuple[Any, int]:
    """Return a file, or the requested page of a folder. Also return the number of entries."""
    answer = await frame.forge.answer(
        "repos",
        frame.api("contents-ext", *path),
        ref=ref,
        page=frame.request.number,
        includes=f"{LISTED},lfs_metadata" if path else LISTED,
    )
    return msgspec.json.decode(answer.body), int(answer.headers.get("x-total-count", 0))


async def _contents_if_there(frame: RepositoryFrame) -> tuple[Any, int]:
    try:
        return await _contents(frame)
    except NOTHING:
        return None, 0


async def file_in_git(frame: RepositoryFrame, ref: NamedRef, path: str) -> tuple[Any, bytes]:
    """Return a file and its bytes in git. The bytes of an LFS file are its pointer.

    Raises Invalid if the path is not a file, TooLarge if repos cannot send it.
    """
    listed = await frame.forge.get(
        "repos",
        frame.api("contents-ext", *path.split("/")),
        ref=ref.full,
        includes="file_content,lfs_metadata",
    )
    file = listed.get("file_contents")
    if file is None or file["type"] != "file":
        raise Invalid("it is no file")
    if file["content"] is None:
        raise TooLarge("the file is too large to be shown here")
    return file, b64decode(file["content"])


PASSED = ("content-security-policy", "x-content-type-options", "content-disposition", "etag", "cache-control")
"""Response headers of repos that keep a raw file harmless. They are passed on."""


@get("/{owner:str}/{repo:str}", policy=anyone(), include_in_schema=False)
async def home(request: WebRequest) -> Response[Any]:
    """Show the front page of a repository. Return its feed if the path ends with a feed suffix."""
    name, ending = without_ending(request.path_params["repo"])
    if ending:
        return await repository_feed(request, request.path_params["owner"], name, ending)
    return await _front_page(request)


async def _front_page(request: WebRequest) -> Response[Any]:
    """Show the files of the default branch, clone URLs, and the README.

    An unfinished import shows its progress instead. A caller without access to the code is redirected to
    another page of the repository.
    """
    frame = RepositoryFrame(request)
    forge = frame.forge
    try:
        (listed, total), facts = await frame.load(_contents_if_there(frame), forge.front_page(frame.base))
    except Unavailable:
        if frame.repository is None or not frame.repository["empty"]:
            raise
        return await page_without_commits(frame, is_failed=False)
    if not frame.repository["has_code"]:
        return frame.first_page()
    if frame.repository["empty"] and facts is None:
        # A repository into which nothing was pushed yet has facts: it has no commits.
        return await page_without_commits(frame, is_failed=True)
    if request.wants_part:
        return request.reload()  # the commits that it waited for are there
    if frame.repository["empty"] or listed is None:
        return frame.render("code/empty.html", tab="code", **_star_and_watch(facts))
    facts = facts or {}
    ref = NamedRef("branch", frame.repository["default_branch"], "")
    entries = _listed(frame, listed["dir_contents"])
    (readme, html), import_error, is_importing = await gather(
        _readme(frame, ref, entries), error_of(frame, entries), import_without_issues(frame)
    )
    return frame.render(
        "code/folder.html",
        tab="code",
        import_error=import_error,
        is_importing=is_importing,
        ref=ref,
        entries=entries,
        pages=request.pages_of(total, ENTRIES),
        latest=facts.get("latest"),
        commit_count=facts.get("commit_count"),
        branch_count=facts.get("branch_count"),
        languages=_shares(facts.get("languages") or {}),
        **_star_and_watch(facts),
        readme=readme,
        readme_html=html,
        is_home=True,
    )


def _star_and_watch(facts: Any) -> dict[str, Any]:
    """Return two flags: the caller has starred the repository, and watches it."""
    return {name: bool(facts and facts[name]) for name in ("is_starred", "is_watched")}


def _listed(frame: RepositoryFrame, contents: list[Any]) -> list[Any]:
    """Return the entries, folders first. A submodule has the URL of its page."""
    for entry in contents:
        if entry["type"] == "submodule":
            entry["page"] = _submodule_page(frame, entry)
    return sorted(contents, key=lambda one: (one["type"] not in ("dir", "submodule"), one["name"].lower()))


def _submodule_page(frame: RepositoryFrame, submodule: Any) -> SubmodulePage | None:
    address = submodule.get("submodule_git_url") or ""
    return page_of(address, submodule["sha"], frame.repository, frame.request.public_url)


def _shares(languages: dict[str, int]) -> list[tuple[str, float]]:
    """Return the largest languages with their percentages, largest first."""
    total = sum(languages.values()) or 1
    ordered = sorted(languages.items(), key=lambda pair: -pair[1])[:6]
    return [(name, round(100 * count / total, 1)) for name, count in ordered]


async def _readme(frame: RepositoryFrame, ref: NamedRef, contents: list[Any]) -> tuple[str, Markup | str]:
    """Return name and HTML of the README of a folder. Both are empty if no README can be shown."""
    files = [entry for entry in contents if entry["type"] == "file"]
    readmes = [entry for entry in files if entry["name"].lower().partition(".")[0] == "readme"]
    if not readmes:
        return "", ""
    best = min(readmes, key=lambda entry: (not entry["name"].lower().endswith(MARKDOWN), entry["name"]))
    if best["size"] > SHOWN_BYTES:
        return "", ""
    file, content = await file_in_git(frame, ref, best["path"])
    if "lfs_oid" in file:
        return "", ""
    text = content.decode("utf-8", "replace")
    if not best["name"].lower().endswith(MARKDOWN):
        return best["name"], Markup('<pre tabindex="0">{}</pre>').format(text)
    return best["name"], await document(frame, ref, best["path"], text)


async def document(frame: RepositoryFrame, ref: NamedRef, path: str, text: str) -> Markup:
    """Return the HTML of a Markdown file. Relative links point to files of the repository."""
    folder = path.rpartition("/")[0]
    inside = f"/{folder}" if folder else ""
    name = frame.repository["full_name"]
    (html,) = await frame.forge.render(
        [text], context=f"{name}/src/{ref.url}{inside}", images=f"{name}/raw/{ref.url}{inside}"
    )
    return html


@get(
    ["/{owner:str}/{repo:str}/src/{ref:path}"],
    policy=anyone(),
    include_in_schema=False,
)
async def source(request: WebRequest) -> Response[Any]:
    """Show a folder or a file of a branch, a tag or a commit."""
    frame = RepositoryFrame(request)
    if redirect := await frame.redirect_from_old_address("src"):
        return redirect
    ref = await NamedRef.of(frame, 3)
    path = ref.path
    try:
        answers = await _read_source(frame, ref)
    except NotFound:
        return await _deleted_page(frame, ref)
    (contents, total), commits = answers
    latest = commits.rows[0] if commits.rows else None
    if "file_contents" in contents:
        return await _file(frame, ref, contents["file_contents"], latest)
    entries = _listed(frame, contents["dir_contents"])
    readme, html = await _readme(frame, ref, entries)
    return frame.render(
        "code/folder.html",
        tab="code",
        title=path or ref.name,
        ref=ref,
        entries=entries,
        pages=request.pages_of(total, ENTRIES),
        latest=latest,
        commit_count=None,
        readme=readme,
        readme_html=html,
        is_home=False,
    )


async def _read_source(frame: RepositoryFrame, ref: NamedRef) -> list[Any]:
    """Return the contents and the latest commit of a path."""
    return await frame.load(
        _contents(frame, *(ref.path.split("/") if ref.path else ()), ref=ref.full),
        _last_commit(frame, ref),
    )


async def _last_commit(frame: RepositoryFrame, ref: NamedRef) -> ListPage:
    """Return the latest commit that changed or deleted a path; none if the history is too long."""
    try:
        return await frame.forge.listing_if_there(
            "repos",
            frame.api("commits"),
            sha=ref.full,
            path=ref.path,
            limit=1,
            stat=False,
            files=False,
            verification=False,
        )
    except TooLarge:
        return ListPage([], 0)


async def _deleted_page(frame: RepositoryFrame, ref: NamedRef) -> Response[str]:
    """Return a page for a missing path, with the commit that deleted it.

    Raises NotFound without code access.
    """
    (commits,) = await frame.load(_last_commit(frame, ref))
    if not frame.repository["has_code"]:
        raise NotFound
    if not ref.path or not commits.rows:
        return frame.render("code/missing.html", tab="code", title="Not found", status=404, ref=ref)
    title = f"{ref.path} is gone"
    return frame.render(
        "code/deleted.html", tab="code", title=title, status=404, ref=ref, commit=commits.rows[0]
    )


class ShownFile(NamedTuple):
    """The presentation of a file. ``kind`` and ``content`` are for the template.

    ``has_rendering``: the file can be shown rendered and as source. ``note`` is the reason why a rendering is
    missing.
    """

    kind: str
    content: Any = None
    has_rendering: bool = False
    note: str = ""


async def _file(frame: RepositoryFrame, ref: NamedRef, file: Any, latest: Any) -> Response[str]:
    shown = await (_link if file["type"] == "symlink" else _shown)(frame, ref, file)
    return frame.render(
        "code/file.html",
        tab="code",
        title=file["path"],
        ref=ref,
        file=file,
        kind=shown.kind,
        shown=shown.content,
        latest=latest,
        source_is_asked=_asks_for_source(frame.request),
        has_rendering=shown.has_rendering,
        note=shown.note,
    )


def _asks_for_source(request: WebRequest) -> bool:
    return request.query_params.get("display") == "source"


def _without_text(frame: RepositoryFrame, file: Any) -> ShownFile | None:
    """Return the presentation of a picture, large file, LFS file or submodule; None for text."""
    if file["type"] == "submodule":
        return ShownFile("submodule", _submodule_page(frame, file))
    if file["name"].lower().endswith(PICTURES):
        return ShownFile("picture")
    if "lfs_oid" in file:
        return ShownFile("lfs", file["lfs_size"])
    return ShownFile("large") if file["size"] > SHOWN_BYTES else None


async def _link(frame: RepositoryFrame, ref: NamedRef, file: Any) -> ShownFile:
    """Return the target of a symbolic link, and the target's path if it exists at this ref."""
    target = str(file.get("target") or "")
    path = normpath(f"{file['path'].rpartition('/')[0] or '.'}/{target}")
    if not target or target.startswith("/") or path.startswith("..") or path == ".":
        return ShownFile("link", (target, ""))
    there = await frame.forge.get_if_there("repos", frame.api("contents-ext", *path.split("/")), ref=ref.full)
    return ShownFile("link", (target, path if there else ""))


async def _shown(frame: RepositoryFrame, ref: NamedRef, file: Any) -> ShownFile:
    if shown := _without_text(frame, file):
        return shown
    name = file["name"].lower()
    _, content = await file_in_git(frame, ref, file["path"])
    if b"\0" in content[:SNIFFED]:
        return ShownFile("binary")
    text = content.decode("utf-8", "replace")
    rows, note = read_table(text) if name.endswith(".csv") else ([], "")
    has_rendering = bool(rows) or name.endswith((*MARKDOWN, *DRAWINGS))
    if has_rendering and not _asks_for_source(frame.request):
        if rows:
            return ShownFile("table", rows, has_rendering)
        if name.endswith(DRAWINGS):
            return ShownFile("drawing", None, has_rendering)
        return ShownFile("document", await document(frame, ref, file["path"], text), has_rendering)
    text, omitted = first_lines(text)
    lines = await to_thread(highlight, file["name"], text)
    return ShownFile("lines", {"lines": lines, "omitted": omitted}, has_rendering, note)


@get(
    ["/{owner:str}/{repo:str}/raw/{ref:path}", "/{owner:str}/{repo:str}/media/{ref:path}"],
    policy=anyone(),
    include_in_schema=False,
)
async def raw(request: WebRequest) -> Response[Any]:
    """Return a raw file, with a type that a browser does not execute.

    Large files and LFS files are redirected to the API. There ``media`` returns the bytes of an LFS object.
    """
    frame = RepositoryFrame(request)
    operation = request.scope["path"].strip("/").split("/")[2]
    if redirect := await frame.redirect_from_old_address(operation):
        return redirect
    ref = await NamedRef.of(frame, 3)
    segments = ref.path.split("/")
    contents, _ = await gather(
        frame.forge.get("repos", frame.api("contents-ext", *segments), ref=ref.full, includes="lfs_metadata"),
        frame.forge.get("repos", frame.api()),
    )
    file = contents.get("file_contents")
    if file is None:
        raise NotFound
    if file["size"] > RAW_BYTES or "lfs_oid" in file:
        return request.redirect(f"/api/v1{frame.api(operation, *segments)}?ref={quote(ref.full)}")
    answer = await frame.forge.answer("repos", frame.api("raw", *segments), ref=ref.full)
    headers = {name: answer.headers[name] for name in PASSED if name in answer.headers}
    passed = {name.title(): value for name, value in headers.items()}
    # As a media type it would get a second charset.
    kind = answer.headers.get("content-type", "application/octet-stream")
    return Response(answer.body, headers={**HEADERS, **passed, "Content-Type": kind})


routes = [home, source, raw]
