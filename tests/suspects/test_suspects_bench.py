"""Seeded faults are named exactly after few extra runs."""

from __future__ import annotations

import re
import time

import pytest
from suspects_tables import axis, table

from kvconform.covering.prng import SplitMix
from kvconform.suspects import bench, explain
from kvconform.suspects.faults import random_fault, random_model
from kvconform.suspects.outcomes import Outcomes


@pytest.mark.parametrize("seed", [1, 2])
def test_faults_of_one_or_two_axes_are_found(seed):
    """Of 200 faults in pairwise selections 95% are exact, with 3 extra runs on average at most."""
    accuracy = bench.measure(200, seed=seed)
    assert len(accuracy.trials) == 200
    assert accuracy.exact >= 0.95, accuracy
    assert accuracy.extra_runs <= 3, accuracy
    assert accuracy.good


def test_the_bench_can_miss_its_bounds(capsys):
    """Each value once is not enough to find faults of two axes: the exit status says so."""
    assert bench.main(["--faults", "60", "--strength", "1"]) == 1
    assert bench.main(["--faults", "60", "--strength", "3"]) == 0
    line = r"60 faults: [\d.]+% exact \([\d.]+% without extra runs\), [\d.]+ extra runs on average, \d at most, [\d.]+ s"
    assert all(re.fullmatch(line, told) for told in capsys.readouterr().out.splitlines())


def test_seeded_faults_are_seen():
    """Some selected row meets the fault, and some valid row does not."""
    numbers = SplitMix(5)
    for _ in range(10):
        sampled = random_model(numbers, 2)
        rows = sampled.table.meeting(random_fault(sampled, 2, numbers))
        assert rows & sampled.selected
        assert sampled.table.all & ~rows


@pytest.fixture
def wide_table():
    """2000 rows, each of 10 random values of 5."""
    numbers = SplitMix(3)
    points = {tuple(numbers.below(5) for _ in range(10)) for _ in range(2000)}
    return table([axis(f"x{at}", *range(5)) for at in range(10)], points)


def test_2000_rows_of_10_axes_take_no_second(wide_table):
    """Neither a fault of three alternatives nor failures by chance."""
    numbers = SplitMix(7)
    by_chance = [row.id for row in wide_table.rows if numbers.below(2)]
    faults = [
        row.id
        for row in wide_table.rows
        if any(row.positions[at : at + 3] == (1, 1, 1) for at in (0, 3, 6))
    ]
    for failed in (by_chance, faults):
        known = Outcomes.of(wide_table, failed=failed, passed=set(wide_table.numbers) - {*failed})
        start = time.process_time()
        explanation = explain(known)
        assert time.process_time() - start < 1
        assert explanation.exact == (failed is faults)
