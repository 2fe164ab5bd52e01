"""The codes of the failures: each class has its own, none ever changes, and the operator finds each explained."""

import ast
import pickle
import re
from pathlib import Path

import pytest

from services import errors
from services.errors import DocumentRejected, ModelTimeout, ParsingFailed, ServiceError, StorageError

ROOT = Path(__file__).parents[2]
CODES = {
    "ServiceError": "QZ-X01",
    "SettingsError": "QZ-S01",
    "DataDirectoryError": "QZ-S02",
    "ModelError": "QZ-M01",
    "ModelTimeout": "QZ-M02",
    "ModelUnavailable": "QZ-M03",
    "ModelBudgetSpent": "QZ-M04",
    "AgentLimitReached": "QZ-M05",
    "EmbeddingError": "QZ-R01",
    "RerankError": "QZ-R02",
    "SearchIndexError": "QZ-R03",
    "ReadingError": "QZ-R04",
    "RecordsError": "QZ-D01",
    "StorageError": "QZ-D02",
    "HistoryError": "QZ-D03",
    "DamagedRecord": "QZ-D04",
    "DocumentRejected": "QZ-F01",
    "ParsingFailed": "QZ-F02",
    "DownloadFailed": "QZ-F03",
}
"""Published: people quote these from old messages. A class that goes away leaves its code unused."""


def _classes() -> dict[str, tuple[set[str], str | None]]:
    """Return the base classes and the own code of every class of the product."""
    found: dict[str, tuple[set[str], str | None]] = {}
    paths = [ROOT / "bot.py", *(path for part in ("services", "qq", "plugins") for path in (ROOT / part).rglob("*.py"))]
    for path in paths:
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.ClassDef):
                bases = {ast.unparse(base).rpartition(".")[2] for base in node.bases}
                found[node.name] = (bases, _own_code(node))
    return found


def _own_code(node: ast.ClassDef) -> str | None:
    for statement in node.body:
        match statement:
            case ast.Assign([ast.Name("code")], ast.Constant(str(code))) | ast.AnnAssign(
                ast.Name("code"), value=ast.Constant(str(code))
            ):
                return code
            case _:
                pass
    return None


def test_every_failure_of_the_product_has_its_own_code_and_keeps_it() -> None:
    classes = _classes()
    failures = {"ServiceError"}
    while more := {name for name, (bases, _) in classes.items() if bases & failures} - failures:
        failures |= more
    assert {name: classes[name][1] for name in failures} == CODES
    assert len(set(CODES.values())) == len(CODES)


def test_the_tree_in_the_docstring_is_the_tree() -> None:
    drawn: list[tuple[str, str, str]] = []
    above: list[str] = []
    for line in (errors.__doc__ or "").splitlines():
        if row := re.match(r" {4}([│├└─ ]*)(\w+) +(QZ-\w\d\d)  \S", line):
            depth = len(row[1]) // 4
            above[depth:] = [row[2]]
            drawn.append((row[2], above[depth - 1] if depth else "Exception", row[3]))
    real = [(name, getattr(errors, name).__base__.__name__, code) for name, code in CODES.items()]
    assert drawn == real


def test_the_manual_explains_every_code() -> None:
    manual = (ROOT / "docs" / "operations.md").read_text("utf-8")
    rows = re.findall(r"^\| (QZ-\w\d\d) \| (.+) \| (.+) \|$", manual, re.MULTILINE)
    assert [code for code, _, _ in rows] == sorted(CODES.values(), key=_order)


def _order(code: str) -> tuple[int, str]:
    return "SMRDFX".index(code[3]), code


def test_a_failure_is_told_with_its_code() -> None:
    assert ModelTimeout("模型回答超时了，请稍后再问。").told() == "模型回答超时了，请稍后再问。（QZ-M02）"
    assert StorageError("磁盘满了。", "errno 28").told("a1b2c3") == "磁盘满了。（QZ-D02，编号 a1b2c3）"
    assert str(StorageError("磁盘满了。", "errno 28")) == "QZ-D02 磁盘满了。 (errno 28)"
    assert str(StorageError("磁盘满了。")) == "QZ-D02 磁盘满了。"


def test_a_failure_of_another_process_is_written_the_same() -> None:
    error = StorageError("磁盘满了。", "errno 28")
    copied = pickle.loads(pickle.dumps(error))  # noqa: S301 - our own bytes
    assert (str(copied), copied.user_message, copied.detail) == (str(error), error.user_message, error.detail)


@pytest.mark.parametrize("kind", [DocumentRejected, errors.ModelBudgetSpent])
def test_what_is_refused_as_designed_stays_a_plain_sentence(kind: type[ServiceError]) -> None:
    assert kind("这个文件是空的。").told("a1b2c3") == "这个文件是空的。"
    assert ParsingFailed("读这个文件时程序中断了。").told() == "读这个文件时程序中断了。（QZ-F02）"
