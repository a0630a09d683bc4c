"""The drug database: real drug data in, the right medicine out. Built on Milvus; see ``database.DrugDatabase``."""

from tools.drug_database.database import DrugDatabase
from tools.drug_database.drug_tools import drug_tools
from tools.drug_database.records.drug_record import DataSource, DrugRecord, Fact, Label, Product
from tools.drug_database.records.queries import DrugHit, DrugQuery, DrugSearchResult, Match
from tools.drug_database.records.reports import DrugDatabaseStats, FileReport, ImportProgress, ImportReport

__all__ = [
    "DataSource",
    "DrugDatabase",
    "DrugDatabaseStats",
    "DrugHit",
    "DrugQuery",
    "DrugRecord",
    "DrugSearchResult",
    "Fact",
    "FileReport",
    "ImportProgress",
    "ImportReport",
    "Label",
    "Match",
    "Product",
    "drug_tools",
]
