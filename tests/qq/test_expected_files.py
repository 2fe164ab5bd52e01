"""Tests that an expected file goes to the function that expects it, and that no other file does."""

from nonebot.adapters.onebot.v11 import Bot

from qq.expected_files import WAIT_S, ExpectedFiles
from qq.uploaded_file import UploadedFile
from services.session import Session

ME = Session(777, 10002)


async def take(bot: Bot, file: UploadedFile) -> None:
    """Do nothing, because only the choice of the function matters here."""


async def other(bot: Bot, file: UploadedFile) -> None:
    """Do nothing. This is another function that takes files."""


def test_the_same_person_in_the_same_place_once() -> None:
    expected = ExpectedFiles()
    expected.expect(ME, ".csv", take)
    for session in (Session(777, 10003), Session(778, 10002), Session(None, 10002)):
        assert expected.pop(session, "题.csv") is None
    assert expected.pop(ME, "题.csv") is take
    assert expected.pop(ME, "题.csv") is None


def test_other_files_go_their_way_and_the_wait_goes_on() -> None:
    expected = ExpectedFiles()
    expected.expect(ME, ".csv", take)
    for name in ("题.pdf", "csv", "题.csv.exe", ""):
        assert expected.pop(ME, name) is None
    assert expected.pop(ME, "题.CSV") is take


def test_ten_minutes_and_the_last_wish_counts() -> None:
    now = [100.0]
    expected = ExpectedFiles(lambda: now[0])
    expected.expect(ME, ".csv", take)
    expected.expect(ME, ".csv", other)
    now[0] += WAIT_S - 1
    assert expected.pop(ME, "题.csv") is other
    expected.expect(ME, ".csv", take)
    now[0] += WAIT_S
    assert expected.pop(ME, "题.csv") is None
