"""`Prices`: `[prices]` of thresher.toml: what a team pays for machines, storage and traffic."""

from dataclasses import dataclass
from typing import Annotated

from thresher.core.settings import Key, rule

_PRICE = rule(lambda price: 0 <= price <= 1e9, "a price is a number from 0 to a billion")
_CURRENCY = rule(lambda text: 0 < len(text) <= 8 and text.isprintable(), 'a currency is a short name: "EUR"')


@dataclass(frozen=True, slots=True, kw_only=True)
class Prices:
    """`[prices]`: what machines, storage and traffic cost, for `thresher report` and the console."""

    cpu_hour: Annotated[float, _PRICE, Key("one hour of one CPU core")] = 0.0
    gib_stored_month: Annotated[float, _PRICE, Key("one GiB in storage for one month")] = 0.0
    gib_egress: Annotated[float, _PRICE, Key("one GiB that steps read from storage")] = 0.0
    gib_ingress: Annotated[float, _PRICE, Key("one GiB that crawlers receive from websites")] = 0.0
    request_million: Annotated[float, _PRICE, Key("one million calls of the storage")] = 0.0
    currency: Annotated[str, _CURRENCY, Key("currency of the prices, only shown")] = "USD"

    @property
    def is_set(self) -> bool:
        """Whether any price is more than 0."""
        return any(
            (
                self.cpu_hour,
                self.gib_stored_month,
                self.gib_egress,
                self.gib_ingress,
                self.request_million,
            )
        )
