"""Reading ahead, and blocks held in memory."""

from collections import Counter

import numpy as np

from ringlet.solvers.engine.prefetch import Ahead, hold
from ringlet.sources import ArraySource


def test_reading_ahead_gives_what_was_asked_for_even_out_of_order():
    asked = []

    def square(n):
        asked.append(n)
        return n * n

    squares = Ahead(square)
    assert [squares(n, then=n + 1) for n in (1, 2, 2, 7, 7, 8)] == [1, 4, 4, 49, 49, 64]
    squares.close()
    assert asked[:2] == [1, 2]
    assert Counter(asked).most_common(1)[0][1] == 1


def test_what_is_held_lies_in_the_order_asked_for():
    x = np.arange(24.0).reshape(2, 3, 4)
    held = hold(ArraySource(x, x > 5), (np.arange(2), slice(0, 2), np.array([1, 3])), (2, 0, 1))
    np.testing.assert_array_equal(held.array, x[:, :2][:, :, [1, 3]])
    assert held.array.transpose(2, 0, 1).flags.c_contiguous
    np.testing.assert_array_equal(held.mask, (x > 5)[:, :2][:, :, [1, 3]])


def test_without_memory_for_it_nothing_is_read_ahead():
    asked = []
    numbers = Ahead(lambda n: asked.append(n) or n, wanted=False)
    assert [numbers(n, then=n + 1) for n in (1, 1, 5)] == [1, 1, 5]
    numbers.close()
    assert asked == [1, 5]


def test_what_was_closed_can_be_asked_again():
    """A fit that tries something goes back to what it read before."""
    squares = Ahead(lambda n: n * n)
    assert squares(1, then=2) == 1
    squares.close()
    assert [squares(2, then=3), squares(3)] == [4, 9]
    squares.close()
