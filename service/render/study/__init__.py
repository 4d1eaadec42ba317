"""Studies as people read them: what each says, as a page of sentences, tables and charts, and that page as text."""
