"""`run_script`: run a user's own script in a page.

A step that names an element which is not there ends what repeats it, which is how a list ends; outside of a repeat it
ends the script. The walls of a page hold for a script as well: the tab stays at its page, and nothing is sent by POST.
What its buttons say is the user's affair.
"""

from thresher.crawler.render.behaviours.behaviour_script import BehaviourScript, Step
from thresher.crawler.render.behaviours.page_driver import PageDriver

WAIT_MS = 500
"""Milliseconds of the page's clock between two looks for an element."""


async def run_script(driver: PageDriver, script: BehaviourScript) -> str:
    """Run a script, and return what it did, for the record: `list@1a2b3c4d 12 steps, then no .next`."""
    before = driver.step_count
    missing = await _run_steps(driver, script.steps)
    end = f", then no {missing}" if missing else ""
    return f"{script.name}@{script.digest} {driver.step_count - before} steps{end}"


async def _run_steps(driver: PageDriver, steps: tuple[Step, ...]) -> str:
    """Run steps until one names an element that is not there. Return its selector, or an empty text."""
    for step in steps:
        if step.action == "repeat":
            for _ in range(step.times):
                if await _run_steps(driver, step.steps) or driver.cut:
                    break
        elif not driver.may_go_on():
            return ""
        elif not await _run_step(driver, step):
            return step.selector
        if driver.cut:
            return ""
    return ""


async def _run_step(driver: PageDriver, step: Step) -> bool:
    match step.action:
        case "wait" if not step.selector:
            await driver.run_clock(round(1000 * step.seconds))
        case "wait":
            for _ in range(round(1000 * step.seconds / WAIT_MS)):
                if await driver.call("isThere", step.selector):
                    break
                await driver.run_clock(WAIT_MS)
            else:
                return False
        case "scroll" if step.selector == "end":
            await driver.call("scrollToEnd", True)
        case _:
            if not await driver.call("act", step.action, step.selector, step.text):
                return False
    await driver.settle()
    return True
