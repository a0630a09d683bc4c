"""Notes of the interaction check on a pair: which labels were searched, and that nothing was found."""

from collections.abc import Collection, Sequence
from typing import Final

from tools.catalogues import in_language
from tools.drug_database.labels.interaction_parties import Party
from tools.drug_database.labels.interactions import Statement
from tools.drug_database.labels.label_terms import label_terms
from tools.drug_database.labels.record_rendering import NO_LABEL
from tools.drug_database.names.name_keys import base_moieties, joined

PACKAGE: Final = "tools.drug_database"
NOTHING_FOUND: Final = (
    "No statement about this combination was found in either label. That is no evidence that the combination is safe."
)


class PairNotes:
    """Notes of the check in ``language``; names of medicines stay as the database has them."""

    def __init__(self, language: str) -> None:
        self.language = language

    def pair(
        self,
        parties: tuple[Party, Party],
        said: Sequence[Statement],
        *,
        risks: Sequence[str],
        stated: Collection[tuple[str, str]],
        members: Sequence[str],
    ) -> str:
        """Return the note on a pair.

        Args:
            parties: The medicines or classes.
            said: The statements of the labels about each other.
            risks: The risks that both share.
            stated: Pairs of a party's name and a risk that its own label states.
            members: Medicines of the same class that the other label names instead of the party without a record.
        """
        notes = list(dict.fromkeys(party.note for party in parties if party.note))
        if not any(party.record or party.members for party in parties):
            nothing = "Neither {} nor {} is a medicine with a label here: nothing was searched."
            return " ".join([*notes, self._say(nothing, *(party.name for party in parties))])
        contents, others = map(_contents, parties)
        if shared := [name for name in contents if name in others]:
            notes.append(self._say("Both contain {}.", self._listed(shared)))
        if not said and any(party.is_unread for party in parties):
            return " ".join([*notes, *self._unchecked(parties)])
        # Of a class or a fluid that the other label names, nothing else could be searched.
        quoted = (
            party for party in parties if party.members or not (said and (party.is_class or party.is_no_medicine))
        )
        notes += filter(None, map(self._searched, quoted))
        notes += self._meant(said)
        if members:
            notes.append(self._instead(members, parties))
        elif not said:
            notes.append(self._say("No label names the other medicine." if risks else NOTHING_FOUND))
        notes += self._shared(risks, parties, stated)
        return " ".join(notes)

    def _unchecked(self, parties: Sequence[Party]) -> list[str]:
        """Return the notes on names that no vocabulary knows."""
        unread = (party.name for party in parties if party.is_unread and not party.is_no_medicine)
        return [self._say("{} is no known name: it was not checked.", name) for name in unread]

    def _instead(self, members: Sequence[str], parties: Sequence[Party]) -> str:
        """Return the note on statements about ``members`` of a class instead of the party without a record."""
        instead = "What is quoted is on {}, of the same class, and may not hold for {}: no label names that."
        unlisted = next(party.name for party in parties if not party.record)
        return self._say(instead, self._listed(members), unlisted)

    def single(self, party: Party, *, said: bool) -> str:
        """Return the note on one medicine alone; ``said`` tells whether its label speaks of others."""
        note = ""
        if party.record is None:
            note = self.no_record()
        elif not party.record.labels:
            note = f"{party.name}: {self._say(NO_LABEL)}"
        elif not said:
            note = self._say("The label of {} has no statement about other medicines.", party.name)
        return f"{party.note} {note}".strip()

    def no_record(self) -> str:
        """Return the note on an unknown name."""
        return self._say("No medicine of that name is in the drug database: ask which one is meant.")

    def left_out(self, most: int) -> str:
        """Return the note on pairs past the limit of ``most`` medicines."""
        return self._say("Not checked: at most {} medicines are compared at once.", str(most))

    def meanings(self, name: str, meant: Sequence[str], note: str) -> str:
        """Return the note on an abbreviation with several meanings; ``note`` is the English one, if there is one."""
        told = self._say("{} may mean {}.", name, f" {self._say('or')} ".join(meant))
        return note if note and self.language == "en" else told

    def read_as(self, typed: str, name: str) -> str:
        """Return the note on a misspelt name."""
        return self._say("{} was read as {}.", typed, name)

    def _meant(self, said: Sequence[Statement]) -> list[str]:
        """Return which medicine a label means by an enzyme role, if the gravest statement uses one."""
        roles: dict[tuple[str, str], dict[str, None]] = {}
        for one in said if said and said[0].how == "enzyme" else ():
            if one.how == "enzyme" and not label_terms().roles_in(f"an {one.about}"):
                roles.setdefault((one.label_of, one.about), {}).update(dict.fromkeys(one.mentioned_as))
        text = "The label of {} does not name {}, but a group that it belongs to: {}."
        return [self._say(text, *names, self._listed([*meant])) for names, meant in roles.items()]

    def _shared(self, risks: Sequence[str], parties: Sequence[Party], stated: Collection[tuple[str, str]]) -> list[str]:
        """Return which risks the parties share, and which of them are not from a label."""
        listed = "For {} this is from a list of medicines with that risk ({}), not from a label."
        unsaid = [(party.name, risk) for party in parties for risk in risks if (party.name, risk) not in stated]
        shared = [self._say("Shared risk: {}.", self._listed([self._say(risk) for risk in risks]))] if risks else []
        return [*shared, *(self._say(listed, name, self._say(risk)) for name, risk in unsaid)]

    def _searched(self, party: Party) -> str:
        """Return which labels were searched for a party without a label; empty for a party with one."""
        if party.members:
            members = self._listed([record.generic_name for record in party.members])
            return self._say("Labels searched for {}: {}.", party.name, members)
        if party.record is None:
            alone = "{} has no label: only that of the other one was searched."
            unknown = "{} is not in the drug database: only the other label was searched, for that name."
            return self._say(alone if party.is_class else unknown, party.name)
        return "" if party.record.labels else f"{party.name}: {self._say(NO_LABEL)}"

    def _say(self, text: str, *values: str) -> str:
        told = (in_language(PACKAGE, self.language, value) for value in values)
        return in_language(PACKAGE, self.language, text).format(*told)

    def _listed(self, names: Sequence[str]) -> str:
        return joined([in_language(PACKAGE, self.language, name) for name in names], joint=self._say("and"))


def _contents(party: Party) -> tuple[str, ...]:
    return base_moieties(party.record.ingredients) if party.record else ()
