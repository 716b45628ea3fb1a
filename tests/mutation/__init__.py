"""Small faults put into the code one at a time, to see whether a test falls.

    python -m tests.mutation [--package analysis rows] [--sample N] [--seed S]

`faults` finds what can be changed in a module; `tree` holds the copy of the checkout in which it is changed
and its tests are run. The tests that concern a changed line are those of the files that mirror its module,
and of the files that run the line, which a first run under coverage tells (`watch`).
"""
