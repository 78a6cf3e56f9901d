"""A profile: every setting of a run, as a strict model over its TOML file.

Unknown keys, wrong types and values out of range are errors that name the key.
"""

from __future__ import annotations

import re
from typing import Annotated, Literal
from zoneinfo import ZoneInfo

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

Name = Annotated[str, Field(min_length=1)]


class _Strict(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)


def _checked_template(value: str, placeholders: set[str]) -> str:
    if "{text}" not in value:
        raise ValueError("want a template with {text}")
    unknown = set(re.findall(r"\{(\w*)\}", value)) - placeholders
    if unknown:
        raise ValueError(f"unknown placeholders: {', '.join(sorted(unknown))}")
    return value


class EmbeddingSettings(_Strict):
    """Which model makes the vectors, and how texts are rendered for it."""

    provider: Literal["embedded"] = Field(description="Adapter that makes the vectors.")
    model: Name = Field(description="Model name as the provider knows it.")
    dimension: int = Field(ge=1, description="Coordinates of a vector.")
    document_template: str = Field(description="Must hold `{text}`; may hold `{title}`.")
    query_template: str = Field(description="Must hold `{text}`.")

    @field_validator("document_template")
    @classmethod
    def _document_placeholders(cls, value: str) -> str:
        return _checked_template(value, {"text", "title"})

    @field_validator("query_template")
    @classmethod
    def _query_placeholders(cls, value: str) -> str:
        return _checked_template(value, {"text"})


class RetrievalSettings(_Strict):
    """Ranking and admission."""

    lexical: Literal["bm25", "overlap"] = Field(description="The lexical branch.")
    min_cosine: float = Field(ge=-1, le=1, description="Least cosine of an admitted hit.")
    excerpts: int = Field(ge=1, le=3, description="Most admitted hits.")
    fusion_depth: int = Field(ge=1, description="How much of each ranking RRF reads.")
    rerank: Literal["none"] = Field(description="Stage after fusion.")


class AbstentionSettings(_Strict):
    """The step `score_sentences` and its threshold."""

    threshold: float | None = Field(
        default=None, description="Least score of the best sentence; absent: no abstention."
    )
    calibrated: bool = Field(description="False puts `uncalibrated` on every verdict.")


class ChatSettings(_Strict):
    """Who proposes."""

    provider: Literal["extractive"] = Field(description="Adapter that proposes.")
    sentences: int = Field(ge=1, le=3, description="Most sentences of an extractive proposal.")


class GateSettings(_Strict):
    """How a quotation is compared and published."""

    matching: Literal["exact", "typographic"] = Field(description="Verbatim, or up to typography.")
    publish: Literal["sentence", "quote"] = Field(description="Whole sentences, or the quotation.")
    publish_chars: int = Field(ge=20, description="Most published characters in all.")
    context_chars: int = Field(ge=0, le=600, description="Most characters of context per text.")


class LogSettings(_Strict):
    """What the run log keeps."""

    question: Literal["full", "digest"] = Field(description="Keep the question, or its SHA-256.")
    artifact_detail: Literal["full", "digest"] = Field(
        description="Keep published texts in Prefect artifacts, or only ids and counts."
    )


class Profile(_Strict):
    """All settings of a run."""

    name: Name = Field(description="Shown in logs.")
    description: str = Field(description="One sentence for people.")
    timezone: Name = Field(description="IANA zone in which `today` is taken.")
    languages: tuple[Name, ...] = Field(min_length=1, description="Of questions; first is default.")
    allowed_scopes: tuple[Name, ...] = Field(min_length=1, description="Scopes a caller may ask.")
    default_scopes: tuple[Name, ...] = Field(min_length=1, description="Used without --scope.")
    chunking: Literal["chars-600-overlap-80-v1"] = Field(description="How documents are cut.")
    embedding: EmbeddingSettings
    retrieval: RetrievalSettings
    abstention: AbstentionSettings
    chat: ChatSettings
    gate: GateSettings
    log: LogSettings

    @field_validator("timezone")
    @classmethod
    def _known_zone(cls, value: str) -> str:
        try:
            ZoneInfo(value)
        except (OSError, ValueError, KeyError) as error:
            raise ValueError("an IANA time zone such as Europe/Berlin") from error
        return value

    @model_validator(mode="after")
    def _defaults_allowed(self) -> Profile:
        outside = sorted(set(self.default_scopes) - set(self.allowed_scopes))
        if outside:
            raise ValueError(
                f"default_scopes: {', '.join(outside)} not in allowed_scopes; a profile that "
                "narrows allowed_scopes sets default_scopes too"
            )
        return self
