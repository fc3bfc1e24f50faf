"""Merges refs of a remote: compares changes since the last fetch, here and at the remote."""

from collections.abc import Mapping
from dataclasses import dataclass, field

import pygit2

from ingot_git.refs.pull_heads import PULLS, hidden_ref
from ingot_git.refs.refs import ZERO_OID, RefChange, list_refs


@dataclass(slots=True)
class MergedRefs:
    """The result of a merge of refs, each by name of the remote.

    ``changes`` are the changes to make here. ``conflicts`` has the refs that cannot be merged, and ``bases``
    the values of merged refs at the remote.
    """

    changes: list[RefChange] = field(default_factory=list)
    conflicts: dict[str, str] = field(default_factory=dict)
    bases: dict[str, str] = field(default_factory=dict)


def merge_refs(repo: pygit2.Repository, theirs: Mapping[str, str], bases: Mapping[str, str]) -> MergedRefs:
    """Return the changes that move refs of this repository to refs of a remote.

    A ref that moved at the remote only is moved here. If both sides only got new commits, the side with all
    commits of the other wins. This also applies to a ref without a base. The head of a pull request without a
    base may belong to another pull request, so it is not moved. The value of a conflict is its kind:
    ``commits``, ``deleted`` (here) or ``name``.

    Args:
        repo: the repository, which already has the objects of the remote's refs.
        theirs: refs of the remote that differ from ``bases``.
        bases: known refs of the remote at the last fetch.
    """
    merged = MergedRefs()
    here = list_refs(repo)
    folders = _folders(here)
    for name, new in theirs.items():
        target = _stored_name(name, here)
        old, base = here.get(target), bases.get(name)
        if old == new:
            merged.bases[name] = new
        elif old is None and base is not None:
            merged.conflicts[name] = "deleted"
        elif old is None and (name in folders or _parents(name) & here.keys()):
            merged.conflicts[name] = "name"
        elif old is None or old == base or _follows(repo, name, new, old, base):
            merged.changes.append(RefChange(target, old or ZERO_OID, new))
            merged.bases[name] = new
            if old is None:
                here[target] = new
                folders |= _parents(target)
        elif _follows(repo, name, old, new, base):
            merged.bases[name] = new
        else:
            merged.conflicts[name] = "commits"
    return merged


def _stored_name(name: str, here: Mapping[str, str]) -> str:
    """Return the name of a ref here. The head of a closed pull request may be hidden."""
    number = name.removeprefix(PULLS).removesuffix("/head")
    if name.startswith(PULLS) and number.isdecimal() and hidden_ref(int(number)) in here:
        return hidden_ref(int(number))
    return name


def _follows(repo: pygit2.Repository, name: str, ahead: str, behind: str, base: str | None) -> bool:
    """True if ``ahead`` has ``behind`` in its history, and ``behind`` has the base."""
    if base is None:
        return not name.startswith(PULLS) and _contains(repo, ahead, behind)
    return (behind == base or _contains(repo, behind, base)) and _contains(repo, ahead, behind)


def _contains(repo: pygit2.Repository, history: str, commit: str) -> bool:
    """True if a commit is in the history of another commit. False for annotated tags."""
    try:
        return repo.descendant_of(history, commit)
    except (pygit2.GitError, KeyError, ValueError):
        return False


def _parents(name: str) -> set[str]:
    segments = name.split("/")
    return {"/".join(segments[:count]) for count in range(3, len(segments))}


def _folders(names: Mapping[str, str]) -> set[str]:
    return {folder for name in names for folder in _parents(name)}


def incoming_refs(repo: pygit2.Repository, folder: str) -> list[RefChange]:
    """Return the changes that delete all refs of a folder."""
    return [RefChange(name, oid, ZERO_OID) for name, oid in list_refs(repo, (folder,)).items()]
