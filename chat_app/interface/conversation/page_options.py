"""What somebody can set for a conversation on the page: which sources, how long, in which language, which models."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, NamedTuple, Protocol

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from chat_app.answer_options import OWN_NAMES, AnswerLanguage, AnswerLength, ConsultOptions
from chat_app.interface.i18n.translation import Language, say
from chat_app.settings import Settings


class LoadedGuideline(Protocol):
    """What is needed of a guideline that is loaded."""

    @property
    def id(self) -> str: ...

    @property
    def title(self) -> str: ...


_LENGTHS = {"brief": "Brief", "standard": "Standard", "full": "Full"}
MOST_DOCUMENTS = 200


class PageOptions(BaseModel):
    """The settings panel's values; what is missing or not valid is as it is by default."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    guidelines: bool = True
    documents: Annotated[tuple[str, ...], Field(max_length=MOST_DOCUMENTS)] = ()
    """Ids of the guidelines to search; none for all."""
    drugs: bool = True
    length: AnswerLength = "standard"
    language: AnswerLanguage = "auto"
    models: tuple[str, ...] = ()
    """Models to ask; none for the default one."""

    def with_documents(self, added: Sequence[str]) -> PageOptions:
        """The same options with ``added`` among the guidelines to search, where only some are searched."""
        if not self.documents or set(added) <= set(self.documents):
            return self
        return self.model_copy(update={"documents": tuple(dict.fromkeys((*self.documents, *added)))[:MOST_DOCUMENTS]})

    def consult_options(self, loaded: Sequence[LoadedGuideline]) -> ConsultOptions:
        """Return the options of a question. A guideline that is no longer loaded is left out, as in the panel."""
        return ConsultOptions(
            use_clinical_guidelines=self.guidelines,
            use_drug_database=self.drugs,
            length=self.length,
            language=self.language,
            documents=tuple(d.id for d in loaded if d.id in self.documents),
        )

    def asked_models(self, settings: Settings) -> tuple[str, ...]:
        """The models that are asked, each once. One that is not offered is left out."""
        chosen = tuple(dict.fromkeys(model for model in self.models if model in settings.models))
        return chosen or (settings.default_model,)


def left_out(options: PageOptions, language: Language) -> list[str]:
    """Sentences that say which sources were not searched: an answer may lack what stands there."""
    said: list[str] = []
    if not options.guidelines:
        said.append(say(language, "The guidelines were switched off for this question."))
    elif len(options.documents) == 1:
        said.append(say(language, "Only the one guideline that was chosen was searched."))
    elif options.documents:
        said.append(
            say(language, "Only the {count} guidelines that were chosen were searched.", count=len(options.documents))
        )
    if not options.drugs:
        said.append(say(language, "The drug database was switched off for this question."))
    return said


def page_options(values: Mapping[str, Any]) -> PageOptions:
    """The options of a socket's settings; each that is not valid falls back to its default."""
    try:
        return PageOptions.model_validate(values)
    except ValidationError as error:
        wrong = {str(problem["loc"][0]) for problem in error.errors(include_input=False, include_url=False)}
        return PageOptions.model_validate({key: value for key, value in values.items() if key not in wrong})


def settings_panel(
    settings: Settings, options: PageOptions, loaded: Sequence[LoadedGuideline] = (), language: Language = "en"
) -> list[dict[str, Any]]:
    """The panel's inputs, as Chainlit's page takes them, in the reader's language."""
    panel = _Panel(language)
    inputs = [
        panel.switch("guidelines", "Clinical guidelines", "Search the loaded guidelines.", on=options.guidelines),
        panel.switch("drugs", "Drug database", "Look drugs up in the drug database.", on=options.drugs),
        panel.select("length", "Length of answers", {k: say(language, v) for k, v in _LENGTHS.items()}, options.length),
        panel.select(
            "language", "Language of answers", {"auto": say(language, "As the question"), **OWN_NAMES}, options.language
        ),
    ]
    if len(loaded) > 1:
        titles = {document.id: document.title for document in loaded}
        inputs.insert(
            1,
            panel.several(
                "documents",
                "Only these guidelines",
                "None chosen: all that are loaded are searched.",
                titles,
                options.documents,
            ),
        )
    if len(settings.models) > 1:
        names = {name: name for name in settings.models}
        inputs.append(
            panel.several(
                "models",
                "Models",
                "Several are compared: each answers in a column of its own.",
                names,
                options.asked_models(settings),
            )
        )
    return inputs


class _Panel(NamedTuple):
    """Makes inputs with their words in one language."""

    language: Language

    def switch(self, name: str, label: str, description: str, *, on: bool) -> dict[str, Any]:
        return self._input("switch", name, label, on) | {"description": say(self.language, description)}

    def select(self, name: str, label: str, items: Mapping[Any, str], chosen: str) -> dict[str, Any]:
        return self._input("select", name, label, chosen) | {"items": _listed(items)}

    def several(
        self, name: str, label: str, description: str, items: Mapping[str, str], chosen: Sequence[str]
    ) -> dict[str, Any]:
        kept = [value for value in chosen if value in items]
        said = say(self.language, description)
        return self._input("multiselect", name, label, kept) | {"items": _listed(items), "description": said}

    def _input(self, kind: str, name: str, label: str, initial: object) -> dict[str, Any]:
        return {"type": kind, "id": name, "label": say(self.language, label), "initial": initial}


def _listed(items: Mapping[Any, str]) -> list[dict[str, Any]]:
    # Two editions of one title are two entries: the page tells entries apart by what it shows.
    again = {shown for shown in items.values() if list(items.values()).count(shown) > 1}
    return [
        {"label": f"{shown} ({value})" if shown in again else shown, "value": value} for value, shown in items.items()
    ]
