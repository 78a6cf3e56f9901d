"""Ingests a folder of governed documents and answers one question: `ask.py FOLDER QUESTION`."""

import sys

from rag_core import Outcome, ingest_corpus, open_index

folder, question = sys.argv[1:]
ingest_corpus(folder, state="state")
with open_index("state") as index:
    answered = index.ask(question)
verdict = answered.verdict
for text in verdict.published:
    print(f"{text}\n    {text.path}, valid from {text.valid_from}")
if verdict.outcome is not Outcome.ANSWERED:
    sys.exit(verdict.detail)
