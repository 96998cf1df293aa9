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

function panel(title, html) {
  const shown = vscode.window.createWebviewPanel("referee", title, vscode.ViewColumn.Beside, { enableScripts: true });
  shown.webview.html = html;
}

async function showMachine(uri, protocol, role) {
  const file = uri ? vscode.Uri.parse(uri).fsPath : vscode.window.activeTextEditor?.document.fileName;
  if (!file) return;
  const parameters = ["show", file, "--view", "machine", "--format", "svg"];
  if (protocol) parameters.push("--protocol", protocol);
  if (!role) role = await vscode.window.showInputBox({ prompt: "Role" });
  if (!role) return;
  const svg = await run([...parameters, "--role", role]);
  const policy = "default-src 'none'; style-src 'unsafe-inline'; img-src data:";
  const image = `data:image/svg+xml;base64,${Buffer.from(svg).toString("base64")}`;
  panel(
    `machine of ${role}`,
    `<!doctype html><meta http-equiv="Content-Security-Policy" content="${policy}">` +
      `<style>body { background: white } img { max-width: 100% }</style><img alt="machine" src="${image}">`,
  );
}

async function showTrace(uri) {
  const file = uri ? vscode.Uri.parse(uri).fsPath : vscode.window.activeTextEditor?.document.fileName;
  if (!file) return;
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), "referee-"));
  const page = path.join(folder, "trace.html");
  try {
    await run(["check", file, "--export-html", page]);
    if (fs.existsSync(page)) panel("counterexample", fs.readFileSync(page, "utf8"));
    else vscode.window.showInformationMessage("There is no counterexample.");
  } finally {
    fs.rmSync(folder, { recursive: true, force: true });
  }
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
