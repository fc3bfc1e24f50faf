"""Data that tests of pages create by the API, before a person opens them."""

import base64
from typing import Any

import httpx
from tests.e2e.deployments import ADMINISTRATOR


def api_of(url: str) -> httpx.AsyncClient:
    """The API of a site (``url`` ends with a slash), as its administrator."""
    return httpx.AsyncClient(base_url=f"{url}api/v1/", auth=ADMINISTRATOR, timeout=60)


async def make(
    http: httpx.AsyncClient, path: str, *, method: str = "POST", by: str = ADMINISTRATOR[0], **body: Any
) -> Any:
    """The JSON of the answer, which must be no refusal; ``by`` is the login of who makes it."""
    answer = await http.request(method, path, json=body, headers={"Sudo": by})
    assert answer.status_code < 300, answer.text
    return answer.json() if answer.content else None


def content(text: str) -> str:
    """The content of a file, as the API takes it."""
    return base64.b64encode(text.encode()).decode()
