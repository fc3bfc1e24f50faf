"""A certified provider of OpenID Connect on Node.js: npm's oidc-provider, from `make oidc-provider`."""

import asyncio
import json
import shutil
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from ingot_testing.processes import free_port

SCRIPT = Path(__file__).parent / "openid_provider" / "provider.mjs"
MODULES = Path(__file__).resolve().parents[4] / ".tools" / "oidc-provider"
SECONDS = 60


class OpenIdProvider(NamedTuple):
    """A running provider. It accepts any password of a known person."""

    issuer: str
    people: Path

    def know(self, **people: Mapping[str, Any]) -> None:
        """Replace all known people: their claims by id."""
        self.people.write_text(json.dumps(people))


@asynccontextmanager
async def serve_openid(folder: Path, client: Mapping[str, Any]) -> AsyncIterator[OpenIdProvider]:
    """Start the provider with metadata of one client. Skips the test if no provider is installed."""
    node = shutil.which("node")
    if node is None or not (MODULES / "node_modules" / "oidc-provider").is_dir():
        pytest.skip("no provider: install Node.js, then run `make oidc-provider`")
    people, port = folder / "people.json", free_port()
    issuer = f"http://127.0.0.1:{port}"
    settings = {"issuer": issuer, "port": port, "people": str(people), "clients": [client]}
    process = await asyncio.create_subprocess_exec(
        node, str(SCRIPT), str(MODULES), json.dumps(settings), stdout=asyncio.subprocess.PIPE
    )
    try:
        assert process.stdout
        line = await asyncio.wait_for(process.stdout.readline(), SECONDS)
        assert line.decode().strip() == issuer
        yield OpenIdProvider(issuer, people)
    finally:
        process.terminate()
        await process.wait()
