"""The drug database: real drug data in, the right medicine out. Built on Milvus; see ``database.DrugDatabase``."""

from tools.drug_database.database import DrugDatabase
from tools.drug_database.drug_tools import drug_tools
from tools.drug_database.records.drug_record import DataSource, DrugRecord
from tools.drug_database.records.queries import DrugQuery

__all__ = ["DataSource", "DrugDatabase", "DrugQuery", "DrugRecord", "drug_tools"]
