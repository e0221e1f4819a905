"""A figure and its confidence interval, from the samples of several rounds.

On a machine with neighbours, times come in modes some tens of percent apart, which last for tenths of seconds. So two
rivals are compared within each round, where one ran right after the other. A comparison is the median of the rounds'
ratios. Its interval holds the true median in 95 of 100 runs whatever the distribution is: it counts how many of the
rounds can lie on one side of the median (the sign test).
"""

import dataclasses
import math
import statistics

SURE = 0.95
LEAST = 6  # values from which there is such an interval


@dataclasses.dataclass(frozen=True)
class Estimate:
    value: float
    low: float  # with fewer than LEAST values least and most of them, which is less sure
    high: float
    count: int

    def within(self, limit):
        """Whether it is at most the limit; None when it may be either."""
        return True if self.high <= limit else False if self.low > limit else None

    def at_least(self, limit):
        return True if self.low >= limit else False if self.high < limit else None

    @property
    def uncertainty(self):
        """Half of the interval, as a part of the value; None for less than three values."""
        return (self.high - self.low) / 2 / self.value if self.count > 2 and self.value else None


def outside(count):
    """How many of so many sorted values lie below the interval; as many lie above it."""
    # below: of 2**count ways, those in which the median lies below the first value of the interval
    skipped, below = 0, 1
    while below <= 2**count * (1 - SURE) / 2:
        skipped += 1
        below += math.comb(count, skipped)
    return max(0, skipped - 1)


def of(values):
    """The estimate, or None without values."""
    if not values:
        return None
    ordered = sorted(values)
    skipped = outside(len(ordered))
    return Estimate(statistics.median(ordered), ordered[skipped], ordered[-1 - skipped], len(ordered))
