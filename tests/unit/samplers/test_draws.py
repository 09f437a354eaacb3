import subprocess
import sys
from collections import Counter

import pytest

from quintain.samplers.draws import choice, mixed, permutation, uniform


def test_draws_are_the_same_in_every_process_and_release():
    assert mixed(1, 2, 3) != mixed(1, 3, 2)
    code = "from quintain.samplers.draws import *; print(mixed(7, 8), permutation(5, 3, 1).tolist())"
    printed = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    assert printed.stdout.split(" ", 1) == [str(mixed(7, 8)), f"{permutation(5, 3, 1).tolist()}\n"]
    assert (mixed(7, 8), permutation(5, 3, 1).tolist()) == (10189339281639602791, [0, 2, 4, 3, 1])


def test_uniform_fills_the_interval():
    values = [uniform(3, i) for i in range(2000)]
    assert all(0 <= v < 1 for v in values) and len(set(values)) == 2000
    assert sum(values) / 2000 == pytest.approx(0.5, abs=0.03)
    assert sum(v < 0.1 for v in values) / 2000 == pytest.approx(0.1, abs=0.03)


def test_choice_follows_weights():
    counts = Counter(choice([1.0, 0.0, 3.0], 5, i) for i in range(4000))
    assert counts[1] == 0 and counts[2] / 4000 == pytest.approx(0.75, abs=0.03)


def test_permutations_are_whole_and_differ_between_epochs():
    one, two = permutation(100, 1, 0), permutation(100, 1, 1)
    assert sorted(one) == list(range(100)) == sorted(two)
    assert one.tolist() != two.tolist() != permutation(100, 2, 1).tolist()
    with pytest.raises(ValueError, match="read-only"):
        one[0] = 3
