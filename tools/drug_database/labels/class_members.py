"""What labels say of a medicine of the same class, where a medicine has no record and no label speaks of it.

That is done for the classes alone whose members interact alike. Phenprocoumon is no warfarin: such a sentence is quoted
with what it names, without a level of severity.
"""

from collections.abc import Sequence

from tools.drug_database.labels.interaction_parties import Party, unlisted
from tools.drug_database.labels.interactions import Statement, pair_statements
from tools.drug_database.labels.label_terms import label_terms


def member_statements(one: Party, other: Party) -> list[Statement]:
    """Return the sentences in a label of one party that name a medicine of the other's class, the most severe first."""
    return [*_on_members(one, other), *_on_members(other, one)]


def _on_members(of: Party, about: Party) -> Sequence[Statement]:
    if not of.record or about.record:
        return ()
    members = [name for name in label_terms().like(about.own) if name not in of.own]
    found = [said for name in members for said in pair_statements(of, unlisted(name))]
    named = {said.quote: said for said in found if said.how == "name"}
    return [said._replace(about=about.name, how="class member") for said in named.values()]
