"""The default services (Redis, Milvus Lite, the offline model) as supervised child processes with URLs."""

from chat_app.embedded.services import EmbeddedServices, ServiceUrls, embedded_services

__all__ = ["EmbeddedServices", "ServiceUrls", "embedded_services"]
