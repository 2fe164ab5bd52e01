"""Tests of the comparison of a group's files with the documents of its knowledge base."""

from datetime import UTC, datetime, timedelta

from services.knowledge.group_files import (
    Comparison,
    FileState,
    GroupFile,
    GroupFileList,
    compare,
    with_distinct_names,
)
from services.records.stored_values import UploadSource
from services.records.tables import DocumentRecord, DocumentState

GROUP = 777
MAY = datetime(2026, 5, 1, 8, 0, tzinfo=UTC)


def file(
    name: str, size: int = 100, *, folder: str = "", uploaded_at: datetime | None = MAY, key: str = "id"
) -> GroupFile:
    return GroupFile(name, folder, size, uploaded_at, 10002, UploadSource(file_id=key, busid=102, url="", via=GROUP))


def document(
    name: str,
    size: int = 100,
    *,
    number: int = 1,
    uploaded_at: datetime = MAY,
    group_id: int = GROUP,
    in_group_files: bool = True,
) -> DocumentRecord:
    return DocumentRecord(
        id=number,
        collection=f"group_{group_id}",
        number=number,
        name=name,
        version=1,
        size=size,
        group_id=group_id,
        uploaded_at=uploaded_at,
        state=DocumentState.READY,
        in_group_files=in_group_files,
    )


def refusal(name: str, size: int) -> str:
    return "不支持 .zip 文件。" if name.endswith(".zip") else ""


def compared(files: list[GroupFile], documents: list[DocumentRecord], *, is_cut: bool = False) -> Comparison:
    return compare(GroupFileList(tuple(files), is_cut=is_cut), documents, GROUP, refusal)


def states(comparison: Comparison) -> dict[str, FileState]:
    return {listed.file.name: listed.state for listed in comparison.files}


def test_a_file_with_the_name_and_size_of_a_later_document_is_held() -> None:
    later, earlier = MAY + timedelta(days=3), MAY - timedelta(days=3)
    clock_behind = MAY - timedelta(minutes=5)
    for uploaded_at in (MAY, later, clock_behind):
        assert states(compared([file("a.md")], [document("a.md", uploaded_at=uploaded_at)])) == {"a.md": FileState.HELD}
    # Somebody sent other content of the same size later, so only the content can decide.
    assert states(compared([file("a.md")], [document("a.md", uploaded_at=earlier)])) == {"a.md": FileState.CHANGED}
    assert states(compared([file("a.md", uploaded_at=None)], [document("a.md")])) == {"a.md": FileState.CHANGED}


def test_a_newer_document_is_not_replaced_by_an_older_file() -> None:
    held = document("a.md", 200, uploaded_at=MAY + timedelta(days=30))
    comparison = compared([file("a.md", 100)], [held])
    assert states(comparison) == {"a.md": FileState.OLDER}
    assert not comparison.files[0].is_wanted
    assert comparison.gone == ()
    assert states(compared([file("a.md", 300, uploaded_at=MAY + timedelta(days=60))], [held])) == {
        "a.md": FileState.CHANGED
    }


def test_a_renamed_file_is_held_and_its_document_not_gone() -> None:
    comparison = compared([file("新名.md")], [document("旧名.md")])
    assert states(comparison) == {"新名.md": FileState.HELD}
    assert comparison.gone == ()
    # Its time changed, too: it is taken in again, but the document is not offered for deletion.
    comparison = compared([file("新名.md")], [document("旧名.md", uploaded_at=MAY - timedelta(days=9))])
    assert states(comparison) == {"新名.md": FileState.NEW}
    assert comparison.gone == ()


def test_what_left_the_group_is_offered_only_if_it_was_there_and_the_list_is_complete() -> None:
    documents = [
        document("删了.md", 1, number=1),
        document("手写.txt", 2, number=2, in_group_files=False),
        document("别群.md", 3, number=3, group_id=888),
        document("还在.md", 4, number=4),
    ]
    files = [file("还在.md", 4)]
    assert [row.name for row in compared(files, documents).gone] == ["删了.md"]
    assert compared(files, documents, is_cut=True).gone == ()
    unread = compare(GroupFileList(tuple(files), unread_folders=("章程",)), documents, GROUP, refusal)
    assert unread.gone == ()


def test_what_is_missing_comes_first_and_the_newest_first() -> None:
    files = [
        file("压缩.zip", 1),
        file("有.md", 2),
        file("旧.md", 3, uploaded_at=MAY),
        file("新.md", 4, uploaded_at=MAY + timedelta(days=1)),
        file("无时.md", 5, uploaded_at=None),
    ]
    comparison = compared(files, [document("有.md", 2)])
    assert [listed.file.name for listed in comparison.files] == ["新.md", "旧.md", "无时.md", "有.md", "压缩.zip"]
    assert comparison.files[-1].reason == "不支持 .zip 文件。"
    assert comparison.count(FileState.NEW) == 3


def test_files_of_one_name_in_several_folders_do_not_replace_each_other() -> None:
    named = with_distinct_names(
        [
            file("通知.pdf", 1, folder="2023", uploaded_at=MAY - timedelta(days=300)),
            file("通知.pdf", 2, folder="2024", uploaded_at=MAY),
            file("通知.pdf", 3, uploaded_at=MAY - timedelta(days=900)),
            file("通知.pdf", 4, folder="2023", uploaded_at=MAY - timedelta(days=400)),
            file("别的.pdf", 5),
        ]
    )
    assert {each.size: each.name for each in named} == {
        2: "通知.pdf",
        1: "通知（2023）.pdf",
        4: "通知（2023，2）.pdf",
        3: "通知（旧）.pdf",
        5: "别的.pdf",
    }


def test_a_list_of_nothing_at_all_proves_no_deletion() -> None:
    held = [document("a.md"), document("b.md", number=2)]
    assert compare(GroupFileList(()), held, GROUP, refusal).gone == ()
    # An empty folder was listed, so the client does answer.
    assert compare(GroupFileList((), folders=1), held, GROUP, refusal).gone == tuple(held)
    assert compare(GroupFileList((), ("钥匙",), folders=1), held, GROUP, refusal).gone == ()
