"""What the drug database stores, is asked and reports."""

from tools.drug_database.records.drug_record import (
    SECTION_TITLES,
    SECTIONS,
    Contribution,
    DrugRecord,
    Fact,
    Label,
    Product,
    SectionName,
    Source,
)

__all__ = [
    "SECTIONS",
    "SECTION_TITLES",
    "Contribution",
    "DrugRecord",
    "Fact",
    "Label",
    "Product",
    "SectionName",
    "Source",
]
