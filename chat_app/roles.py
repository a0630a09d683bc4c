"""Roles and their rights: the one table. Every signed-in user may ask questions and see their own conversations."""

from collections.abc import Mapping
from typing import Final, Literal

Role = Literal["reader", "uploader", "auditor", "administrator"]
Right = Literal["upload", "audit", "administer"]
"""upload: add guidelines for everybody. audit: read the audit log. administer: end other users' logins."""

RIGHTS: Final[Mapping[Role, frozenset[Right]]] = {
    "reader": frozenset(),
    "uploader": frozenset({"upload"}),
    "auditor": frozenset({"audit"}),
    "administrator": frozenset({"upload", "audit", "administer"}),
}
