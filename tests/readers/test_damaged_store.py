"""Damaged stores, from seeds: the numbers are those of the file, each time."""

from tests.fuzz import driver

SEEDS = range(24)


def test_no_damage_changes_a_number():
    assert driver.run("store", SEEDS) == {}
