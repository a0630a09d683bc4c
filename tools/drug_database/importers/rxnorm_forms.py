"""RxNorm's dose forms in FDA's words: ``Extended Release Oral Tablet`` is ``tablet, extended release``, oral."""

from __future__ import annotations

from typing import Final

_ROUTES: Final = {
    "oral": "oral",
    "topical": "topical",
    "ophthalmic": "ophthalmic",
    "otic": "auricular (otic)",
    "nasal": "nasal",
    "rectal": "rectal",
    "vaginal": "vaginal",
    "sublingual": "sublingual",
    "buccal": "buccal",
    "transdermal": "transdermal",
    "inhalation": "respiratory (inhalation)",
    "intravesical": "intravesical",
    "intraperitoneal": "intraperitoneal",
    "intratracheal": "endotracheal",
    "intrauterine": "intrauterine",
    "mucosal": "oral",
    "medicated": "topical",
}
_MODIFIERS: Final = (
    "extended release",
    "delayed release",
    "disintegrating",
    "chewable",
    "effervescent",
    "metered dose",
)
_WHOLE: Final = {
    "injection": ("injection", ()),
    "injectable solution": ("injection, solution", ()),
    "injectable suspension": ("injection, suspension", ()),
    "prefilled syringe": ("injection, solution", ()),
    "auto-injector": ("injection, solution", ()),
    "cartridge": ("injection, solution", ()),
    "pen injector": ("injection, solution", ()),
    "jet injector": ("injection, solution", ()),
    "chewable tablet": ("tablet, chewable", ("oral",)),
    "disintegrating oral tablet": ("tablet, orally disintegrating", ("oral",)),
    "transdermal system": ("patch, extended release", ("transdermal",)),
    "medicated patch": ("patch", ("topical",)),
    "vaginal system": ("ring", ("vaginal",)),
    "intrauterine system": ("intrauterine device", ("intrauterine",)),
    "drug implant": ("implant", ()),
    "dry powder inhaler": ("powder, metered", ("respiratory (inhalation)",)),
    "metered dose inhaler": ("aerosol, metered", ("respiratory (inhalation)",)),
    "nasal spray": ("spray", ("nasal",)),
    "metered dose nasal spray": ("spray, metered", ("nasal",)),
    "gas for inhalation": ("gas", ("respiratory (inhalation)",)),
    "mouthwash": ("mouthwash", ("oral",)),
    "chewing gum": ("gum, chewing", ("oral",)),
    "enema": ("enema", ("rectal",)),
    "ophthalmic solution": ("solution/ drops", ("ophthalmic",)),
    "otic solution": ("solution/ drops", ("auricular (otic)",)),
    "powder for oral suspension": ("powder, for suspension", ("oral",)),
    "powder for oral solution": ("powder, for solution", ("oral",)),
    "granules for oral suspension": ("granule, for suspension", ("oral",)),
    "granules for oral solution": ("granule, for solution", ("oral",)),
    "oral granules": ("granule", ("oral",)),
    "tablet for oral suspension": ("tablet, for suspension", ("oral",)),
    "oral pellet": ("pellet", ("oral",)),
    "oral lozenge": ("lozenge", ("oral",)),
}


def form_and_routes(dose_form: str) -> tuple[str, tuple[str, ...]]:
    """FDA's name of the dose form and its routes; an unknown form is given as RxNorm writes it, in lower case."""
    plain = " ".join(dose_form.lower().split())
    if plain in _WHOLE:
        return _WHOLE[plain]
    modifiers = [modifier for modifier in _MODIFIERS if modifier in plain]
    rest = plain
    for modifier in modifiers:
        rest = " ".join(rest.replace(modifier, " ").split())
    words = rest.split()
    routes = tuple(dict.fromkeys(_ROUTES[word] for word in words if word in _ROUTES))
    noun = " ".join(word for word in words if word not in _ROUTES)
    return ", ".join([noun or plain, *modifiers]), routes
