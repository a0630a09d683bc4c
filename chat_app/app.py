"""Chainlit's target: the handlers of the page.

``asclepius serve`` mounts it into the app that ``create_app`` makes; ``chainlit run chat_app/app.py`` serves it alone,
with the same routes and the same guard.
"""

from collections.abc import Mapping
from contextlib import AsyncExitStack

import chainlit as cl
from chainlit.chat_context import chat_contexts
from chainlit.config import config
from chainlit.session import WebsocketSession
from chainlit.types import ThreadDict
from fastapi import HTTPException

from chat_app.interface import chainlit_setup
from chat_app.interface.i18n.translation import language_of
from chat_app.interface.page.starters import starter_questions
from chat_app.interface.security.identity import login_metadata
from chat_app.interface.security.password_login import TooManyLogins

runtime, page = chainlit_setup.attach()
# The services that are open when Chainlit serves alone.
standalone = AsyncExitStack()


if runtime.settings.server.auth == "password":

    async def sign_in(username: str, password: str) -> cl.User | None:
        try:
            name = await runtime.password_login.log_in(username, password)
        except TooManyLogins as error:
            raise HTTPException(429, "toomanylogins", {"Retry-After": str(error.retry_after)}) from None
        return cl.User(identifier=name, metadata=login_metadata()) if name else None

    # Chainlit's decorator would turn the refusal into a wrong password.
    config.code.password_auth_callback = sign_in

elif runtime.settings.server.auth == "oidc":
    chainlit_setup.offer_single_sign_on(runtime.settings)

else:

    @cl.header_auth_callback
    async def sign_in_by_header(headers: Mapping[str, str]) -> cl.User | None:
        name = runtime.identity.from_headers(headers)
        await runtime.audit.record("login" if name else "login_failed", name or "")
        return cl.User(identifier=name, metadata=login_metadata()) if name else None


@cl.set_starters
async def starters(_user: cl.User | None, language: str | None = None) -> list[cl.Starter]:
    if (app := runtime.app) is None:
        return []
    titles = [document.title for document in await app.guidelines.documents()]
    drugs = (await app.drugs.stats()).records > 0
    extracts = runtime.settings.uses_offline_model
    questions = starter_questions(titles, language_of(language), extracts=extracts, drugs=drugs)
    return [cl.Starter(label=question.label, message=question.message) for question in questions]


@cl.on_message
async def answer(_: cl.Message) -> None:
    """Do nothing: Chainlit refuses a target without this handler, and ``socket_handlers`` answers questions."""


@cl.on_chat_resume
async def resume(thread: ThreadDict) -> None:
    """Cut what the page is sent to the recent turns; a running answer is rendered once the page has them."""
    if isinstance(session := cl.context.session, WebsocketSession):
        page.recent.open(session, thread)


@cl.on_chat_end
async def leave() -> None:
    chat_contexts.pop(cl.context.session.id, None)


@cl.on_app_startup
async def start() -> None:
    await standalone.enter_async_context(runtime.running())


@cl.on_app_shutdown
async def finish() -> None:
    await standalone.aclose()
