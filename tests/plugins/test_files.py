"""One file, as each client tells of it."""

import pytest

from plugins._files import UploadedFile

NAPCAT_NOTICE = {"id": "md5", "name": "制度.pdf", "size": 123, "busid": 102}
NAPCAT_SEGMENT = {"file": "制度.pdf", "file_id": "/uuid", "file_size": "123", "url": "https://host/ftn?fname="}
LLONEBOT_SEGMENT = {"file": "制度.pdf", "file_id": "uuid", "file_size": "123", "url": "file:///opt/QQ/制度.pdf"}
LAGRANGE_SEGMENT = {"file_name": "制度.pdf", "file_hash": "h", "file_id": "/id", "url": "http://host/f"}
GO_CQHTTP_SEGMENT = {"name": "制度.pdf", "path": "/id", "size": "123", "busid": 102}


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (NAPCAT_NOTICE, UploadedFile("制度.pdf", "md5", 123, 102, "")),
        (NAPCAT_SEGMENT, UploadedFile("制度.pdf", "/uuid", 123, 0, "https://host/ftn?fname=")),
        (LLONEBOT_SEGMENT, UploadedFile("制度.pdf", "uuid", 123, 0, "")),
        (LAGRANGE_SEGMENT, UploadedFile("制度.pdf", "/id", 0, 0, "http://host/f")),
        (GO_CQHTTP_SEGMENT, UploadedFile("制度.pdf", "/id", 123, 102, "")),
        ({"name": "..\\..\\a/b.pdf\n", "size": "x"}, UploadedFile("b.pdf", "", 0, 0, "")),
        ({}, UploadedFile("未命名", "", 0, 0, "")),
    ],
)
def test_dialects(data: dict[str, object], expected: UploadedFile) -> None:
    assert UploadedFile.read(data) == expected
    assert UploadedFile(**expected.source()) == expected
