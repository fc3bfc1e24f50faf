"""Health and metrics of a process, for Kubernetes and Prometheus."""

from litestar import Response, get
from litestar.datastructures import State
from litestar.types import Receive, Scope, Send
from prometheus_client import CONTENT_TYPE_LATEST, generate_latest

from ingot_chassis.http import policy
from ingot_chassis.service import ServiceParts


@get("/livez", policy=policy.anyone(), include_in_schema=False, media_type="text/plain")
async def livez() -> str:
    """Return 200 while the process runs."""
    return "ok"


@get("/readyz", policy=policy.anyone(), include_in_schema=False)
async def readyz(state: State) -> Response[str]:
    """Return 200 if the service is ready, else 503 with the reasons.

    It is ready if its own database responds and its own checks succeed. Other services are not checked,
    because their failures would spread.
    """
    parts: ServiceParts = state.parts
    problems = []
    if parts.database is not None:
        try:
            await parts.database.ping()
        except Exception as error:  # noqa: BLE001 - whatever the driver raises means not ready
            problems.append(f"database: {type(error).__name__}")
    problems += [problem for check in parts.checks if (problem := await check())]
    message = "; ".join(problems) or "ready"
    return Response(message, status_code=503 if problems else 200, media_type="text/plain")


@get("/metrics", policy=policy.anyone(), include_in_schema=False)
async def metrics() -> Response[bytes]:
    """Return Prometheus metrics of the process, if the settings put them on the HTTP port."""
    # Litestar adds the charset itself.
    return Response(generate_latest(), media_type=CONTENT_TYPE_LATEST.removesuffix("; charset=utf-8"))


async def metrics_app(scope: Scope, _receive: Receive, send: Send) -> None:
    """Serve only ``/metrics``, for a port that only collectors can reach."""
    is_metrics = scope["path"] == "/metrics"
    body = generate_latest() if is_metrics else b""
    headers = [
        (b"content-type", CONTENT_TYPE_LATEST.encode()),
        (b"content-length", str(len(body)).encode()),
    ]
    await send({"type": "http.response.start", "status": 200 if is_metrics else 404, "headers": headers})
    await send({"type": "http.response.body", "body": body, "more_body": False})
