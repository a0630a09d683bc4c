"""Words that mean the same in any clinical sentence, brought to one form before they are stemmed.

A question says "renal" or "anaemia" where the guideline says "kidney" or "anemia". Here are British beside American
spelling, the Greek or Latin adjective beside the English noun, and word families that the stemmer leaves apart.
What stands here decides what is found, never what is shown.
"""

from __future__ import annotations

import re
from functools import lru_cache

_FAMILIES = """
kidney: kidneys renal
liver: livers hepatic
heart: hearts cardiac
lung: lungs pulmonary
child: children childhood pediatric pediatrics
newborn: newborns neonate neonates neonatal
infant: infants infancy
pregnancy: pregnancies pregnant
breastfeeding: breastfeed breastfed lactation lactating
adolescent: adolescents adolescence teenager teenagers
women: woman female females
men: man male males
older: elderly geriatric geriatrics
diabetes: diabetic diabetics
asthma: asthmatic asthmatics
hypertension: hypertensive hypertensives htn
impairment: impaired impair insufficiency dysfunction
esophagus: esophageal
fetus: fetal fetuses
stroke: strokes
treatment: treatments treat treats treated treating therapy therapies management manage managed managing
target: targets goal goals
reduction: reductions reduce reduces reduced reducing
prevention: preventive preventing prevent prevents prevented prophylaxis prophylactic
diagnosis: diagnoses diagnose diagnosed diagnostic
allergy: allergies allergic
anaphylaxis: anaphylactic
sepsis: septic
epilepsy: epileptic epilepsies
obesity: obese
dialysis: dialyzed dialyze dialyzing
hba1c: a1c
corticosteroid: corticosteroids steroid steroids glucocorticoid glucocorticoids
exacerbation: exacerbations attack attacks flare flares
referral: referrals refer refers referred referring
af: afib
t1d: t1dm
t2d: t2dm
electrocardiogram: electrocardiograms electrocardiography ecg ekg
paracetamol: acetaminophen
adrenaline: epinephrine
noradrenaline: norepinephrine
salbutamol: albuterol
furosemide: frusemide
lidocaine: lignocaine
rifampicin: rifampin
glibenclamide: glyburide
pethidine: meperidine
ciclosporin: cyclosporine cyclosporin
beclometasone: beclomethasone
medicine: medicines medication medications drug drugs
"""
_FORM_OF = {
    form: family
    for family, forms in (line.split(":") for line in _FAMILIES.split("\n") if line)
    for form in forms.split()
}
_SPELLINGS = tuple(
    (re.compile(british), american)
    for british, american in (
        (r"aem(?=i|a|o)", "em"),
        (r"^anaesth", "anesth"),
        (r"(?<=p)aed(?=i)", "ed"),
        (r"(?<=gyn)aec", "ec"),
        (r"^caesar", "cesar"),
        (r"^coel", "cel"),
        (r"^oe(?=dem|soph|str)", "e"),
        (r"^foet", "fet"),
        (r"(?<=rrh)oe", "e"),
        (r"sulph", "sulf"),
        (r"^ageing$", "aging"),
        (r"(?<=tum|col|lab)our", "or"),
        (r"(?<=behavi)our", "or"),
        (r"(?<=fib|lit|tit)res?$", "er"),
        (r"(?<=cent)res?$", "er"),
        (r"(?<=[a-z]{4})is(?=ation|ing$|ed$|e$|es$)", "iz"),
        (r"(?<=[ar]l)ys(?=ing$|ed$|e$)", "yz"),
    )
)
"""What results need not be a word ("exercize"), as long as both spellings end in the same."""


@lru_cache(maxsize=200_000)
def usual_form(word: str) -> str:
    """The form that stands for the lower-case ``word`` and for all that mean the same."""
    for british, american in _SPELLINGS:
        word = british.sub(american, word)
    return _FORM_OF.get(word, word)
