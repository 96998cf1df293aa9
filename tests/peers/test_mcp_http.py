"""Servers and clients of the Model Context Protocol over HTTP, and its conformance suite, with a guard between and without."""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import textwrap

import harness
from harness import REFEREE, Guard, free_port, process
from test_mcp import NPM, RULES, npm, python

HERE = pathlib.Path(__file__).parent
NODE = NPM / "node" / "bin" / "node"


def conformance():
    """The command of the suite, which needs a newer Node than Debian's."""
    npm("@modelcontextprotocol/conformance")
    return [str(NODE if NODE.exists() else shutil.which("node")), str(NPM / "@modelcontextprotocol" / "conformance" / "dist" / "index.js")]


def script(name):
    """A script of ours where its imports are found."""
    npm("@modelcontextprotocol/sdk", "dist/esm/client/index.js")
    return shutil.copy(HERE / name, NPM / name)


def counts(text):
    """What passed and failed, by scenario."""
    return {name: (int(passed), int(failed)) for name, passed, failed in re.findall(r"[✓✗] (\S+): (\d+) passed, (\d+) failed", text)}


class McpHttp(harness.Case):
    def suite(self, port, *options):
        command = [*conformance(), "server", "--url", f"http://127.0.0.1:{port}/mcp", *options]
        done = subprocess.run(command, capture_output=True, text=True, timeout=240, cwd=NPM)
        found = counts(done.stdout)
        self.assertGreater(len(found), 25, done.stdout[-2000:] + done.stderr[-2000:])
        return found

    def test_conformance_of_a_server(self):
        """Each scenario has the same result: without a guard, with one that refuses, and with one that observes."""
        port = free_port()
        with process("node", script("conformance_server.mjs"), str(port), port=port):
            bare = self.suite(port, "--suite", "all")
            for policy in ("reject", "observe"):
                with Guard("mcp-http", port, f'policy = "{policy}"\n') as guard:
                    guarded = self.suite(guard.port, "--suite", "all")
                self.assertEqual(bare, guarded)
                self.assert_innocent(guard, 30)
        passed, failed = (sum(found[index] for found in bare.values()) for index in (0, 1))
        print(f"peers: conformance of a server: {len(bare)} scenarios, {passed} passed and {failed} failed, with a guard and without")

    def test_conformance_of_a_client(self):
        """The suite's own servers, and a client of the SDK that finds a guard in between."""
        for scenario in ("initialize", "tools_call", "elicitation-sep1034-client-defaults", "sse-retry"):
            found = []
            for between in ("", f"{sys.executable} {HERE / 'between.py'} "):
                command = f"{between}{conformance()[0]} {script('conformance_client.mjs')}"
                done = subprocess.run(
                    [*conformance(), "client", "--command", command, "--scenario", scenario],
                    capture_output=True, text=True, timeout=120, cwd=NPM, env={**os.environ, "REFEREE": str(REFEREE)},
                )
                said = re.search(r"Passed: (\S+), (\d+) failed", done.stdout + done.stderr)
                self.assertIsNotNone(said, done.stdout[-2000:] + done.stderr[-2000:])
                self.assertNotIn("blamed", done.stdout + done.stderr)
                found.append(said.groups())
            self.assertEqual(found[0], found[1], scenario)
            print(f"peers: conformance of a client: {scenario}: {found[0][0]} passed, with a guard and without")

    def test_everything(self):
        """A session of the SDK's client with the reference server: with the guard as without."""
        port = free_port()
        npm("@modelcontextprotocol/server-everything")
        server = NPM / "@modelcontextprotocol" / "server-everything" / "dist" / "index.js"
        client = ["node", script("http_client.mjs")]
        with process("node", str(server), "streamableHttp", port=port, env={**os.environ, "PORT": str(port)}):
            bare = subprocess.run([*client, f"http://127.0.0.1:{port}/mcp"], capture_output=True, text=True, timeout=60)
            with Guard("mcp-http", port, 'policy = "reject"\n') as guard:
                guarded = subprocess.run([*client, f"http://127.0.0.1:{guard.port}/mcp"], capture_output=True, text=True, timeout=60)
        self.assertEqual((bare.returncode, bare.stderr), (0, ""))
        self.assertEqual((bare.stdout, bare.returncode), (guarded.stdout, guarded.returncode))
        self.assert_innocent(guard)

    def test_rules_before_fastmcp(self):
        """Both eras: a refund without a lookup is refused, the agent is told why, looks it up and carries on."""
        interpreter = python("python")
        port = free_port()
        with harness.folder() as folder:
            server = pathlib.Path(folder, "server.py")
            server.write_text(textwrap.dedent(f"""
                from fastmcp import FastMCP
                server = FastMCP("shop")
                @server.tool
                def lookup(order_id: int) -> str:
                    return "paid"
                @server.tool
                def refund(order_id: int) -> str:
                    return "refunded"
                server.run(transport="http", host="127.0.0.1", port={port}, path="/mcp", show_banner=False)
            """))
            client = pathlib.Path(folder, "client.py")
            client.write_text(textwrap.dedent("""
                import asyncio, sys
                from fastmcp import Client
                async def main():
                    async with Client(sys.argv[1]) as client:
                        said = []
                        for tool, order in (("refund", 7), ("lookup", 7), ("refund", 7), ("refund", 8)):
                            try:
                                said.append((await client.call_tool(tool, {"order_id": order})).data)
                            except Exception as error:
                                said.append("Look up an order" in str(error))
                        print(said)
                asyncio.run(main())
            """))
            with process(interpreter, str(server), port=port):
                extra = f'policy = "reject"\nproperties = "{RULES / "refund.hml"}"\n'
                with Guard("mcp-http", port, extra) as guard:
                    done = subprocess.run([interpreter, str(client), f"http://127.0.0.1:{guard.port}/mcp"], capture_output=True, text=True, timeout=60)
        self.assertEqual(done.stdout.strip(), "[True, 'paid', 'refunded', True]", done.stderr[-2000:])
        self.assertEqual([verdict["property"] for verdict in guard.verdicts], ["refund_after_lookup"] * 2)

    def test_both_eras(self):
        """A server of Python's `mcp` 2 with its own client, in the stateless revision and in the one before."""
        interpreter = python("python")
        port = free_port()
        with harness.folder() as folder:
            server = pathlib.Path(folder, "server.py")
            server.write_text(textwrap.dedent(f"""
                from mcp.server import MCPServer
                server = MCPServer("test")
                @server.tool()
                def add(a: int, b: int) -> int:
                    return a + b
                server.run("streamable-http", host="127.0.0.1", port={port})
            """))
            client = pathlib.Path(folder, "client.py")
            client.write_text(textwrap.dedent("""
                import asyncio, sys
                from mcp.client import Client
                async def main():
                    for mode in ("auto", "legacy"):
                        async with Client(sys.argv[1], mode=mode) as client:
                            found = await client.call_tool("add", {"a": 1, "b": 2})
                            print(client.protocol_version, found.content[0].text)
                asyncio.run(main())
            """))
            with process(interpreter, str(server), port=port):
                said = []
                command = [interpreter, str(client)]
                said.append(subprocess.run([*command, f"http://127.0.0.1:{port}/mcp"], capture_output=True, text=True, timeout=60))
                with Guard("mcp-http", port, 'policy = "reject"\n') as guard:
                    said.append(subprocess.run([*command, f"http://127.0.0.1:{guard.port}/mcp"], capture_output=True, text=True, timeout=60))
        self.assertEqual(said[0].stdout.splitlines(), ["2026-07-28 3", "2025-11-25 3"], said[0].stderr[-2000:])
        self.assertEqual(said[0].stdout, said[1].stdout, said[1].stderr[-2000:])
        self.assert_innocent(guard)
