"""Requests to the API that prepare the work of a program."""

import json
import urllib.request
from typing import Any

from tap import TOKEN, URL


def api(method: str, path: str, body: object = None) -> Any:
    """Send one request and return its answer."""
    request = urllib.request.Request(
        f"{URL}/api/v1{path}",
        method=method,
        data=None if body is None else json.dumps(body).encode(),
        headers={"Authorization": f"token {TOKEN}", "Content-Type": "application/json"},
    )
    with urllib.request.urlopen(request, timeout=60) as answer:
        text = answer.read()
    return json.loads(text) if text else None


def new_repository(name: str, **options: object) -> dict[str, Any]:
    """A repository of the caller with one commit."""
    repository: dict[str, Any] = api("POST", "/user/repos", {"name": name, "auto_init": True, **options})
    return repository


def add_ssh_key(title: str, text: str) -> None:
    """Add a key of the caller."""
    api("POST", "/user/keys", {"title": title, "key": text})
