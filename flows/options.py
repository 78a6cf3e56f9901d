"""Options that several verbs of the command line share."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

ProfileOption = Annotated[
    str, typer.Option("--profile", help="Packaged profile, or path of an own .toml file.")
]
StateOption = Annotated[
    Path | None,
    typer.Option("--state", help="State root; default: RAG_STATE_ROOT, else ./state."),
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON instead of tables.")]
AsOfOption = Annotated[
    str | None,
    typer.Option(
        "--as-of",
        metavar="YYYY-MM-DD",
        help="Day to answer for; default: today in the profile's zone.",
    ),
]
ScopeOption = Annotated[
    list[str] | None,
    typer.Option("--scope", help="Scope to search; repeat for several; default: the profile's."),
]
ProductOption = Annotated[
    str | None, typer.Option("--product", help="Product code; wins over codes in the question.")
]
BackgroundOption = Annotated[
    str | None,
    typer.Option(
        "--background",
        help="The asker's situation, such as 'I work in the Lyon office'; read by the search and "
        "by chat models.",
    ),
]
FlowOption = Annotated[
    bool,
    typer.Option("--flow", help="Run as a Prefect flow; the default where PREFECT_API_URL is set."),
]
DEFAULT_PROFILE = "offline"


class VariantName(StrEnum):
    """The values of --variant; `rag_core`'s own would be imported for every --help."""

    DIRECT = "direct"
    TOOL = "tool"
    CONTEXT = "context"


VariantOption = Annotated[
    VariantName | None,
    typer.Option("--variant", help="How the proposer gets its excerpts; default: the profile's."),
]
