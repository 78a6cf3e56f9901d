"""Three rankings of one question, and its answers in the variants asked for."""

from __future__ import annotations

import pytest
from corpora import PUMP_QUESTION, PUMP_SENTENCE, pump_bench, pump_proposal
from fakes import ScriptedChat, no_chat

from rag_core.errors import NoIndexError, ProviderError, RecordError, UsageError
from rag_core.types.proposals import Variant
from rag_core.types.retrieval import Admission
from rag_core.types.verdicts import Outcome, Reason
from rag_core.verbs.answer_records import RunIds
from rag_core.verbs.compare import compare


@pytest.fixture
def bench(tmp_path):
    return pump_bench(tmp_path)


def compared(bench, text=PUMP_QUESTION, *, make_chat=None, **options):
    return compare(
        bench.question(text),
        ports=bench.answer_ports(make_chat),
        ids=RunIds(bench.run_id()),
        **options,
    )


def test_rankings_stand_side_by_side_with_the_reason_for_each_hit(bench):
    result = compared(bench, make_chat=no_chat)
    assert [hit.chunk_id for hit in result.dense] == ["SEAL#0", "VALVE#0"]
    assert [hit.chunk_id for hit in result.lexical] == ["SEAL#0"]
    assert [(hit.chunk_id, hit.admission) for hit in result.fused] == [
        ("SEAL#0", Admission.ADMITTED),
        ("VALVE#0", Admission.BELOW_MIN_COSINE),
    ]


def test_rankings_alone_ask_no_chat_model_and_record_nothing(bench):
    assert compared(bench, make_chat=no_chat).run is None
    assert not (bench.state / "runs" / "verdicts").exists()


def test_a_limit_cuts_each_ranking(bench):
    result = compared(bench, limit=1)
    assert [len(hits) for hits in (result.dense, result.lexical, result.fused)] == [1, 1, 1]


def test_a_limit_below_one_is_a_usage_error(bench):
    with pytest.raises(UsageError, match="limit: want at least 1, found 0"):
        compared(bench, limit=0)


def test_variants_answer_from_one_retrieval_and_are_recorded_as_one_run(bench):
    result = compared(bench, variants=tuple(Variant))
    answers = result.run.answers
    assert [item.record.variant for item in answers] == ["direct", "tool", "context"]
    assert len({id(item.retrieval) for item in answers}) == 1
    assert [
        (
            item.record.calls.host_calls,
            item.record.calls.tool_calls,
            item.record.calls.context_calls,
        )
        for item in answers
    ] == [(1, 0, 0), (1, 1, 0), (1, 0, 1)]
    assert all(str(item.verdict.published[0]) == f"[SEAL#0] {PUMP_SENTENCE}" for item in answers)
    rows = bench.run_log.read_run(answers[0].record.run_id)["verdicts"]
    assert [row["variant"] for row in rows] == ["direct", "tool", "context"]


def test_a_variant_that_is_refused_stands_beside_those_that_answer(bench):
    chat = ScriptedChat([pump_proposal()] * 2, calls=0)
    result = compared(bench, make_chat=lambda: chat, variants=tuple(Variant))
    assert [item.verdict.outcome for item in result.run.answers] == [
        Outcome.ANSWERED,
        Outcome.REFUSED,
        Outcome.ANSWERED,
    ]
    assert result.run.answers[1].verdict.reasons == (Reason.TOOL_NOT_CALLED,)


def test_a_variant_that_fails_is_a_failure_beside_the_others_and_no_refusal(bench):
    class FailingTool(ScriptedChat):
        def call_tool(self, question):
            raise ProviderError("the server said 503")

    chat = FailingTool([pump_proposal()] * 2)
    result = compared(bench, make_chat=lambda: chat, variants=tuple(Variant))
    failed = result.run.answers[1]
    assert failed.verdict.outcome is Outcome.FAILED
    assert isinstance(failed.error, ProviderError)


def test_a_refusal_before_any_proposal_is_told_with_the_rankings(bench):
    result = compared(bench, "Who repairs the roof?", make_chat=no_chat, variants=tuple(Variant))
    assert result.retrieval.refusal is Reason.NO_ADMISSIBLE_HIT
    assert [hit.admission for hit in result.fused] == [
        Admission.BELOW_MIN_COSINE,
        Admission.BELOW_MIN_COSINE,
    ]
    assert [item.verdict.reasons for item in result.run.answers] == [
        (Reason.NO_ADMISSIBLE_HIT,)
    ] * 3


@pytest.mark.parametrize("variants", [(), tuple(Variant)], ids=["rankings", "variants"])
def test_without_an_index_it_says_so(bench, variants):
    (bench.state / "index.sqlite").unlink()
    with pytest.raises(NoIndexError):
        compared(bench, variants=variants)


def test_an_answer_that_cannot_be_recorded_is_not_returned(bench):
    (bench.state / "runs").mkdir(exist_ok=True)
    (bench.state / "runs" / "hits").write_text("in the way")
    with pytest.raises(RecordError):
        compared(bench, variants=(Variant.DIRECT,))


def test_a_retrieval_that_fails_ends_the_comparison_and_is_not_tried_per_variant(bench):
    bench.embedder.fail_after = len(bench.embedder.requests)
    with pytest.raises(ProviderError, match="told to fail"):
        compared(bench, make_chat=no_chat, variants=tuple(Variant))
    (path,) = (bench.state / "runs" / "verdicts").rglob("*.parquet")
    rows = bench.run_log.read_run(path.stem)["verdicts"]
    assert [(row["variant"], row["outcome"]) for row in rows] == [("direct", "failed")]
