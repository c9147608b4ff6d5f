"""What is measured for the report of a run, mostly on held-out rows."""
