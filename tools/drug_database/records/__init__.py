"""What the drug database stores, is asked and reports."""

from tools.drug_database.records.drug_record import (
    SECTION_TITLES,
    SECTIONS,
    Contribution,
    DataSource,
    DrugRecord,
    Fact,
    Label,
    Product,
    SectionName,
)

__all__ = [
    "SECTIONS",
    "SECTION_TITLES",
    "Contribution",
    "DataSource",
    "DrugRecord",
    "Fact",
    "Label",
    "Product",
    "SectionName",
]
