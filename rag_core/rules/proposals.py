"""From a model's words to a proposal, or to what is wrong with them.

Nothing is mended: behind a gate, a mended quotation is an invented quotation.
"""

from __future__ import annotations

import copy
import json
from typing import TYPE_CHECKING, Annotated, Any, Final, TypeVar

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError

from rag_core.rules.matching import has_control_character
from rag_core.types.proposals import MAX_EVIDENCE, AnswerProposal, Evidence, MalformedReply

if TYPE_CHECKING:
    from collections.abc import Sequence

MAX_REPLY_BYTES = 64 * 1024
"""Three quotations of 1,000 characters need below 40 KB even as escaped surrogate pairs."""

_SHOWN = 40
"""Most characters of a reply's own field name that a problem repeats."""

PROPOSAL_SCHEMA: Final[dict[str, Any]] = {
    "type": "object",
    "additionalProperties": False,
    "required": ["can_answer", "evidence"],
    "properties": {
        "can_answer": {"type": "boolean"},
        "evidence": {
            "type": "array",
            "minItems": 0,
            "maxItems": MAX_EVIDENCE,
            "items": {
                "type": "object",
                "additionalProperties": False,
                "required": ["source_id", "quote"],
                "properties": {"source_id": {"type": "string"}, "quote": {"type": "string"}},
            },
        },
    },
}
"""The proposal as a flat inline JSON schema, without references, for providers that enforce one."""


def quote_schema(chunk_ids: Sequence[str]) -> dict[str, Any]:
    """The proposal's schema with these chunks alone as sources.

    A small model copies the placeholder of an example where any text may stand. What is cited is
    held against this run's excerpts all the same.

    Raises:
        ValueError: If there is no chunk.
    """
    if not chunk_ids:
        raise ValueError("proposal schema: want at least one chunk id, got none")
    schema = copy.deepcopy(PROPOSAL_SCHEMA)
    entry = schema["properties"]["evidence"]["items"]
    entry["properties"]["source_id"]["enum"] = list(chunk_ids)
    return schema


def _clean(value: str) -> str:
    """The value, if all its characters may stand in a stored text.

    Stored texts hold no lone surrogate, and no control character but white space (other line
    ends fold in the gate): such a character is the model's own.
    """
    for char in value:
        if has_control_character(char):
            raise ValueError(f"control character U+{ord(char):04X}")
    return value


_Text = Annotated[str, AfterValidator(_clean)]


class StrictReply(BaseModel):
    """A model's reply: nothing coerced, nothing extra."""

    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)


class _Entry(StrictReply):
    source_id: _Text
    quote: _Text


class _Proposal(StrictReply):
    can_answer: bool
    evidence: list[_Entry] = Field(max_length=MAX_EVIDENCE)


_Reply = TypeVar("_Reply", bound=StrictReply)


def parse_reply(text: str) -> AnswerProposal | MalformedReply:
    """The proposal that a reply states, or one sentence about why it states none.

    A reply is one JSON object of `PROPOSAL_SCHEMA` and nothing else: prose or a code fence around
    it, a duplicate, missing or extra key, a value of another type, NaN, a control character or
    over 64 KB make it malformed. `can_answer` false beside evidence is well formed.
    """
    read = read_strictly(text, _Proposal)
    if isinstance(read, MalformedReply):
        return read
    entries = tuple(Evidence(entry.source_id, entry.quote) for entry in read.evidence)
    return AnswerProposal(read.can_answer, entries)


def read_strictly(text: str, model: type[_Reply]) -> _Reply | MalformedReply:
    """The reply as `model`, or one sentence about why it is none."""
    if len(text.encode("utf-8", "surrogatepass")) > MAX_REPLY_BYTES:
        return MalformedReply(f"the reply is over {MAX_REPLY_BYTES} bytes")
    try:
        value = json.loads(text, object_pairs_hook=_distinct, parse_constant=_no_constant)
        return model.model_validate(value)
    except json.JSONDecodeError as error:
        place = f"line {error.lineno}, column {error.colno}"
        return MalformedReply(f"the reply is not one JSON object: {error.msg} at {place}")
    except ValidationError as error:  # before ValueError, whose subclass it is
        return MalformedReply(_problem(error))
    except RecursionError:
        return MalformedReply("the reply is nested too deeply")
    except ValueError as error:  # from the two hooks, or a number beyond Python's digit limit
        return MalformedReply(f"the reply is not one JSON object: {printable_start(str(error))}")


def _distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result = dict(pairs)
    if len(result) != len(pairs):
        raise ValueError("a key stands twice in one object")
    return result


def _no_constant(name: str) -> Any:  # noqa: ANN401 - json's hook; it never returns
    raise ValueError(f"{name} is no JSON number")


def _problem(error: ValidationError) -> str:
    """The first fault with its place; of the reply itself at most a shortened field name."""
    fault = error.errors(include_url=False, include_input=False)[0]
    place = ".".join(
        str(part) if isinstance(part, int) else printable_start(part) for part in fault["loc"]
    )
    return f"{place or 'the reply'}: {fault['msg']}"


def printable_start(words: str) -> str:
    """At most 40 characters; what does not print is escaped."""
    plain = words if words.isprintable() else ascii(words)
    return plain if len(plain) <= _SHOWN else f"{plain[:_SHOWN]}…"
