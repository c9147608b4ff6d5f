"""What attention looks at, whether it knows the order, and what each block is worth."""
