"""Everything HTTP: REST, pages, charts."""
