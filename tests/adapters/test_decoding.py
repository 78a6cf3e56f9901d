"""From bytes to text: what cannot be read for certain is said."""

from __future__ import annotations

import codecs

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag_core.adapters.decoding import decode_file
from rag_core.types.corpus import Severity, SourceFile

FRENCH = "Le café est fermé à midi, où êtes-vous allé? Ça coûte 5 euros."


def decoded(content):
    return decode_file(SourceFile("a.md", content))


def codes(content):
    return [(finding.severity, finding.code) for finding in decoded(content).findings]


@pytest.mark.parametrize(
    "content",
    [
        pytest.param(FRENCH.encode(), id="UTF-8"),
        pytest.param(codecs.BOM_UTF8 + FRENCH.encode(), id="UTF-8 with a mark"),
        pytest.param(codecs.BOM_UTF16_LE + FRENCH.encode("utf-16-le"), id="UTF-16 little endian"),
        pytest.param(codecs.BOM_UTF16_BE + FRENCH.encode("utf-16-be"), id="UTF-16 big endian"),
    ],
)
def test_unicode_is_read_without_a_notice(content):
    result = decoded(content)
    assert (result.text, result.findings) == (FRENCH, ())


@pytest.mark.parametrize(
    ("text", "encoding", "named"),
    [
        pytest.param(FRENCH, "cp1252", "cp1252", id="French"),
        pytest.param("Die Größe der Tür beträgt zwölf Meter.", "cp1252", "cp1252", id="German"),
        pytest.param("Smørrebrød på færgen i år.", "cp1252", "cp1252", id="Danish"),
        pytest.param("Договор вступает в силу.", "cp1251", "cp1251", id="Russian"),
        pytest.param("契約は署名の日から有効です。", "shift_jis", "cp932", id="Japanese"),
    ],
)  # fmt: skip
def test_another_encoding_is_detected_and_told_with_name_and_confidence(text, encoding, named):
    result = decoded(text.encode(encoding))
    (notice,) = result.findings
    assert result.text == text
    assert (notice.severity, notice.code) == (Severity.NOTICE, "encoding_detected")
    assert notice.message.startswith(f"read as {named} (confidence ")


def test_rivals_that_fit_as_well_are_named():
    (notice,) = decoded("Smørrebrød på færgen, år".encode("cp1252")).findings
    assert "cp1250" in notice.message


@pytest.mark.parametrize(
    "content",
    [
        pytest.param(bytes(range(128, 256)) * 3, id="bytes of no encoding"),
        pytest.param(codecs.BOM_UTF8 + b"a\xff", id="a UTF-8 mark before other bytes"),
        pytest.param(codecs.BOM_UTF16_LE + b"a\x00\x00\xd8", id="half a surrogate pair"),
        pytest.param(codecs.BOM_UTF16_LE + b"a", id="half a UTF-16 unit"),
    ],
)
def test_undecodable_bytes_are_an_error(content):
    assert decoded(content).text is None
    assert (Severity.ERROR, "undecodable") in codes(content)


@pytest.mark.parametrize(
    ("content", "offset", "line", "name"),
    [
        pytest.param(b"one\r\ntwo\0", 7, 2, "NUL character U+0000", id="NUL"),
        pytest.param(b"\x1b[31mred", 0, 1, "control character U+001B", id="an escape sequence"),
        pytest.param("é\x7f".encode(), 1, 1, "control character U+007F", id="delete"),
        pytest.param(b"a\x00b\x00", 1, 1, "NUL character U+0000", id="UTF-16 unmarked"),
    ],
)
def test_a_control_character_is_an_error_with_offset_and_line(content, offset, line, name):
    result = decoded(content)
    (error,) = result.findings
    assert result.text is None
    assert (error.code, error.path, error.line) == ("control_character", "a.md", line)
    assert error.message.startswith(f"offset {offset}: {name}")


@pytest.mark.parametrize(
    ("content", "offset", "line", "name"),
    [
        pytest.param(b"end\xed\xa0\x80", 3, 1, "lone surrogate U+D800", id="at the end of ASCII"),
        pytest.param("é\n".encode() + b"\xed\xbf\xbfx", 2, 2, "lone surrogate U+DFFF", id="low"),
        pytest.param(
            codecs.BOM_UTF8 + b"a\xed\xa0\x80", 1, 1, "lone surrogate U+D800", id="behind a mark"
        ),
        pytest.param(
            b"\xed\xa0\xbd\xed\xb8\x80", 0, 1, "lone surrogate U+D83D", id="a pair as CESU-8 has it"
        ),
    ],
)
def test_an_encoded_surrogate_in_utf_8_is_an_error_with_offset_and_never_guessed_at(
    content, offset, line, name
):
    result = decoded(content)
    (error,) = result.findings
    assert result.text is None
    assert (error.severity, error.code) == (Severity.ERROR, "control_character")
    assert error.line == line
    assert error.message.startswith(f"offset {offset}: {name}")


def test_bytes_of_a_surrogate_among_other_bytes_that_are_no_utf_8_are_detected_as_before():
    assert codes(FRENCH.encode("cp1252") + b"\xed\xa0\x80") == [
        (Severity.NOTICE, "encoding_detected")
    ]


def test_endless_combining_marks_are_an_error_with_offset_line_and_remedy():
    (error,) = decoded(("one\na" + "\u0301\u0323" * 40_000).encode()).findings
    assert (error.severity, error.code, error.line) == (Severity.ERROR, "oversized_grapheme", 2)
    assert error.message == (
        "offset 5: 80000 combining marks in a row, at most 30 are read; remove the surplus marks"
    )


def test_many_control_characters_are_one_error_that_counts_them():
    (error,) = decoded(b"\0" * 100).findings
    assert "and 99 more" in error.message


@given(st.binary(max_size=200))
def test_any_bytes_give_a_text_or_an_error(content):
    result = decoded(content)
    errors = [finding for finding in result.findings if finding.severity is Severity.ERROR]
    assert (result.text is None) == bool(errors)
