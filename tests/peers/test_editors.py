"""The editors' grammars and the studio's scripts, by tools from npm: TextMate's engine and TypeScript's checker."""

import json
import shutil
import subprocess
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ROOT / "target" / "peers" / "textmate" / "node_modules"
VSCODE = ROOT / "editors" / "vscode"
NODE = shutil.which("node")

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

    def test_the_extension_is_whole(self):
        package = json.loads((VSCODE / "package.json").read_text())
        subprocess.run([NODE, "--check", VSCODE / package["main"]], check=True, timeout=60)
        named = [*package["contributes"]["grammars"], *package["contributes"]["snippets"]]
        for path in [entry["path"] for entry in named] + [entry["configuration"] for entry in package["contributes"]["languages"]]:
            json.loads((VSCODE / path).read_text())

    def test_the_studio_is_well_typed(self):
        compiler = PACKAGES / "typescript" / "bin" / "tsc"
        if not compiler.exists():
            self.skipTest("typescript could not be had from npm")
        scripts = sorted((ROOT / "crates" / "studio" / "ui").glob("*.js"))
        flags = ["--noEmit", "--checkJs", "--allowJs", "--target", "es2023", "--lib", "es2023,dom,dom.iterable", "--module", "es2022"]
        done = subprocess.run([NODE, compiler, *flags, *scripts], capture_output=True, text=True, timeout=120)
        self.assertEqual(done.stdout.splitlines(), [])
