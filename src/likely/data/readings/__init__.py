"""How people write numbers, and what the cells of a column say about it."""
