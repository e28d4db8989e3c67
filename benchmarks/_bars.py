"""Prints a figure beside its bar; `make bench` reads nothing else, and lists what failed at its end."""

import sys


def holds(figure: str, value: float, *, most: float | None = None, least: float | None = None) -> bool:
    """Print a figure with its bar, and say whether that holds.

    Args:
        figure: What is measured, with its unit.
        most: The most that the value may be.
        least: The least that it has to be.
    """
    is_met = (most is None or value <= most) and (least is None or value >= least)
    bar = f"at most {most:g}" if most is not None else f"at least {least:g}"
    sys.stdout.write(f"{'pass' if is_met else 'FAIL'}  {figure}: {value:g} ({bar})\n")
    return is_met
