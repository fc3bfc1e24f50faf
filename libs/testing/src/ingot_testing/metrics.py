"""Values of metrics."""

from prometheus_client import Counter, Gauge


def value_of(metric: Counter | Gauge, *labels: str) -> float:
    """Return the current value of a metric with these labels."""
    [family] = (metric.labels(*labels) if labels else metric).collect()
    return next(sample.value for sample in family.samples if not sample.name.endswith("_created"))
