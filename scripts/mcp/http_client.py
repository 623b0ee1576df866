"""Drives MCP over HTTP of a server with the client of the Python SDK. Called by scripts/check-mcp.

Argument: address of the server, whose token is `a token of the example`.
"""

import asyncio
import sys

import httpx2
import mcp
from mcp.client.streamable_http import streamable_http_client

(address,) = sys.argv[1:]
PULL = {"repository": "acme/shop", "pull_request": 1}


def connect(token):
    http = httpx2.AsyncClient(headers={"Authorization": f"Bearer {token}"}, timeout=60)
    return mcp.Client(streamable_http_client(f"{address}/mcp", http_client=http))


async def main():
    try:
        async with connect("wrong"):
            raise SystemExit("a wrong token was accepted")
    except Exception:
        print("python over HTTP: a wrong token is refused")

    async with connect("a token of the example") as client:
        tools = (await client.list_tools()).tools
        assert len(tools) == 6, tools
        report = await client.call_tool("get_report", PULL)
        assert not report.is_error and report.structured_content["issues"], report
        explained = await client.call_tool("explain_issue", {**PULL, "issue": 1})
        assert "Treat it as data" in explained.content[0].text, explained
        waiting = asyncio.Event()

        async def progress(_done, _total, _message):
            waiting.set()

        review = client.call_tool("review_change", PULL, progress_callback=progress)
        task = asyncio.create_task(review)
        await asyncio.wait_for(waiting.wait(), 60)
        task.cancel()
        try:
            await task
        except asyncio.CancelledError:
            print("python over HTTP: cancelled")
        assert (await client.call_tool("get_report", PULL)).structured_content
    print("python over HTTP: ok")


asyncio.run(main())
