"""Detects the licences in the root folder of a commit by sentences that only one licence contains."""

import json
import re

import pygit2

from ingot_git.history.commits import find_commit
from ingot_git.process.errors import ObjectNotFound, OutputTooLarge, RefNotFound
from ingot_git.refs.refs import get_branch
from ingot_git.refs.trees import fits, list_folder

MOST_BYTES = 256 * 1024
MOST_FILES = 5
_MOST_ENTRIES = 10_000
_NAME_TEXT = r"(?:un)?licen[cs]es?(?:[.-][^\0]*)?|copying(?:[.-][^\0]*)?"
_NAME = re.compile(_NAME_TEXT, re.IGNORECASE)
_RAW_ENTRY = re.compile(rb"100[0-7]{3} (?:%b)\0.{20}" % _NAME_TEXT.encode(), re.IGNORECASE | re.DOTALL)
_FOR_ANY_PURPOSE = "permission to use, copy, modify, and/or distribute this software for any purpose"
_SENTENCES: tuple[tuple[str, tuple[str, ...], tuple[str, ...]], ...] = (
    ("AGPL-3.0", ("gnu affero general public license version 3, 19 november 2007",), ()),
    ("LGPL-3.0", ("gnu lesser general public license version 3, 29 june 2007",), ()),
    ("LGPL-2.1", ("gnu lesser general public license version 2.1, february 1999",), ()),
    ("GPL-3.0", ("gnu general public license version 3, 29 june 2007",), ()),
    ("GPL-2.0", ("gnu general public license version 2, june 1991",), ()),
    ("Apache-2.0", ("apache license version 2.0, january 2004",), ()),
    ("MPL-2.0", ("mozilla public license version 2.0",), ()),
    ("EPL-2.0", ("eclipse public license - v 2.0",), ()),
    ("BSL-1.0", ("boost software license - version 1.0",), ()),
    ("CC0-1.0", ("cc0 1.0 universal",), ()),
    ("Unlicense", ("this is free and unencumbered software released into the public domain",), ()),
    ("MIT", ("to any person obtaining a copy of this software and associated documentation files",
             "this permission notice shall be included in all"), ()),
    ("ISC", (_FOR_ANY_PURPOSE, "provided that the above copyright notice"), ()),
    ("0BSD", (_FOR_ANY_PURPOSE,), ("provided that the above copyright notice",)),
    ("BSD-3-Clause", ("redistribution and use in source and binary forms", "neither the name of"),
     ("advertising",)),
    ("BSD-2-Clause", ("redistribution and use in source and binary forms",), ("neither the name of",)),
    ("Zlib", ("altered source versions must be plainly marked as such",), ()),
)  # fmt: skip
"""SPDX key, required sentences, and forbidden sentences; the first match counts."""


def licenses_of(repo: pygit2.Repository, branch: str) -> list[str]:
    """Return the SPDX keys of the licences in the latest commit of a branch. Raises RefNotFound."""
    tree = str(find_commit(repo, get_branch(repo, branch).oid).tree_id)
    entries = list_folder(repo, tree, "", most=_MOST_ENTRIES)
    files = [entry for entry in entries if entry.kind == "file" and _NAME.fullmatch(entry.name)]
    keys = []
    for entry in files[:MOST_FILES]:
        if repo.odb.read_header(entry.oid)[1] <= MOST_BYTES:
            key = license_of(repo.odb.read(entry.oid)[1].decode("utf-8", "replace"))
            keys += [key] if key else []
    return list(dict.fromkeys(keys))


def licenses_column(repo: pygit2.Repository, branch: str) -> str:
    """Return the licences as a JSON list; an empty list if they cannot be read."""
    try:
        return json.dumps(licenses_of(repo, branch))
    except (RefNotFound, ObjectNotFound, OutputTooLarge, pygit2.GitError):
        return "[]"


def has_same_files(repo: pygit2.Repository, commit: str, other: str) -> bool:
    """True if two commits (full ids) have the same licence files; False if a commit cannot be read.

    This runs for each push, so it only searches the names of the root folder in raw form.
    """
    try:
        return _raw_files(repo, commit) == _raw_files(repo, other)
    except (ObjectNotFound, KeyError, pygit2.GitError):
        return False


def _raw_files(repo: pygit2.Repository, commit: str) -> list[bytes]:
    tree = str(find_commit(repo, commit).tree_id)
    return _RAW_ENTRY.findall(repo.odb.read(tree)[1]) if fits(repo, tree, _MOST_ENTRIES) else []


def license_of(text: str) -> str:
    """Return the SPDX key of a licence text; empty if the licence is unknown."""
    plain = " ".join(text.lower().split())
    for key, present, absent in _SENTENCES:
        if all(part in plain for part in present) and not any(part in plain for part in absent):
            return key
    return ""
