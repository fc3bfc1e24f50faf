"""Which service calls which, and which consumes the events of which: the graph of services, in one place.

Calls go down, events go up or sideways. NetworkPolicies, service keys and stream consumers are held against
this by ``tests/arch``.
"""

SERVICES = ("identity", "repos", "issues", "hooks", "web", "gateway")

CALLS: dict[str, tuple[str, ...]] = {
    "identity": (),
    "repos": ("identity",),
    "issues": ("identity", "repos"),
    "hooks": ("identity", "repos"),
    "web": ("identity", "repos", "issues", "hooks"),
    "gateway": ("identity", "repos", "issues", "hooks", "web"),
}
"""Caller -> called. Acyclic: gateway -> web -> issues, hooks -> repos -> identity."""

SHARDED = ("repos",)
"""Services whose processes hold different files, and hand requests on to each other for them."""

CONSUMES: dict[str, tuple[str, ...]] = {
    "identity": ("repos",),
    "repos": ("identity", "issues", "hooks"),
    "issues": ("identity", "repos"),
    "hooks": ("identity", "repos", "issues"),
    "web": (),
    "gateway": (),
}
"""Consumer -> emitters of the durable consumers it has. The gateway only listens, to drop cached answers."""

AUDIENCE = ("identity", "repos", "issues", "hooks", "web", "gateway")
"""Services that accept a principal."""
