"""The graph of services: calls between services, and consumers of their events.

Calls go down, events go up or sideways. ``tests/arch`` compares NetworkPolicies, service keys and stream
consumers with this graph.
"""

from ingot_contracts.events import EVENTS, consumers_of

SERVICES = ("identity", "repos", "issues", "hooks", "mail", "web", "gateway")

CALLS: dict[str, tuple[str, ...]] = {
    "identity": (),
    "repos": ("identity",),
    "issues": ("identity", "repos"),
    "hooks": ("identity", "repos"),
    "mail": ("identity", "repos", "issues"),
    "web": ("identity", "repos", "issues", "hooks", "mail"),
    "gateway": ("identity", "repos", "issues", "hooks", "mail", "web"),
}
"""Caller to called services. Acyclic: gateway -> web -> mail, hooks -> issues -> repos -> identity."""

SHARDED = ("repos",)
"""Services whose processes hold different files and forward requests to each other."""

CONSUMES: dict[str, tuple[str, ...]] = {
    service: tuple(
        emitter
        for emitter, events in EVENTS.items()
        if emitter != service and any(service in consumers_of(event) for event in events)
    )
    for service in SERVICES
}
"""Consumer to emitters of its durable consumers. The gateway only listens, to drop cached responses."""

AUDIENCE = ("identity", "repos", "issues", "hooks", "mail", "web", "gateway")
"""Services that accept a principal."""
