"""Products grouped by form and route, those on the market apart from discontinued ones."""

from collections.abc import Iterable, Sequence

from pydantic import JsonValue

from tools.drug_database.records.drug_record import Product
from tools.language.folding import fold_name

MOST_BRANDS = 20
_MOST_LABELERS = 5


class ProductGroup:
    """All products of one form and route, whatever their brand; either marketed or discontinued."""

    def __init__(self, products: Sequence[Product]) -> None:
        first = products[0]
        self.dosage_form, self.routes, self.discontinued = first.dosage_form, first.routes, first.discontinued
        self.strengths = list(dict.fromkeys(strength for one in products for strength in one.strengths))
        self.brands = list(dict.fromkeys(one.brand_name for one in products if one.brand_name))
        self.labelers = list(dict.fromkeys(labeler for one in products for labeler in one.labelers))

    def leave_out(self, marketed: "ProductGroup") -> None:
        """Remove the strengths and brands that ``marketed`` has, too."""
        self.strengths = [one for one in self.strengths if one not in marketed.strengths]
        self.brands = [one for one in self.brands if one not in marketed.brands]

    def data(self) -> dict[str, JsonValue]:
        """Return the group as JSON data."""
        data: dict[str, JsonValue] = {
            "dosage_form": self.dosage_form,
            "routes": list(self.routes),
            "strengths": [*self.strengths],
            "brand_names": [*self.brands[:MOST_BRANDS]],
            "labelers": [*self.labelers[:_MOST_LABELERS]],
        }
        return data | ({"discontinued": True} if self.discontinued else {})

    def line(self) -> str:
        """Return the group as one line of text."""
        text = "Discontinued product: " if self.discontinued else "Product: "
        text += self.dosage_form or "form not stated"
        if self.routes:
            text += f" ({', '.join(self.routes)})"
        if self.strengths:
            text += f": {', '.join(self.strengths)}"
        if self.brands:
            text += f"; brands {listed(self.brands)}"
        return text


def grouped(products: Iterable[Product]) -> list[ProductGroup]:
    """Group products by form and route, marketed ones first.

    A group of discontinued ones has only the strengths and brands that are not marketed in the same form.
    """
    groups: dict[tuple[str, tuple[str, ...], bool], list[Product]] = {}
    for product in products:
        key = (fold_name(product.dosage_form), product.routes, product.discontinued)
        groups.setdefault(key, []).append(product)
    found = {key: ProductGroup(members) for key, members in groups.items()}
    shown = [group for group in found.values() if not group.discontinued]
    for (form, routes, discontinued), group in found.items():
        marketed = found.get((form, routes, False)) if discontinued else None
        if marketed is not None:
            group.leave_out(marketed)
        if discontinued and (marketed is None or group.strengths or group.brands):
            shown.append(group)
    return shown


def listed(names: Sequence[str]) -> str:
    """Join names, and count those past the twentieth."""
    more = [f"and {len(names) - MOST_BRANDS} more"] if len(names) > MOST_BRANDS else []
    return ", ".join([*names[:MOST_BRANDS], *more])
