"""Tests of passages: spread over documents, each used once, joined where they belong together."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from services.index.models import IndexedChunk
from services.records.tables import DocumentRecord
from services.retrieval.models import Candidate, Verdict
from services.retrieval.passages import join, joined_text, select, spread
from tests.services.retrieval.candidates import candidate

SENTENCES = [f"第{number}条规定如下，任何人不得擅自更改其中第{number}项的内容。" for number in range(9)]
DOCUMENTS: Mapping[str, DocumentRecord] = {
    build: DocumentRecord(number=number, name=f"{build}.txt", version=1) for number, build in enumerate("ab", start=1)
}


def chunk(build: str, ordinal: int, text: str, heading: str = "") -> IndexedChunk:
    return IndexedChunk(f"{build}{ordinal}", build, ordinal, text, "", {"heading": heading})


def approved(build: str, ordinal: int, text: str, score: float = 0.9, heading: str = "") -> Candidate:
    return candidate(
        f"{build}{ordinal}",
        rerank_score=score,
        verdict=Verdict.APPROVED,
        build=build,
        ordinal=ordinal,
        text=text,
        heading=heading,
    )


def test_a_long_document_leaves_room_for_a_short_one() -> None:
    ranked = [candidate(f"long{number}", 0.9 - number / 100, build="long") for number in range(20)]
    ranked.append(candidate("short", 0.5, build="short"))
    chosen = spread(ranked, 8)
    assert len(chosen) == 8
    assert [item.hit.chunk.chunk_id for item in chosen[:5]] == ["long0", "long1", "long2", "long3", "short"]
    assert [item.hit.chunk.chunk_id for item in spread(ranked[:6], 8)] == [f"long{number}" for number in range(6)]


def test_what_has_no_vector_yet_gets_places_by_its_words() -> None:
    ranked = [candidate(f"near{number}", 0.9 - number / 100) for number in range(20)]
    ranked += [candidate(f"words{number}", 0.5 - number / 100, cosine=None) for number in range(5)]
    chosen = [item.hit.chunk.chunk_id for item in spread(ranked, 8)]
    assert chosen == [*(f"near{number}" for number in range(6)), "words0", "words1"]


def test_near_duplicates_count_once() -> None:
    first, second = approved("a", 0, SENTENCES[0] * 3), approved("b", 0, SENTENCES[0] * 3 + "（2025 版）")
    other, unasked = approved("b", 1, SENTENCES[5] * 3), candidate("c", text=SENTENCES[0] * 3)
    verdicts = [item.verdict for item in select([first, second, other, unasked], 5)]
    assert verdicts == [Verdict.APPROVED, Verdict.NEAR_DUPLICATE, Verdict.APPROVED, Verdict.NOT_RERANKED]


def test_no_more_than_the_limit() -> None:
    items = [approved("a", number, SENTENCES[number] * 2) for number in range(4)]
    verdicts = [item.verdict for item in select(items, 2)]
    assert verdicts == [Verdict.APPROVED, Verdict.APPROVED, Verdict.OVER_LIMIT, Verdict.OVER_LIMIT]


def test_neighbours_are_joined_without_their_overlap() -> None:
    texts = [SENTENCES[0] + SENTENCES[1], SENTENCES[1] + SENTENCES[2], SENTENCES[2] + SENTENCES[3]]
    found = join(
        [approved("a", 1, texts[1], 0.7), approved("a", 0, texts[0], 0.9)],
        {("a", 0): [chunk("a", 0, texts[0]), chunk("a", 1, texts[1]), chunk("a", 2, texts[2])]},
        DOCUMENTS,
        4000,
    )
    (only,) = found
    assert only.text == "".join(SENTENCES[:4])
    assert (only.first_ordinal, only.last_ordinal, only.score, only.page, only.name) == (0, 2, 0.9, None, "a.txt")


def test_another_section_is_not_joined() -> None:
    around = {("a", 1): [chunk("a", number, SENTENCES[number], "差旅" if number else "考勤") for number in range(3)]}
    (only,) = join([approved("a", 1, SENTENCES[1], heading="差旅")], around, DOCUMENTS, 4000)
    assert (only.first_ordinal, only.last_ordinal) == (1, 2)


def test_a_table_keeps_one_header() -> None:
    rows = [chunk("a", 0, "姓名 | 电话\n甲 | 1"), chunk("a", 1, "姓名 | 电话\n乙 | 2")]
    assert joined_text(rows) == "姓名 | 电话\n甲 | 1\n乙 | 2"


@given(
    places=st.lists(st.tuples(st.sampled_from("ab"), st.integers(0, 8)), min_size=1, max_size=6, unique=True),
    limit=st.integers(10, 400),
)
def test_references_are_bounded_numbered_and_true(places: Sequence[tuple[str, int]], limit: int) -> None:
    items = [approved(build, ordinal, SENTENCES[ordinal], 0.9 - n / 10) for n, (build, ordinal) in enumerate(places)]
    around = {
        (build, ordinal): [
            chunk(build, near, SENTENCES[near]) for near in range(max(0, ordinal - 1), min(9, ordinal + 2))
        ]
        for build, ordinal in places
    }
    found = join(items, around, DOCUMENTS, limit)
    assert [reference.number for reference in found] == list(range(1, len(found) + 1))
    assert sum(len(reference.text) for reference in found) <= limit
    assert found[0].first_ordinal <= places[0][1] <= found[0].last_ordinal
    covered: set[tuple[str, int]] = set()
    for reference in found:
        ordinals = range(reference.first_ordinal, reference.last_ordinal + 1)
        whole = "\n".join(SENTENCES[ordinal] for ordinal in ordinals)
        assert whole.startswith(reference.text)
        assert any((reference.build_id, ordinal) in places for ordinal in ordinals)
        assert covered.isdisjoint((reference.build_id, ordinal) for ordinal in ordinals)
        covered.update((reference.build_id, ordinal) for ordinal in ordinals)


def test_neighbours_of_other_sections_are_cited_on_their_own() -> None:
    items = [approved("a", number, SENTENCES[number], 0.9, f"第{number}条") for number in (1, 2)]
    assert [(found.heading, found.text) for found in join(items, {}, DOCUMENTS, 4000)] == [
        ("第1条", SENTENCES[1]),
        ("第2条", SENTENCES[2]),
    ]


def test_an_uncertain_table_is_a_passage_by_itself() -> None:
    first, second, third = (approved("a", number, SENTENCES[number], 0.9) for number in range(3))
    marked = IndexedChunk("a1", "a", 1, SENTENCES[1], "", {"heading": "", "uncertain_table": True})
    second = replace(second, hit=replace(second.hit, chunk=marked))
    around = {("a", 0): [marked], ("a", 2): [marked]}
    found = join([first, second, third], around, DOCUMENTS, 4000)
    assert [(one.text, one.uncertain_table) for one in found] == [
        (SENTENCES[0], False),
        (SENTENCES[1], True),
        (SENTENCES[2], False),
    ]


def test_a_table_after_another_one_does_not_continue_it() -> None:
    text = joined_text(
        [chunk("a", 0, "甲 | 乙\n1 | 2"), chunk("a", 1, "表 2\n丙 | 丁\n3 | 4"), chunk("a", 2, "戊 | 己\n5 | 6")]
    )
    assert text == "甲 | 乙\n1 | 2\n（下一张表）\n表 2\n丙 | 丁\n3 | 4\n（下一张表）\n戊 | 己\n5 | 6"


def test_a_titled_table_keeps_one_header() -> None:
    text = joined_text([chunk("a", 0, "表 1\n甲 | 乙\n1 | 2"), chunk("a", 1, "表 1\n甲 | 乙\n3 | 4")])
    assert text == "表 1\n甲 | 乙\n1 | 2\n3 | 4"
