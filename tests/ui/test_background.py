"""Work behind the window: errors are shown, and nothing of it outlives the window."""

from __future__ import annotations

import asyncio

import pytest

from specviz.errors import FileError
from specviz.ui.background import Background
from specviz.ui.messages import MessageArea, Severity


@pytest.fixture
def area(qtbot, dressed):
    made = MessageArea()
    qtbot.addWidget(made)
    return made


async def raises(error):
    raise error


def test_a_known_error_goes_to_who_knows_where_it_belongs(area):
    faults, error = [], FileError("No.")
    asyncio.run(Background(area, faults.append).guarded(raises(error)))
    assert faults == [error] and not area.messages


def test_a_fault_of_our_own_is_told_with_its_details(area, caplog):
    faults = []
    asyncio.run(Background(area, faults.append).guarded(raises(KeyError("step"))))
    (message,) = area.messages
    assert message.sentence == "SpecViz met a fault of its own: KeyError."
    assert (message.details, message.severity) == ("'step'", Severity.ERROR)
    assert not faults and "an action failed" in caplog.text


def test_cancelling_spares_the_work_that_asks_for_it(area):
    async def body():
        background, ended = Background(area, pytest.fail), []

        async def waits():
            try:
                await asyncio.sleep(60)
            except asyncio.CancelledError:
                ended.append("waits")
                raise

        async def closes():
            await asyncio.sleep(0)
            background.cancel()
            await asyncio.sleep(0)
            ended.append("closes")

        background.spawn(waits())
        background.spawn(closes())
        while len(ended) < 2:
            await asyncio.sleep(0)
        return ended

    assert asyncio.run(body()) == ["waits", "closes"]
    assert not area.messages
