"""Checks that the started server, and no other server, responds on a port."""

import asyncio
import json
import socket
import urllib.error
import urllib.request
from concurrent.futures import ThreadPoolExecutor


def nats_answers(port: int, name: str) -> bool:
    # The greeting contains the server's name: another process may have taken the port in between.
    with socket.create_connection(("127.0.0.1", port), timeout=5) as connection:
        greeting = connection.makefile("rb").readline()
    return greeting.startswith(b"INFO ") and json.loads(greeting[5:])["server_name"] == name


def redis_answers(port: int, password: str) -> bool:
    with socket.create_connection(("127.0.0.1", port), timeout=5) as connection:
        connection.sendall(f"AUTH {password}\r\n".encode())
        return connection.recv(64).startswith(b"+OK")


def s3_answers(port: int) -> bool:
    try:
        urllib.request.urlopen(f"http://127.0.0.1:{port}/", timeout=5).close()
    except urllib.error.HTTPError as refusal:
        return refusal.code == 403
    return False


def postgres_answers(url: str) -> bool:
    import asyncpg

    async def connect() -> None:
        connection = await asyncpg.connect(url, ssl=False)
        await connection.close()

    # On its own thread: the caller may be an async test, whose loop must stay unchanged.
    with ThreadPoolExecutor(max_workers=1) as thread:
        try:
            thread.submit(lambda: asyncio.run(connect())).result()
        except asyncpg.CannotConnectNowError:
            return False
    return True
