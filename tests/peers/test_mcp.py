"""Servers and clients of the Model Context Protocol, a language server and a debug adapter, with `referee` started in the server's place."""

import contextlib
import json
import os
import pathlib
import select
import shutil
import statistics
import subprocess
import sys
import tempfile
import textwrap
import time
import unittest

from harness import FULL, REFEREE

ROOT = pathlib.Path(__file__).resolve().parents[2]
MCP = ROOT / "target" / "peers" / "mcp"
NPM = MCP / "node_modules"
PYTHON = MCP / "python" / "bin"
RULES = ROOT / "examples" / "mcp"
REVISION = "io.modelcontextprotocol/protocolVersion"


def npm(package, file="dist/index.js"):
    """The command of a server from npm; skips the test where it could not be had."""
    path = NPM / package / file
    if not path.exists() or shutil.which("node") is None:
        raise unittest.SkipTest(f"not installed: {package}")
    return ["node", str(path)]


def python(program):
    path = PYTHON / program
    if not path.exists():
        raise unittest.SkipTest(f"not installed: {program}")
    return str(path)


class Session:
    """A scripted client of a program that talks on its standard input and output."""

    def __init__(self, command, framing="lines", **options):
        self.child = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, **options
        )
        self.framing, self.next, self.others, self.buffer = framing, 0, [], b""

    def send(self, message):
        text = json.dumps(message).encode()
        if self.framing == "lines":
            text += b"\n"
        else:
            text = b"Content-Length: %d\r\n\r\n" % len(text) + text
        self.child.stdin.write(text)
        self.child.stdin.flush()

    def fill(self, seconds):
        if not select.select([self.child.stdout], [], [], seconds)[0]:
            raise AssertionError(f"no message within {seconds} s")
        more = os.read(self.child.stdout.fileno(), 1 << 16)
        if not more:
            raise EOFError(self.child.stderr.read().decode(errors="replace"))
        self.buffer += more

    def receive(self, seconds=60):
        mark = b"\n" if self.framing == "lines" else b"\r\n\r\n"
        while mark not in self.buffer:
            self.fill(seconds)
        head, self.buffer = self.buffer.split(mark, 1)
        if self.framing == "lines":
            return json.loads(head)
        length = next(int(line.split(b":")[1]) for line in head.split(b"\r\n") if line.lower().startswith(b"content-length"))
        while len(self.buffer) < length:
            self.fill(seconds)
        body, self.buffer = self.buffer[:length], self.buffer[length:]
        return json.loads(body)

    def answer(self, is_it):
        """The answer; what the server says meanwhile is kept, and its requests are refused."""
        while True:
            message = self.receive()
            if is_it(message):
                return message
            self.others.append(message)
            if "method" in message and "id" in message and "jsonrpc" in message:
                self.send({"jsonrpc": "2.0", "id": message["id"], "result": {}})

    def ask(self, method, params=None):
        self.next += 1
        own = self.next
        self.send({"jsonrpc": "2.0", "id": own, "method": method, **({} if params is None else {"params": params})})
        return self.answer(lambda message: message.get("id") == own and "method" not in message)

    def notify(self, method, params=None):
        self.send({"jsonrpc": "2.0", "method": method, **({} if params is None else {"params": params})})

    def initialize(self):
        about = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "script", "version": "1"}}
        answer = self.ask("initialize", about)
        self.notify("notifications/initialized")
        return answer

    def call(self, tool, **arguments):
        return self.ask("tools/call", {"name": tool, "arguments": arguments})

    def end(self):
        """The exit status, and what was said on standard error."""
        self.child.stdin.close()
        try:
            self.child.wait(20)
        except subprocess.TimeoutExpired:
            self.child.kill()
            self.child.wait()
        errors = self.child.stderr.read().decode(errors="replace")
        self.child.stdout.close()
        self.child.stderr.close()
        return self.child.returncode, errors


def records(journal):
    """The records of all runs in the folder."""
    found = []
    for run in sorted(pathlib.Path(journal).iterdir()):
        text = subprocess.run([REFEREE, "journal", "export", run], capture_output=True, check=True).stdout
        found += [json.loads(line) for line in text.splitlines()]
    return found


class Mcp(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.journal = self.folder / "journal"

    def guarded(self, server, *options):
        return Session([REFEREE, "mcp", "--journal", str(self.journal), *map(str, options), "--", *map(str, server)])

    def watched(self, *rules):
        """What the recorded sessions are found to violate."""
        rules = [word for rule in rules for word in ("--rules", str(rule))]
        done = subprocess.run([REFEREE, "watch", "--journal", self.journal, *rules, "--format", "json"], capture_output=True)
        found = [json.loads(line) for line in done.stdout.splitlines()]
        return done.returncode, [verdict["property"] for verdict in found if verdict["verdict"] == "violation"]

    def check(self, server, calls):
        """A session with `server` is the same with the guard and without, nobody is blamed, and its record says so too."""
        answers = []
        for session in (Session([str(word) for word in server]), self.guarded(server)):
            initialized = session.initialize()
            self.assertIn("result", initialized)
            tools = {tool["name"] for tool in session.ask("tools/list")["result"]["tools"]}
            self.assertTrue({tool for tool, _ in calls} <= tools, tools)
            said = [session.call(tool, **arguments) for tool, arguments in calls]
            self.assertIn("error", session.ask("no/such/method"))
            answers.append((initialized["result"]["serverInfo"], [answer.get("result") for answer in said]))
            session.end()
        self.assertEqual(answers[0], answers[1])
        kinds = [record["record"] for record in records(self.journal)]
        self.assertNotIn("verdict", kinds)
        self.assertGreater(kinds.count("message"), 6)
        self.assertEqual(self.watched("preset:mcp"), (0, []))

    def test_everything(self):
        server = npm("@modelcontextprotocol/server-everything")
        self.check([*server, "stdio"], [("echo", {"message": "hi"}), ("get-sum", {"a": 1, "b": 2})])

    def test_filesystem(self):
        (self.folder / "a").write_text("x")
        server = npm("@modelcontextprotocol/server-filesystem")
        self.check([*server, self.folder], [("read_text_file", {"path": str(self.folder / "a")})])

    def test_memory(self):
        server = npm("@modelcontextprotocol/server-memory")
        os.environ["MEMORY_FILE_PATH"] = str(self.folder / "memory.json")
        self.check(server, [("read_graph", {})])

    def test_time(self):
        self.check([python("mcp-server-time")], [("convert_time", {"source_timezone": "UTC", "time": "10:00", "target_timezone": "UTC"})])

    def test_git(self):
        subprocess.run(["git", "init", "--quiet", str(self.folder / "repo")], check=True)
        self.check([python("mcp-server-git"), "--repository", self.folder / "repo"], [("git_status", {"repo_path": str(self.folder / "repo")})])

    def test_a_rule_stops_one_call(self):
        """Read a file before writing it: a client of the SDK is told why, reads, and tries again."""
        server = npm("@modelcontextprotocol/server-filesystem")
        npm("@modelcontextprotocol/sdk", "dist/esm/client/index.js")
        file = self.folder / "a"
        file.write_text("before")
        script = NPM / "client.mjs"
        script.write_text(textwrap.dedent("""
            import { Client } from "@modelcontextprotocol/sdk/client/index.js";
            import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
            const [command, path, ...args] = process.argv.slice(2);
            const client = new Client({ name: "test", version: "1" });
            await client.connect(new StdioClientTransport({ command, args }));
            const write = () => client.callTool({ name: "write_file", arguments: { path, content: "after" } });
            const said = [];
            try { await write(); said.push("written"); } catch (error) { said.push(error.message); }
            await client.callTool({ name: "read_text_file", arguments: { path } });
            await write();
            console.log(JSON.stringify(said));
            await client.close();
        """))
        guard = [REFEREE, str(file), "mcp", "--journal", str(self.journal), "--rules", str(RULES / "write.hml"), "--", *server, str(self.folder)]
        done = subprocess.run(["node", str(script), *guard], capture_output=True, timeout=60)
        self.assertEqual(done.returncode, 0, done.stderr)
        (said,) = json.loads(done.stdout)
        self.assertIn("Read a file before writing it", said)
        self.assertEqual(file.read_text(), "after")
        self.assertEqual(self.watched(RULES / "write.hml"), (1, ["write_after_read"]))

    def test_a_sloppy_session_works_where_it_is_observed(self):
        """This server lists its tools before `initialize`: its client is told of, and served."""
        server = [*npm("@modelcontextprotocol/server-everything"), "stdio"]
        session = self.guarded(server, "--policy", "observe")
        self.assertIn("tools", session.ask("tools/list")["result"])
        session.end()
        verdicts = [record for record in records(self.journal) if record["record"] == "verdict"]
        self.assertEqual([verdict["property"] for verdict in verdicts], ["initialize_first"])
        self.assertIn("the first request is `initialize`", verdicts[0]["message"])
        # Where it is rejected, it is told, and may begin as it should.
        session = self.guarded(server)
        self.assertIn("initialize_first", session.ask("tools/list")["error"]["message"])
        self.assertIn("result", session.initialize())
        self.assertIn("tools", session.ask("tools/list")["result"])
        session.end()

    def test_both_eras(self):
        """A server of Python's `mcp` 2 speaks either: the stateless revision names itself in each request."""
        interpreter = python("python")
        server = self.folder / "server.py"
        server.write_text(textwrap.dedent("""
            from mcp.server import MCPServer
            server = MCPServer("test")
            @server.tool()
            def add(a: int, b: int) -> int:
                return a + b
            server.run()
        """))
        meta = {REVISION: "2026-07-28", "io.modelcontextprotocol/clientCapabilities": {}, "io.modelcontextprotocol/clientInfo": {"name": "x", "version": "1"}}
        session = self.guarded([interpreter, server])
        found = session.ask("server/discover", {"_meta": meta})
        self.assertIn("result", found)
        answer = session.ask("tools/call", {"name": "add", "arguments": {"a": 1, "b": 2}, "_meta": meta})
        self.assertEqual(answer["result"]["resultType"], "complete")
        # It has begun so: a request without its revision is wrong.
        self.assertIn("stateless_session", session.ask("tools/list")["error"]["message"])
        session.end()
        session = self.guarded([interpreter, server])
        self.assertIn("result", session.initialize())
        self.assertIn("tools", session.ask("tools/list")["result"])
        session.end()
        self.assertEqual(self.watched("preset:mcp"), (1, ["stateless_session"]))

    def test_overhead_of_a_call(self):
        """The median of a call with the guard and without, side by side."""
        script = "import sys\nfor line in sys.stdin.buffer:\n    id = line.split(b'\"id\": ')[1].split(b',')[0]\n    sys.stdout.buffer.write(b'{\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":{}}\\n' % id)\n    sys.stdout.buffer.flush()\n"
        server = [sys.executable, "-c", script]
        sessions = [Session(server), self.guarded(server, "--no-lifecycle")]
        times = [[], []]
        for _ in range(3000 if FULL else 300):
            for session, found in zip(sessions, times):
                began = time.perf_counter_ns()
                session.call("t", a=1)
                found.append(time.perf_counter_ns() - began)
        for session in sessions:
            session.end()
        for name, one in (("median", statistics.median), ("first tenth", lambda found: statistics.quantiles(found, n=10)[0])):
            bare, guarded = map(one, times)
            print(f"peers: a call takes {bare / 1000:.1f} µs, with the guard {guarded / 1000:.1f} µs ({name})")


    def test_memory_with_calls_in_flight(self):
        """A thousand calls that nobody has answered yet."""
        session = self.guarded(["sh", "-c", "while read -r line; do :; done"], "--no-lifecycle", "--rules", RULES / "refund.hml")
        for number in range(1000):
            params = {"name": "lookup", "arguments": {"order_id": number}}
            session.send({"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": params})
        # The thousandth was judged: one that is refused is answered behind it.
        session.send({"jsonrpc": "2.0", "id": "x", "method": "tools/call", "params": {"name": "refund", "arguments": {"order_id": "x"}}})
        self.assertIn("error", session.answer(lambda message: message.get("id") == "x"))
        status = pathlib.Path(f"/proc/{session.child.pid}/status")
        if status.exists():
            lines = (line.split() for line in status.read_text().splitlines())
            own = {line[0]: int(line[1]) // 1024 for line in lines if line[0] in ("VmRSS:", "RssAnon:")}
            print(f"peers: with 1,000 calls in flight a guard has {own['VmRSS:']} MiB, {own['RssAnon:']} MiB of them its own")
        session.end()


class Others(unittest.TestCase):
    """What else talks by an id on standard input and output."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def guarded(self, preset, server):
        config = self.folder / "guard.toml"
        journal = self.folder / "journal"
        config.write_text(
            f'[journal]\nfolder = "{journal}"\n[[listener]]\nlisten = "stdio"\nprotocol = "preset:{preset}"\npipelining = "both"\n'
        )
        return Session([REFEREE, "guard", "--stdio", str(config), "--", *map(str, server)], "headers"), journal

    def verdicts(self, journal):
        text = subprocess.run([REFEREE, "journal", "export", journal], capture_output=True, check=True).stdout
        return [json.loads(line) for line in text.splitlines() if json.loads(line)["record"] == "verdict"]

    def test_language_server(self):
        server = [*npm("typescript-language-server", "lib/cli.mjs"), "--stdio"]
        (self.folder / "a.ts").write_text("const x: number = 1;\nconsole.log(x);\n")
        uri = (self.folder / "a.ts").as_uri()
        session, journal = self.guarded("lsp", server)
        session.ask("initialize", {"processId": None, "rootUri": self.folder.as_uri(), "capabilities": {}})
        session.notify("initialized", {})
        text = (self.folder / "a.ts").read_text()
        session.notify("textDocument/didOpen", {"textDocument": {"uri": uri, "languageId": "typescript", "version": 1, "text": text}})
        place = {"textDocument": {"uri": uri}, "position": {"line": 1, "character": 12}}
        # Three at once.
        for number in (101, 102, 103):
            method = ["textDocument/hover", "textDocument/definition", "textDocument/documentHighlight"][number - 101]
            session.send({"jsonrpc": "2.0", "id": number, "method": method, "params": place})
        answered = set()
        while len(answered) < 3:
            answered.add(session.answer(lambda message: message.get("id") in (101, 102, 103) and "method" not in message)["id"])
        session.ask("shutdown")
        session.notify("exit")
        session.end()
        self.assertEqual(self.verdicts(journal), [])

    def test_own_language_server(self):
        """`referee lsp` behind a guard with the preset of its protocol."""
        session, journal = self.guarded("lsp", [REFEREE, "lsp"])
        session.ask("initialize", {"processId": None, "rootUri": None, "capabilities": {}})
        session.notify("initialized", {})
        uri = "untitled:a.scr"
        text = "protocol P(role client, role server) {\n  Ping(n: int) from client to server;\n}\n"
        session.notify("textDocument/didOpen", {"textDocument": {"uri": uri, "languageId": "scribble", "version": 1, "text": text}})
        place = {"textDocument": {"uri": uri}, "position": {"line": 1, "character": 4}}
        methods = ["hover", "definition", "documentSymbol", "foldingRange", "semanticTokens/full", "codeLens", "completion", "prepareRename"]
        # All at once; one is cancelled, one is of no known method.
        for number, method in enumerate([*methods, "noSuchMethod"]):
            session.send({"jsonrpc": "2.0", "id": 100 + number, "method": f"textDocument/{method}", "params": place})
        session.notify("$/cancelRequest", {"id": 105})
        wanted = set(range(100, 101 + len(methods)))
        answered = {}
        while wanted - set(answered):
            answer = session.answer(lambda message: message.get("id") in wanted and "method" not in message)
            answered[answer["id"]] = answer
        self.assertIn("message label", answered[100]["result"]["contents"]["value"])
        self.assertEqual(answered[108]["error"]["code"], -32601)
        session.ask("shutdown")
        session.notify("exit")
        session.end()
        self.assertEqual(self.verdicts(journal), [])

    def test_pyright_and_neovim(self):
        """Neovim starts the guard instead of pyright: it shows what pyright finds, and a hover."""
        pyright = npm("pyright", "langserver.index.js")
        if shutil.which("nvim") is None:
            raise unittest.SkipTest("there is no nvim")
        config, journal = self.folder / "guard.toml", self.folder / "journal"
        config.write_text(
            f'[journal]\nfolder = "{journal}"\n[[listener]]\nlisten = "stdio"\nprotocol = "preset:lsp"\npolicy = "reject"\npipelining = "both"\n'
            'limits = { message = "16MiB" }\n'
        )
        (self.folder / "a.py").write_text('x: int = "no"\nprint(x)\n')
        script = self.folder / "steps.lua"
        script.write_text(textwrap.dedent("""
            local function steps()
              local cmd = vim.fn.json_decode(os.getenv("COMMAND"))
              local id = vim.lsp.start_client({ name = "pyright", cmd = cmd, root_dir = os.getenv("FOLDER") })
              vim.lsp.buf_attach_client(0, id)
              local client = vim.lsp.get_client_by_id(id)
              assert(vim.wait(40000, function() return client.initialized == true end, 20), "not initialized")
              assert(vim.wait(40000, function() return #vim.diagnostic.get(0) > 0 end, 20), "no diagnostic")
              local out = { diagnostic = vim.diagnostic.get(0)[1].message }
              local params = vim.lsp.util.make_position_params(0, client.offset_encoding)
              params.position = { line = 1, character = 6 }
              local answers = vim.lsp.buf_request_sync(0, "textDocument/hover", params, 40000)
              out.hover = answers[id].result.contents.value
              client.stop()
              assert(vim.wait(20000, function() return client.is_stopped() end, 20), "does not stop")
              local file = io.open(os.getenv("RESULT"), "w")
              file:write(vim.fn.json_encode(out))
              file:close()
            end
            local ok, why = pcall(steps)
            if not ok then io.stderr:write(tostring(why) .. "\\n") vim.cmd("cquit 1") end
            vim.cmd("qall!")
        """))
        command = [REFEREE, "guard", "--stdio", str(config), "--", *pyright, "--stdio"]
        places = {name: str(self.folder) for name in ("FOLDER", "XDG_STATE_HOME", "XDG_CACHE_HOME", "XDG_DATA_HOME", "XDG_CONFIG_HOME")}
        environment = {**os.environ, **places, "RESULT": str(self.folder / "result.json"), "COMMAND": json.dumps([str(word) for word in command])}
        done = subprocess.run(
            ["nvim", "--headless", "--clean", "-n", str(self.folder / "a.py"), "-c", f"luafile {script}"],
            env=environment, capture_output=True, text=True, timeout=120, cwd=self.folder,
        )
        self.assertEqual(done.returncode, 0, done.stderr)
        said = json.loads((self.folder / "result.json").read_text())
        self.assertIn("int", said["diagnostic"])
        self.assertIn("x: int", said["hover"])
        self.assertEqual(self.verdicts(journal), [])

    def test_debug_adapter(self):
        python("python")
        session, journal = self.guarded("dap", [python("python"), "-m", "debugpy.adapter"])
        sequence = iter(range(1, 100))

        def ask(command, **arguments):
            own = next(sequence)
            session.send({"seq": own, "type": "request", "command": command, "arguments": arguments})
            return own, lambda message: message["type"] == "response" and message["request_seq"] == own

        def answered(asked):
            return session.answer(asked[1])

        self.assertTrue(answered(ask("initialize", adapterID="debugpy", linesStartAt1=True))["success"])
        self.assertFalse(answered(ask("noSuchCommand"))["success"])
        program = self.folder / "a.py"
        program.write_text("print(1)\n")
        launch = ask("launch", program=str(program), console="internalConsole", python=[python("python")])
        with contextlib.suppress(AssertionError):
            session.answer(lambda message: message["type"] == "event" and message["event"] == "initialized")
            answered(ask("configurationDone"))
            self.assertTrue(answered(launch)["success"])
        answered(ask("disconnect"))
        session.end()
        self.assertEqual(self.verdicts(journal), [])
