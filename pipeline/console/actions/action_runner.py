"""`ActionRunner`: does what an operator asks for, and writes down who asked.

Actions run one after another in a thread, because the functions of the command line are synchronous. A client waits
`WAIT_S` for the result; the log of actions has it later.
"""

import asyncio
import logging
import os
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Literal

from thresher.core import ThresherError, Unavailable
from thresher.pipeline.console.actions.action_log import ActionLog
from thresher.pipeline.console.actions.action_requests import Action, ActionRequest
from thresher.pipeline.console.models.service_models import ActionRecord, ActionResult
from thresher.pipeline.open_project import OpenProject

LOGGER = logging.getLogger(__name__)
WAIT_S = 5.0
MAX_WAITING = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Operator:
    """Who asks for an action."""

    who: str
    """The user as the proxy names it, `token` or `local`."""
    address: str
    """Network address of the client."""


class ActionRunner:
    """The actions of one console."""

    def __init__(self, project: OpenProject, log: ActionLog) -> None:
        self._project, self.log = project, log
        self._executor = ThreadPoolExecutor(1, thread_name_prefix="action")
        self._running = 0

    async def run(
        self, action: Action, request: ActionRequest, crawl: str, operator: Operator
    ) -> ActionResult:
        """Do an action. Raise `InputError` if it is refused, `Unavailable` if it cannot be logged, if too
        many wait, or if the frontier or the storage does not respond.
        """
        if self._running >= MAX_WAITING:
            raise Unavailable("many actions are waiting; try again in a minute")
        record = ActionRecord(
            id=os.urandom(8).hex(),
            time=time.time_ns() // 1_000_000,
            who=operator.who,
            address=operator.address,
            crawl=crawl,
            action=action.name,
            values={
                key: str(value) for key, value in request.model_dump().items() if value not in ("", None)
            },
            state="begun",
            message="",
        )
        await asyncio.to_thread(self.log.append, record)
        self._running += 1
        task = asyncio.ensure_future(self._do(record, request))
        task.add_done_callback(lambda ended: ended.cancelled() or ended.exception())  # it is in the log
        done, _ = await asyncio.wait({task}, timeout=WAIT_S)
        if not done:
            return ActionResult(
                id=record.id, is_done=False, message="under way; the list of actions has the result"
            )
        return ActionResult(id=record.id, is_done=True, message=task.result())

    def close(self) -> None:
        """Begin no further action."""
        self._executor.shutdown(wait=False, cancel_futures=True)

    async def _do(self, record: ActionRecord, request: ActionRequest) -> str:
        try:
            return await asyncio.get_running_loop().run_in_executor(
                self._executor, self._run, record, request
            )
        finally:
            self._running -= 1

    def _run(self, record: ActionRecord, request: ActionRequest) -> str:
        try:
            message = request.run(self._project, record.crawl)
        except ThresherError as error:
            self._end(record, "failed", str(error))
            raise
        except Exception as error:
            self._end(record, "failed", f"{type(error).__name__}: {error}")
            LOGGER.exception("the action %s failed", record.action)
            raise
        self._end(record, "done", message)
        return message

    def _end(self, record: ActionRecord, state: Literal["done", "failed"], message: str) -> None:
        """Log how an action ended. If that cannot be written, the client gets its result all the same."""
        ended = record.model_copy(
            update={"state": state, "message": message, "time": time.time_ns() // 1_000_000}
        )
        try:
            self.log.append(ended)
        except Unavailable as error:
            LOGGER.warning("the end of the action %s %s is not logged: %s", record.action, record.id, error)
