"""The apps of the services, to look at their routes. They never meet a database."""

import importlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

from cryptography.fernet import Fernet
from litestar import Litestar

from ingot_chassis.http.policy import Policy
from ingot_chassis.security.keys import SigningKey

OWN_PATHS = ("/internal", "/livez", "/readyz", "/metrics")
"""The beginnings of paths that are not routed from outside."""


def app_of(service: str, folder: Path, **settings: Any) -> Litestar:
    own: dict[str, Any] = {"private_key": SigningKey.generate().text(), "background": False}
    if service not in ("web", "gateway"):
        own["database_url"] = f"sqlite+aiosqlite:///{folder}/x.db"
    if service in ("identity", "repos", "hooks", "mail"):
        own["sealing_key"] = Fernet.generate_key().decode()
    if service == "repos":
        own["storage_root"] = str(folder)
    all_settings = importlib.import_module(f"ingot_{service}.settings").Settings(**own | settings)
    app: Litestar = importlib.import_module(f"ingot_{service}.app").create_app(all_settings)
    return app


def policies_of(app: Litestar, is_meant: Callable[[str], bool]) -> dict[str, Policy | None]:
    """``METHOD path`` -> policy, of the routes whose path is meant."""
    return {
        f"{method} {route.path_format}": handler.opt.get("policy")
        for route in app.routes
        for handler in getattr(route, "route_handlers", [])
        for method in handler.http_methods - {"OPTIONS", "HEAD"}
        if is_meant(route.path_format)
    }


def public_policies(folder: Path) -> dict[str, Policy]:
    """``METHOD path`` -> policy, of everything that is routed from outside, except pages."""
    return {
        name: policy
        for service in ("identity", "repos", "issues", "hooks", "mail", "gateway")
        for name, policy in policies_of(
            app_of(service, folder), lambda path: not path.startswith(OWN_PATHS)
        ).items()
        if policy is not None
    }
