"""The layout of Gitea: read back with a YAML parser, field by field, against the names that Gitea reads."""

import hashlib
import json
import subprocess
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from ingot_git.process.command import Cancellation
from ingot_remotes.archives import archive as archive_files
from ingot_remotes.archives import gitea_layout
from ingot_remotes.archives.archive import Archive
from ingot_remotes.archives.gitea_layout import LayoutFailed, write_layout, write_verified_layout
from ingot_remotes.archives.layout import BUNDLE, MOST_PAGE_BYTES

AT, LATER = "2020-01-02T03:04:05Z", "2020-01-05T03:04:05Z"
TIMES = {"created_at": AT, "updated_at": LATER}
ANN, CAT = {"name": "annie", "source_id": 70}, {"name": "cat", "source_id": 71}
HEART = {"author": ANN, "content": "heart", "created_at": AT}
STRANGE = 'a: "b"\n- c\t#\x01\x7f\x85\u2028\ufeff é \U0001f600 {[%&*!|>\\'

UNITS = ("issues", "milestones", "labels", "releases", "comments", "pulls", "assets")
FIELDS = {
    "issue": "number poster_id poster_name poster_email title content ref milestone state is_locked created "
    "updated closed labels reactions assignees foreignindex",
    "pull_request": "number title poster_name poster_id poster_email content milestone state created updated "
    "closed labels patch_url merged merged_time merge_commit_sha head base assignees is_locked reactions "
    "foreignindex",
    "branch": "clone_url ref sha repo_name owner_name",
    "comment": "issue_index index comment_type poster_id poster_name poster_email created updated content "
    "reactions",
    "review": "id issue_index reviewer_id reviewer_name official commit_id content created_at state comments",
    "line": "id in_reply_to content tree_path diff_hunk position line commit_id poster_id reactions "
    "created_at updated_at",
    "release": "tag_name target_commitish name body draft prerelease publisher_id publisher_name "
    "publisher_email assets created published",
    "asset": "id name size download_count created updated download_url",
    "milestone": "title description deadline created updated closed state",
    "label": "name color description exclusive",
    "reaction": "user_id user_name content",
}
"""The fields of Gitea's modules/migration, by the names in YAML. Those without a value here are left out."""


def git(*arguments: str, cwd: Path) -> str:
    identity = ("-c", "user.name=ann", "-c", "user.email=ann@example.org")
    result = subprocess.run(["git", *identity, *arguments], cwd=cwd, check=True, capture_output=True)
    return result.stdout.decode().strip()


def commits(folder: Path) -> tuple[str, str]:
    """Make a repository with a pull request, and return its base and its head."""
    folder.mkdir()
    git("init", "-q", "-b", "trunk", cwd=folder)
    git("commit", "-q", "--allow-empty", "-m", "first", cwd=folder)
    base = git("rev-parse", "HEAD", cwd=folder)
    (folder / "oil.txt").write_text("a drop\n")
    git("add", ".", cwd=folder)
    git("commit", "-q", "-m", "add oil", cwd=folder)
    head = git("rev-parse", "HEAD", cwd=folder)
    git("update-ref", "refs/pull/2/head", head, cwd=folder)
    git("reset", "-q", "--hard", base, cwd=folder)
    return base, head


@pytest.fixture
def archive(tmp_path: Path) -> Path:
    """An archive with an object of each kind."""
    work = tmp_path / "work"
    base, head = commits(work)
    bundle = tmp_path / "all.bundle"
    git("bundle", "create", "-q", str(bundle), "--all", cwd=work)
    line = {
        "author": ANN,
        "body": "why",
        "path": "a.py",
        "commit_sha": head,
        "diff_hunk": "@@ -7 +7 @@",
        **TIMES,
    }
    pull = {
        "source_id": 201, "number": 2, "author": CAT, "title": "a pull request", "base_branch": "trunk",
        "base_sha": base, "head_branch": "fix", "head_sha": head, "merge_base": base, "is_from_base": True,
        "merged": True, "merged_at": LATER, "merge_sha": head, "state": "closed", "closed_at": LATER, **TIMES,
        "comments": [{"source_id": 10, "number": 2, "author": CAT, "body": "so", **TIMES}],
        "reviews": [{
            "source_id": 300, "author": ANN, "state": "REQUEST_CHANGES", "body": "no", "commit_sha": head,
            "submitted_at": AT, "updated_at": AT,
            "comments": [{**line, "old_position": 7}, {**line, "new_position": 9}],
        }],
    }  # fmt: skip
    issue = {
        "source_id": 101, "number": 1, "author": ANN, "title": STRANGE, "body": STRANGE, "labels": [5],
        "milestone": 6, "assignees": [CAT], "is_locked": True, "ref": "trunk", "reactions": [HEART], **TIMES,
    }  # fmt: skip
    asset = {"name": "../../evil", "url": "files/" + "0" * 64, "size": 5, "created_at": AT}
    pages = {
        "people": [{**ANN, "email": "ann@example.org"}],
        "labels/00001": [{"source_id": 5, "name": "bug", "color": "ee0701", "exclusive": True}],
        "milestones/00001": [{"source_id": 6, "title": "one", "due_on": LATER, **TIMES}],
        "issues/00001": [issue],
        "issues/00002": [{"source_id": 103, "number": 3, "author": CAT, "title": "three", **TIMES}],
        "pulls/00001": [pull],
        "comments/00001": [
            {"source_id": 9, "number": 1, "author": ANN, "body": "hm", "reactions": [HEART], **TIMES}
        ],
        "releases/00001": [
            {"author": ANN, "tag_name": "../v1", "name": "one", "created_at": AT, "assets": [asset]}
        ],
    }
    manifest = {
        "format": "ingot-archive", "version": 1, "url": "https://git.example.org/ann/demo", "name": "demo",
        "default_branch": "trunk", "private": True, "topics": ["forge"], "description": "lamps",
    }  # fmt: skip
    path = tmp_path / "demo.zip"
    with zipfile.ZipFile(path, "w") as file:
        file.writestr("manifest.json", json.dumps(manifest))
        file.write(bundle, "git/repository.bundle")
        file.writestr("files/" + "0" * 64, b"bytes")
        for name, lines in pages.items():
            file.writestr(f"{name}.jsonl", "".join(json.dumps(line) + "\n" for line in lines))
    return path


def read(folder: Path, name: str) -> Any:
    return yaml.safe_load((folder / name).read_text(encoding="utf-8"))


def has_fields(kind: str, value: dict[str, Any]) -> bool:
    return set(value) == set(FIELDS[kind].split())


def test_each_file_has_the_fields_that_gitea_reads(archive: Path, tmp_path: Path) -> None:
    folder = tmp_path / "layout"
    write_layout(archive, folder)
    repository = read(folder, "repo.yml")
    assert repository == {
        "name": "demo", "owner": "ann", "description": "lamps",
        "original_url": "https://git.example.org/ann/demo",
        "clone_addr": "https://git.example.org/ann/demo.git", "is_private": "true", "service_type": "3",
        "default_branch": "trunk", "wiki": "false",
        **dict.fromkeys(UNITS, "true"),
    }  # fmt: skip
    assert read(folder, "topic.yml") == {"topics": ["forge"]}
    [label] = read(folder, "label.yml")
    [milestone] = read(folder, "milestone.yml")
    issue, third = read(folder, "issue.yml")
    [pull] = read(folder, "pull_request.yml")
    [comment] = read(folder, "comments/1.yml")
    [review] = read(folder, "reviews/2.yml")
    [release] = read(folder, "release.yml")
    for kind, value in {
        "label": label, "milestone": milestone, "issue": issue, "pull_request": pull, "branch": pull["head"],
        "comment": comment, "review": review, "line": review["comments"][0], "release": release,
        "asset": release["assets"][0], "reaction": issue["reactions"][0],
    }.items():  # fmt: skip
        assert has_fields(kind, value), (kind, set(value) ^ set(FIELDS[kind].split()))
    assert (issue["title"], issue["content"]) == (STRANGE, STRANGE)
    assert (issue["poster_name"], issue["poster_id"], issue["poster_email"]) == (
        "annie",
        70,
        "ann@example.org",
    )
    assert (issue["labels"], issue["milestone"], issue["assignees"]) == ([label], "one", ["cat"])
    assert (issue["created"], issue["closed"], third["number"]) == (AT, None, 3)
    assert [text["content"] for text in read(folder, "comments/2.yml")] == ["so"]
    assert review["state"] == "CHANGES_REQUESTED"
    assert [one["line"] for one in review["comments"]] == [-7, 9]
    assert (pull["merged"], pull["merged_time"]) == (True, LATER)


def test_git_data_has_heads_and_patches(archive: Path, tmp_path: Path) -> None:
    folder = tmp_path / "layout"
    write_layout(archive, folder)
    [pull] = read(folder, "pull_request.yml")
    assert git("rev-parse", "refs/pull/2/head", cwd=folder / "git") == pull["head"]["sha"]
    assert git("symbolic-ref", "HEAD", cwd=folder / "git") == "refs/heads/trunk"
    assert git("remote", cwd=folder / "git") == ""
    work = tmp_path / "restored"
    git("clone", "-q", str(folder / "git"), str(work), cwd=tmp_path)
    git("am", "-q", str(folder / pull["patch_url"]), cwd=work)
    assert (work / "oil.txt").read_text() == "a drop\n"


def test_a_patch_that_is_too_large_is_left_out(
    archive: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert write_layout(archive, tmp_path / "whole") == []
    size = (tmp_path / "whole/git/pulls/2.patch").stat().st_size
    for limit, left_out in ((size, []), (size - 1, [2])):
        monkeypatch.setattr(gitea_layout, "MOST_PATCH_BYTES", limit)
        folder = tmp_path / str(limit)
        assert write_layout(archive, folder) == left_out
        [pull] = read(folder, "pull_request.yml")
        assert (folder / pull["patch_url"]).stat().st_size == (0 if left_out else size)
        assert git("rev-parse", "refs/pull/2/head", cwd=folder / "git") == pull["head"]["sha"]


def test_no_name_of_the_archive_becomes_a_path(archive: Path, tmp_path: Path) -> None:
    folder = tmp_path / "layout"
    write_layout(archive, folder)
    [release] = read(folder, "release.yml")
    [asset] = release["assets"]
    assert (asset["name"], asset["download_url"]) == ("../../evil", "release_assets/1/1")
    assert (folder / asset["download_url"]).read_bytes() == b"bytes"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["all.bundle", "demo.zip", "layout", "work"]


def test_a_cancelled_layout_copies_no_more_of_a_bundle(
    archive: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(archive_files, "CHUNK", 10)
    stop, copied, chunks = Cancellation(), list[bytes](), Archive.chunks

    def cancel_first(self: Archive, path: str) -> Iterator[bytes]:
        for chunk in chunks(self, path):
            if path == BUNDLE:
                copied.append(chunk)
                stop.cancel()
            yield chunk

    monkeypatch.setattr(Archive, "chunks", cancel_first)
    with pytest.raises(LayoutFailed):
        write_layout(archive, tmp_path / "layout", stop=stop)
    assert len(copied) == 1
    assert not (tmp_path / "layout").exists()


def encrypt(path: Path) -> None:
    """Set the flag of encryption in each entry of a ZIP file."""
    data = bytearray(path.read_bytes())
    for signature, offset in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        data[data.index(signature) + offset] |= 1
    path.write_bytes(data)


def test_what_cannot_be_written_leaves_nothing(archive: Path, tmp_path: Path) -> None:
    (tmp_path / "wrong.zip").write_bytes(b"no archive")
    with zipfile.ZipFile(tmp_path / "empty.zip", "w") as file:
        file.writestr("other", b"")
    with zipfile.ZipFile(tmp_path / "damaged.zip", "w") as file:
        file.writestr("manifest.json", '{"name": "demo"}')
        file.writestr("git/repository.bundle", b"# v2 git bundle\n" + b"a" * 40 + b" refs/heads/main\n\nPACK")
    with zipfile.ZipFile(tmp_path / "deep.zip", "w") as file:
        file.writestr("manifest.json", "[" * 100_000)
    with zipfile.ZipFile(tmp_path / "endless.zip", "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("manifest.json", '{"name": "demo"}')
        file.writestr("issues/00001.jsonl", b" " * (MOST_PAGE_BYTES + 1))
    with zipfile.ZipFile(tmp_path / "encrypted.zip", "w") as file:
        file.writestr("manifest.json", '{"name": "demo"}')
    encrypt(tmp_path / "encrypted.zip")
    with zipfile.ZipFile(tmp_path / "no-bundle.zip", "w") as file:
        file.writestr("manifest.json", '{"name": "demo"}')
        file.writestr("git/repository.bundle", f"gitdir: {tmp_path / 'work/.git'}\n")
    before = sorted(tmp_path.iterdir())
    for name, words in {
        "wrong": "not an archive",
        "empty": "not an archive",
        "damaged": "git cannot",
        "deep": "not an archive",
        "endless": "issues/00001.jsonl has more than",
        "encrypted": "damaged",
        "no-bundle": "git/repository.bundle is not a bundle of git",
    }.items():
        with pytest.raises(LayoutFailed, match=words):
            write_layout(tmp_path / f"{name}.zip", tmp_path / "layout")
        assert sorted(tmp_path.iterdir()) == before
    write_layout(archive, tmp_path / "layout")
    with pytest.raises(LayoutFailed, match="exists"):
        write_layout(archive, tmp_path / "layout")


def test_a_file_of_many_releases_takes_its_room_once(archive: Path, tmp_path: Path) -> None:
    url = "files/" + "0" * 64
    asset = {"name": "a.bin", "url": url, "size": 5, "created_at": AT}
    line = {"author": ANN, "tag_name": "v2", "name": "two", "created_at": AT, "assets": [asset, asset]}
    with zipfile.ZipFile(archive, "a") as file:
        file.writestr("releases/00002.jsonl", json.dumps(line))
    write_layout(archive, tmp_path / "layout")
    paths = [tmp_path / "layout/release_assets" / place for place in ("1/1", "2/1", "2/2")]
    assert {path.read_bytes() for path in paths} == {b"bytes"}
    assert len({path.stat().st_ino for path in paths}) == 1


def test_an_archive_of_a_stranger_is_verified_first(archive: Path, tmp_path: Path) -> None:
    def write(name: str, text: bytes) -> Path:
        """Write an archive whose only other file has this text."""
        one = {"path": name, "size": len(text), "sha256": hashlib.sha256(text).hexdigest()}
        manifest = {
            "format": "ingot-archive", "version": 1, "created_at": AT, "service": "gitea", "name": "demo",
            "url": "https://git.example.org/ann/demo", "files": [one],
        }  # fmt: skip
        with zipfile.ZipFile(tmp_path / "a.zip", "w", zipfile.ZIP_DEFLATED) as file:
            file.writestr("manifest.json", json.dumps(manifest))
            file.writestr(name, text)
        return tmp_path / "a.zip"

    folder, pages = tmp_path / "layout", "labels/00001.jsonl"
    gitdir = f"gitdir: {tmp_path / 'work/.git'}\n".encode()
    for name, text, words in (
        ("git/repository.bundle", gitdir, "not a bundle of git"),
        ("git/repository.bundle", bytes(10**8), "times as large"),
        ("lfs/" + "0" * 64, bytes(2_000_000), "more than 1,000,000 bytes"),
        (pages, b"[" * 100_000, "pages? |labels"),
    ):
        with pytest.raises(LayoutFailed, match=words):
            write_verified_layout(write(name, text), folder, room=1_000_000)
    with pytest.raises(LayoutFailed, match=r"manifest\.json:"):
        write_verified_layout(archive, folder, room=1_000_000)
    assert not folder.exists()
    label = b'{"source_id": 5, "name": "bug", "color": "ee0701"}\n'
    assert write_verified_layout(write(pages, label), folder, room=1_000_000) == []
    assert [one["name"] for one in read(folder, "label.yml")] == ["bug"]
