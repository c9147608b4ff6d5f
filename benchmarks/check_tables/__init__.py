"""Tables with a planted fault and without, for the numbered checks.

    development        tuned on: the thresholds were set there
    development_real   tuned on: kept back first, run once, then used to change the checks
    development_more   no longer counted: kept back second and run once
    counted            counted: made when the checks were finished, run once, not tuned on

`python -m benchmarks.checks` runs those that count, or a set by its name; each file says what its
first run gave.
"""
