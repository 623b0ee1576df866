"""Drives `crh mcp` with the client of the Python SDK. Called by scripts/check-mcp.

Arguments: crh, the repository, URL of a fake model, URL of a model that never answers.
"""

import asyncio
import os
import pathlib
import sys

import mcp
from mcp import types

crh, repository, model, slow_model = sys.argv[1:]


def server(url):
    variables = {"OPENAI_API_KEY": "sk-check", "OPENAI_BASE_URL": url, "CRH_STRATEGY": "single"}
    return mcp.StdioServerParameters(command=crh, args=["mcp"], cwd="/", env={**os.environ, **variables})


async def roots(_context):
    return types.ListRootsResult(roots=[types.Root(uri=pathlib.Path(repository).as_uri())])


async def agree(_context, params):
    assert "issue 1" in params.message
    return types.ElicitResult(action="accept", content={"agree": True})


def connect(url):
    return mcp.Client(server(url), list_roots_callback=roots, elicitation_callback=agree)


async def main():
    async with connect(model) as client:
        tools = (await client.list_tools()).tools
        assert len(tools) == 8, tools
        steps = []

        async def progress(done, _total, _message):
            steps.append(done)

        async def call(name, arguments):
            result = await client.call_tool(name, arguments, progress_callback=progress)
            return result.is_error, result.content[0].text, result.structured_content

        failed, text, report = await call("review_change", {"base": "HEAD~1"})
        assert not failed, text
        assert report["issues"][0]["title"] == "The total is divided by the count", report
        assert len(steps) > 5 and steps == sorted(steps), steps
        failed, text, _ = await call("check_change", {"repository": "/etc"})
        assert failed and "outside" in text, text
        failed, text, _ = await call("apply_fix", {"issue": 1})
        assert not failed, text
        assert (pathlib.Path(repository) / "shop.py").read_text().endswith("return result\n")
        failed, text, _ = await call("dismiss_issue", {"issue": 1, "reason": "checked"})
        assert not failed, text
        print(f"python: protocol {client.protocol_version}, {len(steps)} steps of progress")

    async with connect(slow_model) as client:
        reviewing = asyncio.Event()

        async def wait(_done, _total, message):
            if "single" in message:
                reviewing.set()

        review = client.call_tool("review_change", {"base": "HEAD~1"}, progress_callback=wait)
        task = asyncio.create_task(review)
        await asyncio.wait_for(reviewing.wait(), 60)
        await asyncio.sleep(2)
        task.cancel()
        try:
            await task
        except asyncio.CancelledError:
            print("python: cancelled")
        result = await client.call_tool("check_change", {"base": "HEAD~1"})
        assert not result.is_error, result
    print("python: ok")


asyncio.run(main())
