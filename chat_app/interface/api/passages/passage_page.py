"""The page of one passage, which citations in other programs and in notes link to."""

from typing import Annotated, Final
from urllib.parse import quote

from fastapi import APIRouter, Query, Request, Response
from pydantic import Field, StringConstraints

from chat_app.agent.citations.stated_strength import stated_strengths
from chat_app.events import Reference
from chat_app.interface.api.dependencies import NO_STORE, ReaderLanguage, ServedRuntime, html_page
from chat_app.interface.api.passages.passage_links import MOST_QUOTES, PassageLinks
from chat_app.interface.conversation.own_documents import require_readable
from chat_app.interface.i18n.translation import say
from chat_app.interface.rendering.reference_cards import card
from chat_app.interface.runtime import Runtime
from chat_app.interface.security.identity import DEMO_USER, NotOwner, Unauthenticated
from tools.guidelines import Scope
from tools.types import Frozen, Passage

_TEMPLATE: Final = "passages/passage_page.jinja"
_SCALE: Final = 1.5


class PassageQuery(Frozen):
    """The query of a link: what to mark, and the signature of one that opens without a login."""

    quote: list[Annotated[str, StringConstraints(max_length=4_000)]] = Field(
        default_factory=list, max_length=MOST_QUOTES
    )
    until: int = 0
    key: Annotated[str, StringConstraints(max_length=64)] = ""


LinkQuery = Annotated[PassageQuery, Query()]


router = APIRouter(include_in_schema=False)


@router.get("/passages/{passage_id:path}/page.png")
async def picture(runtime: ServedRuntime, request: Request, passage_id: str, link: LinkQuery) -> Response:
    """Render the passage's page with its quotes marked."""
    _, scope = await _admit(runtime, request, passage_id, link)
    passage = await _found(runtime, passage_id, scope)
    if passage is None or passage.page is None:
        raise NotOwner
    guidelines = (await runtime.ready()).guidelines
    image = await guidelines.page_image(
        passage.document_id, passage.page, highlight=link.quote, scale=_SCALE, scope=scope
    )
    return Response(image.png, media_type="image/png", headers=NO_STORE)


@router.get("/passages/{passage_id:path}")
async def page(
    runtime: ServedRuntime, request: Request, language: ReaderLanguage, *, passage_id: str, link: LinkQuery
) -> Response:
    """Show the passage with its quotes marked, its place and its page."""
    user = passage = None
    try:
        user, scope = await _admit(runtime, request, passage_id, link)
        passage = await _found(runtime, passage_id, scope)
    except Unauthenticated:
        return html_page(_TEMPLATE, language, 401, notice=say(language, "passage.sign_in"))
    except NotOwner:
        pass
    if passage is None:
        return html_page(_TEMPLATE, language, 404, notice=say(language, "passage.missing"))
    notice = "" if await _is_current(runtime, passage) else say(language, "passage.superseded")
    quotes = tuple(link.quote)
    cited = Reference(number=1, passage=passage, quotes=quotes, strengths=stated_strengths(passage, quotes))
    shown = card(cited, language)
    root = runtime.settings.server.root_path
    picture = f"{root}/passages/{quote(passage.id, safe=':@')}/page.png?{request.url.query}" if passage.page else ""
    original = f"{root}/api/v1/guidelines/{passage.document_id}/original.pdf#page={passage.page}" if user else ""
    return html_page(_TEMPLATE, language, notice=notice, reference=shown, picture=picture, original=original)


async def _admit(
    runtime: Runtime, request: Request, passage_id: str, link: PassageQuery
) -> tuple[str | None, Scope | None]:
    """Return the user, None for a signed link, and the scope to read with.

    Raises ``Unauthenticated``, and ``NotOwner`` for a passage of somebody else's file.
    """
    identity = runtime.identity
    if PassageLinks(identity.secret).is_valid(passage_id, link.until, link.key):
        return None, None
    # The demo user need not have opened the page before.
    user = DEMO_USER if identity.server.auth == "demo" else identity.from_cookies(request.cookies)
    return user, await require_readable(runtime.history, user, passage_id)


async def _found(runtime: Runtime, passage_id: str, scope: Scope | None) -> Passage | None:
    """Return the passage, or None when it is not stored any more."""
    app = await runtime.ready()
    if passage_id.startswith("drug:"):
        return await app.drugs.passage(passage_id)
    return await app.guidelines.passage(passage_id, scope=scope)


async def _is_current(runtime: Runtime, passage: Passage) -> bool:
    """Return whether no newer version of the passage's guideline is loaded."""
    name, _, version = passage.document_id.rpartition("@")
    documents = await (await runtime.ready()).guidelines.documents() if name else []
    return all(document.id != name or version not in document.superseded for document in documents)
