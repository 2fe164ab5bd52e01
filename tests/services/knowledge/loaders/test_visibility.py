"""Text that a person does not see reaches no chunk, and all visible text does."""

import time
from pathlib import Path

import docx
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from services.knowledge.loaders import LOADERS
from services.knowledge.models import Omissions
from services.knowledge.splitter import split
from tests.samples import hidden
from tests.samples.hidden import HIDDEN, ORDINARY, SEEN

CANARY = "canary text"


def load(path: Path) -> tuple[str, bool]:
    """Return the text of all chunks with their headings, and whether hidden text was left out."""
    omissions = Omissions()
    sections = list(LOADERS[path.suffix[1:]].loader()(path, omissions))
    chunks = split(sections, 400, 60)
    return "\n".join("\n".join((*chunk.heading, chunk.text)) for chunk in chunks), omissions.hidden_text


@pytest.mark.parametrize(
    ("extension", "kind"), [(extension, kind) for extension, kinds in HIDDEN.items() for kind in kinds]
)
def test_text_that_is_not_seen_is_left_out_and_noted(tmp_path: Path, extension: str, kind: str) -> None:
    text, has_hidden_text = load(HIDDEN[extension][kind](tmp_path / f"a.{extension}", CANARY))
    assert CANARY not in text
    assert ORDINARY in text
    assert has_hidden_text


@pytest.mark.parametrize(
    ("extension", "kind"), [(extension, kind) for extension, kinds in SEEN.items() for kind in kinds]
)
def test_text_that_is_seen_is_kept(tmp_path: Path, extension: str, kind: str) -> None:
    text, has_hidden_text = load(SEEN[extension][kind](tmp_path / f"a.{extension}", CANARY))
    assert CANARY in text
    assert ORDINARY in text
    assert not has_hidden_text


def test_recognised_text_of_a_scanned_page_is_kept(tmp_path: Path) -> None:
    assert load(hidden.RECOGNISED(tmp_path / "a.pdf", CANARY)) == (CANARY, False)


def test_scripts_and_templates_are_left_out_without_a_word(tmp_path: Path) -> None:
    body = "<script>%s</script><style>/*%s*/</style><template>%s</template><noscript>%s</noscript>"
    text, has_hidden_text = load(hidden.html_body(body)(tmp_path / "a.html", CANARY))
    assert CANARY not in text
    assert not has_hidden_text


def test_comments_and_headers_of_word_are_not_read(tmp_path: Path) -> None:
    document = docx.Document()
    paragraph = document.add_paragraph(ORDINARY)
    document.add_comment(paragraph.runs, CANARY, "a", "a")
    document.sections[0].header.paragraphs[0].text = CANARY
    document.sections[0].footer.paragraphs[0].text = CANARY
    document.save(str(tmp_path / "a.docx"))
    assert load(tmp_path / "a.docx") == (ORDINARY, False)


def test_word_shows_one_of_several_alternatives(tmp_path: Path) -> None:
    compatibility = "http://schemas.openxmlformats.org/markup-compatibility/2006"

    def alternatives(prefix: str, namespace: str) -> str:
        return (
            '<w:p xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main" '
            f'xmlns:mc="{compatibility}" xmlns:{prefix}="{namespace}"><w:r><mc:AlternateContent>'
            f'<mc:Choice Requires="{prefix}"><{prefix}:a/><w:t>first</w:t></mc:Choice>'
            "<mc:Fallback><w:t>%s</w:t></mc:Fallback></mc:AlternateContent></w:r></w:p>"
        )

    known = alternatives("wps", "http://schemas.microsoft.com/office/word/2010/wordprocessingShape")
    shown, _ = load(hidden.docx_body(known)(tmp_path / "a.docx", CANARY))
    assert "first" in shown
    assert CANARY not in shown
    shown, _ = load(hidden.docx_body(alternatives("x", "urn:unknown"))(tmp_path / "b.docx", CANARY))
    assert "first" not in shown
    assert CANARY in shown


@pytest.mark.parametrize(
    "page",
    [
        "<style>" + "url(" * 75_000,
        "<style>" + "a{" * 150_000,
        "<style>" + "a{&" + "&" * 150_000 + "{" * 1000,
        "<style>" + "a," * 100_000 + "b{display:none}</style>",
        "<p style='left:" + "1" * 300_000 + "'>",
        "<p style='display:" + "table-table" * 30_000 + " x'>",
        "<p style='clip-path:polygon(" + "0 " * 150_000 + "x'>",
        "<p style='transform:" + "translate(" * 30_000 + "'>",
    ],
    ids=["addresses", "nesting", "references", "selectors", "digits", "keywords", "polygon", "functions"],
)
def test_no_style_sheet_takes_long(tmp_path: Path, page: str) -> None:
    path = tmp_path / "a.html"
    path.write_text(page, encoding="utf-8")
    begin = time.process_time()
    load(path)
    assert time.process_time() - begin < 5


_HTML_WRAPS = st.sampled_from(
    [
        (True, "<div>{}</div>"),
        (True, "<section class=box>{}</section>"),
        (True, "<details open>{}</details>"),
        (True, "<div style='opacity:1;color:#222'>{}</div>"),
        (False, "<div style='display:none'>{}</div>"),
        (False, "<div class=gone>{}</div>"),
        (False, "<div hidden>{}</div>"),
        (False, "<div style='opacity:0'>{}</div>"),
        (False, "<div aria-hidden=true>{}</div>"),
        (False, "<div style='position:absolute;left:-9999px'>{}</div>"),
    ]
)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(paragraphs=st.lists(st.lists(_HTML_WRAPS, max_size=4), min_size=1, max_size=8))
def test_any_page_shows_the_paragraphs_that_nothing_around_them_hides(
    tmp_path: Path, paragraphs: list[list[tuple[bool, str]]]
) -> None:
    body = "<style>.gone{visibility:collapse;display:none}</style>"
    for number, wraps in enumerate(paragraphs):
        block = f"<p>canary{number}.</p>"
        for _, wrap in wraps:
            block = wrap.format(block)
        body += block
    text, has_hidden_text = load(hidden.html_body(body)(tmp_path / "a.html", ""))
    seen = [all(shows for shows, _ in wraps) for wraps in paragraphs]
    assert [f"canary{number}." in text for number in range(len(seen))] == seen
    assert has_hidden_text == (not all(seen))


_RUNS = st.sampled_from(
    [
        (True, ""),
        (True, "<w:b/>"),
        (True, '<w:vanish w:val="0"/>'),
        (True, '<w:color w:val="C00000"/><w:sz w:val="18"/>'),
        (False, "<w:vanish/>"),
        (False, "<w:webHidden/>"),
        (False, '<w:color w:val="FFFFFF"/>'),
        (False, '<w:sz w:val="1"/>'),
    ]
)


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(runs=st.lists(_RUNS, min_size=1, max_size=12))
def test_any_paragraph_of_word_shows_the_runs_that_are_not_hidden(tmp_path: Path, runs: list[tuple[bool, str]]) -> None:
    block = "".join(
        f"<w:r><w:rPr>{properties}</w:rPr><w:t>canary{number}.</w:t></w:r>"
        for number, (_, properties) in enumerate(runs)
    )
    namespace = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
    write = hidden.docx_body(f'<w:p xmlns:w="{namespace}">{block}<w:r><w:t>%s</w:t></w:r></w:p>')
    text, has_hidden_text = load(write(tmp_path / "a.docx", "end"))
    seen = [shows for shows, _ in runs]
    assert [f"canary{number}." in text for number in range(len(seen))] == seen
    assert has_hidden_text == (not all(seen))
