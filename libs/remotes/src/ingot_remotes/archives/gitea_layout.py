"""The folder that Gitea's command ``restore-repo`` reads, written from an archive of Ingot.

Files have the fields of Gitea's ``modules/migration``. They are JSON, which YAML includes. That format has no
tracked times, dependencies, due dates and pins. No file has a name that comes from the archive.

One page of the archive is in memory at a time: objects are appended to their files.
"""

import asyncio
import json
import os
import re
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import aclosing
from pathlib import Path
from typing import Any

from ingot_git.process.command import MIB, Cancellation, GitArgs, clean_environment, run_git
from ingot_git.process.errors import GitError
from ingot_git.process.streaming import stream_git
from ingot_git.refs.refs import BRANCHES, is_valid_ref_name
from ingot_remotes.archives.archive import MOST_PEOPLE_BYTES, Archive, open_archive, verify
from ingot_remotes.archives.layout import (
    BUNDLE,
    MANIFEST,
    MOST_PAGE_BYTES,
    PEOPLE,
    WIKI_BUNDLE,
    ArchiveInvalid,
)

GITEA_SERVICE = "3"
"""Gitea's number for a source that is a Gitea."""
GIT_SECONDS = 3600.0
WATCH_SECONDS = 0.5
"""Seconds between two looks whether the layout was cancelled, while git writes a patch."""
MOST_PATCH_BYTES = 256 * MIB
"""Limit of the patch of a pull request. A larger one is left out; its commits are in the repository."""
STATES = {"APPROVED": "APPROVED", "REQUEST_CHANGES": "CHANGES_REQUESTED", "COMMENT": "COMMENTED"}
_SHA = re.compile("[0-9a-f]{40}")
_UNPRINTABLE = re.compile("[^\t\n\r\x20-\x7e\xa0-\ud7ff\ue000-\ufefe\uff00-\ufffd\U00010000-\U0010ffff]")
Object = dict[str, Any]


class LayoutFailed(Exception):
    """The folder cannot be written. The message says why."""


class _Archive:
    """The pages of an archive, and the state of its conversion."""

    def __init__(self, file: Archive, most_patch_bytes: int, stop: Cancellation) -> None:
        self.stop, self.room = stop, most_patch_bytes
        """The bytes that all further patches may have."""
        self.file, self.names = file, file.paths()
        self.manifest: Object = json.loads(file.read(MANIFEST, MOST_PAGE_BYTES))
        self.emails = {
            (one.get("source_id", 0), one.get("name", "")): one.get("email", "")
            for one in self._lines(PEOPLE, MOST_PEOPLE_BYTES)
        }
        self.labels = {one["source_id"]: _label(one) for one in self.pages("labels")}
        self.milestones = {one["source_id"]: one["title"] for one in self.pages("milestones")}
        self.without_patches: list[int] = []
        """Numbers of pull requests whose patches are left out."""
        self._unpacked: dict[str, Path] = {}

    def pages(self, kind: str) -> Iterator[Object]:
        """Yield the objects of a kind."""
        number = 1
        while (name := f"{kind}/{number:05}.jsonl") in self.names:
            yield from self._lines(name)
            number += 1

    def _lines(self, name: str, most_bytes: int = MOST_PAGE_BYTES) -> Iterator[Object]:
        if name in self.names:
            for line in self.file.read(name, most_bytes).split(b"\n"):
                if line.strip():
                    self.require_needed()
                    yield json.loads(line)

    def require_needed(self) -> None:
        """Raise LayoutFailed if the layout was cancelled."""
        if self.stop.is_cancelled:
            raise LayoutFailed("it was cancelled")

    def poster(self, person: Object | None, prefix: str = "poster") -> Object:
        """Return the id, name and e-mail address of a person, as fields that begin with ``prefix``."""
        name, source_id = (person or {}).get("name", ""), (person or {}).get("source_id", 0)
        email = self.emails.get((source_id, name), "")
        return {f"{prefix}_id": source_id, f"{prefix}_name": name, f"{prefix}_email": email}

    def unpack(self, name: str, target: Path) -> None:
        """Write a file of a release. If it was already written for another release, add a hard link to it."""
        if name in self._unpacked:
            os.link(self._unpacked[name], target)
            return
        with target.open("xb") as file:
            for chunk in self.file.chunks(name):
                self.require_needed()
                file.write(chunk)
        self._unpacked[name] = target


def write_verified_layout(archive: Path, folder: Path, *, room: int) -> list[int]:
    """Verify an archive, which may be untrusted, and write the folder. See ``write_layout``.

    All files of the archive together have at most ``room`` bytes. So do all patches together.
    """
    try:
        verify(archive, max_bytes=room)
    except ArchiveInvalid as error:
        raise LayoutFailed(f"{archive} is not an archive of Ingot: {error}") from None
    return write_layout(archive, folder, most_patch_bytes=room)


def write_layout(
    archive: Path, folder: Path, *, most_patch_bytes: int = 2**63, stop: Cancellation | None = None
) -> list[int]:
    """Write the folder, which must not exist. Return the numbers of pull requests without a patch.

    A patch is left out if it has more than ``MOST_PATCH_BYTES``, or if all patches would have more than
    ``most_patch_bytes``. Blocks, and runs an event loop, so call it in a thread that has none.

    Raises LayoutFailed, also soon after another thread cancels ``stop``. Then no folder is left.
    """
    if folder.exists():
        raise LayoutFailed(f"{folder} exists; name another folder")
    try:
        with open_archive(archive) as file, tempfile.TemporaryDirectory(dir=folder.parent) as scratch:
            layout = Path(scratch, "layout")
            layout.mkdir(mode=0o700)
            contents = _Archive(file, most_patch_bytes, stop or Cancellation())
            _write(contents, layout)
            layout.rename(folder)
            return contents.without_patches
    except ArchiveInvalid as error:
        raise LayoutFailed(f"{archive} is not an archive of Ingot: {error}") from None
    except (KeyError, ValueError, TypeError, AttributeError, RecursionError) as error:
        raise LayoutFailed(f"{archive} is not an archive of Ingot: {error!r}") from None


def _write(archive: _Archive, folder: Path) -> None:
    _write_git(archive, folder)
    _save(folder / "repo.yml", _repository(archive, has_wiki=(folder / "wiki").exists()))
    _save(folder / "topic.yml", {"topics": archive.manifest.get("topics", [])})
    _append(folder / "label.yml", archive.labels.values())
    _append(folder / "milestone.yml", (_milestone(one) for one in archive.pages("milestones")))
    _append(folder / "release.yml", _releases(archive, folder))
    _append(folder / "issue.yml", (_issue(archive, one) for one in archive.pages("issues")))
    for name in ("comments", "reviews"):
        (folder / name).mkdir()
    _append(folder / "pull_request.yml", _pulls(archive, folder))
    for text in archive.pages("comments"):
        path = folder / "comments" / f"{int(text['number'])}.yml"
        _append(path, [_comment(archive, text["number"], text)])


def _pulls(archive: _Archive, folder: Path) -> Iterator[Object]:
    """Yield the pull requests, and write their patches, comments and reviews."""
    for one in archive.pages("pulls"):
        number = int(one["number"])
        if reviews := one.get("reviews"):
            _append(folder / "reviews" / f"{number}.yml", [_review(number, review) for review in reviews])
        if texts := one.get("comments"):
            _append(
                folder / "comments" / f"{number}.yml", [_comment(archive, number, text) for text in texts]
            )
        yield _pull(archive, one, folder / "git")


def _append(path: Path, objects: Iterable[Object]) -> None:
    """Append objects to a YAML list in a file. Without any objects, the file gets an empty list."""
    with path.open("a", encoding="utf-8") as file:
        for one in objects:
            file.write(f"- {_encoded(one)}\n")
        if not file.tell():
            file.write("[]\n")


def _save(path: Path, value: Object) -> None:
    path.write_text(_encoded(value) + "\n", encoding="utf-8")


def _encoded(value: Object) -> str:
    """Return JSON in one line that is also YAML."""
    text = json.dumps(value, ensure_ascii=False)
    return _UNPRINTABLE.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


def _write_git(archive: _Archive, folder: Path) -> None:
    """Write the bare repositories ``git`` and ``wiki`` out of their bundles."""
    for name, bundle in (("git", BUNDLE), ("wiki", WIKI_BUNDLE)):
        if name == "wiki" and bundle not in archive.names:
            continue
        path = folder / name
        _create(path, str(archive.manifest.get("default_branch") or "main"))
        if bundle not in archive.names:  # the repository is empty
            continue
        with tempfile.TemporaryDirectory(dir=folder.parent) as scratch:
            unpacked = Path(scratch, "bundle")
            archive.file.copy_bundle(bundle, unpacked, require_needed=archive.require_needed)
            options = ("--quiet", "--no-auto-maintenance", "--no-write-fetch-head")
            _git(GitArgs("fetch", options, (str(unpacked), "+refs/*:refs/*")), path, archive.stop)
    (folder / "git" / "pulls").mkdir()


def _create(path: Path, main: str) -> None:
    """Create an empty bare repository with a default branch. Raises LayoutFailed."""
    if not is_valid_ref_name(main):
        raise LayoutFailed("the archive has no valid name of a default branch")
    for name in ("objects", "refs"):
        (path / name).mkdir(parents=True)
    (path / "HEAD").write_text(f"ref: {BRANCHES}{main}\n")
    (path / "config").write_text("[core]\n\trepositoryformatversion = 0\n\tbare = true\n")


def _git(args: GitArgs, folder: Path, stop: Cancellation) -> bytes:
    """Return the output of git. Raises LayoutFailed."""
    try:
        return run_git(
            args,
            git_dir=folder,
            time_limit=GIT_SECONDS,
            environment=clean_environment(protocols=("file",), config=(("transfer.fsckObjects", "true"),)),
            cancellation=stop,
        )
    except GitError as error:
        raise LayoutFailed(f"git cannot read the archive: {error}") from None


def _repository(archive: _Archive, *, has_wiki: bool) -> dict[str, str]:
    """Return the fields of ``repo.yml``. All values are strings, because Gitea reads them as strings."""
    manifest = archive.manifest
    url = str(manifest.get("url", ""))
    switches = ("issues", "milestones", "labels", "releases", "comments", "pulls", "assets")
    return {
        "name": str(manifest["name"]),
        "owner": url.rstrip("/").split("/")[-2] if url.count("/") > 3 else "",
        "description": str(manifest.get("description", "")),
        "clone_addr": f"{url}.git" if url else "",
        "original_url": url,
        "is_private": str(bool(manifest.get("private", True))).lower(),
        "service_type": GITEA_SERVICE,
        "default_branch": str(manifest.get("default_branch", "main")),
        "wiki": str(has_wiki).lower(),
        **dict.fromkeys(switches, "true"),
    }


def _label(one: Object) -> Object:
    names = ("name", "color", "description")
    return {name: one.get(name, "") for name in names} | {"exclusive": bool(one.get("exclusive"))}


def _milestone(one: Object) -> Object:
    return {
        "title": one["title"],
        "description": one.get("description", ""),
        "deadline": one.get("due_on"),
        "created": one["created_at"],
        "updated": one["updated_at"],
        "closed": one.get("closed_at"),
        "state": one.get("state", "open"),
    }


def _releases(archive: _Archive, folder: Path) -> Iterator[Object]:
    """Yield the releases, and write their files."""
    for number, one in enumerate(archive.pages("releases"), 1):
        assets = []
        for place, asset in enumerate(one.get("assets", []), 1):
            path = f"release_assets/{number}/{place}"
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            archive.unpack(asset["url"], folder / path)
            created = asset["created_at"]
            assets.append(
                {
                    "id": place,
                    "name": asset["name"],
                    "size": asset.get("size"),
                    "download_count": 0,
                    "created": created,
                    "updated": created,
                    "download_url": path,
                }
            )
        yield {
            "tag_name": one["tag_name"],
            "target_commitish": one.get("target", ""),
            "name": one.get("name", ""),
            "body": one.get("body", ""),
            "draft": bool(one.get("draft")),
            "prerelease": bool(one.get("prerelease")),
            **archive.poster(one.get("author"), "publisher"),
            "assets": assets,
            "created": one["created_at"],
            "published": one.get("published_at") or one["created_at"],
        }


def _shared(archive: _Archive, one: Object) -> Object:
    """Return the fields that issues and pull requests share."""
    labels = [archive.labels[label] for label in one.get("labels", []) if label in archive.labels]
    return {
        "number": one["number"],
        **archive.poster(one.get("author")),
        "title": one["title"],
        "content": one.get("body", ""),
        "milestone": archive.milestones.get(one.get("milestone", 0), ""),
        "state": one.get("state", "open"),
        "is_locked": bool(one.get("is_locked")),
        "created": one["created_at"],
        "updated": one["updated_at"],
        "closed": one.get("closed_at"),
        "labels": labels,
        "reactions": _reactions(one),
        "assignees": [person.get("name", "") for person in one.get("assignees", [])],
        "foreignindex": one["number"],
    }


def _issue(archive: _Archive, one: Object) -> Object:
    return {**_shared(archive, one), "ref": one.get("ref", "")}


def _pull(archive: _Archive, one: Object, git: Path) -> Object:
    """Return a pull request, and write its patch and its head.

    The patch is empty if the repository lacks a commit, or if the patch is too large.
    """
    number, base, head = int(one["number"]), _sha(one["merge_base"]), _sha(one["head_sha"])
    repository = _repository(archive, has_wiki=False)
    place = {"clone_url": "", "repo_name": repository["name"], "owner_name": repository["owner"]}
    has_commits = base and head and all(_has_commit(git, sha) for sha in (base, head))
    patch = git / "pulls" / f"{number}.patch"
    limit = min(MOST_PATCH_BYTES, archive.room)
    if not asyncio.run(
        _write_unless_cancelled(archive, git, f"{base}..{head}" if has_commits else "", patch, limit)
    ):
        archive.without_patches.append(number)
    archive.room -= patch.stat().st_size
    if head and _has_commit(git, head):
        _git(GitArgs("update-ref", (), (f"refs/pull/{number}/head", head)), git, archive.stop)
    return {
        **_shared(archive, one),
        "patch_url": f"git/pulls/{number}.patch",
        "merged": bool(one.get("merged")),
        "merged_time": one.get("merged_at"),
        "merge_commit_sha": one.get("merge_sha") or "",
        "head": {**place, "ref": one["head_branch"], "sha": head},
        "base": {**place, "ref": one["base_branch"], "sha": _sha(one["base_sha"])},
    }


async def _write_unless_cancelled(archive: _Archive, git: Path, commits: str, path: Path, limit: int) -> bool:
    """Write the patch like ``_write_patch``. Raises LayoutFailed, also if the layout is cancelled."""
    task = asyncio.create_task(_write_patch(git, commits, path, limit))
    while not (await asyncio.wait([task], timeout=WATCH_SECONDS))[0]:
        if archive.stop.is_cancelled:
            task.cancel()
            await asyncio.wait([task])
            archive.require_needed()
    return await task


async def _write_patch(git: Path, commits: str, path: Path, limit: int) -> bool:
    """Write the patch of a range of commits; an empty file if ``commits`` is empty.

    Return False above ``limit`` bytes; then the file is empty, too. Raises LayoutFailed.
    """
    size = 0
    with path.open("xb") as file:
        if not commits:
            return True
        patch = stream_git(
            GitArgs("format-patch", ("--stdout",), (commits,)), git_dir=git, time_limit=GIT_SECONDS
        )
        try:
            async with aclosing(patch) as chunks:
                async for chunk in chunks:
                    size += len(chunk)
                    if size > limit:
                        file.truncate(0)
                        return False
                    file.write(chunk)
        except GitError as error:
            raise LayoutFailed(f"git cannot read the archive: {error}") from None
    return True


def _sha(text: str) -> str:
    return text if _SHA.fullmatch(text) else ""


def _has_commit(git: Path, sha: str) -> bool:
    try:
        run_git(GitArgs("cat-file", ("-e",), (f"{sha}^{{commit}}",)), git_dir=git)
    except GitError:
        return False
    return True


def _comment(archive: _Archive, number: int, one: Object) -> Object:
    return {
        "issue_index": number,
        "index": one["source_id"],
        "comment_type": "comment",
        **archive.poster(one.get("author")),
        "created": one["created_at"],
        "updated": one["updated_at"],
        "content": one.get("body", ""),
        "reactions": _reactions(one),
    }


def _review(number: int, one: Object) -> Object:
    author = one.get("author") or {}
    return {
        "id": one["source_id"],
        "issue_index": number,
        "reviewer_id": author.get("source_id", 0),
        "reviewer_name": author.get("name", ""),
        "official": False,
        "commit_id": one["commit_sha"],
        "content": one.get("body", ""),
        "created_at": one["submitted_at"],
        "state": STATES[one["state"]],
        "comments": [_line_comment(place, line) for place, line in enumerate(one.get("comments", []), 1)],
    }


def _line_comment(place: int, one: Object) -> Object:
    """Return a comment on a line. Gitea counts lines of the old file negatively."""
    return {
        "id": place,
        "in_reply_to": 0,
        "content": one.get("body", ""),
        "tree_path": one["path"],
        "diff_hunk": one.get("diff_hunk", ""),
        "position": 0,
        "line": -one["old_position"] if one.get("old_position") else one.get("new_position", 0),
        "commit_id": one["commit_sha"],
        "poster_id": (one.get("author") or {}).get("source_id", 0),
        "reactions": [],
        "created_at": one["created_at"],
        "updated_at": one["updated_at"],
    }


def _reactions(one: Mapping[str, Any]) -> list[Object]:
    return [
        {
            "user_id": reaction["author"].get("source_id", 0),
            "user_name": reaction["author"].get("name", ""),
            "content": reaction["content"],
        }
        for reaction in one.get("reactions", [])
    ]
