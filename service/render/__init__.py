"""A diagnosis or a comparison as text and Markdown."""
