"""The route table: which service answers a path, and under which limits. Facts only, and how to look them up.

In a pattern ``{…}`` stands for one segment, also with an ending (``{index}.diff``), and ``/*`` at the end for
the path itself and everything below it. A literal segment beats ``{…}``, the deeper ``/*`` beats the others.
What is not here is not found; in front of all ``/internal``, which services keep to themselves.
"""

from typing import Literal, NamedTuple

Service = Literal["identity", "repos", "issues", "hooks"]
RouteClass = Literal["api", "file", "git"]


class Route(NamedTuple):
    """Where the paths of ``pattern`` go."""

    pattern: str
    service: Service
    kind: RouteClass = "api"


ROUTES: tuple[Route, ...] = (
    Route("/api/v1/markdown", "issues"),
    Route("/api/v1/markdown/raw", "issues"),
    Route("/api/v1/gitignore/templates/*", "repos"),
    Route("/api/v1/licenses/*", "repos"),
    Route("/api/v1/admin/*", "identity"),
    Route("/api/v1/admin/users/{username}/repos", "repos"),
    Route("/api/v1/org/*", "identity"),
    Route("/api/v1/org/{org}/repos/*", "repos"),
    Route("/api/v1/org/{org}/hooks/*", "hooks"),
    Route("/api/v1/orgs/*", "identity"),
    Route("/api/v1/orgs/{org}/repos/*", "repos"),
    Route("/api/v1/orgs/{org}/hooks/*", "hooks"),
    Route("/api/v1/teams/*", "identity"),
    Route("/api/v1/teams/{id}/repos/*", "repos"),
    Route("/api/v1/user/*", "identity"),
    Route("/api/v1/user/repos/*", "repos"),
    Route("/api/v1/user/starred/*", "repos"),
    Route("/api/v1/user/subscriptions/*", "repos"),
    Route("/api/v1/user/times", "issues"),
    Route("/api/v1/users/*", "identity"),
    Route("/api/v1/users/{username}/repos/*", "repos"),
    Route("/api/v1/users/{username}/starred/*", "repos"),
    Route("/api/v1/users/{username}/subscriptions/*", "repos"),
    Route("/api/v1/repositories/*", "repos"),
    Route("/api/v1/repos/*", "repos"),
    Route("/api/v1/repos/{owner}/{repo}/raw/*", "repos", "file"),
    Route("/api/v1/repos/{owner}/{repo}/archive/*", "repos", "file"),
    Route("/api/v1/repos/{owner}/{repo}/hooks/*", "hooks"),
    Route("/api/v1/repos/{owner}/{repo}/issue/*", "issues"),
    Route("/api/v1/repos/{owner}/{repo}/issues/*", "issues"),
    Route("/api/v1/repos/{owner}/{repo}/labels/*", "issues"),
    Route("/api/v1/repos/{owner}/{repo}/milestones/*", "issues"),
    Route("/api/v1/repos/{owner}/{repo}/pulls/*", "issues"),
    Route("/api/v1/repos/{owner}/{repo}/times/*", "issues"),
    Route("/avatars/*", "identity"),
    Route("/{owner}/{repo}/info/refs", "repos", "git"),
    Route("/{owner}/{repo}/git-upload-pack", "repos", "git"),
    Route("/{owner}/{repo}/git-receive-pack", "repos", "git"),
    Route("/{owner}/{repo}/pulls/{index}.diff", "issues", "file"),
    Route("/{owner}/{repo}/pulls/{index}.patch", "issues", "file"),
)

OWN = frozenset(
    (
        "/",
        "/livez",
        "/readyz",
        "/metrics",
        "/api/v1/version",
        "/api/v1/api/v1/version",
        "/api/swagger",
        "/api/v1/swagger",
        "/api/v1/openapi.json",
        "/swagger.v1.json",
    )
)
"""What the gateway answers by itself."""

RESERVED = frozenset(("internal", "livez", "readyz", "metrics", "api"))
"""First segments that are nobody's name."""


class _Node:
    """One segment of the table: ``here`` for the path that ends in it, ``below`` for all that go on."""

    __slots__ = ("any", "below", "endings", "here", "literal")

    def __init__(self) -> None:
        self.literal: dict[str, _Node] = {}
        self.endings: list[tuple[str, _Node]] = []
        self.any: _Node | None = None
        self.here: Route | None = None
        self.below: Route | None = None

    def child(self, part: str) -> "_Node":
        """The node of one part of a pattern, made if it is missing."""
        if not part.startswith("{"):
            return self.literal.setdefault(part, _Node())
        ending = part[part.index("}") + 1 :]
        if ending:
            node = _Node()
            self.endings.append((ending, node))
            return node
        self.any = self.any or _Node()
        return self.any

    def next(self, segment: str) -> "_Node | None":
        """The node that ``segment`` of a path leads to."""
        found = self.literal.get(segment)
        if found is not None:
            return found
        for ending, node in self.endings:
            if segment.endswith(ending) and len(segment) > len(ending):
                return node
        return self.any


class RouteTable:
    """``ROUTES``, made for looking up a decoded path."""

    def __init__(self, routes: tuple[Route, ...] = ROUTES) -> None:
        self._root = _Node()
        for reserved in RESERVED:
            self._root.child(reserved)
        for route in routes:
            parts = [part for part in route.pattern.split("/") if part]
            node = self._root
            for part in parts[:-1] if parts[-1] == "*" else parts:
                node = node.child(part)
            if parts[-1] == "*":
                node.below = route
            else:
                node.here = route

    def find(self, path: str) -> Route | None:
        """The route of ``path``. Empty segments do not count, as for the services; ``.`` and ``..`` never match."""
        node: _Node | None = self._root
        below = None
        segments = [segment for segment in path.split("/") if segment]
        if "." in segments or ".." in segments:
            return None
        for segment in segments:
            node = node.next(segment) if node is not None else None
            if node is None:
                return below
            below = node.below or below
        return (node.here if node is not None else None) or below
