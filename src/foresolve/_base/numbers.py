"""Numbers as people write them."""

from __future__ import annotations

GROUPED = 1e4  # numbers from here on are in groups of three digits
WRITTEN_OUT = 1e15  # numbers from here on keep their power of ten


def significant(value: float, digits: int = 4, *, sign: bool = False) -> str:
    """A number with `digits` significant digits; a large one is written out, in groups of three digits.

    Parameters
    ----------
    sign: whether a positive number has one.

    >>> significant(643_127.0, 3), significant(9_999.7), significant(-12.3456), significant(6.17e-6)
    ('643,000', '10,000', '-12.35', '6.17e-06')
    """
    plus = "+" if sign and value else ""
    number = rounded(value, digits)
    if GROUPED <= abs(number) < WRITTEN_OUT:
        return f"{number:{plus},.15g}"
    return f"{value + 0.0:{plus}.{digits}g}"


def rounded(value: float, digits: int) -> float:
    """The number that `significant` writes.

    >>> rounded(643_127.0, 3)
    643000.0
    """
    return float(f"{value:.{digits}g}")


def signed(value: float, digits: int = 3) -> str:
    """The same with a sign, but for zero.

    >>> signed(0.0712), signed(-31_415.9), signed(0.0)
    ('+0.0712', '-31,400', '0')
    """
    return significant(value, digits, sign=True)
