"""Stems of international nonproprietary names: a word that ends in one is very likely a medicine.

Source: World Health Organization, "The use of stems in the selection of International Nonproprietary Names for
pharmaceutical substances" (2018) and its addenda. Short stems that end common words (-ol, -ine, -one) are left out;
where a common word ends in a longer one (``except``, ``cholesterol``), the stem has the letters before it, too.
"""

import re
from functools import lru_cache

_STEMS = """
afil alol amivir antel anterol apine arone asvir atercept aterol avir azepine azole bactam barb barbital bendazole
bercept bradine bufen buvir caine capavir caserin casone ciclib ciclovir ciguat cillin citabine codone conazole coxib
curium curonium cycline degludec dipine dogrel dopa dralazine dronate dronic ergoline esivir eterol fenac fentanil
fibrate floxacin formin fungin gabalin gatran gepant giline gliflozin glinide gliptin glitazone glutide grelor ilide
ilol itentan kinra lidone limab limus lukast mab metacin methasone micin morphone mumab mustine mycin nercept nib
nidazole olol onide orex orexant orphan orphine oterol ovir oxacin oxetine oxicam pamil parib parin patide penem
peridone phylline pitant platin poetin pramine prazan prazole pressin previr pril prilat profen prost quine racetam
rafenib relin relix relvir renone ridone rubicin sartan semide sentan setron solone statin steride stigmine stim sugrel
sulfa sulfan sulfone tacept tadine taxel tegravir thiazide thromycin tiapine tiazem tidine tinib tocin toin trexate
trigine triptan triptyline tropin tropium uterol uvir vaptan vastatin verine virine vudine xaban ximab zepam zodone
zolam zolamide zosin zumab
"""
_ENDINGS = tuple(_STEMS.split())
_BEGINNINGS = ("cef",)
_STEM = re.compile(rf"^(?:[a-z]{{2,}}(?:{'|'.join(_ENDINGS)})|(?:{'|'.join(_BEGINNINGS)})[a-z]{{3,}})$")


@lru_cache(maxsize=65_536)
def has_drug_stem(word: str) -> bool:
    """Return whether ``word`` has a stem of nonproprietary names at its end, or its beginning for ``cef-``."""
    folded = word.casefold()
    return (folded.endswith(_ENDINGS) or folded.startswith(_BEGINNINGS)) and _STEM.match(folded) is not None


def names_medicine(text: str) -> bool:
    """Return whether a word of ``text`` has a stem of nonproprietary names."""
    return any(map(has_drug_stem, re.findall(r"[^\W\d_]+", text)))
