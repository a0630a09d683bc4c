"""The port on which Prometheus collects the metrics, separate from the page so that no proxy publishes it."""

from __future__ import annotations

import asyncio
import hmac
import logging
from collections.abc import AsyncGenerator, Iterable
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING
from wsgiref.types import StartResponse, WSGIApplication, WSGIEnvironment

from chat_app.errors import ConfigurationError
from chat_app.settings import DiagnosticsSettings

if TYPE_CHECKING:
    from chat_app.observability.app_metrics import AppMetrics

logger = logging.getLogger(__name__)

_PROBE_SECONDS = 0.5


def metrics_of(settings: DiagnosticsSettings) -> AppMetrics | None:
    """Return the metrics that ``settings`` ask for."""
    if settings.metrics_port is None:
        return None
    from chat_app.observability.app_metrics import AppMetrics

    return AppMetrics()


@asynccontextmanager
async def metrics_served(metrics: AppMetrics | None, settings: DiagnosticsSettings) -> AsyncGenerator[None, None]:
    """Serve ``metrics`` during the block. Raises ``ConfigurationError`` when the port is taken."""
    if metrics is None or settings.metrics_port is None:
        yield
        return
    from prometheus_client import make_wsgi_app, start_http_server

    try:
        server, thread = start_http_server(settings.metrics_port, settings.metrics_host, metrics.registry)
    except OSError as error:
        raise ConfigurationError(
            f"Port {settings.metrics_port} on {settings.metrics_host} cannot be used ({error.strerror}): "
            "set ASCLEPIUS_METRICS_PORT to a free one, and ASCLEPIUS_METRICS_HOST to an address of this machine."
        ) from None
    if settings.metrics_token is not None:
        server.set_app(_guarded(make_wsgi_app(metrics.registry), settings.metrics_token.get_secret_value()))
    logger.info("Metrics are at http://%s:%s/metrics", *server.server_address[:2])
    probe = asyncio.create_task(_measure_lag(metrics))
    try:
        yield
    finally:
        probe.cancel()
        await asyncio.to_thread(server.shutdown)
        server.server_close()
        thread.join()


def _guarded(app: WSGIApplication, token: str) -> WSGIApplication:
    """Return ``app`` for requests with ``token`` alone."""
    wanted = f"Bearer {token}".encode()

    def answer(environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        if hmac.compare_digest(str(environ.get("HTTP_AUTHORIZATION", "")).encode(), wanted):
            return app(environ, start_response)
        start_response("401 Unauthorized", [("WWW-Authenticate", "Bearer")])
        return [b""]

    return answer


async def _measure_lag(metrics: AppMetrics) -> None:
    clock = asyncio.get_running_loop()
    while True:
        due = clock.time() + _PROBE_SECONDS
        await asyncio.sleep(_PROBE_SECONDS)
        metrics.loop_lag.observe(max(0.0, clock.time() - due))
