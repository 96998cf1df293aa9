"""Neovim, headless, is a client of `referee lsp`: it shows diagnostics, renames and formats."""

import json
import os
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

NEOVIM = shutil.which("nvim")

SCRIPT = r"""
local out = {}
local function save()
  local file = io.open(os.getenv("RESULT"), "w")
  file:write(vim.fn.json_encode(out))
  file:close()
end
local id = vim.lsp.start_client({ name = "referee", cmd = { os.getenv("REFEREE"), "lsp" }, root_dir = os.getenv("FOLDER") })
vim.lsp.buf_attach_client(0, id)
local client = vim.lsp.get_client_by_id(id)
assert(vim.wait(20000, function() return client.initialized == true end, 20), "not initialized")
local count = function() return #vim.diagnostic.get(0) end
assert(vim.wait(20000, function() return count() == 1 end, 20), "no diagnostic")
local first = vim.diagnostic.get(0)[1]
out.diagnostic = { line = first.lnum, column = first.col, message = first.message, source = first.source }
-- What is wrong is put right as a person would, and the diagnostic goes.
vim.api.nvim_buf_set_lines(0, 1, 2, false, { "m() from client to server;" })
assert(vim.wait(20000, function() return count() == 0 end, 20), "the diagnostic stays")
local function call(method, params)
  local answers = vim.lsp.buf_request_sync(0, method, params, 20000)
  local answer = answers and answers[id]
  assert(answer and answer.result, vim.inspect(answers))
  return answer.result
end
local params = vim.lsp.util.make_position_params(0, client.offset_encoding)
params.position = { line = 1, character = 10 }
params.newName = "user"
vim.lsp.util.apply_workspace_edit(call("textDocument/rename", params), client.offset_encoding)
out.renamed = vim.api.nvim_buf_get_lines(0, 0, -1, false)
local options = vim.lsp.util.make_formatting_params()
vim.lsp.util.apply_text_edits(call("textDocument/formatting", options), 0, client.offset_encoding)
out.formatted = vim.api.nvim_buf_get_lines(0, 0, -1, false)
local hover = vim.lsp.util.make_position_params(0, client.offset_encoding)
hover.position = { line = 1, character = 2 }
out.hover = call("textDocument/hover", hover).contents.value
client.stop()
vim.wait(5000, function() return client.is_stopped() end, 20)
save()
"""

TEXT = "protocol P(role client, role server) {\nm() from client to sever;\nn() from server to client;\n}\n"


@unittest.skipUnless(NEOVIM, "there is no nvim")
class Neovim(unittest.TestCase):
    def test_opens_diagnoses_renames_formats(self):
        with tempfile.TemporaryDirectory() as folder:
            folder = Path(folder)
            (folder / "p.scr").write_text(TEXT)
            (folder / "script.lua").write_text(
                'local ok, why = pcall(dofile, os.getenv("FOLDER") .. "/steps.lua")\n'
                'if not ok then io.stderr:write(why .. "\\n") vim.cmd("cquit 1") end\nvim.cmd("qall!")\n'
            )
            (folder / "steps.lua").write_text(SCRIPT)
            environment = os.environ | {
                "RESULT": str(folder / "result.json"),
                "FOLDER": str(folder),
                "XDG_STATE_HOME": str(folder),
                "XDG_CACHE_HOME": str(folder),
                "XDG_DATA_HOME": str(folder),
                "XDG_CONFIG_HOME": str(folder),
            }
            command = [NEOVIM, "--headless", "--clean", "-n", str(folder / "p.scr"), "-c", f"luafile {folder}/script.lua"]
            done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120)
            self.assertEqual(done.returncode, 0, done.stderr)
            result = json.loads((folder / "result.json").read_text())
        self.assertEqual((result["diagnostic"]["line"], result["diagnostic"]["column"]), (1, 19))
        self.assertIn("did you mean `server`?", result["diagnostic"]["message"])
        self.assertEqual(result["renamed"], ["protocol P(role user, role server) {", "m() from user to server;", "n() from server to user;", "}"])
        self.assertEqual(result["formatted"], ["protocol P(role user, role server) {", "  m() from user to server;", "  n() from server to user;", "}"])
        self.assertIn("message label", result["hover"])
