"""A feed of passages for an Infobutton manager: Atom, or the same in the JSON that such managers read."""

import re
from collections.abc import Iterable
from datetime import UTC, datetime
from html import escape
from typing import Any, Final
from urllib.parse import quote
from xml.etree.ElementTree import Element, SubElement, tostring

from pydantic import BaseModel

from chat_app.agent.citations.reference_formats import demo_note, web_address
from tools.types import Passage

_ATOM: Final = "http://www.w3.org/2005/Atom"
_AUTHOR: Final = "Asclepius"
_DATE: Final = re.compile(r"(\d{4})(?:-(0[1-9]|1[0-2]))?(?:-(0[1-9]|[12]\d|3[01]))?")
_NOT_XML: Final = re.compile(r"[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


class FeedEntry(BaseModel):
    """One passage with the address where it can be read."""

    id: str
    title: str
    updated: str
    html: str
    href: str


class KnowledgeFeed(BaseModel):
    """The answer to an Infobutton request. ``categories`` repeat its parameters."""

    title: str
    subtitle: str
    href: str
    categories: dict[str, str]
    updated: str
    entries: list[FeedEntry]

    def atom(self) -> bytes:
        """Return the feed as Atom (RFC 4287)."""
        feed = Element("feed", {"xmlns": _ATOM})
        _texts(feed, id=self.href, title=self.title, subtitle=self.subtitle, updated=self.updated)
        _texts(SubElement(feed, "author"), name=_AUTHOR)
        SubElement(feed, "link", {"rel": "alternate", "href": self.href})
        for scheme, term in self.categories.items():
            SubElement(feed, "category", {"scheme": scheme, "term": _clean(term)})
        for one in self.entries:
            entry = SubElement(feed, "entry")
            _texts(entry, id=one.id, title=one.title, updated=one.updated)
            SubElement(entry, "link", {"rel": "alternate", "href": one.href})
            SubElement(entry, "content", {"type": "html"}).text = _clean(one.html)
        return b'<?xml version="1.0" encoding="utf-8"?>\n' + tostring(feed, encoding="unicode").encode()

    def json_feed(self) -> dict[str, Any]:
        """Return the feed as JSON: each element an object whose ``_value`` is its text."""
        return {
            "feed": {
                "id": _value(self.href),
                "title": _value(self.title, "text"),
                "subtitle": _value(self.subtitle, "text"),
                "updated": _value(self.updated),
                "author": {"name": _value(_AUTHOR)},
                "link": [_link(self.title, self.href)],
                "category": [{"scheme": scheme, "term": term} for scheme, term in self.categories.items()],
                "entry": [
                    {
                        "id": _value(one.id),
                        "title": _value(one.title, "text"),
                        "updated": _value(one.updated),
                        "link": [_link(one.title, one.href)],
                        "content": _value(one.html, "html"),
                    }
                    for one in self.entries
                ],
            }
        }


def now() -> str:
    """Return the time as Atom writes it."""
    return datetime.now(UTC).isoformat(timespec="seconds")


def feed_entries(passages: Iterable[Passage], base: str, page: str) -> list[FeedEntry]:
    """Return an entry for each passage; a passage without a URL gets that of ``page``."""
    return [
        FeedEntry(
            id=f"urn:asclepius:{passage.id}",
            title=" › ".join(dict.fromkeys(filter(None, (passage.title, *passage.section.split(" › "))))),
            updated=_updated(passage.version),
            html="".join(
                f"<p>{escape(line)}</p>" for line in (demo_note(passage), *passage.text.splitlines()) if line.strip()
            ),
            href=_address(passage, base) or page,
        )
        for passage in passages
    ]


def _address(passage: Passage, base: str) -> str:
    if passage.kind == "guideline":
        return f"{base}/passages/{quote(passage.id)}"
    return web_address(passage.url)


def _updated(version: str) -> str:
    """Return the date of a source as Atom writes it; the present time when it states none."""
    found = _DATE.fullmatch(version)
    return f"{found[1]}-{found[2] or '01'}-{found[3] or '01'}T00:00:00+00:00" if found else now()


def _texts(parent: Element, **texts: str) -> None:
    for name, text in texts.items():
        SubElement(parent, name).text = _clean(text)


def _clean(text: str) -> str:
    """Remove characters that XML cannot carry."""
    return _NOT_XML.sub("", text)


def _value(text: str, kind: str = "") -> dict[str, str]:
    return {"_value": text, **({"type": kind} if kind else {})}


def _link(title: str, href: str) -> dict[str, str]:
    return {"title": title, "rel": "alternate", "type": "html", "href": href}
