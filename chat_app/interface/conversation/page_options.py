"""Settings of a conversation on the page: sources, length, language and models."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Annotated, Any, Self, get_args

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from chat_app.answer_options import AnswerLanguage, AnswerLength, ConsultOptions
from chat_app.interface.i18n.translation import ENGLISH, Language, own_name, say
from chat_app.settings import Settings

MOST_DOCUMENTS = 200


class PageOptions(BaseModel):
    """Values of the settings panel; missing or invalid values have their defaults."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    guidelines: bool = True
    documents: Annotated[tuple[str, ...], Field(max_length=MOST_DOCUMENTS)] = ()
    """Ids of the guidelines to search; none for all."""
    drugs: bool = True
    length: AnswerLength = "standard"
    language: AnswerLanguage = "auto"
    models: tuple[str, ...] = ()
    """Models to ask; none for the default one."""

    def with_documents(self, added: Sequence[str]) -> Self:
        """Return the options with ``added`` among the selected guidelines, if any are selected."""
        if not self.documents or set(added) <= set(self.documents):
            return self
        return self.model_copy(update={"documents": tuple(dict.fromkeys((*self.documents, *added)))[:MOST_DOCUMENTS]})

    def consult_options(self, loaded: Iterable[str]) -> ConsultOptions:
        """Return the options of a question, with the selected ones of the ``loaded`` guidelines, as in the panel."""
        return ConsultOptions(
            use_clinical_guidelines=self.guidelines,
            use_drug_database=self.drugs,
            length=self.length,
            language=self.language,
            documents=tuple(name for name in loaded if name in self.documents),
        )

    def asked_models(self, settings: Settings) -> tuple[str, ...]:
        """Return the selected models that are offered, without duplicates."""
        chosen = tuple(dict.fromkeys(model for model in self.models if model in settings.models))
        return chosen or (settings.default_model,)


def left_out(options: PageOptions, language: Language, titles: Mapping[str, str]) -> list[str]:
    """Say which sources were not searched: the answer may lack what they hold.

    ``titles`` holds the titles of the selected guidelines by id, as far as they are known.
    """
    said: list[str] = []
    if not options.guidelines:
        said.append(say(language, "searched.no_guidelines"))
    elif len(options.documents) == 1 and (title := titles.get(options.documents[0])):
        said.append(say(language, "searched.one_guideline", title=title))
    elif options.documents:
        said.append(say(language, "searched.some_guidelines", count=len(options.documents)))
    if not options.drugs:
        said.append(say(language, "searched.no_drugs"))
    return said


def in_force(options: PageOptions, settings: Settings, language: Language, titles: Mapping[str, str]) -> str:
    """Say on one line what the next question searches, and how it is answered where that was chosen."""
    chosen = [titles[name] for name in options.documents if name in titles]
    said: list[str] = []
    if options.guidelines and len(chosen) == 1:
        said.append(chosen[0])
    elif options.guidelines and chosen:
        said.append(say(language, "in_force.guidelines", count=len(chosen)))
    elif options.guidelines:
        said.append(say(language, "in_force.all_guidelines"))
    if options.drugs:
        said.append(say(language, "in_force.drugs"))
    if not said:
        said.append(say(language, "in_force.nothing"))
    if options.length != "standard":
        said.append(say(language, f"panel.length.{options.length}"))
    if options.language != "auto":
        said.append(own_name(options.language))
    models = options.asked_models(settings)
    return " · ".join([*said, *(models if models != (settings.default_model,) else ())])


def page_options(values: Mapping[str, Any]) -> PageOptions:
    """Parse a socket's settings; an invalid value falls back to its default."""
    try:
        return PageOptions.model_validate(values)
    except ValidationError as error:
        wrong = {str(problem["loc"][0]) for problem in error.errors(include_input=False, include_url=False)}
        return PageOptions.model_validate({key: value for key, value in values.items() if key not in wrong})


def settings_panel(
    settings: Settings, options: PageOptions, titles: Mapping[str, str], language: Language = ENGLISH
) -> list[dict[str, Any]]:
    """Return the panel's inputs in the reader's language, as Chainlit's page takes them.

    ``titles`` holds the titles of the guidelines to choose from by id.
    """
    lengths = {length: say(language, f"panel.length.{length}") for length in get_args(AnswerLength)}
    auto, *named = get_args(AnswerLanguage)
    languages = {auto: say(language, "panel.language.auto"), **{code: own_name(code) for code in named}}
    inputs = [
        _input("switch", "guidelines", options.guidelines, language, hint=True),
        _input("switch", "drugs", options.drugs, language, hint=True),
        _input("select", "length", options.length, language) | {"items": _listed(lengths)},
        _input("select", "language", options.language, language) | {"items": _listed(languages)},
    ]
    if len(titles) > 1:
        inputs.insert(1, _several("documents", titles, options.documents, language))
    if len(settings.models) > 1:
        names = {name: name for name in settings.models}
        inputs.append(_several("models", names, options.asked_models(settings), language))
    return inputs


def _several(name: str, items: Mapping[str, str], chosen: Sequence[str], language: Language) -> dict[str, Any]:
    kept = [value for value in chosen if value in items]
    return _input("multiselect", name, kept, language, hint=True) | {"items": _listed(items)}


def _input(kind: str, name: str, initial: object, language: Language, *, hint: bool = False) -> dict[str, Any]:
    shown = {"type": kind, "id": name, "label": say(language, f"panel.{name}"), "initial": initial}
    return shown | ({"description": say(language, f"panel.{name}.hint")} if hint else {})


def _listed(items: Mapping[Any, str]) -> list[dict[str, Any]]:
    # The page identifies entries by their label, so two editions of one title need different labels.
    again = {shown for shown in items.values() if list(items.values()).count(shown) > 1}
    return [
        {"label": f"{shown} ({value})" if shown in again else shown, "value": value} for value, shown in items.items()
    ]
