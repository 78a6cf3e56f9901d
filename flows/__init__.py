"""Prefect flows and the command line: wiring only; every decision is taken in rag_core."""
