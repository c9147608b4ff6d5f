"""Taylor models, symbolic expressions and the identities of matrix calculus."""
