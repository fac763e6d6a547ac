"""A term: a callable with its parameters, as the configuration names it. Managers call it through `func`."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from g1_tracking.config import resolve


@dataclass
class TermCfg:
    """One term. `func(env, **params)` is looked up at every call, so that a probe may replace it.

    Attributes:
        func: the callable.
        params: its keyword arguments.
        weight: reward terms only.
        time_out: termination terms only: the end is a truncation.
        noise: observation terms only: half-width of the uniform noise, in the term's unit; 0 for none.
    """

    func: Callable[..., Any]
    params: dict[str, Any] = field(default_factory=dict)
    weight: float = 1.0
    time_out: bool = False
    noise: float = 0.0


def load_terms(config: dict[str, dict[str, Any]], env: Any) -> dict[str, TermCfg]:
    """Resolve the terms of one manager; a class is instantiated with (env, **params), then called like a function."""
    terms = {}
    for name, entry in config.items():
        fields = dict(entry)
        func, params = resolve(fields.pop("func")), dict(fields.pop("params", {}))
        terms[name] = TermCfg(func=func(env, **params) if isinstance(func, type) else func, params=params, **fields)
    return terms
