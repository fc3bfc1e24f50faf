"""What a name in a request stands for: a branch, a tag, a commit, or a full ref name, if a visible ref leads there."""

import pygit2
from pygit2.enums import ObjectType

from ingot_repos.git.configuration import CLOSED_PULLS
from ingot_repos.git.errors import RefNotFound, RepositoryDamaged
from ingot_repos.git.objects import VISIBLE_REFS, is_reachable
from ingot_repos.git.pull_heads import PULLS
from ingot_repos.git.refs import BRANCHES, TAGS, ResolvedName, is_valid_ref_name, resolve

_PREFIXES = (("heads/", BRANCHES), ("tags/", TAGS))


def named_ref(repo: pygit2.Repository, name: str) -> ResolvedName:
    """The branch, tag or commit of a name. `refs/heads/x`, `heads/x` and `refs/pull/1/head` are understood too.

    Raises:
        RefNotFound: there is none; or the object exists, but no visible ref leads to it.
    """
    if name.startswith("refs/"):
        return _full_ref(repo, name)
    try:
        resolved = resolve(repo, name)
    except RefNotFound:
        for prefix, namespace in _PREFIXES:
            if name.startswith(prefix):
                return _full_ref(repo, namespace + name.removeprefix(prefix))
        raise
    if resolved.kind == "commit" and not is_reachable(repo, resolved.commit):
        raise RefNotFound("no such commit")
    return resolved


def _full_ref(repo: pygit2.Repository, name: str) -> ResolvedName:
    ref = repo.references.get(name) if name.startswith(VISIBLE_REFS) and is_valid_ref_name(name) else None
    if ref is None and name.startswith(PULLS) and is_valid_ref_name(name):
        ref = repo.references.get(name.replace(PULLS, CLOSED_PULLS, 1))
    if ref is None:
        raise RefNotFound("no such ref")
    try:
        commit = str(ref.peel(ObjectType.COMMIT).id)
    except ValueError:  # a tag of an object that is no commit
        raise RefNotFound("no such commit") from None
    except pygit2.GitError as error:
        raise RepositoryDamaged("the object of a ref is missing") from error
    if name.startswith(BRANCHES):
        return ResolvedName("branch", name.removeprefix(BRANCHES), name, commit)
    if name.startswith(TAGS):
        return ResolvedName("tag", name.removeprefix(TAGS), name, commit)
    return ResolvedName("commit", commit, name, commit)
