"""The HTTP receiver records what really came over the wire and answers as told."""

import httpx
import pytest

from ingot_testing.receiver import Answer


async def test_requests_are_recorded(receiver):
    async with httpx.AsyncClient() as client:
        answer = await client.put(
            f"{receiver.url}/hook?a=1", content=b'{"x": 1}', headers={"X-Event": "push"}
        )
    assert answer.status_code == 204

    [request] = await receiver.wait_for(1)
    assert (request.method, request.path, request.body) == ("PUT", "/hook?a=1", b'{"x": 1}')
    assert request.headers["x-event"] == "push"


async def test_answers_are_as_told(receiver):
    receiver.answer(200, body=b"fine")
    receiver.answer_next(500, Answer(302, headers={"Location": "/there"}))
    async with httpx.AsyncClient() as client:
        answers = [await client.post(receiver.url) for _ in range(3)]
    assert [answer.status_code for answer in answers] == [500, 302, 200]
    assert answers[1].headers["location"] == "/there"
    assert answers[2].text == "fine"


async def test_a_slow_answer_is_recorded_at_once(receiver):
    receiver.answer(200, delay=30)
    async with httpx.AsyncClient(timeout=httpx.Timeout(30, read=0.2)) as client:
        with pytest.raises(httpx.ReadTimeout):
            await client.post(receiver.url)
    assert len(await receiver.wait_for(1)) == 1


async def test_waiting_in_vain_says_how_many_came(receiver):
    with pytest.raises(TimeoutError, match="0 of 1 requests"):
        await receiver.wait_for(1, timeout=0.05)
