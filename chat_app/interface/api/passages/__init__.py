"""Pages of cited passages, which links from other programs open."""
