"""One module per view a report can fill; adding a file here adds a reader."""
