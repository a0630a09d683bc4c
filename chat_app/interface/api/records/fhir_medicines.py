"""Medicines in the FHIR R4 resources of a CDS Hooks request: their codes and names, and nothing about the patient.

Only the fields below are read, and everything else in a resource is ignored. A resource that cannot be read becomes a
medicine without codes and names, so that it is reported as not checked.
"""

from collections.abc import Iterator, Mapping
from typing import Any, Final, NamedTuple

from pydantic import BaseModel, ConfigDict, ValidationError, model_validator
from pydantic.alias_generators import to_camel

Resource = Mapping[str, Any]
_CODES: Final = {"http://www.nlm.nih.gov/research/umls/rxnorm": "RxCUI", "http://hl7.org/fhir/sid/ndc": "NDC"}
_MEDICINES: Final = frozenset({"MedicationRequest", "MedicationStatement", "MedicationOrder"})
"""The last is a MedicationRequest of DSTU2."""
_NOT_TAKEN: Final = frozenset({"cancelled", "completed", "entered-in-error", "stopped", "not-taken"})
_LONGEST: Final = 300
_DEEPEST: Final = 4
"""Bundles inside bundles that are read."""


class FhirModel(BaseModel):
    """A part of a resource. A field that is null is absent."""

    model_config = ConfigDict(frozen=True, extra="ignore", alias_generator=to_camel, hide_input_in_errors=True)

    @model_validator(mode="before")
    @classmethod
    def _without_nulls(cls, value: Any) -> Any:
        return {key: part for key, part in value.items() if part is not None} if isinstance(value, dict) else value


class Coding(FhirModel):
    """A code of a code system."""

    system: str = ""
    code: str = ""
    display: str = ""


class CodeableConcept(FhirModel):
    """A concept by codes, by text, or by both."""

    coding: tuple[Coding, ...] = ()
    text: str = ""


class FhirReference(FhirModel):
    """A reference to another resource."""

    reference: str = ""
    display: str = ""


class MedicationResource(FhirModel):
    """A Medication, which orders refer to."""

    code: CodeableConcept = CodeableConcept()


class MedicationOrder(FhirModel):
    """A MedicationRequest or MedicationStatement."""

    resource_type: str
    id: str = ""
    status: str = ""
    do_not_perform: bool = False
    medication_codeable_concept: CodeableConcept = CodeableConcept()
    medication_reference: FhirReference = FhirReference()
    contained: tuple[dict[str, Any], ...] = ()


class OrderedMedicine(NamedTuple):
    """A medicine that was ordered or is taken: its order, its codes such as ``RxCUI 11289``, and its names."""

    order: str
    codes: tuple[str, ...] = ()
    names: tuple[str, ...] = ()


def medicines_in(*values: Resource | None) -> list[OrderedMedicine]:
    """Return the medicines of bundles and single resources, without those that are not to be taken."""
    resources = [resource for value in values for resource in _resources(value)]
    known = {address: resource for resource in resources for address in _addresses(resource)}
    orders = (one for one in resources if str(one.get("resourceType")) in _MEDICINES)
    return [medicine for order in orders if (medicine := _medicine(order, known)) is not None]


def _resources(value: object, depth: int = 0) -> Iterator[Resource]:
    if not isinstance(value, dict) or depth > _DEEPEST:
        return
    if value.get("resourceType") != "Bundle":
        yield value
        return
    entries = value.get("entry")
    for entry in entries if isinstance(entries, list) else ():
        if isinstance(entry, dict) and isinstance(resource := entry.get("resource"), dict):
            full = {"fullUrl": entry["fullUrl"]} if "fullUrl" in entry else {}
            yield from _resources({**full, **resource}, depth + 1)


def _addresses(resource: Resource) -> Iterator[str]:
    """Yield what a reference may call a Medication."""
    if resource.get("resourceType") == "Medication":
        yield f"Medication/{resource.get('id')}"
        yield str(resource.get("fullUrl"))


def _medicine(resource: Resource, known: Mapping[str, Resource]) -> OrderedMedicine | None:
    """Return the medicine of an order; None when it is not to be taken."""
    try:
        order = MedicationOrder.model_validate(resource)
        concept = _concept(order, known)
    except ValidationError:
        return OrderedMedicine("")
    if order.do_not_perform or order.status in _NOT_TAKEN:
        return None
    names = (*(one.display for one in concept.coding), concept.text, order.medication_reference.display)
    return OrderedMedicine(
        f"{order.resource_type}/{order.id}",
        tuple(f"{_CODES[one.system]} {_clean(one.code)}" for one in concept.coding if one.system in _CODES),
        tuple(dict.fromkeys(filter(None, map(_clean, names)))),
    )


def _concept(order: MedicationOrder, known: Mapping[str, Resource]) -> CodeableConcept:
    """Return the order's own concept, or that of the Medication it refers to. Raises ``ValidationError``."""
    reference = order.medication_reference.reference
    if not reference:
        return order.medication_codeable_concept
    contained = {f"#{resource.get('id')}": resource for resource in order.contained}
    return MedicationResource.model_validate(contained.get(reference) or known.get(reference) or {}).code


def _clean(text: str) -> str:
    """Return ``text`` in one line that every encoding can carry."""
    return " ".join(text[:_LONGEST].encode("utf-8", "replace").decode().replace("\0", " ").split())
