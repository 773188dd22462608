"""The actions and the health of the console."""

from typing import Literal

from pydantic import Field

from thresher.pipeline.console.models.crawl_models import Model


class ActionResult(Model):
    """The result of an action."""

    id: str
    is_done: bool = Field(description="False while it runs; the list of actions has the result later.")
    message: str


class ActionRecord(Model):
    """One line of the log of actions."""

    id: str
    time: int
    who: str
    address: str
    crawl: str
    action: str
    values: dict[str, str]
    state: Literal["begun", "done", "failed"]
    message: str


class HealthView(Model):
    """Whether the console and what it reads respond."""

    status: Literal["ok", "degraded"]
    frontier: str = Field(description="`ok`, or why it does not respond.")
    storage: str = Field(description="`ok`, or why it does not respond.")
