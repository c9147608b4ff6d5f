"""Rows of data judged by models: label noise, drift between tables, groups of rows."""
