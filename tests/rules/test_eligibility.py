"""Promise 2: which governed texts may answer, as of a day."""

from __future__ import annotations

from datetime import date, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders import make_governance
from rag_core.rules.eligibility import ineligibility
from rag_core.types.corpus import Status
from rag_core.types.questions import EligibilityRule, Ineligible

TODAY = date(2026, 3, 15)


def asking(*, as_of=TODAY, scopes=("public",), products=None):
    return EligibilityRule(
        as_of, frozenset(scopes), frozenset(products) if products is not None else None
    )


@pytest.mark.parametrize(
    ("as_of", "expected"),
    [
        pytest.param(date(2025, 12, 31), Ineligible.NOT_YET_VALID, id="the day before the first"),
        pytest.param(date(2026, 1, 1), None, id="the first day"),
        pytest.param(date(2026, 6, 30), None, id="the last day"),
        pytest.param(date(2026, 7, 1), Ineligible.EXPIRED, id="the day after the last"),
    ],
)
def test_both_bounds_of_validity_are_inclusive_days(as_of, expected):
    rule = make_governance(valid_from=date(2026, 1, 1), valid_until=date(2026, 6, 30))
    assert ineligibility(rule, asking(as_of=as_of)) is expected


def test_a_rule_of_one_day_holds_on_that_day():
    rule = make_governance(valid_from=TODAY, valid_until=TODAY)
    assert ineligibility(rule, asking()) is None


def test_a_rule_without_an_end_holds_to_the_last_day_of_the_calendar():
    assert ineligibility(make_governance(), asking(as_of=date.max)) is None


@pytest.mark.parametrize(
    ("status", "valid_until", "expected"),
    [
        pytest.param(Status.DRAFT, None, Ineligible.STATUS, id="a draft never"),
        pytest.param(Status.WITHDRAWN, None, Ineligible.STATUS, id="a withdrawn page never"),
        pytest.param(Status.APPROVED, None, None, id="an approved rule"),
        pytest.param(Status.SUPERSEDED, TODAY, None, id="a superseded rule on its last day"),
        pytest.param(
            Status.SUPERSEDED,
            TODAY - timedelta(days=1),
            Ineligible.EXPIRED,
            id="a superseded rule after its last day",
        ),
        pytest.param(
            Status.SUPERSEDED, None, Ineligible.STATUS, id="a superseded rule without end"
        ),
    ],
)
def test_only_a_status_that_was_in_force_answers(status, valid_until, expected):
    assert ineligibility(make_governance(status=status, valid_until=valid_until), asking()) is (
        expected
    )


@pytest.mark.parametrize(
    ("scope", "expected"),
    [
        pytest.param("public", None, id="a scope of the caller"),
        pytest.param("hr", Ineligible.SCOPE, id="another scope"),
        pytest.param("Public", Ineligible.SCOPE, id="a scope in other case"),
    ],
)
def test_the_scope_is_among_the_callers(scope, expected):
    rule = asking(scopes=("internal", "public"))
    assert ineligibility(make_governance(scope=scope), rule) is expected


@pytest.mark.parametrize(
    ("product", "named", "expected"),
    [
        pytest.param(None, None, None, id="general text, no product named"),
        pytest.param("GX-100", None, None, id="product text, no product named"),
        pytest.param(None, ["GX-200"], None, id="general text stays"),
        pytest.param("GX-200", ["GX-200"], None, id="text of the named product"),
        pytest.param("GX-100", ["GX-200"], Ineligible.OTHER_PRODUCT, id="text of another product"),
        pytest.param("GX-100", ["GX-200", "GX-100"], None, id="several named are their union"),
        pytest.param("gx-200", ["GX-200"], Ineligible.OTHER_PRODUCT, id="case counts"),
    ],
)
def test_a_named_product_excludes_the_texts_of_others(product, named, expected):
    rule = asking(products=named)
    assert ineligibility(make_governance(product=product), rule) is expected


def test_the_first_reason_in_order_is_told():
    wrong = make_governance(
        scope="hr", canonical=False, status=Status.DRAFT, valid_from=date.max, product="GX-100"
    )
    rule = asking(products=["GX-200"])
    assert ineligibility(wrong, rule) is Ineligible.SCOPE
    rule = asking(scopes=["hr"], products=["GX-200"])
    assert ineligibility(wrong, rule) is Ineligible.NOT_CANONICAL


def test_a_copy_never_answers():
    assert ineligibility(make_governance(canonical=False), asking()) is Ineligible.NOT_CANONICAL


@given(
    rule=st.builds(
        make_governance,
        scope=st.sampled_from(["public", "hr"]),
        status=st.sampled_from(Status),
        canonical=st.booleans(),
        valid_from=st.dates(),
        valid_until=st.none() | st.dates(),
        product=st.sampled_from([None, "GX-100", "GX-200"]),
    ),
    as_of=st.dates(),
    named=st.none() | st.sets(st.sampled_from(["GX-100", "GX-200"]), min_size=1),
)
def test_a_text_is_eligible_exactly_when_every_condition_holds(rule, as_of, named):
    closed = rule.valid_until is not None
    expected = (
        rule.scope == "public"
        and rule.canonical
        and (rule.status is Status.APPROVED or (rule.status is Status.SUPERSEDED and closed))
        and rule.valid_from <= as_of <= (rule.valid_until or date.max)
        and (named is None or rule.product is None or rule.product in named)
    )
    assert (ineligibility(rule, asking(as_of=as_of, products=named)) is None) == expected
