"""Joins what the model server's file search found with the passages that are stored here.

A server cuts files its own way and knows no pages. Where the same words stand in stored passages of the same version of
the guideline, those are cited in its stead: their page, their panel and their quotes are those of any citation. What is
not found here stays as the retrieved text it is, without a page.
"""

import asyncio
import logging
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Sequence

from chat_app.agent.hosted_results import output_of, results_of
from chat_app.generation.hosted.hosted_search import GUIDELINE_ID, GUIDELINE_VERSION
from chat_app.response_objects import FileSearchResult
from tools.errors import ToolError
from tools.language.folding import folded
from tools.language.sentences import sentences
from tools.search_presentation import passage_count
from tools.types import FunctionOutput, Passage

logger = logging.getLogger(__name__)

Version = tuple[str, str]
"""A guideline's id, and the first digits of the SHA-256 of its file."""
UploadedAs = Callable[[str], Version | None]
"""The guideline that was uploaded as a file, by the file's id at the server."""
PassagesOf = Callable[[str, str], Awaitable[Sequence[Passage]]]
"""All stored passages of a version of a guideline, by id and SHA-256; none when there is no such version."""

_LEAST_SIGNS = 25
"""A shorter sentence, such as a heading, may stand anywhere and tells nothing."""
_MOST_VERSIONS = 32


class _Sentences:
    """The sentences and table rows of a version's passages, folded, to be found in any text in one pass over it."""

    def __init__(self, passages: Sequence[Passage]) -> None:
        self._passages = passages
        self._by_start: dict[str, list[tuple[str, int]]] = {}
        for place, passage in enumerate(passages):
            for line in passage.text.split("\n"):
                for sentence in (folded(each, ignore_case=True) for each in sentences(line)):
                    if len(sentence) >= _LEAST_SIGNS:
                        self._by_start.setdefault(sentence[:_LEAST_SIGNS], []).append((sentence, place))

    def shared_with(self, text: str) -> list[Passage]:
        """Return the passages that share whole sentences with ``text``, those that share most first.

        One that shares only what others share more of is left out, such as a table's row of which nothing but the
        caption was found.
        """
        words = folded(text, ignore_case=True)
        found: dict[int, dict[int, int]] = {}
        for at in range(len(words) - _LEAST_SIGNS + 1):
            for sentence, place in self._by_start.get(words[at : at + _LEAST_SIGNS], ()):
                if words.startswith(sentence, at):
                    found.setdefault(place, {})[at] = len(sentence)
        covered: set[int] = set()
        chosen: list[Passage] = []
        for place, shared in sorted(found.items(), key=lambda item: -sum(item[1].values())):
            if not covered.issuperset(shared):
                covered.update(shared)
                chosen.append(self._passages[place])
        return chosen


class HostedPassages:
    """Finds the stored passages of search results; versions never change, so the most recent ones are cached."""

    def __init__(self, passages_of: PassagesOf, uploaded_as: UploadedAs) -> None:
        self._passages_of = passages_of
        self._uploaded_as = uploaded_as
        self._versions: OrderedDict[Version, _Sentences] = OrderedDict()

    async def join(self, output: FunctionOutput) -> FunctionOutput:
        """``output`` of a hosted file search, the stored passages whose words were found first.

        What was retrieved follows, for words of it that no stored passage has. ``output.output["results"]`` keeps one
        entry for each passage, in the same order.
        """
        results = results_of(output)
        if not results:
            return output
        joined: dict[str, tuple[Passage, FileSearchResult]] = {}
        retrieved: dict[str, tuple[Passage, FileSearchResult]] = {}
        for passage, result in zip(output.passages, results, strict=True):
            stored = await self._stored(passage, result)
            for found in stored:
                # The same words found twice keep the better score, which comes first.
                joined.setdefault(found.id, (found, result))
            (retrieved if stored else joined)[passage.id] = (passage, result)
        count = passage_count(len(joined))
        both = (*joined.values(), *retrieved.values())
        return output.model_copy(
            update={
                "passages": tuple(passage for passage, _ in both),
                "output": output_of(result for _, result in both),
                "summary": str(count),
                "summary_phrase": count,
            }
        )

    async def _stored(self, retrieved: Passage, result: FileSearchResult) -> list[Passage]:
        """Return the stored passages whose words were retrieved; none where they are not known here."""
        version = self._version(retrieved, result)
        if version is None:
            return []
        found = (await self._sentences(version)).shared_with(retrieved.text)
        return [passage.model_copy(update={"score": retrieved.score}) for passage in found]

    def _version(self, retrieved: Passage, result: FileSearchResult) -> Version | None:
        attributes = result.attributes or {}
        if attributes.get(GUIDELINE_ID) and attributes.get(GUIDELINE_VERSION):
            return str(attributes[GUIDELINE_ID]), str(attributes[GUIDELINE_VERSION])
        # Servers that give no attributes back still name the file.
        return self._uploaded_as(retrieved.document_id)

    async def _sentences(self, version: Version) -> _Sentences:
        known = self._versions.pop(version, None)
        if known is None:
            try:
                passages = await self._passages_of(*version)
            except (ToolError, OSError) as error:
                logger.warning("Stored passages could not be read for a search result: %s", type(error).__name__)
                passages = ()
            # A long guideline has some thousand sentences: too many for the event loop.
            known = await asyncio.to_thread(_Sentences, passages)
            if not passages:
                return known
        self._versions[version] = known
        while len(self._versions) > _MOST_VERSIONS:
            self._versions.popitem(last=False)
        return known
