"""The time of a rejected sign-in, with a wrong password and with an unknown name: medians and quartiles.

Requests go through gateway and identity. Each name gets few attempts, so identity delays none of them.
"""

import base64
import statistics
import time

import httpx
from run import cluster

PEOPLE = 5
EACH = 9
"""Wrong passwords per name. After ten, identity would delay the next one."""


def seconds(client: httpx.Client, name: str) -> float:
    """Return the time until a sign-in with a wrong password is rejected."""
    credential = base64.b64encode(f"{name}:wrong".encode()).decode()
    started = time.perf_counter()
    answer = client.get("api/v1/user", headers={"Authorization": f"Basic {credential}"})
    spent = time.perf_counter() - started
    if answer.status_code != 401:
        raise SystemExit(f"expected 401, got {answer.status_code}: {answer.text}")
    return spent


def main() -> None:
    from tests.e2e.deployments import ADMINISTRATOR

    with cluster() as deployment, httpx.Client(base_url=deployment.url, timeout=60) as client:
        for number in range(PEOPLE):
            new = {"username": f"n{number}", "email": f"n{number}@x.io", "password": "what they know"}
            client.post("api/v1/admin/users", json=new, auth=ADMINISTRATOR).raise_for_status()
        spent: dict[str, list[float]] = {"wrong password": [], "unknown name": []}
        for attempt in range(PEOPLE * EACH):
            spent["wrong password"].append(seconds(client, f"n{attempt % PEOPLE}"))
            spent["unknown name"].append(seconds(client, f"unknown{attempt % PEOPLE}"))
    for kind, times in spent.items():
        low, median, high = (value * 1e3 for value in statistics.quantiles(times, n=4))
        print(f"{kind:<16} median {median:6.1f} ms, quartiles {low:6.1f} and {high:6.1f} ms")


if __name__ == "__main__":
    main()
