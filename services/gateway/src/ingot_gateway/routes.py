"""The route table: the service that serves a path, and its class of limits.

In a pattern ``{…}`` matches one segment, which may have an ending (``{index}.diff``). ``/*`` at the end
matches the path itself and all paths below it. A literal segment wins over ``{…}``, a longer ``/*`` over a
shorter one. All other paths are pages (``/*``). Below a reserved segment, a path that is not in the table
gets 404. The table must not contain ``/internal``, because only services may call these routes.
"""

from typing import Literal, NamedTuple

Service = Literal["identity", "repos", "issues", "hooks", "mail", "web", "gateway"]
RouteClass = Literal["api", "file", "upload", "git"]


class Route(NamedTuple):
    """A route: the service that serves the paths of ``pattern``, or the gateway itself.

    ``signs_in``: the service authenticates the caller itself. It gets cookies and ``Authorization`` as the
    client sent them, and no principal.

    ``pages``: for browsers. The only credential is the session in a cookie. The service gets the other
    cookies, and must reject every form that was not sent by its own pages.

    ``linked``: pages link to the route. A session is sufficient for reading if no other credential was sent.
    So reading must have no side effects, and the service gets no cookies.
    """

    pattern: str
    service: Service
    kind: RouteClass = "api"
    signs_in: bool = False
    pages: bool = False
    linked: bool = False


ROUTES: tuple[Route, ...] = (
    Route("/api/v1/markdown", "issues"),
    Route("/api/v1/markdown/raw", "issues"),
    Route("/api/v1/markup", "issues"),
    Route("/api/v1/notifications/*", "issues"),
    Route("/api/v1/gitignore/templates/*", "repos"),
    Route("/api/v1/licenses/*", "repos"),
    Route("/api/v1/label/templates/*", "repos"),
    Route("/api/v1/signing-key.gpg", "repos"),
    Route("/api/v1/signing-key.pub", "repos"),
    Route("/api/v1/admin/*", "identity"),
    Route("/api/v1/admin/audit", "gateway"),
    Route("/api/v1/admin/cron/*", "gateway"),
    Route("/api/v1/admin/hooks/*", "hooks"),
    Route("/api/v1/admin/imports/*", "repos"),
    Route("/api/v1/admin/mails/*", "mail"),
    Route("/api/v1/admin/unadopted/*", "repos"),
    Route("/api/v1/admin/users/{username}/repos", "repos"),
    Route("/api/v1/org/{org}/repos/*", "repos"),
    Route("/api/v1/org/{org}/hooks/*", "hooks"),
    Route("/api/v1/orgs/*", "identity"),
    Route("/api/v1/orgs/{org}/repos/*", "repos"),
    Route("/api/v1/orgs/{org}/activities/feeds", "repos"),
    Route("/api/v1/orgs/{org}/exports/*", "repos"),
    Route("/api/v1/orgs/{org}/exports/{id}/archive", "repos", "file", linked=True),
    Route("/api/v1/orgs/{org}/hooks/*", "hooks"),
    Route("/api/v1/orgs/{org}/labels/*", "issues"),
    Route("/api/v1/teams/*", "identity"),
    Route("/api/v1/token", "identity"),
    Route("/api/v1/teams/{id}/activities/feeds", "repos"),
    Route("/api/v1/teams/{id}/repos/*", "repos"),
    Route("/api/v1/user/*", "identity"),
    Route("/api/v1/user/hooks/*", "hooks"),
    Route("/api/v1/user/mail-preferences/*", "mail"),
    Route("/api/v1/user/repos/*", "repos"),
    Route("/api/v1/user/starred/*", "repos"),
    Route("/api/v1/user/subscriptions/*", "repos"),
    Route("/api/v1/user/stopwatches", "issues"),
    Route("/api/v1/user/times", "issues"),
    Route("/api/v1/users/*", "identity"),
    Route("/api/v1/users/{username}/activities/feeds", "repos"),
    Route("/api/v1/users/{username}/heatmap", "repos"),
    Route("/api/v1/users/{username}/repos/*", "repos"),
    Route("/api/v1/users/{username}/starred/*", "repos"),
    Route("/api/v1/users/{username}/subscriptions/*", "repos"),
    Route("/api/v1/repositories/*", "repos"),
    Route("/api/v1/topics/*", "repos"),
    Route("/api/v1/repos/*", "repos"),
    Route("/api/v1/repos/issues/search", "issues"),
    Route("/api/v1/repos/{owner}/{repo}/raw/*", "repos", "file", linked=True),
    Route("/api/v1/repos/{owner}/{repo}/media/*", "repos", "file", linked=True),
    Route("/api/v1/repos/{owner}/{repo}/archive/*", "repos", "file"),
    Route("/api/v1/repos/{owner}/{repo}/export/archive", "repos", "file", linked=True),
    Route("/api/v1/repos/{owner}/{repo}/commits/{sha}/pull", "issues"),
    Route("/api/v1/repos/{owner}/{repo}/hooks/*", "hooks"),
    Route("/api/v1/repos/{owner}/{repo}/hooks/git/*", "repos"),  # no operation, and no id of a hook
    Route("/api/v1/repos/{owner}/{repo}/issue/*", "issues"),
    Route("/api/v1/repos/{owner}/{repo}/issues/*", "issues"),
    Route("/api/v1/repos/{owner}/{repo}/issues/{index}/assets", "issues", "upload"),
    Route("/api/v1/repos/{owner}/{repo}/issues/comments/{id}/assets", "issues", "upload"),
    Route("/api/v1/repos/{owner}/{repo}/labels/*", "issues"),
    Route("/api/v1/repos/{owner}/{repo}/milestones/*", "issues"),
    Route("/api/v1/repos/{owner}/{repo}/new_pin_allowed", "issues"),
    Route("/api/v1/repos/{owner}/{repo}/notifications", "issues"),
    Route("/api/v1/repos/{owner}/{repo}/pulls/*", "issues"),
    Route("/api/v1/repos/{owner}/{repo}/releases/{id}/assets", "repos", "upload"),
    Route("/api/v1/repos/{owner}/{repo}/times/*", "issues"),
    Route("/avatars/*", "identity"),
    Route("/avatars/repositories/*", "repos", linked=True),
    Route("/mail/unsubscribe/{token}", "mail"),
    Route("/mail/replies", "mail", "upload", signs_in=True),
    Route("/login/*", "identity", signs_in=True),
    Route("/login/oauth/userinfo", "identity"),
    Route("/user/confirm_address", "identity", signs_in=True),
    Route("/user/forgot_password", "identity", signs_in=True),
    Route("/user/invited", "identity", signs_in=True),
    Route("/user/register", "identity", signs_in=True),
    Route("/user/reset_password", "identity", signs_in=True),
    Route("/user/sign_up", "identity", signs_in=True),
    Route("/scim/v2/*", "identity", signs_in=True),
    Route("/.well-known/openid-configuration", "identity"),
    Route("/{owner}/{repo}/info/refs", "repos", "git"),
    Route("/{owner}/{repo}/info/lfs/*", "repos", "git"),
    Route("/{owner}/{repo}/git-upload-pack", "repos", "git"),
    Route("/{owner}/{repo}/git-receive-pack", "repos", "git"),
    Route("/{owner}/{repo}/clone.bundle", "repos", "git"),
    Route("/{owner}/{repo}/attachments/{uuid}", "issues", "file", linked=True),
    Route("/{owner}/{repo}/releases/assets/{uuid}", "repos", "file", linked=True),
    Route("/{owner}/{repo}/archive/*", "repos", "file", linked=True),
    Route("/{owner}/{repo}/releases/download/*", "repos", "file", linked=True),
    Route("/{owner}/{repo}/wiki/raw/*", "repos", "file", linked=True),
    Route("/{owner}/{repo}/pulls/{index}.diff", "issues", "file", linked=True),
    Route("/{owner}/{repo}/pulls/{index}.patch", "issues", "file", linked=True),
    Route("/*", "web", pages=True),
)

OWN_PATHS = frozenset(
    (
        "/livez",
        "/readyz",
        "/metrics",
        "/.well-known/nodeinfo",
        "/api/v1/version",
        "/api/v1/api/v1/version",
        "/api/v1/nodeinfo",
        "/api/v1/settings/api",
        "/api/v1/settings/attachment",
        "/api/v1/settings/repository",
        "/api/v1/settings/ui",
        "/api/swagger",
        "/api/v1/swagger",
        "/api/v1/swagger/page.css",
        "/api/v1/swagger/start.js",
        "/api/v1/swagger/swagger-ui-bundle.js",
        "/api/v1/swagger/swagger-ui.css",
        "/api/v1/openapi.json",
        "/swagger.v1.json",
    )
)
"""The paths that the gateway answers itself, without a service."""

RESERVED_SEGMENTS = frozenset(("internal", "livez", "readyz", "metrics", "api", "login", ".well-known"))
"""First segments that cannot be the name of an account."""


class _Node:
    """A node of the table. ``exact`` is the route of its path, ``subtree`` the route of all paths below."""

    __slots__ = ("any", "endings", "exact", "literal", "subtree")

    def __init__(self) -> None:
        self.literal: dict[str, _Node] = {}
        self.endings: list[tuple[str, _Node]] = []
        self.any: _Node | None = None
        self.exact: Route | None = None
        self.subtree: Route | None = None

    def child(self, part: str) -> "_Node":
        """Return the node of one part of a pattern. A missing node is created."""
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
        """Return the node for a segment of a path, or None."""
        literal = self.literal.get(segment)
        if literal is not None:
            return literal
        for ending, node in self.endings:
            if segment.endswith(ending) and len(segment) > len(ending):
                return node
        return self.any


class RouteTable:
    """Finds the route of a decoded path."""

    def __init__(self, routes: tuple[Route, ...] = ROUTES) -> None:
        self._root = _Node()
        for reserved in RESERVED_SEGMENTS:
            self._root.child(reserved)
        for route in routes:
            parts = [part for part in route.pattern.split("/") if part]
            node = self._root
            for part in parts[:-1] if parts[-1] == "*" else parts:
                node = node.child(part)
            if parts[-1] == "*":
                node.subtree = route
            else:
                node.exact = route

    def find(self, path: str) -> Route | None:
        """Return the route of ``path``, or None. Empty segments are ignored, as in services.

        A path with a segment ``.`` or ``..`` has no route.
        """
        node: _Node | None = self._root
        segments = [segment for segment in path.split("/") if segment]
        subtree = None if segments and segments[0] in RESERVED_SEGMENTS else self._root.subtree
        if "." in segments or ".." in segments:
            return None
        for segment in segments:
            node = node.next(segment) if node is not None else None
            if node is None:
                return subtree
            subtree = node.subtree or subtree
        return (node.exact if node is not None else None) or subtree
