"""Studies for people: the result of each as a page of sentences, tables and charts, and that page as text."""
