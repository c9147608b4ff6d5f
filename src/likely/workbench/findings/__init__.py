"""Findings: warnings and notes about the data and the models, with advice.

Those that are numbered checks (`diagnostics.checks`) have the number of the check. The advice
is for the command line: what it names are options of `likely fit`.
"""
