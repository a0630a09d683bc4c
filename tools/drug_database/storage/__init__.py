"""Store drug records in Milvus."""
