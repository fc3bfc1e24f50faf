"""Alerts, dashboards and scaling use only metrics, labels and tables that exist in the code."""

import importlib
import json
import pkgutil
import re
from datetime import datetime, timedelta
from functools import cache

import promql_parser
import pytest
from prometheus_client import REGISTRY
from sqlalchemy import Column, text
from sqlalchemy.ext.asyncio import create_async_engine

from ingot_chassis.clock import now
from ingot_chassis.db.migrations import declared_tables, upgrade
from ingot_contracts.topology import SERVICES
from ingot_standalone.schemas import SCHEMAS
from ingot_testing.non_empty import non_empty

from .manifests import K8S, ROOT, named, written

FROM_THE_COLLECTOR = {"up", "kube_cronjob_created", "kube_cronjob_status_last_successful_time"}
"""The latter two by way of kube-state-metrics."""
ADDED_BY_THE_COLLECTOR = {"job", "pod", "namespace", "instance", "le"}
WAITING = [
    ("issues", "job", "waiting", "run_at"),
    ("hooks", "delivery", "pending", "next_attempt_at"),
    ("mail", "mail", "pending", "next_attempt_at"),
]
ENDINGS = {
    "counter": ("_total",),
    "histogram": ("_bucket", "_sum", "_count"),
    "gauge": ("",),
    "info": ("_info",),
}


@cache
def metrics() -> dict[str, set[str]]:
    """Every series that a service can show -> its labels."""
    for package in ("ingot_chassis", *(f"ingot_{service}" for service in SERVICES)):
        for module in pkgutil.walk_packages(importlib.import_module(package).__path__, f"{package}."):
            if not any(part in module.name for part in (".migrations", "__main__")):
                importlib.import_module(module.name)
    series = {}
    for collector in set(REGISTRY._collector_to_names):
        labels = set(getattr(collector, "_labelnames", ()))
        for family in collector.describe() if hasattr(collector, "describe") else collector.collect():
            for ending in ENDINGS.get(family.type, ("",)):
                series[family.name + ending] = labels
    return series


def queries() -> list[tuple[str, str]]:
    alerts = [
        (rule["alert"], rule["expr"])
        for one in written()
        if one["kind"] == "PrometheusRule"
        for group in one["spec"]["groups"]
        for rule in group["rules"]
    ]
    shown = [
        (f"{file.parent.name} {panel['title']}", target["expr"])
        for file in sorted(K8S.glob("overlays/production/*/dashboard.json"))
        for panel in json.loads(file.read_text())["panels"]
        for target in panel["targets"]
    ]
    return alerts + shown


def selectors(expression: object) -> list[promql_parser.VectorSelector]:
    """Every selector of series in a parsed query."""
    match expression:
        case promql_parser.VectorSelector():
            return [expression]
        case promql_parser.MatrixSelector():
            return [expression.vector_selector]
        case promql_parser.BinaryExpr():
            return selectors(expression.lhs) + selectors(expression.rhs)
        case promql_parser.Call():
            return [series for argument in expression.args for series in selectors(argument)]
        case promql_parser.AggregateExpr() | promql_parser.ParenExpr() | promql_parser.UnaryExpr():
            return selectors(expression.expr)
        case _:
            return []


@pytest.mark.parametrize(("name", "query"), queries(), ids=lambda value: value if " " not in value else None)
def test_a_query_asks_for_series_and_labels_that_exist(name, query):
    series = selectors(promql_parser.parse(query))
    assert series, name
    for selector in series:
        if selector.name in FROM_THE_COLLECTOR:
            continue
        assert selector.name in metrics(), f"{name}: {selector.name} is not declared anywhere"
        labels = {matcher.name for matcher in selector.matchers.matchers}
        assert labels <= metrics()[selector.name] | ADDED_BY_THE_COLLECTOR, f"{name}: {selector.name}"


@pytest.mark.parametrize(("name", "query"), queries(), ids=lambda value: value if " " not in value else None)
def test_a_query_is_for_whatever_namespace_ingot_is_in(name, query):
    """`namespace:` of a kustomization does not reach into it."""
    for selector in non_empty(selectors(promql_parser.parse(query))):
        assert "namespace" not in {matcher.name for matcher in selector.matchers.matchers}, name


@pytest.mark.parametrize("service", SERVICES)
def test_a_service_is_collected_and_has_alerts_and_a_dashboard(service):
    assert named(written(), "ServiceMonitor", service)["spec"]["selector"]["matchLabels"] == {
        "app.kubernetes.io/name": service
    }
    assert named(written(), "PrometheusRule", service)["spec"]["groups"]
    shown = json.loads((K8S / "overlays/production" / service / "dashboard.json").read_text())
    assert shown["title"] == f"Ingot {service}"


@pytest.mark.parametrize("database_backend", ["postgresql"], indirect=True)
@pytest.mark.parametrize(("service", "table", "state", "due"), WAITING)
async def test_workers_scale_by_the_age_of_the_oldest_work_that_is_due(
    service, table, state, due, database_url
):
    """The query on the real schema: nothing at first, then a row that has waited for five minutes."""
    tables = declared_tables(importlib.import_module(f"ingot_{service}")).tables
    await upgrade(database_url, SCHEMAS[service])
    (query,) = [
        trigger["metadata"]["query"]
        for trigger in named(written(), "ScaledObject", f"{service}-work")["spec"]["triggers"]
        if trigger["type"] == "postgresql"
    ]
    engine = create_async_engine(database_url)
    async with engine.begin() as connection:
        assert (await connection.execute(text(query))).scalar() == 0
        row = {column.name: some(column) for column in tables[table].columns if not column.nullable}
        row |= {"state": state, due: now() - timedelta(minutes=5)}
        await connection.execute(tables[table].insert().values(row))
        assert 300 <= (await connection.execute(text(query))).scalar() < 400
    await engine.dispose()


def some(column: Column) -> object:
    """Any value that ``column`` takes."""
    kind = getattr(column.type, "impl_instance", column.type).python_type
    return now() if kind is datetime else b"" if kind is bytes else kind(1)


@pytest.mark.parametrize("service", [s for s in SERVICES if s not in ("web", "gateway")])
def test_somebody_is_woken_when_no_worker_of_a_service_runs(service):
    """Only workers tell how old what waits is: without them every other alert is silent."""
    job = "repos-shards" if service == "repos" else f"{service}-work"
    assert named(written(), "Service", job)
    assert f'absent(up{{job="{job}"}} == 1)' in [expression for _, expression in queries()]


def test_each_alert_has_a_section_of_the_runbook():
    headings = re.findall(r"^## (\w+)$", (ROOT / "docs/how-to/runbook.md").read_text(), re.MULTILINE)
    names = {rule["alert"] for one in written() if one["kind"] == "PrometheusRule" for rule in rules_of(one)}
    kinds = {re.sub(f"^({'|'.join(SERVICES)})", "", name, flags=re.IGNORECASE) for name in names}
    assert kinds == set(headings)
    assert len(headings) == len(set(headings))


def test_the_section_of_an_alert_begins_with_the_doctor_of_its_service():
    _, *parts = re.split(r"^## (\w+)$", (ROOT / "docs/how-to/runbook.md").read_text(), flags=re.MULTILINE)
    sections = dict(zip(parts[::2], parts[1::2], strict=True))
    for one in non_empty(one for one in written() if one["kind"] == "PrometheusRule"):
        for rule in non_empty(rules_of(one)):
            service = one["metadata"]["name"]
            section = sections[re.sub(f"^{service}", "", rule["alert"], flags=re.IGNORECASE)].lstrip()
            assert section.startswith((f"`ingot-{service} doctor`", "`ingot-<service> doctor`")), rule[
                "alert"
            ]


def rules_of(one):
    return [rule for group in one["spec"]["groups"] for rule in group["rules"]]
