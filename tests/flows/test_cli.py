"""The command line as people run it: texts, exit codes, and nothing lost on bad input."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from importlib.metadata import version

import pytest
from corpora import write_document

from rag_core.adapters.ingest_lock import IngestLock
from rag_core.runtime import bundled_corpus

CSV_QUESTION = "Where can I export CSV in Reporting?"
DAY = ("--as-of", "2026-12-01")


def test_help_imports_neither_prefect_nor_numpy():
    code = (
        "import sys; sys.argv = ['rag', '--help']\n"
        "from flows.cli import main\n"
        "try:\n    main()\nexcept SystemExit:\n    pass\n"
        "heavy = {'prefect', 'numpy', 'pyarrow', 'onnxruntime'} & set(sys.modules)\n"
        "sys.exit(f'imported: {heavy}' if heavy else 0)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_help_names_every_verb_and_the_exit_codes(rag):
    done = rag("--help")
    for verb in (
        "init",
        "ingest",
        "answer",
        "probe",
        "compare",
        "audit",
        "show",
        "doctor",
        "serve",
    ):
        assert f" {verb} " in done.stdout
    assert "3 refused" in done.stdout


def test_an_answer_exits_0_and_prints_the_quotation_with_its_place(rag, sample_state):
    done = rag("answer", CSV_QUESTION, *DAY, "--state", sample_state)
    assert done.returncode == 0, done.stderr
    assert "[ACME-EXPORT#0]" in done.stdout
    assert "acme-export.md, characters" in done.stdout.replace("\n    ", " ").replace("\n", " ")


def test_a_refusal_exits_3_with_its_reason_and_the_fixed_text(rag, sample_state):
    done = rag("answer", "How do I bake an apple pie?", *DAY, "--state", sample_state)
    assert done.returncode == 3
    assert "Insufficient evidence:" in done.stdout


def test_json_of_an_answer_holds_offsets_digests_and_the_log_path(rag, sample_state):
    done = rag("answer", CSV_QUESTION, *DAY, "--state", sample_state, "--json")
    view = json.loads(done.stdout)
    text = view["published"][0]
    assert (view["outcome"], text["source_id"]) == ("answered", "ACME-EXPORT")
    assert text["span"]["end"] - text["span"]["start"] == len(text["text"])
    assert view["verdicts_path"].endswith(f"{view['run_id']}.parquet")


def test_compare_prints_three_rankings_side_by_side(rag, sample_state):
    done = rag("compare", CSV_QUESTION, *DAY, "--limit", "3", "--state", sample_state)
    assert done.returncode == 0, done.stderr
    for heading in ("fused", "dense", "lexical", "in or out"):
        assert heading in done.stdout
    assert "Variants" not in done.stdout


def test_compare_with_variants_prints_calls_and_quotations_of_each(rag, sample_state):
    done = rag("compare", CSV_QUESTION, *DAY, "--variants", "--json", "--state", sample_state)
    view = json.loads(done.stdout)
    calls = [row["calls"] for row in view["variants"]]
    assert [(c["host_calls"], c["tool_calls"], c["context_calls"]) for c in calls] == [
        (1, 0, 0),
        (1, 1, 0),
        (1, 0, 1),
    ]
    quoted = {row["published"][0]["text"] for row in view["variants"]}
    assert len(quoted) == 1


def test_a_variant_is_chosen_by_its_option(rag, sample_state):
    done = rag("answer", CSV_QUESTION, *DAY, "--variant", "tool", "--json", "--state", sample_state)
    view = json.loads(done.stdout)
    assert (view["variant"], view["calls"]["tool_calls"]) == ("tool", 1)


def test_an_unknown_product_exits_3(rag, sample_state):
    done = rag("answer", "What is the warranty of the GX-999?", *DAY, "--state", sample_state)
    assert done.returncode == 3
    assert "unknown_product" in done.stdout


def test_answering_without_an_index_exits_5_with_the_next_step_and_creates_nothing(rag, tmp_path):
    done = rag("answer", CSV_QUESTION, "--state", tmp_path / "none")
    assert done.returncode == 5
    assert "rag ingest" in done.stderr
    assert not (tmp_path / "none" / "index.sqlite").exists()


@pytest.mark.parametrize(
    "args",
    [
        pytest.param(("answer", ""), id="an empty question"),
        pytest.param(("answer", "x", "--as-of", "2026-12-01T10:00"), id="a date-time"),
        pytest.param(("answer", "x", "--scope", "secret"), id="a scope that is not allowed"),
        pytest.param(("answer", "x", "--profile", "nope"), id="an unknown profile"),
        pytest.param(("answer", "x", "--questions", "nope.txt"), id="a question and a file"),
        pytest.param(("answer", "--questions", "nope.txt"), id="a missing questions file"),
        pytest.param(("show", "NOPE"), id="an unknown document"),
        pytest.param(("probe", "x", "--limit", "0"), id="a limit of zero"),
        pytest.param(("compare", "x", "--limit", "0"), id="a comparison of nothing"),
        pytest.param(("answer", "x", "--variant", "agent"), id="an unknown variant"),
        pytest.param(("ingest", "nope"), id="a missing corpus folder"),
        pytest.param(("audit", "--require-current"), id="require-current without a folder"),
        pytest.param(("serve",), id="serve without a server"),
        pytest.param(("--nope",), id="an unknown option"),
    ],
)
def test_a_wrong_request_exits_2_with_one_clear_error(rag, sample_state, args):
    done = rag(*args, RAG_STATE_ROOT=str(sample_state))
    assert done.returncode == 2, done.stdout + done.stderr
    assert "Traceback" not in done.stderr
    assert done.stderr.strip()


def test_init_writes_the_sample_and_never_overwrites(rag, tmp_path):
    assert rag("init", tmp_path / "new").returncode == 0
    assert (tmp_path / "new" / "corpus.yaml").is_file()
    again = rag("init", tmp_path / "new")
    assert again.returncode == 2
    assert "nothing was written" in again.stderr


def test_probe_lists_hits_before_thresholds(rag, sample_state):
    done = rag("probe", "How do I bake an apple pie?", *DAY, "--state", sample_state, "--json")
    hits = json.loads(done.stdout)["hits"]
    assert [hit["rank"] for hit in hits] == list(range(1, 11))
    assert {hit["admission"] for hit in hits} == {"below_min_cosine"}


def test_audit_of_a_sound_index_exits_0_and_shows_no_drift(rag, sample_state, tmp_path):
    rag("init", tmp_path / "corpus")
    done = rag(
        "audit", "--corpus", tmp_path / "corpus", "--require-current", "--state", sample_state
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "holds what was ingested" in done.stdout


def test_an_audit_as_json_names_its_checks(rag, sample_state):
    done = rag("audit", "--state", sample_state, "--json")
    assert done.returncode == 0, done.stderr
    view = json.loads(done.stdout)
    assert (view["problems"], view["drift"], view["counts"]["chunks"]) == (0, None, 28)


def test_the_version_is_that_of_the_distribution(rag):
    assert rag("--version").stdout.split() == ["evidence-rag", version("evidence-rag")]


@pytest.mark.parametrize(
    "args",
    [
        pytest.param(("answer", "x", "--product", b"\xff"), id="a product"),
        pytest.param(("show", b"\xff"), id="a document id"),
        pytest.param(("answer", b"what \xff"), id="a question"),
    ],
)
def test_arguments_that_are_not_utf8_exit_2(rag, sample_state, args):
    done = rag(*(os.fsdecode(a) for a in args), RAG_STATE_ROOT=str(sample_state))
    assert done.returncode == 2
    assert "not UTF-8" in done.stderr


def test_a_state_root_that_is_a_file_exits_2(rag, tmp_path):
    (tmp_path / "file").write_text("")
    rag("init", tmp_path / "corpus")
    done = rag("ingest", tmp_path / "corpus", "--state", tmp_path / "file")
    assert done.returncode == 2
    assert "Traceback" not in done.stderr


def test_an_answer_is_printed_whatever_the_encoding_of_the_terminal(rag, sample_state):
    question = "Which workshop is known as Atelier Lumière?"
    done = rag("answer", question, *DAY, "--state", sample_state, PYTHONIOENCODING="ascii")
    assert done.returncode == 0, done.stderr
    as_json = rag(
        "answer", question, *DAY, "--state", sample_state, "--json", PYTHONIOENCODING="latin-1"
    )
    assert "Lumière" in json.loads(as_json.stdout)["published"][0]["text"]


def test_a_control_character_of_a_logged_question_never_reaches_the_terminal(rag, sample_state):
    asked = rag("answer", f"{CSV_QUESTION}\x1b[31m", "--state", sample_state, "--json")
    shown = rag("show", json.loads(asked.stdout)["run_id"], "--state", sample_state)
    assert "\x1b" not in shown.stdout
    assert "\\x1b[31m" in shown.stdout


def test_an_unreadable_key_is_no_traceback(rag, sample_state):
    done = rag("audit", "--state", sample_state, RAG_INDEX_KEY=os.fsdecode(b"s3cret\xff"))
    assert done.returncode == 6
    assert "s3cret" not in done.stderr


def test_a_profile_error_names_the_key_and_a_close_match(rag, tmp_path):
    profile = tmp_path / "own.toml"
    profile.write_text('extends = "offline"\ndefault_scope = ["public"]\n')
    done = rag("probe", "x", "--profile", profile)
    assert done.returncode == 2
    assert "default_scope: unknown key; close matches: default_scopes" in done.stderr


def test_a_profile_that_narrows_its_scopes_is_told_to_narrow_the_default_too(rag, tmp_path):
    profile = tmp_path / "own.toml"
    profile.write_text('extends = "offline"\nallowed_scopes = ["public"]\n')
    done = rag("probe", "x", "--profile", profile)
    assert "default_scopes: internal not in allowed_scopes" in done.stderr


def test_an_ingest_while_another_runs_exits_8(rag, sample_state):
    with IngestLock(sample_state / "ingest.lock", timeout_s=0):
        done = rag("ingest", bundled_corpus(), "--state", sample_state)
    assert done.returncode == 8, done.stderr
    assert "Traceback" not in done.stderr


def test_corpus_findings_exit_4_as_one_table_without_a_traceback(rag, tmp_path):
    write_document(tmp_path / "corpus", "BAD", "Text.", status="aproved")
    write_document(tmp_path / "corpus", "WORSE", "Text.", canonical="yes")
    done = rag("ingest", tmp_path / "corpus", "--state", tmp_path / "state")
    assert done.returncode == 4
    assert "bad.md:5" in done.stderr
    assert "worse.md:6" in done.stderr
    assert "Traceback" not in done.stderr


def test_drift_exits_5_when_a_current_index_is_required(rag, sample_state, tmp_path):
    rag("init", tmp_path / "corpus")
    (tmp_path / "corpus" / "documents" / "acme-export.md").unlink()
    done = rag(
        "audit", "--corpus", tmp_path / "corpus", "--require-current", "--state", sample_state
    )
    assert done.returncode == 5
    assert "ACME-EXPORT" in done.stdout


def test_show_prints_document_product_and_run(rag, sample_state):
    assert "valid" in rag("show", "ACME-EXPORT", "--state", sample_state).stdout
    assert "warranty" in rag("show", "product:GX-200", "--state", sample_state).stdout
    view = json.loads(rag("answer", CSV_QUESTION, "--state", sample_state, "--json").stdout)
    shown = rag("show", view["run_id"], "--state", sample_state)
    assert "Candidates" in shown.stdout


def test_explain_says_why_a_document_was_not_eligible(rag, sample_state):
    done = rag(
        "answer", CSV_QUESTION, *DAY, "--state", sample_state, "--explain", "ACME-EXPORT-COPY"
    )
    assert "not eligible: it is a copy" in done.stdout


def test_a_document_outside_the_allowed_scopes_does_not_exist(rag, sample_state, tmp_path):
    profile = tmp_path / "narrow.toml"
    profile.write_text(
        'extends = "offline"\nallowed_scopes = ["public"]\ndefault_scopes = ["public"]\n'
    )
    done = rag("show", "ACME-SALARY-BANDS", "--profile", profile, "--state", sample_state)
    assert done.returncode == 2
    assert "no document" in done.stderr


def test_many_questions_are_one_run_and_exit_0(rag, sample_state, tmp_path):
    path = tmp_path / "questions.jsonl"
    path.write_text(
        json.dumps({"question": CSV_QUESTION, "as_of": "2026-12-01"})
        + "\nHow do I bake an apple pie?\n"
    )
    done = rag("answer", "--questions", path, "--state", sample_state, "--json")
    assert done.returncode == 0, done.stderr
    views = [json.loads(line) for line in done.stdout.splitlines()]
    assert [view["outcome"] for view in views] == ["answered", "refused"]
    assert len({view["verdicts_path"] for view in views}) == 1


def test_doctor_names_what_it_checked(rag, sample_state):
    done = rag("doctor", "--state", sample_state)
    assert done.returncode == 0, done.stdout
    assert "embedding model" in done.stdout


def test_a_failure_never_prints_the_index_key(rag, sample_state):
    done = rag("answer", CSV_QUESTION, "--state", sample_state, RAG_INDEX_KEY="s3cret-value")
    assert done.returncode == 6
    assert "s3cret-value" not in done.stdout + done.stderr


@pytest.mark.parametrize("command", [("ingest", "corpus"), ("serve", "corpus")])
def test_a_prefect_server_that_does_not_answer_exits_7_with_the_next_step(rag, command):
    rag("init", "corpus")
    done = rag(*command, PREFECT_API_URL="http://127.0.0.1:9/api")
    assert done.returncode == 7
    assert "prefect server start, or unset PREFECT_API_URL" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_variable_that_a_profile_needs_is_told_before_a_server_starts(rag):
    rag("init", "corpus")
    done = rag("ingest", "corpus", "--profile", "openai-compatible")
    assert done.returncode == 2
    assert "OPENAI_BASE_URL is not set" in done.stderr
    assert "temporary Prefect server" not in done.stderr


def test_an_own_profile_without_a_name_is_recorded_under_its_files(rag, sample_state, tmp_path):
    path = tmp_path / "team.toml"
    path.write_text('extends = "offline"\n[gate]\npublish_chars = 900\n')
    done = rag("answer", CSV_QUESTION, *DAY, "--profile", path, "--state", sample_state, "--json")
    assert json.loads(done.stdout)["profile"] == "team"


def test_a_profile_that_may_see_nothing_of_the_index_is_told_so(rag, sample_state, tmp_path):
    path = tmp_path / "other.toml"
    path.write_text('extends = "offline"\nallowed_scopes = ["x"]\ndefault_scopes = ["x"]\n')
    done = rag("answer", CSV_QUESTION, *DAY, "--profile", path, "--state", sample_state)
    assert done.returncode == 3
    assert "profile 'other' may see no document of this index" in done.stdout.replace("\n", " ")
