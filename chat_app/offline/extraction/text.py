"""Words and sentences: stems, synonyms, and sentences as exact stretches of their text."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

import snowballstemmer

from chat_app.offline.extraction.vocabulary import word_list

_STEMMER = snowballstemmer.stemmer("english")
_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)?")
_SPACE = re.compile(r"\s+")
# A sentence ends at . ! ? followed by white space and what can begin another sentence.
_END = re.compile(r"[.!?][\"'”’)\]]*(?=\s+[\"'“‘(\[]?[A-Z0-9≥≤<>•-])")
_BLOCK = re.compile(r"\n\s*\n|\n(?=\s*(?:[-•*–]|\d{1,2}[.)])\s)|\n(?=\s*\|)")
LEAD = re.compile(r"^\s*(?:[-•*–■]\s+|\d{1,2}[.)]\s+)")
_NUMBERED = re.compile(r"\b(?:table|figure|fig|box|chapter)\s+\d+[a-z]?$", re.IGNORECASE)
_ABBREVIATIONS: Final = word_list("abbreviations")
STOP: Final = word_list("stop")

_SYNONYMS: Final = (
    ("kidney", "renal", "ckd", "nephropathy"),
    ("liver", "hepatic", "cirrhosis"),
    ("pregnancy", "pregnant", "pregnancies", "gestation", "fetal", "fetus"),
    ("breastfeeding", "lactation", "breast-feeding", "breastmilk"),
    ("hypertension", "hypertensive"),
    ("contraindication", "contraindicated", "contraindications", "avoid", "avoided"),
    ("interaction", "interact", "interacts", "combined", "together", "combination", "combine"),
    ("dose", "dosage", "dosing", "doses", "dosages"),
    ("maximum", "max", "maximal", "highest"),
    ("initial", "starting", "start", "begin", "initiate", "started"),
    ("first", "first-line", "firstline", "preferred", "initial"),
    ("therapy", "treatment", "treat", "treated", "drug", "medication", "medicine", "manage"),
    ("bleeding", "haemorrhage", "hemorrhage", "bleed", "bleeds"),
    ("child", "children", "paediatric", "pediatric"),
    ("elderly", "older", "age", "aged"),
    ("diagnosis", "diagnose", "diagnosed", "diagnostic", "confirm", "confirmed"),
    ("target", "goal", "targets", "goals", "aim"),
    ("check", "monitor", "monitoring", "measure", "recheck", "measured"),
    ("refer", "referral", "referred", "specialist"),
    ("admission", "admit", "hospital", "hospitalisation", "admitted", "inpatient", "icu"),
    ("outpatient", "outpatients", "ambulatory", "home"),
    ("stop", "discontinue", "withdraw", "stopped", "withhold", "stopping"),
    ("doac", "doacs", "noac", "noacs", "anticoagulant", "anticoagulants", "anticoagulation"),
    ("stroke", "embolism", "thromboembolism"),
    ("hypoglycaemia", "hypoglycemia"),
    ("hyperkalaemia", "hyperkalemia", "potassium"),
    ("inhaler", "inhaled", "ics", "inhalers"),
    ("salbutamol", "albuterol"),
    ("paracetamol", "acetaminophen"),
    ("albuminuria", "acr", "albumin", "proteinuria"),
    ("hba1c", "a1c"),
    ("often", "frequency", "every", "interval", "annually", "yearly"),
    ("duration", "days", "weeks"),
    ("effect", "reaction", "reactions", "adverse", "effects"),
    ("oedema", "edema", "angioedema", "angio-oedema"),
    ("diabetes", "diabetic"),
    ("exacerbation", "attack", "attacks", "flare"),
    ("corticosteroid", "steroid", "corticosteroids", "steroids", "glucocorticoid", "glucocorticoids"),
    ("egfr", "gfr"),
    ("dialysis", "haemodialysis", "hemodialysis"),
    ("nose", "nasal"),
    ("reverse", "reversal", "reversed", "antidote"),
    ("eye", "eyes", "retinopathy", "retinal"),
    ("anaemia", "anemia"),
    ("haemoglobin", "hemoglobin", "hb"),
    ("adrenaline", "epinephrine"),
    ("urgent", "emergency", "emergencies"),
    ("weekly", "week"),
    ("salt", "sodium"),
    ("asthma", "asthmatic"),
    ("allergy", "allergic", "allergies", "hypersensitivity", "hypersensitive"),
)
_PHRASES: Final = (
    (re.compile(r"high blood pressure|anti-?hypertensives?|\bHTN\b", re.IGNORECASE), "hypertension"),
    (re.compile(r"first[ -](?:line|choice)|\b(?:drugs?|treatment|agents?) of choice", re.IGNORECASE), "preferred"),
    (re.compile(r"blood pressure|\bBP\b", re.IGNORECASE), "bloodpressure"),
    (re.compile(r"atrial fibrillation|\bAF\b|\bAFib\b", re.IGNORECASE), "atrialfibrillation"),
    (re.compile(r"type[ -]?2 diabetes(?: mellitus)?|\bT2DM?\b", re.IGNORECASE), "type2 diabetes"),
    (re.compile(r"chronic kidney disease|kidney disease|\bCKD\b", re.IGNORECASE), "kidney"),
    (re.compile(r"community[ -]acquired pneumonia|\bCAP\b"), "pneumonia"),
    (re.compile(r"heart failure|\bHF(?:rEF|pEF)?\b"), "heartfailure"),
    (re.compile(r"ACE[ -]inhibitors?|\bACEIs?\b", re.IGNORECASE), "aceinhibitor"),
    (re.compile(r"angiotensin[ -](?:II )?receptor blockers?|\bARBs?\b", re.IGNORECASE), "arb"),
    (re.compile(r"direct oral anticoagulants?", re.IGNORECASE), "doac anticoagulant"),
    (re.compile(r"calcium[ -]channel blockers?|\bCCBs?\b", re.IGNORECASE), "calciumblocker"),
    (re.compile(r"beta[ -]?(?:adrenergic )?blockers?", re.IGNORECASE), "betablocker"),
    (re.compile(r"CHA2DS2[ -]?VA(?:Sc)?", re.IGNORECASE), "cha2ds2va"),
    (re.compile(r"side[ -]effects?|adverse (?:effects?|reactions?|events?)", re.IGNORECASE), "effect"),
    (re.compile(r"oxygen saturations?", re.IGNORECASE), "spo2"),
    (re.compile(r"dry[ -]powder inhalers?|\bDPIs?\b", re.IGNORECASE), "dpi"),
    (re.compile(r"(?:pressuri[sz]ed )?metered[ -]dose inhalers?|\bp?MDIs?\b", re.IGNORECASE), "pmdi"),
    (re.compile(r"hospital[ -]acquired", re.IGNORECASE), "hospitalacquired"),
    (re.compile(r"\bnon-?severe\b", re.IGNORECASE), "nonsevere"),
    (re.compile(r"\b(?:without|no) (?:major )?(comorbidit|risk factor)", re.IGNORECASE), r"no\1"),
    (re.compile(r"\b(?:under|below|younger than) (\d+) (?:years|months)", re.IGNORECASE), r"agebelow\1"),
    # A steroid that is named counts for its class, too, by which it is asked for.
    (
        re.compile(r"\b(?:(?:methyl)?prednisolone|prednisone|dexamethasone|hydrocortisone)\b", re.IGNORECASE),
        r"\g<0> corticosteroid",
    ),
    # An amount of a medicine is a dose, whether or not the sentence says so.
    (re.compile(r"\b\d[\d.,-]*\s?(?:mg|µg|mcg|micrograms?|IU|units?)\b", re.IGNORECASE), r"\g<0> dose"),
    (re.compile(r"how often", re.IGNORECASE), "often"),
    (re.compile(r"how long", re.IGNORECASE), "duration"),
)


@lru_cache(maxsize=100_000)
def stem(word: str) -> str:
    return str(_STEMMER.stemWord(word.lower()))


_GROUP_OF: Final = {stem(word): f"={group[0]}" for group in _SYNONYMS for word in group}


def squeeze(text: str) -> str:
    """White space runs made one space."""
    return _SPACE.sub(" ", text).strip()


def words(text: str) -> list[str]:
    return [match.group().lower() for match in _WORD.finditer(text)]


@lru_cache(maxsize=20_000)
def terms(text: str) -> frozenset[str]:
    """The content terms of ``text``: stems, with synonyms folded into one term, stop words left out."""
    for pattern, replacement in _PHRASES:
        text = pattern.sub(rf" {replacement} ", text)
    found: set[str] = set()
    for word in words(text):
        if word in STOP or (len(word) == 1 and not word.isdigit()):
            continue
        root = stem(word)
        found.add(_GROUP_OF.get(root, root))
    return frozenset(found)


def sentences(text: str) -> list[str]:
    """The sentences of ``text``, each an exact stretch of it but for white space.

    Paragraphs, list items and table rows are bounds of their own; a list item loses its bullet or number.
    """
    found: list[str] = []
    for block in _BLOCK.split(text):
        body = squeeze(LEAD.sub("", block))
        if body:
            found += _split(body)
    return found


def _split(block: str) -> list[str]:
    found: list[str] = []
    start = 0
    for match in _END.finditer(block):
        if block[match.start()] == "." and _abbreviated(block, match.start()):
            continue
        found.append(LEAD.sub("", block[start : match.end()].strip()))
        start = match.end()
    rest = block[start:].strip()
    return [sentence for sentence in [*found, LEAD.sub("", rest)] if sentence]


def _abbreviated(text: str, stop: int) -> bool:
    word = text[max(0, stop - 12) : stop].rsplit(" ", 1)[-1].lstrip("([\"'“‘").lower()
    if word in _ABBREVIATIONS or (len(word) == 1 and word.isalpha()):
        return True
    return _NUMBERED.search(text, max(0, stop - 16), stop) is not None
