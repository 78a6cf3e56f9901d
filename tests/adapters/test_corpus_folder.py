"""A folder as a corpus: walked in order, read whole, and refused with all reasons at once."""

from __future__ import annotations

import codecs
import os
import shutil
import unicodedata
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag_core.adapters import corpus_folder
from rag_core.adapters.corpus_folder import LARGEST_FILE_BYTES, CorpusFolder
from rag_core.errors import UsageError
from rag_core.types.corpus import Severity, SourceFile

BUNDLED = Path(__file__).parents[2] / "corpus"
FIELDS = "title: T\nscope: public\nstatus: approved\ncanonical: true\nvalid_from: 2025-01-01\n"
SHEET = f"code: GX-200\n{FIELDS}facts:\n  - {{name: warranty, value: 24, unit: months}}\n"


def text_of(name, *, more="language: en\n", body="The body.\n"):
    return f"---\nid: {name}\n{FIELDS}{more}---\n{body}"


def fill(folder, **files):
    """Write files; `__` in a name stands for a slash and `_DOT_` for a dot."""
    for name, content in files.items():
        place = folder / name.replace("__", "/").replace("_DOT_", ".")
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(content if isinstance(content, bytes) else content.encode())
    return folder


def read(folder, **more):
    reader = CorpusFolder(folder, **more)
    return reader.read(reader.scan())


def codes(folder):
    return [(finding.code, finding.path) for finding in read(folder)[1]]


def test_the_bundled_corpus_has_no_error():
    corpus, findings = read(BUNDLED)
    assert [f for f in findings if f.severity is Severity.ERROR] == []
    sheets = [document.id for document in corpus.documents if document.sheet]
    assert (len(corpus.documents), sheets) == (17, ["product:GX-100", "product:GX-200"])
    assert (corpus.known_products, corpus.product_pattern) == (("GX-100", "GX-200"), r"GX-\d+")


def test_documents_come_in_ordinal_order_of_id(tmp_path):
    fill(tmp_path, a_DOT_md=text_of("b"), b_DOT_md=text_of("A10"), c_DOT_txt=text_of("A2"))
    corpus, _ = read(tmp_path)
    assert [document.id for document in corpus.documents] == ["A10", "A2", "b"]


def test_a_document_carries_text_spans_headings_path_and_digest(tmp_path):
    fill(tmp_path, sub__a_DOT_md=text_of("A", body="# Title\n\nOne rule. Two rules.\n"))
    corpus, _ = read(tmp_path)
    (document,) = corpus.documents
    assert document.text == "# Title\n\nOne rule. Two rules.\n"
    assert document.path == "sub/a.md"
    assert [heading.text for heading in document.headings] == ["Title"]
    sentences = [document.text[span.start : span.end] for span in document.sentences]
    assert sentences[-2:] == ["One rule.", "Two rules."]


def test_plain_text_has_no_headings(tmp_path):
    fill(tmp_path, a_DOT_txt=text_of("A", body="# Not a heading\n"))
    assert read(tmp_path)[0].documents[0].headings == ()


def test_files_are_walked_in_ordinal_order_without_hidden_ones(tmp_path):
    fill(
        tmp_path,
        b_DOT_md="", a__z_DOT_md="", a_DOT_md="", Z_DOT_md="",
        _DOT_git__x_DOT_md="", _DOT_hidden_DOT_md="", a___DOT_cache__y_DOT_md="",
    )  # fmt: skip
    paths = [file.path for file in CorpusFolder(tmp_path).scan()]
    assert paths == ["Z.md", "a.md", "a/z.md", "b.md"]


@pytest.mark.parametrize("name", ["A.MD", "A.Markdown", "A.TXT"])
def test_text_formats_are_known_in_any_case(tmp_path, name):
    (tmp_path / name).write_text(text_of("A"))
    assert [document.id for document in read(tmp_path)[0].documents] == ["A"]


def test_a_file_of_unknown_format_is_a_notice(tmp_path):
    fill(tmp_path, a_DOT_md=text_of("A"), b_DOT_pdf=b"%PDF", c=b"", products__x_DOT_yml=SHEET)
    corpus, findings = read(tmp_path)
    assert [(f.severity, f.code, f.path) for f in findings] == [
        (Severity.NOTICE, "unknown_format", path) for path in ("b.pdf", "c", "products/x.yml")
    ]
    assert [document.id for document in corpus.documents] == ["A"]
    assert "end in .yaml" in findings[-1].message


def test_a_readme_without_front_matter_is_an_error_until_it_is_excluded(tmp_path):
    fill(tmp_path, a_DOT_md=text_of("A"), README_DOT_md="# Read me\n")
    assert codes(tmp_path) == [("missing_front_matter", "README.md")]
    fill(tmp_path, corpus_DOT_yaml="exclude: [README.md]\n")
    assert codes(tmp_path) == []


def test_defaults_govern_a_folder(tmp_path):
    fill(
        tmp_path,
        corpus_DOT_yaml="defaults:\n  - {glob: 'hr/**', fields: {scope: hr, language: de}}\n",
        hr__a_DOT_md=text_of("A", more="").replace("scope: public\n", ""),
    )
    (document,) = read(tmp_path)[0].documents
    assert (document.governance.scope, document.language) == ("hr", "de")


def test_a_pattern_that_covers_no_file_is_a_notice(tmp_path):
    fill(tmp_path, a_DOT_md=text_of("A"), corpus_DOT_yaml="exclude: [draft/**]\n")
    (finding,) = read(tmp_path)[1]
    assert (finding.severity, finding.code) == (Severity.NOTICE, "unused_pattern")


@pytest.mark.parametrize("name", ["corpus.yml", "Corpus.yaml"])
def test_a_configuration_under_another_name_is_not_passed_over(tmp_path, name):
    fill(tmp_path, a_DOT_md=text_of("A"))
    (tmp_path / name).write_text("exclude: [a.md]\n")
    assert ("misnamed_config", name) in codes(tmp_path)


def test_a_broken_configuration_is_told_without_what_it_could_have_explained(tmp_path):
    fill(
        tmp_path,
        corpus_DOT_yaml="exclude: [\n",
        README_DOT_md="# Read me\n",
        a_DOT_md=text_of("A").replace("approved", "ok"),
    )
    assert codes(tmp_path) == [("invalid_field", "a.md"), ("yaml_syntax", "corpus.yaml")]


@pytest.mark.parametrize(
    "files",
    [
        pytest.param({}, id="an empty folder"),
        pytest.param({"a_DOT_pdf": b"x"}, id="unknown formats only"),
        pytest.param(
            {"a_DOT_md": text_of("A"), "corpus_DOT_yaml": "exclude: ['**']"}, id="excluded"
        ),
    ],
)
def test_a_corpus_without_a_document_is_an_error(tmp_path, files):
    corpus, findings = read(fill(tmp_path, **files))
    assert corpus is None
    assert "empty_corpus" in [f.code for f in findings if f.severity is Severity.ERROR]


def test_a_missing_folder_is_a_usage_error(tmp_path):
    with pytest.raises(UsageError, match="rag init"):
        CorpusFolder(tmp_path / "none").scan()


@pytest.mark.parametrize(
    "body",
    [
        pytest.param("\n \n", id="white space"),
        pytest.param("\n\ufeff\n", id="a late byte order mark"),
        pytest.param("\u200b\u200d\u2060", id="zero-width characters"),
        pytest.param("\u00ad\n\u202e", id="a soft hyphen and a direction"),
        pytest.param("\u3164\u115f\uffa0", id="Hangul fillers, which are letters by category"),
        pytest.param("\u2800", id="the blank Braille pattern, a symbol by category"),
        pytest.param("\U000e0041", id="a tag"),
        pytest.param("---\n...\n", id="punctuation only"),
    ],
)
def test_a_document_without_a_visible_letter_digit_or_symbol_is_an_error(tmp_path, body):
    (finding,) = read(fill(tmp_path, a_DOT_md=text_of("A", body=body)))[1]
    assert (finding.severity, finding.code) == (Severity.ERROR, "empty_document")
    assert (finding.path, finding.line) == ("a.md", 10)


@pytest.mark.parametrize("body", ["7", "字", "€", "\u200b😀", "अ"])
def test_one_visible_character_is_a_body(tmp_path, body):
    assert codes(fill(tmp_path, a_DOT_md=text_of("A", body=body))) == []


def test_a_grapheme_longer_than_a_chunk_is_an_error_with_its_line(tmp_path):
    fill(tmp_path, a_DOT_md=text_of("A", body="One.\nTwo " + "x" + "\u20dd" * 700 + "\n"))
    (finding,) = read(tmp_path)[1]
    assert (finding.code, finding.line) == ("oversized_grapheme", 11)
    assert finding.message.startswith("offset 9 ")


REVERSED = text_of("A", more="valid_until: 2024-12-31\nlanguage: en\n")
OPEN = text_of("A").replace("approved", "superseded")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param(REVERSED, [("invalid_interval", 8, "valid_until")], id="nothing else wrong"),
        pytest.param(
            REVERSED.replace("canonical: true", "canonical: yes"),
            [("invalid_field", 6, "canonical"), ("invalid_interval", 8, "valid_until")],
            id="and a wrong value",
        ),
        pytest.param(
            REVERSED.replace("title: T\n", ""),
            [("missing_field", 1, "title"), ("invalid_interval", 7, "valid_until")],
            id="and a missing field",
        ),
        pytest.param(
            REVERSED.replace("approved", "ok"),
            [("invalid_field", 5, "status"), ("invalid_interval", 8, "valid_until")],
            id="and an unreadable status",
        ),
        pytest.param(
            REVERSED.replace("The body.", "\u200b"),
            [("invalid_interval", 8, "valid_until"), ("empty_document", 11, None)],
            id="and an empty body",
        ),
        pytest.param(
            REVERSED.replace("2024-12-31", "soon"),
            [("invalid_field", 8, "valid_until")],
            id="an end that cannot be read",
        ),
        pytest.param(
            REVERSED.replace("2025-01-01", "soon"),
            [("invalid_field", 7, "valid_from")],
            id="a start that cannot be read",
        ),
        pytest.param(
            OPEN.replace("language: en", "language: English"),
            [("missing_valid_until", 5, "valid_until"), ("invalid_field", 8, "language")],
            id="superseded without an end",
        ),
        pytest.param(
            OPEN.replace("language: en", "language: English\nvalid_until: soon"),
            [("invalid_field", 8, "language"), ("invalid_field", 9, "valid_until")],
            id="superseded with an end that cannot be read",
        ),
        pytest.param(
            OPEN.replace("language: en", "language: English\nvalid_until: 2025-02-01"),
            [("invalid_field", 8, "language")],
            id="superseded with an end",
        ),
    ],
)
def test_an_interval_is_checked_also_where_something_else_is_wrong(tmp_path, text, expected):
    fill(tmp_path, a_DOT_md=text)
    assert [(f.code, f.line, f.field) for f in read(tmp_path)[1]] == expected


def test_the_interval_of_a_sheet_is_checked_also_where_something_else_is_wrong(tmp_path):
    text = SHEET.replace("canonical: true", "canonical: yes") + "valid_until: 2024-12-31\n"
    fill(tmp_path, products__g_DOT_yaml=text)
    assert [(f.code, f.line, f.field) for f in read(tmp_path)[1]] == [
        ("invalid_field", 5, "canonical"),
        ("invalid_interval", 9, "valid_until"),
    ]


def test_an_end_that_a_broken_configuration_could_have_given_is_not_called_missing(tmp_path):
    fill(tmp_path, corpus_DOT_yaml="exclude: [\n", a_DOT_md=OPEN)
    assert codes(tmp_path) == [("yaml_syntax", "corpus.yaml")]


def test_all_findings_come_at_once_sorted_by_path_line_and_code(tmp_path):
    fill(
        tmp_path,
        a_DOT_md=text_of("A")
        .replace("canonical: true", "canonical: yes")
        .replace("id: A", "id: A#"),
        b_DOT_md=b"---\nid: B\0",
        c_DOT_md="no fields",
        d_DOT_md=text_of("D", more="superseded_by: X\n"),
        e_DOT_md=text_of("D"),
        f_DOT_pdf=b"",
    )
    assert codes(tmp_path) == [
        ("invalid_field", "a.md"),
        ("invalid_field", "a.md"),
        ("control_character", "b.md"),
        ("missing_front_matter", "c.md"),
        ("undeclared_language", "d.md"),
        ("unknown_successor", "d.md"),
        ("duplicate_id", "e.md"),
        ("unknown_format", "f.pdf"),
    ]


def test_a_corpus_with_an_error_is_no_corpus(tmp_path):
    assert read(fill(tmp_path, a_DOT_md=text_of("A"), b_DOT_md="x"))[0] is None


def test_a_reference_to_a_file_that_is_wrong_elsewhere_is_not_wrong_too(tmp_path):
    fill(
        tmp_path,
        a_DOT_md=text_of("A", more="language: en\nsuperseded_by: B\n"),
        b_DOT_md=text_of("B").replace("scope: public\n", ""),
    )
    assert codes(tmp_path) == [("missing_field", "b.md")]


def test_two_sheets_of_one_code_are_an_error(tmp_path):
    fill(tmp_path, products__a_DOT_yaml=SHEET, products__b_DOT_yaml=SHEET)
    (finding,) = read(tmp_path)[1]
    assert (finding.code, finding.path, finding.line) == ("duplicate_id", "products/b.yaml", 1)


def test_products_are_known_by_sheet_or_by_list(tmp_path):
    fill(tmp_path, products__a_DOT_yaml=SHEET, corpus_DOT_yaml="products: [GX-300, GX-100]\n")
    assert read(tmp_path)[0].known_products == ("GX-100", "GX-200", "GX-300")


def variants(text):
    composed = unicodedata.normalize("NFC", text)
    yield composed.encode()
    yield codecs.BOM_UTF8 + composed.encode()
    yield codecs.BOM_UTF16_LE + composed.encode("utf-16-le")
    yield unicodedata.normalize("NFD", text).encode()
    yield composed.replace("\n", "\r\n").encode()
    yield composed.replace("\n", "\r").encode()
    yield codecs.BOM_UTF8 + composed.replace("\n", "\r\n").encode()


def test_line_ends_marks_and_composition_change_no_document(tmp_path):
    text = text_of("A", more="subject: été\nlanguage: fr\n", body="L'été.\n\n# Été\n")
    sheet = SHEET + "  - {name: été, value: é}\n"
    results = []
    for content, sheet_content in zip(variants(text), variants(sheet), strict=True):
        fill(tmp_path, a_DOT_md=content, products__p_DOT_yaml=sheet_content)
        corpus, findings = read(tmp_path)
        assert findings == ()
        results.append(tuple(replace(d, file_digest="") for d in corpus.documents))
    assert len(set(results)) == 1


@pytest.mark.parametrize(
    ("target", "code"),
    [
        pytest.param("{away}/x.md", "link_outside", id="a link to a file outside"),
        pytest.param("{away}", "link_outside", id="a link to a folder outside"),
        pytest.param("../away/x.md", "link_outside", id="a relative link outside"),
        pytest.param("none", "broken_link", id="a link to nothing"),
        pytest.param("link.md", "broken_link", id="a link to itself"),
        pytest.param("sub", "linked_folder", id="a link to a folder inside"),
        pytest.param(None, "unreadable_file", id="a pipe"),
    ],
)
def test_what_is_no_file_of_the_folder_is_an_error_and_is_not_read(tmp_path, target, code):
    away, inside = tmp_path / "away", tmp_path / "corpus"
    fill(away, x_DOT_md=text_of("SECRET"))
    fill(inside, a_DOT_md=text_of("A"), sub__b_DOT_md=text_of("B"))
    if target is None:
        os.mkfifo(inside / "link.md")
    else:
        (inside / "link.md").symlink_to(target.format(away=away))
    scanned = CorpusFolder(inside).scan()
    assert [file.content for file in scanned if file.path == "link.md"] == [b""]
    assert codes(inside) == [(code, "link.md")]


def test_a_link_to_a_file_inside_the_folder_is_read(tmp_path):
    fill(tmp_path, _DOT_data__a_DOT_md=text_of("A"))
    (tmp_path / "a.md").symlink_to(".data/a.md")
    assert [document.path for document in read(tmp_path)[0].documents] == ["a.md"]


def test_the_corpus_folder_itself_may_be_a_link(tmp_path):
    fill(tmp_path / "real", a_DOT_md=text_of("A"))
    (tmp_path / "link").symlink_to("real")
    assert codes(tmp_path / "link") == []


def test_an_excluded_link_is_passed_over(tmp_path):
    fill(tmp_path, a_DOT_md=text_of("A"), corpus_DOT_yaml="exclude: [l.md]\n")
    (tmp_path / "l.md").symlink_to("/")
    assert codes(tmp_path) == []


def test_a_file_beyond_the_limit_is_an_error(tmp_path, monkeypatch):
    content = text_of("A").encode()
    fill(tmp_path, a_DOT_md=content, b_DOT_md=content + b"a")
    monkeypatch.setattr(corpus_folder, "LARGEST_FILE_BYTES", len(content))
    assert codes(tmp_path) == [("file_too_large", "b.md")]


def test_scanning_reads_no_more_of_a_file_than_the_limit(tmp_path):
    with (tmp_path / "a.md").open("wb") as file:
        file.truncate(LARGEST_FILE_BYTES * 3)
    (scanned,) = CorpusFolder(tmp_path).scan()
    assert len(scanned.content) == LARGEST_FILE_BYTES + 1


def test_a_file_name_that_is_no_utf_8_stays_legible(tmp_path):
    place = os.fsencode(tmp_path) + b"/caf\xe9.md"
    with open(place, "wb") as file:  # noqa: PTH123 - a bytes path is the point
        file.write(text_of("A").encode())
    assert [document.path for document in read(tmp_path)[0].documents] == ["caf\\xe9.md"]


def test_a_control_character_in_a_file_name_is_shown_as_an_escape(tmp_path):
    (tmp_path / "a\x1b[31m.md").write_text(text_of("A"))
    assert [document.path for document in read(tmp_path)[0].documents] == ["a\\x1b[31m.md"]


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        pytest.param(b"a\nb", "a\\nb", id="a line feed"),
        pytest.param(b"a\x7f", "a\\x7f", id="delete"),
        pytest.param(b"a\xc2\x9b31m", "a\\x9b31m", id="a C1 control"),
        pytest.param(b"a\xff\xfe", "a\\xff\\xfe", id="no UTF-8"),
        pytest.param("a\u202eb".encode(), "a\\u202eb", id="a reversed direction"),
        pytest.param("a\u2028b".encode(), "a\\u2028b", id="a line separator"),
        pytest.param("né 字".encode(), "né 字", id="letters of any script stay"),
    ],
)
@pytest.mark.parametrize("content", [b"no front matter", b"a\0", "a" + "\u0301" * 99, None])
def test_every_finding_shows_a_file_name_in_printable_utf_8(tmp_path, name, shown, content):
    place = os.fsencode(tmp_path) + b"/" + name + b".md"
    if content is None:
        Path(os.fsdecode(place)).symlink_to("/")
    else:
        with open(place, "wb") as file:  # noqa: PTH123 - a bytes path is the point
            file.write(content.encode() if isinstance(content, str) else content)
    findings = read(tmp_path)[1]
    assert {finding.path for finding in findings} == {f"{shown}.md"}
    for finding in findings:
        assert finding.path.isprintable()
        assert finding.message.encode("utf-8").decode().isprintable()


def test_a_link_outside_is_told_whatever_its_name(tmp_path):
    (tmp_path / os.fsdecode(b"a\x1b\xff.md")).symlink_to("/")
    assert codes(tmp_path) == [("link_outside", "a\\x1b\\xff.md")]


def test_a_folder_read_twice_gives_the_same(tmp_path):
    shutil.copytree(BUNDLED, tmp_path / "corpus")
    assert read(tmp_path / "corpus") == read(BUNDLED)


@given(
    st.dictionaries(
        st.sampled_from(["corpus.yaml", "a.md", "b.txt", "products/p.yaml", "c.pdf"]),
        st.binary(max_size=120)
        | st.text(max_size=120).map(lambda text: text_of("A", more=text, body=text).encode("utf-8"))
        | st.text(max_size=120).map(lambda text: (SHEET + text).encode("utf-8")),
    )
)
def test_any_content_gives_a_corpus_or_an_error_and_no_exception(contents):
    files = tuple(SourceFile(path, content) for path, content in contents.items())
    corpus, findings = CorpusFolder(Path("nowhere")).read(files)
    assert (corpus is None) == any(f.severity is Severity.ERROR for f in findings)
    assert list(findings) == sorted(findings, key=lambda f: (f.path, f.line or 0, f.code))
