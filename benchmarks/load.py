"""The load, in a process of its own: a fixed number of one request over persistent connections.

It uses raw sockets and parses only the head of a response, which leaves the CPU to the servers. It reads one
JSON line with the request, and prints one with the result. ``NUMBER`` in a request is replaced by a new
number with as many digits each time.
"""

import asyncio
import json
import sys
import time
from itertools import count

NUMBER = b"%NUMBER%"
numbers = count(int(time.time() * 1000) % 10 ** len(NUMBER))


async def connection(host: str, port: int, request: bytes, requests: int, statuses: dict[str, int]) -> None:
    reader, writer = await asyncio.open_connection(host, port)
    varies = NUMBER in request
    for _ in range(requests):
        number = b"%0*d" % (len(NUMBER), next(numbers) % 10 ** len(NUMBER))
        writer.write(request.replace(NUMBER, number) if varies else request)
        head = await reader.readuntil(b"\r\n\r\n")
        status = head[9:12].decode()
        statuses[status] = statuses.get(status, 0) + 1
        await reader.readexactly(length_of(head))
    writer.close()


def length_of(head: bytes) -> int:
    lower = head.lower()
    start = lower.index(b"content-length:") + len(b"content-length:")
    return int(lower[start : lower.index(b"\r", start)])


async def main() -> None:
    instructions = json.loads(sys.stdin.readline())
    request = instructions["request"].encode()
    statuses: dict[str, int] = {}
    each = instructions["count"] // instructions["connections"]
    started = time.perf_counter()
    await asyncio.gather(
        *(
            connection(instructions["host"], instructions["port"], request, each, statuses)
            for _ in range(instructions["connections"])
        )
    )
    seconds = time.perf_counter() - started
    print(json.dumps({"statuses": statuses, "seconds": seconds, "count": each * instructions["connections"]}))


if __name__ == "__main__":
    import uvloop

    uvloop.run(main())
