"""Keep a model server's vector store in step with the loaded guidelines."""
