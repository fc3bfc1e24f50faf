"""Git's commit-graph files."""

from pathlib import Path

COMMIT_GRAPHS = ("objects/info/commit-graph", "objects/info/commit-graphs/commit-graph-chain")


def has_commit_graph(path: Path) -> bool:
    """True if the repository has a commit-graph with generation numbers.

    Commits that are missing in the commit-graph are always walked.
    """
    return any((path / name).exists() for name in COMMIT_GRAPHS)
