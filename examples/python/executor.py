"""Functions of this program, called in two sandboxes."""

import math

from callgate import Executor, TaskError


def is_prime(number):
    return number > 1 and all(number % i for i in range(2, math.isqrt(number) + 1))


def ends_its_interpreter():
    import os
    os._exit(1)


def returns_too_much():
    return "x" * (100 << 20)


if __name__ == "__main__":
    with Executor(2, task_timeout=60) as executor:
        print(sum(executor.map(is_prime, range(1000))), "primes below 1000")
        for function in (ends_its_interpreter, returns_too_much):
            try:
                executor.submit(function).result()
            except TaskError as error:
                print(function.__name__, "->", error)
        print(executor.submit(is_prime, 2**31 - 1).result())
