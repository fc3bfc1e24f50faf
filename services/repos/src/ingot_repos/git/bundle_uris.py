"""What protocol 2 says of bundles (gitprotocol-v2(5), `bundle-uri`): files that a clone reads before it asks for the rest."""

from itertools import islice

import pygit2
from pygit2.enums import ObjectType

from ingot_repos.git.fetch_requests import BUNDLE_URI
from ingot_repos.git.refs import BRANCHES
from ingot_repos.git.smart_http import FLUSH, pkt_line

MOST_COMMITS = 10_000
"""So many are looked at for one that is old enough."""


def with_bundle_uri(capabilities: bytes) -> bytes:
    """The capabilities of git in protocol 2, and that of naming bundles."""
    return capabilities.removesuffix(FLUSH) + pkt_line(BUNDLE_URI + b"\n") + FLUSH


def list_of_bundles(address: str | None) -> bytes:
    """The answer to a request for bundles: one bundle, whose address may be relative to that of the repository; or none."""
    if address is None:
        return FLUSH
    lines = ("bundle.version=1", "bundle.mode=all", f"bundle.base.uri={address}")
    return b"".join(pkt_line(line.encode()) for line in lines) + FLUSH


def commit_before(repo: pygit2.Repository, branch: str, moment: float) -> str | None:
    """The newest commit of a branch, by first parents, that was made before a time in seconds; None if there is none."""
    tip = repo.references.get(f"{BRANCHES}{branch}")
    if tip is None:
        return None
    walker = repo.walk(tip.peel(ObjectType.COMMIT).id)
    walker.simplify_first_parent()
    commits = islice(walker, MOST_COMMITS)
    return next((str(commit.id) for commit in commits if commit.commit_time < moment), None)
