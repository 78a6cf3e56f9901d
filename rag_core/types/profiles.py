"""A profile: every setting of a run, as a strict model over its TOML file.

Unknown keys, wrong types and values out of range are errors that name the key.
"""

from __future__ import annotations

import re
from typing import Annotated, Literal
from urllib.parse import urlsplit
from zoneinfo import ZoneInfo

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

from rag_core.types.proposals import ProposalStyle, Variant

Name = Annotated[str, Field(min_length=1)]
_DAY_S = 86_400
_MOST_TOKENS = 10_000_000
"""Bounds against slips of the pen, above what any provider has."""

_REFERENCE = r"(env|block):[A-Za-z0-9_.-]+"
Reference = Annotated[str, Field(pattern=rf"^{_REFERENCE}$")]
"""Names where a secret stands, never the secret: `env:NAME` or, in flows, `block:NAME`."""


class _Strict(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid", frozen=True, allow_inf_nan=False)


def _checked_template(value: str, placeholders: set[str]) -> str:
    if "{text}" not in value:
        raise ValueError("want a template with {text}")
    unknown = set(re.findall(r"\{(\w*)\}", value)) - placeholders
    if unknown:
        raise ValueError(f"unknown placeholders: {', '.join(sorted(unknown))}")
    return value


class HttpSettings(_Strict):
    """Limits of the requests to one provider; the embedded models make none."""

    timeout_s: float = Field(
        default=120.0, gt=0, le=_DAY_S, description="Seconds for one whole reply."
    )
    attempts: int = Field(default=4, ge=1, le=10, description="Tries of one request in all.")
    max_wait_s: float = Field(
        default=30.0,
        ge=0,
        le=_DAY_S,
        description="Longest pause before a try; a longer Retry-After fails.",
    )
    concurrency: int = Field(default=2, ge=1, le=32, description="Most requests at once.")
    max_reply_mb: float = Field(
        default=16.0, gt=0, le=1_000, description="A larger reply is an error."
    )


class _Provided(_Strict):
    """Where a provider stands. Neither address nor key has a default that leaves this machine."""

    endpoint: str | None = Field(
        default=None, description="URL without credentials, or `env:NAME` or `block:NAME`."
    )
    api_key: Reference | None = Field(
        default=None, description="`env:NAME` or `block:NAME`, never the key itself; or `none`."
    )
    http: HttpSettings = HttpSettings()

    @field_validator("api_key", mode="before")
    @classmethod
    def _none(cls, value: object) -> object:
        return None if value == "none" else value  # TOML has no null to override a base with

    @field_validator("endpoint")
    @classmethod
    def _no_credentials(cls, value: str | None) -> str | None:
        if value is None or re.fullmatch(_REFERENCE, value):
            return value
        try:
            parts = urlsplit(value)
            named = parts.scheme in ("http", "https") and parts.hostname
        except ValueError:
            named = None
        if not named:
            raise ValueError("want http://HOST or https://HOST, env:NAME or block:NAME")
        if parts.username or parts.password or parts.query or parts.fragment:
            raise ValueError("want no credentials and no query in a profile; use env:NAME")
        return value


class EmbeddingSettings(_Provided):
    """Which model makes the vectors, and how texts are rendered for it."""

    provider: Literal["embedded", "ollama", "openai-compatible"] = Field(
        description="Adapter that makes the vectors."
    )
    model: Name = Field(description="Model name as the provider knows it.")
    dimension: int = Field(ge=1, description="Coordinates of a vector.")
    document_template: str = Field(description="Must hold `{text}`; may hold `{title}`.")
    query_template: str = Field(description="Must hold `{text}`.")
    context_tokens: int | None = Field(
        default=None,
        ge=1,
        le=_MOST_TOKENS,
        description="Most tokens of one text, where the server does not say.",
    )

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
        default=None, description="Least score of the best sentence; `off`: no abstention."
    )
    calibrated: bool = Field(description="False puts `uncalibrated` on every verdict.")

    @field_validator("threshold", mode="before")
    @classmethod
    def _off(cls, value: object) -> object:
        return None if value == "off" else value  # TOML has no null to override a base with


class ChatSettings(_Provided):
    """Who proposes, and how."""

    provider: Literal["extractive", "ollama", "openai-compatible"] = Field(
        description="Adapter that proposes."
    )
    model: Name | None = Field(default=None, description="Model name as the provider knows it.")
    style: ProposalStyle = Field(
        default=ProposalStyle.QUOTES, description="Quotations written out, or numbered sentences."
    )
    variant: Variant = Field(
        default=Variant.DIRECT, description="How the proposer gets its excerpts."
    )
    sentences: int = Field(
        default=3, ge=1, le=3, description="Most sentences of an extractive proposal."
    )
    max_tokens: int = Field(
        default=1024, ge=16, le=_MOST_TOKENS, description="Most tokens of a reply."
    )
    context_tokens: int = Field(
        default=8192,
        ge=512,
        le=_MOST_TOKENS,
        description="Prompt and reply together; a longer prompt fails.",
    )

    @model_validator(mode="after")
    def _fits_provider(self) -> ChatSettings:
        extractive = self.provider == "extractive"
        if not extractive and self.model is None:
            raise ValueError(f"model: provider {self.provider!r} needs one")
        if extractive and self.style is not ProposalStyle.QUOTES:
            raise ValueError("style: the extractive provider writes quotes")
        return self


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
    def _endpoints_named(self) -> Profile:
        for section, local in ((self.embedding, "embedded"), (self.chat, "extractive")):
            if section.provider != local and section.endpoint is None:
                name = "embedding" if section is self.embedding else "chat"
                raise ValueError(f"{name}.endpoint: provider {section.provider!r} needs one")
        return self

    @model_validator(mode="after")
    def _defaults_allowed(self) -> Profile:
        outside = sorted(set(self.default_scopes) - set(self.allowed_scopes))
        if outside:
            raise ValueError(
                f"default_scopes: {', '.join(outside)} not in allowed_scopes; a profile that "
                "narrows allowed_scopes sets default_scopes too"
            )
        return self

    @property
    def scores_sentences(self) -> bool:
        """Whether somebody reads sentence scores: abstention, or the extractive proposer."""
        return self.abstention.threshold is not None or self.chat.provider == "extractive"
