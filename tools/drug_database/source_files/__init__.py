"""Read the files of an import: plain, zipped, JSON or XML, all bounded in size."""
