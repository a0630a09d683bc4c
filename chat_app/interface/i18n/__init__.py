"""Texts of the page in the reader's language, from gettext catalogues."""
