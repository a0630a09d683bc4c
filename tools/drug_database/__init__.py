"""The drug database: real drug data in, the right medicine out. Built on Milvus; see ``database.DrugDatabase``."""

from typing import TYPE_CHECKING

from tools.lazy_exports import lazy_exports

if TYPE_CHECKING:
    from tools.drug_database.database import DrugDatabase as DrugDatabase
    from tools.drug_database.records.drug_record import DataSource as DataSource
    from tools.drug_database.records.drug_record import DrugRecord as DrugRecord
    from tools.drug_database.records.queries import DrugQuery as DrugQuery

__getattr__ = lazy_exports(__name__)
