"""Calls tools. If the person must approve a call, opens the page for it and repeats the call until it succeeds."""

import asyncio
import json
import re
import webbrowser

APPROVAL = re.compile(r"http[^\s\"\\\\]*/approvals\?client=[\w%.:/-]+")


async def use(client, calls: str) -> None:
    for call in json.loads(calls):
        opened = False
        while True:
            # FastMCP raises an exception for a result that is marked as an error.
            try:
                answer = await client.call_tool(call["tool"], call["values"])
                text = answer.content[0].text
            except Exception as error:
                text = str(error)
            link = APPROVAL.search(text)
            if not link:
                break
            if not opened:
                webbrowser.open(link.group())
                opened = True
            await asyncio.sleep(0.5)
        print(text)
