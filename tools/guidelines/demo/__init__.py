"""The six demonstration guidelines that ship with the product, and the build that makes their PDFs.

The `.md` files are the sources, the `.pdf` files beside them are what the app loads, and `questions.json` is
the evaluation set. Nothing here is imported when the app runs.
"""
