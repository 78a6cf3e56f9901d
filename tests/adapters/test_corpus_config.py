"""`corpus.yaml`: what it may say, and what it can never switch off."""

from __future__ import annotations

import re

import pytest
import regex
from hypothesis import given
from hypothesis import strategies as st
from pydantic_core import PydanticCustomError

from rag_core.adapters import corpus_config
from rag_core.adapters.corpus_config import CorpusConfig, Glob, read_corpus_config
from rag_core.types.corpus import Severity


def told(text):
    return [(f.code, f.line, f.field) for f in read_corpus_config(text)[1]]


def message(text):
    (finding,) = read_corpus_config(text)[1]
    assert (finding.severity, finding.path) == (Severity.ERROR, "corpus.yaml")
    return finding.message


def test_an_empty_file_sets_nothing():
    assert read_corpus_config("# nothing\n") == (CorpusConfig(), ())


def test_all_keys_are_read():
    config, findings = read_corpus_config(
        "defaults:\n"
        "  - glob: 'hr/**'\n"
        "    fields: {scope: hr, language: en}\n"
        "exclude: ['**/README.md']\n"
        "ignore_fields: [layout, tags]\n"
        "products: [GX-9, GX-100]\n"
        "product_pattern: 'GX-\\d+'\n"
    )
    assert findings == ()
    assert config.defaults_for("hr/pay/a.md") == {"scope": "hr", "language": "en"}
    assert config.defaults_for("a.md") == {}
    assert config.excludes("x/README.md")
    assert config.ignore_fields == {"layout", "tags"}
    assert config.products == ("GX-100", "GX-9")
    assert config.product_pattern == r"GX-\d+"


def test_of_several_defaults_the_later_one_wins_field_by_field():
    config, _ = read_corpus_config(
        "defaults:\n"
        "  - {glob: '**', fields: {scope: public, language: en}}\n"
        "  - {glob: 'hr/*', fields: {scope: hr}}\n"
    )
    assert config.defaults_for("hr/a.md") == {"scope": "hr", "language": "en"}


@pytest.mark.parametrize(
    ("glob", "path", "matched"),
    [
        pytest.param("README.md", "README.md", True, id="a name at the root"),
        pytest.param("README.md", "sub/README.md", False, id="a name is not sought below"),
        pytest.param("**/README.md", "README.md", True, id="two stars cover no folder"),
        pytest.param("**/README.md", "a/b/README.md", True, id="two stars cover folders"),
        pytest.param("a/**/z.md", "a/z.md", True, id="two stars in the middle, none"),
        pytest.param("a/**/z.md", "a/b/c/z.md", True, id="two stars in the middle, two"),
        pytest.param("a/**/z.md", "b/a/z.md", False, id="the start is fixed"),
        pytest.param("drafts/**", "drafts/a/b.md", True, id="all below a folder"),
        pytest.param("drafts/", "drafts/a/b.md", True, id="a folder by its slash"),
        pytest.param("drafts/", "draft/a.md", False, id="another folder"),
        pytest.param("*.md", "a.md", True, id="a star in a name"),
        pytest.param("*.md", "sub/a.md", False, id="a star crosses no slash"),
        pytest.param("a?.md", "ab.md", True, id="a question mark"),
        pytest.param("[ab].md", "b.md", True, id="a class"),
        pytest.param("*.MD", "a.md", False, id="case counts"),
        pytest.param("a.md", "axmd", False, id="a dot is a dot"),
        pytest.param("caf\u00e9.md", "cafe\u0301.md", True, id="a decomposed file name"),
    ],
)
def test_globs_cover_whole_relative_paths(glob, path, matched):
    assert Glob(glob).matches(path) is matched


@pytest.mark.timeout(60)  # where the work were not bounded, it would not end
def test_a_glob_of_many_stars_ends():
    assert not Glob("**/*a*a*a*a*a*b/" * 30 + "x").matches("/".join(["a" * 100] * 100))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("excludes: [a]", ("unknown_field", 1, "excludes"), id="a misspelled key"),
        pytest.param("exclude: a.md", ("invalid_field", 1, "exclude"), id="a text for a list"),
        pytest.param("exclude:", ("invalid_field", 1, "exclude"), id="nothing"),
        pytest.param("exclude:\n- a.md\n- 5", ("invalid_field", 3, "exclude.1"), id="a number"),
        pytest.param("exclude: [/a.md]", ("invalid_field", 1, "exclude.0"), id="an absolute path"),
        pytest.param("exclude: [../a]", ("invalid_field", 1, "exclude.0"), id="a path outside"),
        pytest.param("exclude: ['a\\b']", ("invalid_field", 1, "exclude.0"), id="a backslash"),
        pytest.param("products: [100]", ("invalid_field", 1, "products.0"), id="a number as code"),
        pytest.param("defaults: [{glob: a}]", ("missing_field", 1, "defaults.0.fields"), id="half"),
        pytest.param("exclude: [**/a]", ("yaml_syntax", 1, None), id="an unquoted star"),
    ],
)
def test_a_wrong_key_or_value_is_an_error_with_line_and_field(text, expected):
    assert told(text) == [expected]


def test_an_unknown_key_names_the_close_match():
    assert message("excludes: [a]").endswith("; close matches: exclude")


def test_an_unquoted_star_is_told_to_be_quoted():
    assert "in quotes" in message("exclude: [*.md]")


def test_what_is_sound_beside_a_wrong_key_still_counts():
    config, findings = read_corpus_config("exclude: [a.md]\nproducts: 5\n")
    assert (config.excludes("a.md"), len(findings)) == (True, 1)


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        pytest.param("scopes: hr", ("unknown_field", 3, "defaults.0.fields.scopes"), id="name"),
        pytest.param("status: ok", ("invalid_field", 3, "defaults.0.fields.status"), id="value"),
        pytest.param("canonical: 'yes'", ("invalid_field", 3, "defaults.0.fields.canonical"),
                     id="type"),
    ],
)  # fmt: skip
def test_a_wrong_default_is_told_once_where_it_stands(fields, expected):
    text = f"defaults:\n- glob: '**'\n  fields: {{{fields}}}\n"
    assert told(text) == [expected]
    assert read_corpus_config(text)[0].defaults == ()


def test_a_governance_field_can_not_be_ignored():
    assert "cannot be ignored" in message("ignore_fields: [valid_until]")


@pytest.mark.parametrize(
    "pattern",
    [
        r"GX-\d+",
        r"[A-Z]{2,3}-\d{3}",
        r"(?:GX|AB)-\d+",
        r"A\.\d",
        r"[^\W\d]\d+",
        r"(?:AB-)?\d+",
        r"(?:AB-\d)+",
        r"[(]\d+\)+",
        r"\d{1,100}",
        r"[\[a]-[&-~|]\]",
        r"[a-z]--[b]",
    ],
)
def test_plain_product_patterns_are_accepted(pattern):
    assert read_corpus_config(f"product_pattern: '{pattern}'")[1] == ()


@pytest.mark.parametrize(
    ("pattern", "why"),
    [
        pytest.param("GX-(", "no regular expression", id="does not compile"),
        pytest.param("(GX-)?\\d*", "matches the empty text", id="matches nothing"),
        pytest.param("GX|", "matches the empty text", id="an empty branch"),
        pytest.param("^GX-\\d+$", "anchors", id="anchors"),
        pytest.param("(?i)gx-\\d+", "groups other than", id="a flag, because case counts"),
        pytest.param("(?=G)GX", "groups other than", id="a look-ahead"),
        pytest.param("(G)\\1", "escapes other than", id="a back-reference"),
        pytest.param("\\bGX", "escapes other than", id="a word bound"),
        pytest.param("(?:GX){e<=1}", "braces other than", id="fuzzy matching"),
        pytest.param("(a+)+b", "can take forever", id="nested repetitions"),
        pytest.param("(?:\\w+-?)+#", "can take forever", id="nested in a class"),
        pytest.param("(?:a|aa)+", "can take forever", id="a repeated choice"),
        pytest.param("((?:[)]+)x)*y", "can take forever", id="nested two levels deep"),
        pytest.param("(?:\\d+-){2,}1", "can take forever", id="nested in braces"),
        pytest.param("x" * 201, "at most 200", id="too long"),
        pytest.param("a{101}", "repeats more than 100 times", id="a count over the limit"),
        pytest.param("a{99999999}", "repeats more than 100 times", id="a count that hangs"),
        pytest.param("a{0,101}b", "repeats more than 100 times", id="an upper count"),
        pytest.param("a{101,}", "repeats more than 100 times", id="a lower count"),
        pytest.param("a{\u0669\u0669\u0669}", "braces other than", id="a count in other digits"),
        pytest.param(
            "(?:" * 9 + "a" + "{100}){100}" * 9, "can take forever", id="counts that multiply"
        ),
        pytest.param("[[a-z]--b]", "in a set, another set", id="a set without another"),
        pytest.param("[[:alpha:]]", "in a set, another set", id="a named class"),
        pytest.param("[^a[b]", "in a set, another set", id="an open bracket in a set"),
        pytest.param("[a--b]", "in a set, another set", id="a difference"),
        pytest.param("[]&&b]", "in a set, another set", id="an intersection"),
        pytest.param("[a~~b]", "in a set, another set", id="a symmetric difference"),
        pytest.param("[a||b]", "in a set, another set", id="a union"),
        pytest.param("a)(", "no regular expression", id="closes before it opens"),
    ],
)
def test_a_product_pattern_that_could_mislead_or_hang_is_refused(pattern, why):
    assert why in message(f"product_pattern: '{pattern}'")


def test_a_product_pattern_is_not_compiled_before_its_counts_are_bounded(monkeypatch):
    def compiled(pattern, *_):
        raise AssertionError(f"compiled {pattern}")

    monkeypatch.setattr(regex, "compile", compiled)
    monkeypatch.setattr(re, "compile", compiled)
    for pattern in ("a{9999999}", "(?:(?:a{100}){100}){100}", "[[a-z]--b]"):
        with pytest.raises(PydanticCustomError):
            corpus_config._pattern(pattern)


@given(st.text(max_size=200))
def test_any_text_gives_a_configuration_and_no_exception(text):
    read_corpus_config(text)


@given(st.text(alphabet="GX-d+*?()[]{}|\\^$.:19,&~", max_size=20))
def test_any_product_pattern_is_taken_or_refused_without_a_warning(pattern):
    quoted = pattern.replace("'", "''")
    config, findings = read_corpus_config(f"product_pattern: '{quoted}'")
    assert (config.product_pattern is None) == bool(findings)
