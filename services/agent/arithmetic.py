"""Arithmetic for the calculator: an expression is parsed, never executed, and every step is bounded."""

import ast
import operator
import re
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Context, Decimal, DecimalException, DivisionByZero, InvalidOperation, localcontext

from services.text.cleaning import compatible

_MOST_CHARS, _MOST_NODES = 200, 100
_MOST_EXPONENT = 100
# Larger values and more decimals are not read by anyone.
_MOST = Decimal(10) ** 21
_DECIMALS = Decimal("1e-10")
_CONTEXT = Context(prec=34, traps=[InvalidOperation, DivisionByZero])
_SIGNS = str.maketrans({"×": "*", "✕": "*", "·": "*", "÷": "/", "−": "-", "–": "-", "（": "(", "）": ")", "，": ","})
# 7 % 3 is a remainder, 15% a share.
_SHARE = re.compile(r"(\d)\s*%(?!\s*[\d(])")
_PERCENT = "percent"
_MOST_PLACES = 10

_BINARY: Mapping[type[ast.operator], Callable[[Decimal, Decimal], Decimal]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
}


def _rounded(value: Decimal, places: Decimal = Decimal(0)) -> Decimal:
    if not 0 <= places <= _MOST_PLACES:
        raise ValueError(places)
    return value.quantize(Decimal(1).scaleb(-int(places)), ROUND_HALF_UP)


_FUNCTIONS: Mapping[str, Callable[..., Decimal]] = {
    "abs": Decimal.__abs__,
    "max": lambda *values: max(values),
    "min": lambda *values: min(values),
    "sum": lambda *values: sum(values, Decimal(0)),
    "sqrt": Decimal.sqrt,
    "round": _rounded,
}


class NotComputable(Exception):
    """Raised for an expression that is not computed; the message says in Chinese why not."""


@dataclass(frozen=True, slots=True)
class Calculation:
    """A computed expression: as a text such as 350 * 3 = 1050, and the numbers that it was computed from."""

    text: str
    operands: tuple[Decimal, ...]


def calculate(expression: str) -> Calculation:
    """Return the value of an arithmetic expression: + - * / // % **, brackets, abs, max, min, sum, sqrt and round.

    Numbers are decimal with 34 digits. Raise `NotComputable` for anything else, for more than 200 characters, for an
    exponent above 100 and for values from 10**21 on.

    >>> calculate("350 × 3 + 20").text, calculate("200*15%").text, calculate("1/3").text
    ('350 * 3 + 20 = 1070', '200*15% = 30', '1/3 ≈ 0.3333333333')
    """
    shown = compatible(expression.translate(_SIGNS)).replace("^", "**").strip()
    if len(shown) > _MOST_CHARS:
        raise NotComputable(f"算式太长，最多 {_MOST_CHARS} 个字符")
    try:
        with warnings.catch_warnings():
            # The parser warns about odd code, which is refused below.
            warnings.simplefilter("ignore")
            tree = ast.parse(_SHARE.sub(rf"\1*{_PERCENT}", shown), mode="eval")
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise NotComputable("这不是算式") from error
    nodes = list(ast.walk(tree))
    if len(nodes) > _MOST_NODES:
        raise NotComputable("算式太复杂，请分几步算")
    operands = tuple(_number(node) for node in nodes if isinstance(node, ast.Constant))
    try:
        with localcontext(_CONTEXT):
            value = _value(tree.body)
            rounded = value.quantize(_DECIMALS).normalize() if value else Decimal(0)
    except DivisionByZero as error:
        raise NotComputable("除数是 0") from error
    except (DecimalException, ValueError, TypeError) as error:
        raise NotComputable("这个算式算不出来") from error
    return Calculation(f"{shown} {'=' if rounded == value else '≈'} {rounded:f}", operands)


def _value(node: ast.expr) -> Decimal:
    value = _unbounded(node)
    if not value.is_finite() or abs(value) >= _MOST:
        raise NotComputable("数太大")
    return value


def _unbounded(node: ast.expr) -> Decimal:
    match node:
        case ast.Constant():
            return _number(node)
        case ast.Name(id="percent"):
            return Decimal("0.01")
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return -_value(operand)
        case ast.UnaryOp(op=ast.UAdd(), operand=operand):
            return _value(operand)
        case ast.BinOp(left=left, op=ast.Pow(), right=right):
            base, exponent = _value(left), _value(right)
            if abs(exponent) > _MOST_EXPONENT:
                raise NotComputable(f"指数太大，最多 {_MOST_EXPONENT}")
            return base**exponent
        case ast.BinOp(left=left, op=sign, right=right) if type(sign) in _BINARY:
            return _BINARY[type(sign)](_value(left), _value(right))
        case ast.Call(func=ast.Name(id=name), args=arguments, keywords=[]) if name in _FUNCTIONS:
            return _FUNCTIONS[name](*(_value(argument) for argument in arguments))
        case _:
            raise NotComputable("只能算加减乘除、乘方、括号和 abs、max、min、sum、sqrt、round")


def _number(node: ast.Constant) -> Decimal:
    if type(node.value) not in (int, float):
        raise NotComputable("算式里只能有数字")
    return Decimal(str(node.value))
