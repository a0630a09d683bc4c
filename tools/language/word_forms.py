"""Words that mean the same in any clinical sentence, brought to one form before they are stemmed.

A question says "renal" or "anaemia" where the guideline says "kidney" or "anemia". Here are British beside American
spelling, the Greek or Latin adjective beside the English noun, and word families that the stemmer leaves apart.
These forms affect search, never the text shown.
"""

import re
from functools import lru_cache

from tools.language.word_lists import word_entries

_FORM_OF = {form: family for family, forms in word_entries("word_forms").items() for form in forms.split()}
_SPELLINGS = tuple((re.compile(british), american) for british, american in word_entries("british_spellings").items())
_BRITISH = re.compile("|".join(f"(?:{british.pattern})" for british, _ in _SPELLINGS))


@lru_cache(maxsize=200_000)
def usual_form(word: str) -> str:
    """Return the form under which a lower-case word and its synonyms are indexed."""
    for british, american in _SPELLINGS if _BRITISH.search(word) else ():
        word = british.sub(american, word)
    return _FORM_OF.get(word, word)
