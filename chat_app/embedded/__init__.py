"""The default services (Redis, Milvus Lite, the offline model) as supervised child processes with URLs."""

from chat_app.embedded.services import EmbeddedServices, ServiceUrls, embedded_services
from chat_app.embedded.supervisor import ServiceStatus

__all__ = ["EmbeddedServices", "ServiceStatus", "ServiceUrls", "embedded_services"]
