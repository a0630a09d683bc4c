"""Pages of a PDF as blocks in reading order: headings, paragraphs, lists, tables, and the text of scans."""
