"""The processes of every service are replaced while people work: nothing fails and nothing is lost. How long a start takes is no matter.

On a real cluster: tests/cluster, with the same load. What is answered by 503 after the seconds that a call between services has
is no failure here: where ten processes share two busy cores, calls take as long without a restart.
"""

from ingot_contracts.topology import SERVICES

from ..cluster.load import Load  # noqa: TID252 - the folder above is no package with a name
from .deployments import ADMINISTRATOR, CHEAP_PASSWORDS
from .rolling_updates import updating

VARIABLES = CHEAP_PASSWORDS | {"INGOT_HANDOVER_SECONDS": "1"}
PAUSE = 1.0
LONG_SECONDS = 1.0


async def test_each_service_is_replaced_under_load_and_nothing_fails(backing_servers, tmp_path):
    async with updating(tmp_path, backing_servers(), VARIABLES) as update:
        url = update.cluster.url
        work = Load(url, ADMINISTRATOR, tmp_path, long_seconds=LONG_SECONDS, pause=PAUSE)
        await work.prepare()
        async with work.running():
            for service in SERVICES:
                await update.begin(service)
                await update.end(service)
                await work.goes_on()
                print(f"{service} replaced: {work.report()}")
        assert not work.failures + work.refused_soon, "\n".join(work.failures + work.refused_soon)
        assert await work.lost() == []
