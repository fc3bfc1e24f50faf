"""Names are looked up without holding each other up."""

import asyncio
import socket
import threading

import pytest

from ingot_hooks.clients.names import Names

FOUND = [(socket.AF_INET, socket.SOCK_STREAM, 6, "", ("192.0.2.1", 0))]


class Servers:
    """Answers at once, but of a name that is silent only when it is told to."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.speak = threading.Event()

    def __call__(self, host: str) -> list[tuple[object, ...]]:
        self.asked.append(host)
        if host.startswith("silent"):
            self.speak.wait()
        if host == "silent.nowhere":
            raise socket.gaierror("no such name")
        return FOUND


async def test_a_silent_name_is_asked_for_once_and_holds_up_no_other() -> None:
    servers = Servers()
    names = Names(servers)
    waiting = [asyncio.create_task(names.look_up("silent.example.org")) for _ in range(50)]
    many = [asyncio.create_task(names.look_up(f"silent{n}.example.org")) for n in range(50)]
    assert await names.look_up("quick.example.org") == FOUND
    assert servers.asked.count("silent.example.org") == 1
    servers.speak.set()
    assert await asyncio.gather(*waiting, *many) == [FOUND] * 100
    assert await names.look_up("silent.example.org") == FOUND
    assert servers.asked.count("silent.example.org") == 2
    names.close()


async def test_who_waits_no_longer_takes_the_answer_from_nobody() -> None:
    servers = Servers()
    names = Names(servers)
    impatient, patient = (asyncio.create_task(names.look_up("silent.example.org")) for _ in range(2))
    await asyncio.sleep(0)
    impatient.cancel()
    await asyncio.gather(impatient, return_exceptions=True)
    servers.speak.set()
    assert await patient == FOUND
    names.close()


async def test_a_name_that_is_not_there_is_an_error_for_all_who_asked() -> None:
    servers = Servers()
    names = Names(servers)
    asking = [asyncio.create_task(names.look_up("silent.nowhere")) for _ in range(3)]
    await asyncio.sleep(0)
    servers.speak.set()
    for each in await asyncio.gather(*asking, return_exceptions=True):
        assert isinstance(each, OSError)
    with pytest.raises(ValueError, match="label"):
        await Names().look_up("a" * 300)
    names.close()
