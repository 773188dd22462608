"""The actions of the console: what each asks for, what it does, and the function that the command line calls too."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from thresher.core import InputError
from thresher.frontier import Frontier
from thresher.frontier.verbs.fleet import Fleet
from thresher.pipeline.crawls import operator_commands
from thresher.pipeline.crawls.rescrape import RescrapePlan, add_rescrapes
from thresher.pipeline.crawls.undrop import undrop
from thresher.pipeline.fleet.export_schedule import require_sealed
from thresher.pipeline.fleet.fleet_command import check_numbers
from thresher.pipeline.open_project import OpenProject

HOST = r"[^\s/\x00-\x1f]{1,253}"
DURATION = r"\d{1,9}[smhd]"


class ActionRequest(BaseModel):
    """The values of an action."""

    model_config = ConfigDict(frozen=True, extra="forbid", str_strip_whitespace=True)

    def run(self, project: OpenProject, crawl: str) -> str:
        """Do it, and return one line about the result. Raise `InputError` if the values do not fit."""
        raise NotImplementedError


class HoldHost(ActionRequest):
    """Send the host no request for a time. Its pages keep their places."""

    host: str = Field(title="Host", description="Name as in its URLs, without port.", pattern=f"^{HOST}$")
    duration: str = Field(
        default="1h", title="For", description="Such as 90s, 15m, 1h or 2d.", pattern=f"^{DURATION}$"
    )

    def run(self, project: OpenProject, crawl: str) -> str:
        """Hold the host."""
        operator_commands.hold(project, crawl, self.host, self.duration)
        return f"{self.host} is held for {self.duration}"


class ResumeHost(ActionRequest):
    """End every hold of the host at once. A host that was given up is tried again too."""

    host: str = Field(title="Host", description="Name as in its URLs, without port.", pattern=f"^{HOST}$")

    def run(self, project: OpenProject, crawl: str) -> str:
        """Resume the host."""
        operator_commands.resume(project, crawl, self.host)
        return f"{self.host} is crawled again, at its own pace"


class DropHost(ActionRequest):
    """Refuse the waiting pages of the scope now, and add no link to it later."""

    scope: str = Field(
        title="Scope",
        description="host:NAME, domain:NAME or prefix:URL.",
        pattern=r"^(host|domain|prefix):\S{1,2000}$",
    )

    def run(self, project: OpenProject, crawl: str) -> str:
        """Drop the scope."""
        dropped = operator_commands.drop(project, crawl, self.scope)
        return f"{self.scope} is barred, {dropped:,} waiting pages refused"


class UndropHost(ActionRequest):
    """Bar the scope no longer. Pages that were refused because of it wait again; links to it that were found meanwhile
    come back when a page that has them is fetched again.
    """

    scope: str = Field(
        title="Scope",
        description="host:NAME, domain:NAME or prefix:URL, as it was dropped.",
        pattern=r"^(host|domain|prefix):\S{1,2000}$",
    )

    def run(self, project: OpenProject, crawl: str) -> str:
        """Undrop the scope."""
        found = undrop(project, crawl, self.scope)
        return f"{self.scope} is barred no longer, {found.added:,} pages wait again"


class ChangeSettings(ActionRequest):
    """Change the delays and budgets of the crawl, for all of its workers. Write the same values into thresher.toml: the
    next `thresher crawl` is refused if its file differs. Empty fields leave a setting as it is.
    """

    min_delay_s: float | None = Field(
        default=None,
        title="Delay between two requests to one host, in seconds",
        description="crawler.min_delay",
        ge=0,
        le=operator_commands.MAX_DELAY_S,
    )
    min_ip_delay_s: float | None = Field(
        default=None,
        title="Delay between two requests to one IP address, in seconds",
        description="crawler.min_ip_delay",
        ge=0,
        le=operator_commands.MAX_DELAY_S,
    )
    max_pages_per_host: int | None = Field(
        default=None,
        title="URLs of one host",
        description="crawler.max_pages_per_host; 0 removes the limit",
        ge=0,
        le=operator_commands.MAX_LIMIT,
    )
    max_pages_per_domain: int | None = Field(
        default=None,
        title="URLs of one registered domain",
        description="crawler.max_pages_per_domain; 0 removes the limit",
        ge=0,
        le=operator_commands.MAX_LIMIT,
    )
    max_hosts_per_domain: int | None = Field(
        default=None,
        title="Host names of one registered domain",
        description="crawler.max_hosts_per_domain",
        ge=1,
        le=operator_commands.MAX_LIMIT,
    )

    def run(self, project: OpenProject, crawl: str) -> str:
        """Change the settings."""
        change = operator_commands.SettingsChange(**self.model_dump())
        if change == operator_commands.SettingsChange():
            raise InputError("no setting is given: fill in at least one field")
        return "; ".join(operator_commands.change_settings(project, crawl, change))


class Rescrape(ActionRequest):
    """Fetch archived pages of the crawl again. Servers are asked whether a page has changed. The pages are added to the
    frontier; the workers of the crawl fetch them.
    """

    domains: str = Field(
        default="",
        title="Domains",
        description="Separated by spaces, with their subdomains. Empty for all of the crawl.",
        max_length=4000,
    )
    max_age: str = Field(
        default="",
        title="Skip pages captured within",
        description="Such as 12h or 7d. Empty skips none.",
        pattern=f"^({DURATION})?$",
    )
    from_report: bool = Field(
        default=False,
        title="Best domains first",
        description="Order domains by the share of documents kept; skip domains with none.",
    )
    budget: int | None = Field(default=None, title="Pages at most", description="Empty for all.", ge=1)
    scope: Literal["own", "any", "domain", "host", "prefix"] = Field(
        default="own",
        title="Follow new links within",
        description="A scope around each page; own is the scope and depth that the page has in the crawl.",
    )

    def run(self, project: OpenProject, crawl: str) -> str:
        """Add the pages to the frontier."""
        plan = RescrapePlan(
            crawl=crawl,
            domains=tuple(self.domains.split()),
            from_report=self.from_report,
            budget=self.budget,
            older_than_s=operator_commands.parse_duration_ms(self.max_age) // 1000 if self.max_age else 0,
            scope=None if self.scope == "own" else self.scope,
        )
        found = add_rescrapes(project, plan)
        return f"{found.pages:,} pages to fetch again: {found.added:,} added, {found.known:,} waited already"


class PauseFleet(ActionRequest):
    """Let no worker of the crawl lease anything. Workers finish what they have begun, and stay. The pause holds until
    somebody resumes the fleet, also after a restart.
    """

    def run(self, project: OpenProject, crawl: str) -> str:
        """Pause the fleet."""
        _order_fleet(project, crawl, lambda fleet: fleet.pause())
        return "the fleet is paused"


class ResumeFleet(ActionRequest):
    """Let the workers of the crawl lease again."""

    def run(self, project: OpenProject, crawl: str) -> str:
        """Resume the fleet."""
        _order_fleet(project, crawl, lambda fleet: fleet.resume())
        return "the fleet goes on"


class ScaleFleet(ActionRequest):
    """Set how many workers of a kind should run. The controller starts or drains workers. One exporter exports now."""

    kind: Literal["crawler", "processor", "exporter"] = Field(
        default="crawler", title="Workers", description="The kind of worker."
    )
    number: int = Field(title="Number", description="How many should run.", ge=0, le=10_000)

    def run(self, project: OpenProject, crawl: str) -> str:
        """Scale the fleet."""
        check_numbers(project.config, {self.kind: self.number})
        if self.kind == "exporter" and self.number:
            require_sealed(project.store, crawl)
        _order_fleet(project, crawl, lambda fleet: fleet.scale(self.kind, self.number))
        return f"{self.number} {self.kind}{'' if self.number == 1 else 's'} should run"


@dataclass(frozen=True, slots=True, kw_only=True)
class Action:
    """One action: its name in addresses, its title, and the model of its values."""

    name: str
    title: str
    request: type[ActionRequest]
    is_dangerous: bool = False
    """Whether it cannot be undone."""

    @property
    def consequence(self) -> str:
        """What it does, in words for the operator."""
        return " ".join((self.request.__doc__ or "").split())


def _order_fleet(project: OpenProject, crawl: str, order: Callable[[Fleet], Awaitable[None]]) -> None:
    """Give an order, and return when it is on the disk of the frontier's server: nobody would repeat it."""

    async def give(frontier: Frontier) -> None:
        await order(frontier.fleet)
        await frontier.crawl.sync()

    operator_commands.query_frontier(project, crawl, give)


ACTIONS: dict[str, Action] = {
    action.name: action
    for action in (
        Action(name="hold", title="Pause a host", request=HoldHost),
        Action(name="resume", title="Resume a host", request=ResumeHost),
        Action(name="drop", title="Drop a host, domain or prefix", request=DropHost, is_dangerous=True),
        Action(name="undrop", title="Bar a scope no longer", request=UndropHost),
        Action(name="settings", title="Change delays and budgets", request=ChangeSettings),
        Action(name="rescrape", title="Fetch pages again", request=Rescrape),
        Action(name="pause-fleet", title="Pause the fleet", request=PauseFleet),
        Action(name="resume-fleet", title="Resume the fleet", request=ResumeFleet),
        Action(name="scale-fleet", title="Scale the fleet", request=ScaleFleet),
    )
}
