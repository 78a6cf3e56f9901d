"""Evidence-gated RAG: answers that are exact quotations of governed documents, or refusals."""
