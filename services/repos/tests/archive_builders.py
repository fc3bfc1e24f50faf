"""Archives of repositories: a good one with an object of each kind, and such as strangers make."""

import hashlib
import json
import zipfile
from datetime import UTC, datetime
from pathlib import Path

from ingot_contracts.repos.exports import ExportedPull
from ingot_contracts.repos.imports import (
    ImportedComment,
    ImportedDependency,
    ImportedIssue,
    ImportedLabel,
    ImportedLineComment,
    ImportedMilestone,
    ImportedPerson,
    ImportedReaction,
    ImportedRequest,
    ImportedReview,
    ImportedTime,
)
from ingot_remotes.archives.layout import (
    BUNDLE,
    VERSION,
    ArchivedPerson,
    Manifest,
    file_path,
)
from ingot_remotes.archives.writer import ArchiveWriter
from ingot_remotes.interface.source import SourceAsset, SourceRelease

AT = datetime(2020, 1, 2, 3, 4, 5, tzinfo=UTC)
LATER = datetime(2020, 1, 5, 3, 4, 5, tzinfo=UTC)
TIMES = {"created_at": AT, "updated_at": LATER}
ANN, CAT = ImportedPerson(name="annie", source_id=70), ImportedPerson(name="cat", source_id=71)
SHA, OTHER = "a" * 40, "b" * 40
HEART = ImportedReaction(author=ANN, content="heart", created_at=AT)
BUNDLE_BYTES = b"# v2 git bundle\n\n"
ASSET = b"a file of a release"
COMMENT = ImportedComment(source_id=9, number=1, author=ANN, body="hm", reactions=[HEART], **TIMES)
PULL = ExportedPull(
    source_id=201,
    number=2,
    author=CAT,
    title="a pull request",
    base_branch="trunk",
    base_sha=SHA,
    head_branch="fix",
    head_sha=OTHER,
    merge_base=SHA,
    is_from_base=True,
    merged=True,
    merged_at=LATER,
    merged_by=ANN,
    merge_sha=OTHER,
    state="closed",
    closed_at=LATER,
    reviews=[
        ImportedReview(
            source_id=300,
            author=ANN,
            state="REQUEST_CHANGES",
            body="no",
            commit_sha=OTHER,
            dismissed=True,
            submitted_at=AT,
            updated_at=LATER,
            comments=[
                ImportedLineComment(
                    author=ANN,
                    body="why",
                    path="a.py",
                    old_position=7,
                    commit_sha=OTHER,
                    diff_hunk="@@ -7 +7 @@",
                    resolver=CAT,
                    **TIMES,
                )
            ],
        )
    ],
    requests=[ImportedRequest(reviewer=CAT, commit_sha=OTHER, created_at=AT)],
    comments=[ImportedComment(source_id=10, number=2, author=CAT, body="on a pull request", **TIMES)],
    **TIMES,
)
OBJECTS = {
    "labels": [ImportedLabel(source_id=5, name="bug", color="ee0701", description="broken")],
    "milestones": [ImportedMilestone(source_id=6, title="one", state="closed", closed_at=LATER, **TIMES)],
    "issues": [
        ImportedIssue(
            source_id=101,
            number=1,
            author=ANN,
            title="first",
            body="so, @cat",
            labels=[5],
            milestone=6,
            assignees=[ANN],
            is_locked=True,
            pin_order=1,
            due_date=LATER,
            reactions=[HEART],
            **TIMES,
        )
    ],
    "pulls": [PULL],
    "comments": [COMMENT],
    "times": [ImportedTime(source_id=500, number=1, author=ANN, seconds=60, created_at=AT)],
    "dependencies": [ImportedDependency(number=1, blocker=2)],
    "releases": [
        SourceRelease(
            author=ANN,
            tag_name="v1",
            name="one",
            body="notes",
            created_at=AT,
            published_at=LATER,
            assets=[
                SourceAsset(
                    name="a.txt",
                    url=file_path(hashlib.sha256(ASSET).hexdigest()),
                    size=len(ASSET),
                    created_at=AT,
                )
            ],
        )
    ],
}
PEOPLE = [
    ArchivedPerson(source_id=70, name="annie", email="ann@example.org"),
    ArchivedPerson(source_id=71, name="cat"),
]


def manifest_of(**changes):
    fields = {
        "version": VERSION,
        "created_at": AT,
        "service": "gitea",
        "url": "https://git.example.org/there/source",
        "name": "source",
        "topics": ["forge"],
        "counts": {kind: len(objects) for kind, objects in OBJECTS.items()},
        "files": [],
    }
    return Manifest(**fields | changes)


def write_archive(path: Path, *, bundle: Path | None = None, objects=OBJECTS, **changes) -> Path:
    """Write a good archive. ``objects`` are those of one page for each kind."""
    writer = ArchiveWriter(path)
    if bundle is not None:
        writer.add_file(BUNDLE, bundle)
    else:
        with writer.open(BUNDLE) as entry:
            entry.write(BUNDLE_BYTES)
    for kind, page in objects.items():
        writer.add_page(kind, 1, page)
    writer.add_people(PEOPLE)
    with writer.open(file_path(hashlib.sha256(ASSET).hexdigest())) as entry:
        entry.write(ASSET)
    writer.close(manifest_of(**changes))
    return path


DEFAULTS = {
    "format": "ingot-archive",
    "version": VERSION,
    "created_at": "2020-01-02T03:04:05Z",
    "service": "gitea",
    "url": "https://git.example.org/there/source",
    "name": "source",
}


def zip_of(path: Path, members, *, compression=zipfile.ZIP_DEFLATED, **changes) -> Path:
    """Write an archive whose manifest lists ``members``: pairs of a path and bytes. Nothing is checked."""
    rows = [
        {"path": name, "size": len(data), "sha256": hashlib.sha256(data).hexdigest()}
        for name, data in members
    ]
    with zipfile.ZipFile(path, "w", compression) as archive:
        for name, data in members:
            archive.writestr(name, data)
        archive.writestr("manifest.json", json.dumps(DEFAULTS | {"files": rows} | changes))
    return path
