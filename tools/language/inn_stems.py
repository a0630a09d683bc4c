"""Stems of international nonproprietary names: a word that ends in one is very likely a medicine.

Source: World Health Organization, "The use of stems in the selection of International Nonproprietary Names for
pharmaceutical substances" (2018) and its addenda. Short stems that end common words (-ol, -ine, -one) are left out.
"""

from __future__ import annotations

import re
from functools import lru_cache

_STEMS = """
afil alol antel apine asvir azepine azole bactam barb barbital bendazole bufen buvir caine capavir caserin cept ciclib
ciclovir ciguat cillin citabine conazole coxib curium curonium cycline degludec dipine dopa dralazine dronate dronic
entan ergoline fenac fentanil fibrate floxacin formin fungin gabalin gatran gepant giline gliflozin glinide gliptin
glitazone glutide grel ilide ilol kinra lidone limab limus lukast mab metacin methasone micin mumab mustine mycin
nercept nib nidazole olol orex orexant orphan orphine oxacin oxetine oxicam pamil parib parin patide penem peridone
phylline platin poetin pramine prazole pressin previr pril prilat profen prost quine racetam rafenib relin relix
ridone rubicin sartan semide setron solone statin steride stigmine stim sulfa sulfan sulfone tadine taxel tegravir
terol thiazide thromycin tiapine tiazem tidine tinib tocin toin trexate trigine triptan triptyline tropin tropium
vaptan vastatin verine vir virine vudine xaban ximab zepam zodone zolam zolamide zosin zumab
"""
_ENDINGS = tuple(_STEMS.split())
_STEM = re.compile(rf"^[a-z]{{2,}}(?:{'|'.join(_ENDINGS)})$")


@lru_cache(maxsize=65_536)
def has_drug_stem(word: str) -> bool:
    """Return whether ``word`` ends in a stem of nonproprietary names."""
    folded = word.casefold()
    return folded.endswith(_ENDINGS) and _STEM.match(folded) is not None


def names_medicine(text: str) -> bool:
    """Return whether a word of ``text`` ends in a stem of nonproprietary names."""
    return any(map(has_drug_stem, re.findall(r"[^\W\d_]+", text)))
