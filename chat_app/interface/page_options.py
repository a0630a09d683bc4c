"""What somebody can set for a conversation on the page: which sources, how long, in which language, which models."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, ValidationError

from chat_app.settings import Settings

_LENGTHS = {"Brief": "brief", "Standard": "standard", "Full": "full"}


class PageOptions(BaseModel):
    """The settings panel's values; what is missing or not valid is as it is by default."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    guidelines: bool = True
    drugs: bool = True
    length: Literal["brief", "standard", "full"] = "standard"
    models: tuple[str, ...] = ()
    """Models to ask; none for the default one."""

    def consult_options(self) -> dict[str, Any]:
        """Keyword arguments of ``consult`` beside the model."""
        return {
            "use_clinical_guidelines": self.guidelines, "use_drug_database": self.drugs, "length": self.length,
        }

    def asked_models(self, settings: Settings) -> tuple[str, ...]:
        """The models that are asked, each once. One that is not offered is left out."""
        chosen = tuple(dict.fromkeys(model for model in self.models if model in settings.models))
        return chosen or (settings.default_model,)


def page_options(values: dict[str, Any]) -> PageOptions:
    """The options of a socket's settings; each that is not valid falls back to its default."""
    try:
        return PageOptions.model_validate(values)
    except ValidationError as error:
        wrong = {str(problem["loc"][0]) for problem in error.errors(include_input=False, include_url=False)}
        return PageOptions.model_validate({key: value for key, value in values.items() if key not in wrong})


def settings_panel(settings: Settings, options: PageOptions) -> list[dict[str, Any]]:
    """The panel's inputs, as Chainlit's page takes them."""
    inputs = [
        _switch("guidelines", "Clinical guidelines", "Search the loaded guidelines.", on=options.guidelines),
        _switch("drugs", "Drug database", "Look drugs up in the drug database.", on=options.drugs),
        _select("length", "Length of answers", _LENGTHS, options.length),
    ]
    if len(settings.models) > 1:
        inputs.append(
            _several("models", "Models", "Several are compared: each answers in a column of its own.",
                     {name: name for name in settings.models}, options.asked_models(settings))
        )
    return inputs


def _switch(name: str, label: str, description: str, *, on: bool) -> dict[str, Any]:
    return {"type": "switch", "id": name, "label": label, "initial": on, "description": description}


def _select(name: str, label: str, items: dict[str, str], chosen: str) -> dict[str, Any]:
    listed = [{"label": shown, "value": value} for shown, value in items.items()]
    return {"type": "select", "id": name, "label": label, "initial": chosen, "items": listed}


def _several(name: str, label: str, description: str, items: dict[str, str], chosen: Sequence[str]) -> dict[str, Any]:
    listed = [{"label": shown, "value": value} for shown, value in items.items()]
    return {"type": "multiselect", "id": name, "label": label, "initial": list(chosen), "items": listed,
            "description": description}
