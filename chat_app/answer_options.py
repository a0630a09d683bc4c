"""How an answer can be asked for: how long, and in which language. Imports nothing, so that the shell starts fast."""

from __future__ import annotations

from typing import Literal

AnswerLength = Literal["brief", "standard", "full"]
AnswerLanguage = Literal["auto", "en", "de", "fr", "es", "it", "nl", "pl", "pt", "tr", "uk", "ar", "zh"]
"""The language of an answer by its ISO 639-1 code; ``auto`` is that of the question."""

LANGUAGES: dict[AnswerLanguage, str] = {
    "en": "English",
    "de": "German",
    "fr": "French",
    "es": "Spanish",
    "it": "Italian",
    "nl": "Dutch",
    "pl": "Polish",
    "pt": "Portuguese",
    "tr": "Turkish",
    "uk": "Ukrainian",
    "ar": "Arabic",
    "zh": "Chinese",
}
"""What each language is called in English, as the model is told."""
OWN_NAMES: dict[AnswerLanguage, str] = {
    "en": "English",
    "de": "Deutsch",
    "fr": "Français",
    "es": "Español",
    "it": "Italiano",
    "nl": "Nederlands",
    "pl": "Polski",
    "pt": "Português",
    "tr": "Türkçe",
    "uk": "Українська",
    "ar": "العربية",
    "zh": "中文",
}
"""What each language calls itself, as people choose it."""
