// Starts `referee lsp`, and shows machines and counterexamples in a panel beside the text. Plain JavaScript: nothing is compiled.
"use strict";

const { execFile } = require("node:child_process");
const fs = require("node:fs");
const os = require("node:os");
const path = require("node:path");
const vscode = require("vscode");
const { LanguageClient } = require("vscode-languageclient/node");

const LANGUAGES = ["scribble", "referee-hml", "referee-st", "referee-gt", "referee-kmc", "referee-fsm"];

/** @type {LanguageClient | undefined} */
let client;

const settings = () => vscode.workspace.getConfiguration("referee");
const program = () => settings().get("path", "referee");

/** Runs the program. Answers with what it printed, whatever its status: 1 is "unsafe". */
function run(parameters) {
  return new Promise((resolve, reject) => {
    execFile(program(), parameters, { maxBuffer: 64 << 20 }, (error, output, complaint) => {
      if (error && typeof error.code !== "number") reject(new Error(`cannot run ${program()}: ${error.message}`));
      else if (error && error.code === 2) reject(new Error(complaint || output));
      else resolve(output);
    });
  });
}

/** Shows the studio's own page, opened at what `open` names. */
function panel(title, html, open) {
  const shown = vscode.window.createWebviewPanel("referee", title, vscode.ViewColumn.Beside, { enableScripts: true });
  shown.webview.html = html.replace('<div id="app">', () => `<div id="app" data-open="${new URLSearchParams(open)}">`);
}

/** The page that `parameters` make the program write, if it writes one. */
async function exported(parameters) {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), "referee-"));
  const page = path.join(folder, "page.html");
  try {
    await run([...parameters, page]);
    return fs.existsSync(page) ? fs.readFileSync(page, "utf8") : undefined;
  } finally {
    fs.rmSync(folder, { recursive: true, force: true });
  }
}

/** The file meant, written as it is in the editor: the program reads it from disk. */
async function saved(uri) {
  const document = uri ? await vscode.workspace.openTextDocument(vscode.Uri.parse(uri)) : vscode.window.activeTextEditor?.document;
  if (!document || (document.isDirty && !(await document.save()))) return undefined;
  return document.fileName;
}

async function showMachine(uri, protocol, role) {
  const file = await saved(uri);
  if (!file) return;
  const page = await exported(["studio", file, "--export"]);
  const picture = role ?? "sequence";
  if (page) panel(role ? `machine of ${role}` : "pictures", page, { picture, ...(protocol ? { protocol } : {}) });
}

async function showTrace(uri) {
  const file = await saved(uri);
  if (!file) return;
  const page = await exported(["check", file, "--export-html"]);
  if (page) panel("counterexample", page, {});
  else vscode.window.showInformationMessage("There is no counterexample.");
}

async function start() {
  const server = { command: program(), args: ["lsp"] };
  client = new LanguageClient("referee", "Referee", server, {
    documentSelector: LANGUAGES.flatMap((language) => ["file", "untitled"].map((scheme) => ({ language, scheme }))),
    initializationOptions: { inlayHints: settings().get("inlayHints", false) },
    synchronize: {
      configurationSection: "referee",
      fileEvents: vscode.workspace.createFileSystemWatcher("**/*.{scr,nuscr,hml,st,gt,kmc,fsm}"),
    },
  });
  await client.start();
}

const complaining = (work) => async (...given) => {
  try {
    await work(...given);
  } catch (error) {
    vscode.window.showErrorMessage(`Referee: ${error.message}`);
  }
};

exports.activate = async (context) => {
  const command = (name, work) => context.subscriptions.push(vscode.commands.registerCommand(name, complaining(work)));
  command("referee.showMachine", showMachine);
  command("referee.showTrace", showTrace);
  command("referee.restart", async () => {
    await client?.stop();
    await start();
  });
  await complaining(start)();
};

exports.deactivate = () => client?.stop();
