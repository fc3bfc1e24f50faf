"""The load, in a process of its own: a fixed number of one request over kept-alive connections.

Raw sockets and no parsing beyond the head, so that the client leaves the machine to the servers.
Reads one JSON line with what to send, and prints one with what came of it.
"""

import asyncio
import json
import sys
import time


async def connection(host: str, port: int, request: bytes, count: int, statuses: dict[str, int]) -> None:
    reader, writer = await asyncio.open_connection(host, port)
    for _ in range(count):
        writer.write(request)
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
    told = json.loads(sys.stdin.readline())
    request = told["request"].encode()
    statuses: dict[str, int] = {}
    each = told["count"] // told["connections"]
    started = time.perf_counter()
    await asyncio.gather(
        *(connection(told["host"], told["port"], request, each, statuses) for _ in range(told["connections"]))
    )
    seconds = time.perf_counter() - started
    print(json.dumps({"statuses": statuses, "seconds": seconds, "count": each * told["connections"]}))


if __name__ == "__main__":
    import uvloop

    uvloop.run(main())
