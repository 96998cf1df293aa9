"""The editors' grammars and the studio's scripts, by tools from npm: TextMate's engine and TypeScript's checker."""

import ctypes
import json
import os
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

import webdriver

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ROOT / "target" / "peers" / "textmate" / "node_modules"
VSCODE = ROOT / "editors" / "vscode"
TREE_SITTER = ROOT / "editors" / "tree-sitter-referee"
GENERATE = ROOT / "target" / "peers" / "tree-sitter" / "target" / "debug" / "generate"
NODE = shutil.which("node")

TWO = """\
protocol First(role client, role server) {
  Ping() from client to server;
}

protocol Second(role client, role server) {
  Pong() from server to client;
}
"""

# The extension with an editor around it that only remembers what it was asked.
EXTENSION = r"""
const Module = require("node:module");
const { fileURLToPath } = require("node:url");
const [extension, program, steps] = process.argv.slice(1);
const made = { started: [], panels: [], said: [] };
const commands = {};
const vscode = {
  ViewColumn: { Beside: -2 },
  Uri: { parse: (text) => ({ fsPath: fileURLToPath(text) }) },
  commands: { registerCommand: (name, work) => ((commands[name] = work), { dispose() {} }) },
  workspace: {
    getConfiguration: () => ({ get: (name, otherwise) => (name === "path" ? program : otherwise) }),
    createFileSystemWatcher: () => ({}),
    openTextDocument: async (uri) => ({ fileName: uri.fsPath, isDirty: false }),
  },
  window: {
    showErrorMessage: (text) => console.error(text),
    showInformationMessage: (text) => made.said.push(text),
    createWebviewPanel: (_, title) => ({ webview: { set html(text) { made.panels.push([title, text]); } } }),
  },
};
class LanguageClient {
  constructor(_id, _name, server) { made.started.push(...server.args); }
  async start() {}
  async stop() {}
}
const load = Module._load;
Module._load = (name, ...more) => (name === "vscode" ? vscode : name === "vscode-languageclient/node" ? { LanguageClient } : load(name, ...more));
(async () => {
  await require(extension).activate({ subscriptions: [] });
  for (const [name, ...given] of JSON.parse(steps)) await commands[name](...given);
  process.stdout.write(JSON.stringify(made));
})();
"""

TOKENS = r"""
const fs = require("node:fs");
const [packages, grammar, text] = process.argv.slice(1);
const { Registry, parseRawGrammar, INITIAL } = require(packages + "/vscode-textmate");
const oniguruma = require(packages + "/vscode-oniguruma");
(async () => {
  await oniguruma.loadWASM(fs.readFileSync(packages + "/vscode-oniguruma/release/onig.wasm").buffer);
  const onigLib = Promise.resolve({
    createOnigScanner: (patterns) => new oniguruma.OnigScanner(patterns),
    createOnigString: (string) => new oniguruma.OnigString(string),
  });
  const raw = parseRawGrammar(fs.readFileSync(grammar, "utf8"), grammar);
  const registry = new Registry({ onigLib, loadGrammar: async () => raw });
  const loaded = await registry.loadGrammar(raw.scopeName);
  const found = [];
  let state = INITIAL;
  for (const line of text.split("\n")) {
    const { tokens, ruleStack } = loaded.tokenizeLine(line, state);
    state = ruleStack;
    for (const token of tokens) found.push([line.slice(token.startIndex, token.endIndex), token.scopes.at(-1)]);
  }
  console.log(JSON.stringify(found));
})();
"""


@unittest.skipUnless(NODE, "there is no node")
class Editors(unittest.TestCase):
    def tokens(self, grammar, text):
        if not (PACKAGES / "vscode-textmate").exists():
            self.skipTest("vscode-textmate could not be had from npm")
        command = [NODE, "-e", TOKENS, str(PACKAGES), str(VSCODE / "syntaxes" / f"{grammar}.tmLanguage.json"), text]
        return dict(json.loads(subprocess.run(command, capture_output=True, text=True, timeout=60, check=True).stdout))

    def test_scribble(self):
        text = 'protocol P(role client) {\n  Add(n: int) from client to server where n > 0; // why\n  continue LOOP;\n}\n(* a (* b *) "c" *)'
        found = self.tokens("scribble", text)
        self.assertEqual(found["P"], "entity.name.type.class.scribble")
        self.assertEqual(found["client"], "variable.parameter.scribble")
        self.assertEqual(found["Add"], "entity.name.function.scribble")
        self.assertEqual(found["LOOP"], "entity.name.tag.scribble")
        self.assertEqual(found["// why"], "comment.line.scribble")
        self.assertEqual(found["int"], "support.type.scribble")
        self.assertEqual(found[' "c" '], "comment.block.scribble")

    def test_the_others(self):
        found = self.tokens("types", "C: rec x . {S!req<int>; x}\n.marking q0\n-- c\na -> b (l . end)")
        self.assertEqual(found["x"], "entity.name.tag.types")
        self.assertEqual(found["req"], "entity.name.function.types")
        self.assertEqual(found[".marking"], "keyword.other.types")
        self.assertEqual(found["-- c"], "comment.line.types")
        found = self.tokens("hml", "property p { max X.([a -> b : Go(id)]ff and [_]X) } % c")
        self.assertEqual(found["Go"], "entity.name.function.hml")
        self.assertEqual(found["p"], "entity.name.type.class.hml")
        self.assertEqual(found["ff"], "constant.language.hml")

    @unittest.skipUnless(GENERATE.exists() and shutil.which("cc"), "tree-sitter's generator, or a C compiler, could not be had")
    def test_tree_sitter(self):
        try:
            import tree_sitter
        except ImportError:
            self.skipTest("tree-sitter could not be had from PyPI")
        place = self.enterContext(tempfile.TemporaryDirectory())
        library = Path(place) / "referee.so"
        subprocess.run([GENERATE, TREE_SITTER, place], check=True, timeout=120)
        subprocess.run(["cc", "-shared", "-fPIC", "-I", place, Path(place) / "parser.c", "-o", library], check=True, timeout=120)
        made = ctypes.CDLL(library).tree_sitter_referee
        made.restype = ctypes.c_void_p
        wrap = ctypes.pythonapi.PyCapsule_New
        wrap.restype, wrap.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
        language = tree_sitter.Language(wrap(made(), b"tree_sitter.Language", None))
        parser = tree_sitter.Parser(language)
        files = sorted((ROOT / "examples").rglob("*.scr"))
        self.assertGreater(len(files), 20)
        for file in files:
            tree = parser.parse(file.read_bytes())
            self.assertFalse(tree.root_node.has_error, file)
        text = b"protocol P(role a, role b) {\n  rec X {\n    220(n: int) from a to b where n > 0; // why\n    continue X;\n  }\n}\n"
        tree = parser.parse(text)
        found = {}
        for name in ("highlights", "folds"):
            query = tree_sitter.Query(language, (TREE_SITTER / "queries" / f"{name}.scm").read_text())
            for capture, nodes in tree_sitter.QueryCursor(query).captures(tree.root_node).items():
                found.setdefault(capture, set()).update(node.text for node in nodes)
        self.assertEqual(found["comment"], {b"// why"})
        self.assertEqual(found["function"], {b"220"})
        self.assertEqual(found["variable.parameter"], {b"a", b"b"})
        self.assertEqual(found["label"], {b"X"})
        self.assertEqual(found["type"], {b"int"})
        self.assertIn(b"where", found["keyword"])
        self.assertEqual(len(found["fold"]), 3)

    def test_the_extension_is_whole(self):
        package = json.loads((VSCODE / "package.json").read_text())
        subprocess.run([NODE, "--check", VSCODE / package["main"]], check=True, timeout=60)
        named = [*package["contributes"]["grammars"], *package["contributes"]["snippets"]]
        for path in [entry["path"] for entry in named] + [entry["configuration"] for entry in package["contributes"]["languages"]]:
            json.loads((VSCODE / path).read_text())

    @unittest.skipUnless(webdriver.CHROMIUM and webdriver.DRIVER, "there is no chromium with its driver")
    def test_its_panels_are_the_studios_page(self):
        with tempfile.TemporaryDirectory() as folder:
            folder = Path(folder)
            protocol = folder / "it's \"two\" <b>.scr"
            protocol.write_text(TWO)
            steps = [["referee.showMachine", protocol.as_uri(), "Second", "client"], ["referee.showTrace", protocol.as_uri()]]
            command = [NODE, "-e", EXTENSION, str(VSCODE / "extension.js"), os.environ.get("REFEREE", "referee"), json.dumps(steps)]
            done = subprocess.run(command, capture_output=True, text=True, timeout=60)
            self.assertEqual(done.stderr, "")
            made = json.loads(done.stdout)
            self.assertEqual(made["started"], ["lsp"])
            self.assertEqual(made["said"], ["There is no counterexample."])
            (title, html), = made["panels"]
            self.assertEqual(title, "machine of client")
            page = folder / "panel.html"
            page.write_text(html)
            browser = webdriver.Browser()
            self.addCleanup(browser.close)
            browser.open(page.as_uri())
            webdriver.wait(lambda: browser.text('[role=tab][aria-selected="true"]') == "Second: client")
            self.assertIn("Pong", browser.text(".picture"))
            self.assertTrue(browser.run("return document.querySelector('textarea').readOnly"))
            self.assertIn("safe for every channel size", browser.text(".verdict"))
            self.assertEqual(browser.log(), [])

    def test_the_studio_is_well_typed(self):
        compiler = PACKAGES / "typescript" / "bin" / "tsc"
        if not compiler.exists():
            self.skipTest("typescript could not be had from npm")
        scripts = sorted((ROOT / "crates" / "studio" / "ui").glob("*.js"))
        flags = ["--noEmit", "--checkJs", "--allowJs", "--target", "es2023", "--lib", "es2023,dom,dom.iterable", "--module", "es2022"]
        done = subprocess.run([NODE, compiler, *flags, *scripts], capture_output=True, text=True, timeout=120)
        self.assertEqual(done.stdout.splitlines(), [])
