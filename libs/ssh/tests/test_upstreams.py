"""The app of this process, as the SSH server asks it."""

import asyncio

import pytest

from ingot_ssh.upstreams import AppUpstream


async def test_a_request_ends_although_its_client_left_before_it_was_answered():
    began, ended, silence = asyncio.Event(), asyncio.Event(), asyncio.Event()

    async def app(scope, receive, send):
        began.set()
        await silence.wait()
        await send({"type": "http.response.start", "status": 200, "headers": []})
        for part in (b"one", b"two", b""):
            await send({"type": "http.response.body", "body": part, "more_body": part != b""})
        ended.set()

    asking = asyncio.create_task(AppUpstream(app).request("POST", b"/", [], b""))
    await began.wait()
    asking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asking
    silence.set()
    await asyncio.wait_for(ended.wait(), 10)
