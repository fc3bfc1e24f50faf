"""The Grafana dashboards of the services. `make docs` writes them to JSON."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from ingot_contracts.topology import CONSUMES, SERVICES

ROOT = Path(__file__).parent.parent
PANEL_WIDTH, PANEL_HEIGHT, IN_A_ROW = 8, 7, 3
EMITTERS = ("identity", "repos", "issues")
WITH_JOBS = ("repos", "issues")
QUANTILE = (
    'histogram_quantile(QUANTILE, sum by (le) (rate(ingot_request_seconds_bucket{service="SERVICE"}[5m])))'
)


class Panel(NamedTuple):
    """One graph. ``lines`` are PromQL and its legend; SERVICE stands for the name of the service."""

    title: str
    unit: str
    lines: tuple[tuple[str, str], ...]


REQUESTS = (
    Panel(
        "Requests",
        "reqps",
        (('sum by (status) (rate(ingot_requests_total{service="SERVICE"}[5m]))', "{{status}}"),),
    ),
    Panel(
        "Requests by route",
        "reqps",
        (('topk(8, sum by (route) (rate(ingot_requests_total{service="SERVICE"}[5m])))', "{{route}}"),),
    ),
    Panel(
        "Time of a request",
        "s",
        tuple(
            (QUANTILE.replace("QUANTILE", str(quantile)), f"p{str(quantile)[2:].ljust(2, '0')}")
            for quantile in (0.5, 0.9, 0.99)
        ),
    ),
)
PROCESSES = (
    Panel(
        "Processor",
        "percentunit",
        (('rate(process_cpu_seconds_total{job=~"SERVICE(-work|-shards)?"}[5m])', "{{pod}}"),),
    ),
    Panel("Memory", "bytes", (('process_resident_memory_bytes{job=~"SERVICE(-work|-shards)?"}', "{{pod}}"),)),
    Panel("Open files", "short", (('process_open_fds{job=~"SERVICE(-work|-shards)?"}', "{{pod}}"),)),
)
EMITTED = (
    Panel(
        "Events sent",
        "ops",
        (('sum(rate(ingot_outbox_sent_total{service="SERVICE"}[5m]))', "sent"),),
    ),
    Panel(
        "Age of the oldest event that is not sent",
        "s",
        (('max(ingot_outbox_oldest_seconds{service="SERVICE"})', "age"),),
    ),
    Panel(
        "Events too large to be sent",
        "short",
        (('max(ingot_outbox_dead_lettered{service="SERVICE"})', "dead-lettered"),),
    ),
)
CONSUMED = (
    Panel(
        "Events applied",
        "ops",
        (('sum by (type) (rate(ingot_inbox_applied_total{service="SERVICE"}[5m]))', "{{type}}"),),
    ),
    Panel(
        "Events dead-lettered",
        "short",
        (('sum by (type) (increase(ingot_inbox_dead_lettered_total{service="SERVICE"}[1h]))', "{{type}}"),),
    ),
)
JOBS = (
    Panel(
        "Jobs ended",
        "ops",
        (
            (
                'sum by (kind, outcome) (rate(ingot_jobs_total{service="SERVICE"}[5m]))',
                "{{kind}} {{outcome}}",
            ),
        ),
    ),
    Panel(
        "Wait of the oldest job that is due",
        "s",
        (('max by (kind) (ingot_jobs_oldest_seconds{service="SERVICE"})', "{{kind}}"),),
    ),
)
OWN: dict[str, tuple[Panel, ...]] = {
    "repos": (
        Panel("Git processes", "short", (("sum by (verb) (ingot_git_running)", "{{verb}}"),)),
        Panel(
            "Mirrors: sync that is late, and how many fail",
            "short",
            (
                ("max by (shard) (ingot_mirror_lag_seconds)", "{{shard}} late, s"),
                ("max by (shard) (ingot_mirrors_failing)", "{{shard}} failing"),
            ),
        ),
        Panel(
            "Repositories that git found damaged, or has not checked yet",
            "short",
            (
                ("max by (shard) (ingot_repositories_damaged)", "{{shard}} damaged"),
                ("max by (shard) (ingot_repositories_unchecked)", "{{shard}} unchecked"),
            ),
        ),
    ),
    "hooks": (
        Panel(
            "Attempts to deliver",
            "ops",
            (("sum by (outcome) (rate(ingot_hook_attempts_total[5m]))", "{{outcome}}"),),
        ),
        Panel("Wait of the oldest delivery that is due", "s", (("max(ingot_hook_lag_seconds)", "wait"),)),
    ),
    "mail": (
        Panel(
            "Attempts to send",
            "ops",
            (("sum by (outcome) (rate(ingot_mail_attempts_total[5m]))", "{{outcome}}"),),
        ),
        Panel("Wait of the oldest mail that is due", "s", (("max(ingot_mail_lag_seconds)", "wait"),)),
    ),
}


def file_of(service: str) -> Path:
    return ROOT / "deploy/k8s/overlays/production" / service / "dashboard.json"


def pages() -> Iterator[tuple[Path, str]]:
    """Every dashboard and its text."""
    for service in SERVICES:
        yield file_of(service), json.dumps(_dashboard(service), indent=1) + "\n"


def _dashboard(service: str) -> dict[str, Any]:
    panels = [
        *REQUESTS,
        *OWN.get(service, ()),
        *(EMITTED if service in EMITTERS else ()),
        *(CONSUMED if CONSUMES[service] else ()),
        *(JOBS if service in WITH_JOBS else ()),
        *PROCESSES,
    ]
    return {
        "uid": f"ingot-{service}",
        "title": f"Ingot {service}",
        "tags": ["ingot"],
        "schemaVersion": 39,
        "refresh": "30s",
        "time": {"from": "now-3h", "to": "now"},
        "templating": {"list": [{"name": "source", "type": "datasource", "query": "prometheus"}]},
        "panels": [_panel(number, panel, service) for number, panel in enumerate(panels)],
    }


def _panel(number: int, panel: Panel, service: str) -> dict[str, Any]:
    row, column = divmod(number, IN_A_ROW)
    return {
        "id": number + 1,
        "type": "timeseries",
        "title": panel.title,
        "datasource": {"type": "prometheus", "uid": "${source}"},
        "gridPos": {"x": column * PANEL_WIDTH, "y": row * PANEL_HEIGHT, "w": PANEL_WIDTH, "h": PANEL_HEIGHT},
        "fieldConfig": {"defaults": {"unit": panel.unit, "min": 0}, "overrides": []},
        "targets": [
            {
                "refId": chr(ord("A") + index),
                "expr": expression.replace("SERVICE", service),
                "legendFormat": legend,
            }
            for index, (expression, legend) in enumerate(panel.lines)
        ],
    }
