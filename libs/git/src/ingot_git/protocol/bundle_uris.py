"""Bundles in protocol 2 (gitprotocol-v2(5), `bundle-uri`): files that a clone downloads first."""

from itertools import islice

import pygit2
from pygit2.enums import ObjectType

from ingot_git.protocol.fetch_requests import BUNDLE_URI
from ingot_git.protocol.smart_http import FLUSH, pkt_line
from ingot_git.refs.refs import BRANCHES

MOST_COMMITS = 10_000
"""Maximum number of commits that are searched for one that is old enough."""


def with_bundle_uri(capabilities: bytes) -> bytes:
    """Return git's capabilities in protocol 2 with `bundle-uri` added."""
    return capabilities.removesuffix(FLUSH) + pkt_line(BUNDLE_URI + b"\n") + FLUSH


def list_of_bundles(address: str | None) -> bytes:
    """Return the response that lists one bundle, or no bundle if ``address`` is None.

    A relative address is relative to the URL of the repository.
    """
    if address is None:
        return FLUSH
    lines = ("bundle.version=1", "bundle.mode=all", f"bundle.base.uri={address}")
    return b"".join(pkt_line(line.encode()) for line in lines) + FLUSH


def commit_before(repo: pygit2.Repository, branch: str, moment: float) -> str | None:
    """Return the latest commit of a branch before ``moment``, following first parents only.

    ``moment`` is in seconds since the epoch. Return None if the branch does not exist, or if none of its
    first ``MOST_COMMITS`` commits is old enough.
    """
    tip = repo.references.get(f"{BRANCHES}{branch}")
    if tip is None:
        return None
    walker = repo.walk(tip.peel(ObjectType.COMMIT).id)
    walker.simplify_first_parent()
    commits = islice(walker, MOST_COMMITS)
    return next((str(commit.id) for commit in commits if commit.commit_time < moment), None)
