"""What routes depend on: the served app, the signed-in user, their conversation, language and pages of HTML."""

from functools import partial
from pathlib import Path as FilePath
from typing import Annotated, Any, Final

from fastapi import Depends, Path, Request
from fastapi.responses import HTMLResponse
from jinja2 import Environment, FileSystemLoader

from chat_app.interface.i18n.translation import Language, language_of, say
from chat_app.interface.runtime import Runtime
from chat_app.interface.security.identity import require_owner

NO_STORE: Final = {"cache-control": "no-store"}
"""Headers of an answer that neither browser nor proxy may keep."""
EVERY_METHOD: Final = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"]
_PAGES: Final = Environment(loader=FileSystemLoader(FilePath(__file__).parent), autoescape=True)


async def _served(request: Request) -> Runtime:
    runtime: Runtime = request.app.state.runtime
    return runtime


ServedRuntime = Annotated[Runtime, Depends(_served)]
"""The app that the request came to. Routes get it so, because they are built once and serve every app."""


async def signed_in(runtime: ServedRuntime, request: Request) -> str:
    """Return the user of the login cookie. Raises ``Unauthenticated`` before the rest of the request is validated."""
    return runtime.identity.from_cookies(request.cookies)


User = Annotated[str, Depends(signed_in)]


async def _own_thread(runtime: ServedRuntime, user: User, thread_id: Annotated[str, Path(max_length=64)]) -> str:
    require_owner(user, await runtime.history.owner_of("thread", thread_id))
    return thread_id


OwnThread = Annotated[str, Depends(_own_thread)]
"""The conversation that the path names; ``NotOwner`` is raised for another user's."""


async def _language(request: Request) -> Language:
    return language_of(request.headers.get("accept-language"))


ReaderLanguage = Annotated[Language, Depends(_language)]
"""The language in which the client asks for texts."""


def html_page(template: str, language: Language, status: int = 200, **values: Any) -> HTMLResponse:
    """Return a page from the ``template`` at that path in this folder."""
    html = _PAGES.get_template(template).render(language=language, say=partial(say, language), **values)
    return HTMLResponse(html, status, headers=NO_STORE)
