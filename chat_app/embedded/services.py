"""Run the app's default services for the duration of a block.

Only services that no setting replaces are started, in parallel. The first asclepius process of a data directory owns
the services; others use the same addresses. When the owner ends, another process restarts the services at the same
addresses, so clients recover after a short interruption.
"""

import asyncio
import logging
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from typing import Final

from pydantic import Field

from chat_app.embedded.health_probes import is_up
from chat_app.embedded.owner import Ownership
from chat_app.embedded.specs import EmbeddedUrls, ServiceName, ServiceSpec, choose_urls, needed, remove_sockets, specs
from chat_app.embedded.supervisor import SupervisedService
from chat_app.errors import EmbeddedServiceError
from chat_app.settings import Settings
from tools.types import Frozen

OWNER_SECONDS: Final = 100.0
"""Seconds to wait for the owner's services to start."""
_OWNER_POLL_SECONDS: Final = 0.05
_TAKE_OVER_POLL_SECONDS: Final = 0.5

_logger = logging.getLogger(__name__)
Progress = Callable[[str], None]


class ServiceUrls(Frozen):
    """Addresses of all services, whether started here or configured."""

    milvus_uri: str
    redis_url: str = Field(repr=False)
    """May contain a configured password."""
    model_base_url: str | None
    """None: the default of the OpenAI client."""
    offline_key: str | None = Field(default=None, repr=False)
    """Key of the offline model."""


class EmbeddedServices:
    """The running services. ``urls`` does not change during the block."""

    def __init__(self, settings: Settings, owner: Ownership) -> None:
        self._settings = settings
        self._owner = owner
        self._embedded = EmbeddedUrls()
        self._specs: tuple[ServiceSpec, ...] = ()
        self._running: list[SupervisedService] = []
        self._follower: asyncio.Task[None] | None = None
        self.owned = True
        """False while another asclepius process runs the services."""

    @property
    def urls(self) -> ServiceUrls:
        """Return the addresses of all services."""
        storage = self._settings.storage
        redis = storage.redis_url.get_secret_value() if storage.redis_url else self._embedded.redis
        return ServiceUrls(
            milvus_uri=storage.milvus_uri or self._embedded.milvus or "",
            redis_url=redis or "",
            model_base_url=self._settings.model.base_url or self._embedded.offline,
            offline_key=self._embedded.offline_key,
        )

    async def problems(self) -> dict[ServiceName, str]:
        """Return for each started service why it cannot be used, empty for one that answers.

        Services from settings are not included.
        """
        answers = await asyncio.gather(*(is_up(spec.name, spec.url) for spec in self._specs))
        own = {service.spec.name: service for service in self._running}
        return {
            spec.name: _problem(spec, own.get(spec.name), is_up=answer)
            for spec, answer in zip(self._specs, answers, strict=True)
        }

    def restarts(self) -> dict[str, int]:
        """Return how often each service of this process was restarted."""
        return {service.spec.name: service.restarts for service in self._running}

    async def open(self, progress: Progress) -> None:
        """Start the services, or find those of the owner. Raises ``EmbeddedServiceError`` when one does not start."""
        if not needed(self._settings):
            return
        self._owner.prepare()
        if await self._become_owner_or_follow(progress):
            self._use(choose_urls(self._settings))
            self._running = [self._service(spec) for spec in self._specs]
            await self._start_all(progress)
            self._owner.publish(self._embedded)
        else:
            self.owned = False
            self._follower = asyncio.ensure_future(self._take_over_in_time())

    async def close(self) -> None:
        """End the services of this process; the data directory is free afterwards."""
        if self._follower is not None:
            self._follower.cancel()
            await asyncio.gather(self._follower, return_exceptions=True)
        if not self.owned:
            return
        self._owner.retract()
        await asyncio.gather(*(service.stop() for service in self._running))
        remove_sockets(self._embedded, self._settings.storage.data_dir)
        self._owner.release()

    def _use(self, urls: EmbeddedUrls) -> None:
        self._embedded = urls
        self._specs = specs(self._settings, urls)

    def _service(self, spec: ServiceSpec) -> SupervisedService:
        return SupervisedService(spec, data_dir=self._settings.storage.data_dir)

    async def _start_all(self, progress: Progress) -> None:
        async def start(service: SupervisedService) -> None:
            await service.start()
            progress(f"{service.spec.title} is up.")

        starting = [asyncio.ensure_future(start(service)) for service in self._running]
        try:
            await asyncio.gather(*starting)
        finally:
            for task in starting:
                task.cancel()
            await asyncio.gather(*starting, return_exceptions=True)

    async def _become_owner_or_follow(self, progress: Progress) -> bool:
        """Return True as the owner, or False once all needed services of the owner respond."""
        loop = asyncio.get_running_loop()
        deadline = loop.time() + OWNER_SECONDS
        told = False
        while not self._owner.take():
            found = self._owner.published()
            if found is not None and await self._answers(found):
                self._use(found)
                return False
            if loop.time() > deadline:
                raise EmbeddedServiceError(
                    f"Another asclepius process uses {self._settings.storage.data_dir}, but its services do not "
                    "answer: end it, or set ASCLEPIUS_DATA_DIR to another directory."
                )
            if not told:
                progress("Waiting for the services of a running asclepius process.")
                told = True
            await asyncio.sleep(_OWNER_POLL_SECONDS)
        return True

    async def _answers(self, found: EmbeddedUrls) -> bool:
        wanted: list[tuple[ServiceName, str | None]] = [(name, getattr(found, name)) for name in needed(self._settings)]
        answers = [url is None or await is_up(name, url) for name, url in wanted]
        # An address may be left over from a killed owner, so only a response proves it.
        if all(answers) and any(url is None for _, url in wanted):
            raise EmbeddedServiceError(
                f"The asclepius process that uses {self._settings.storage.data_dir} was started with other settings "
                "(MILVUS_URI, REDIS_URL or OPENAI_API_KEY): set the same here, or another ASCLEPIUS_DATA_DIR."
            )
        return all(answers)

    async def _take_over_in_time(self) -> None:
        while not self._owner.take():  # noqa: ASYNC110 - nobody can await the end of another process's lock
            await asyncio.sleep(_TAKE_OVER_POLL_SECONDS)
        _logger.info("The asclepius process that ran the services has ended; starting them again here")
        self.owned = True
        self._running = [self._service(spec) for spec in self._specs]
        for service in self._running:
            service.supervise()
        try:
            self._owner.publish(self._embedded)
        except EmbeddedServiceError as error:
            _logger.warning("Other asclepius processes cannot find the services: %s", error)


def _problem(spec: ServiceSpec, service: SupervisedService | None, *, is_up: bool) -> str:
    """Return why a service cannot be used; ``service`` is None for one of another process."""
    if service is not None and service.problem:
        return service.problem
    if is_up:
        return ""
    if service is None:
        return f"{spec.title} of the other asclepius process does not answer: see what that process says."
    return f"{spec.title} does not answer. Its log is {service.log}."


@asynccontextmanager
async def embedded_services(
    settings: Settings, *, on_progress: Callable[[str], None] | None = None
) -> AsyncGenerator[EmbeddedServices]:
    """Run the services that no setting replaces, until the block ends or the process is killed.

    ``on_progress`` receives a sentence for each service that is up. Raises ``EmbeddedServiceError``, which names the
    service's log, when one does not start.
    """
    services = EmbeddedServices(settings, Ownership(settings.storage.data_dir))
    try:
        await services.open(on_progress or (lambda _: None))
        yield services
    finally:
        await services.close()
