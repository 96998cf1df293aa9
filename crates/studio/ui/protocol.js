// @ts-check
// The protocol view: text with its diagnostics as it is typed, machines and sequence as pictures, the checker's answer.
import { el, lightEdges, linkEdges, picture, prose, tabList } from "./model.js";
import { PlayPanel } from "./play.js";

/** So many files are buttons; more are a list. */
const MAX_BUTTONS = 12;

/** Typing is answered once it pauses for so many milliseconds. */
const PAUSE = 120;

export class ProtocolView {
  /**
   * @param {any} overview @param {(path: string, body: object) => Promise<any>} ask @param {(text: string) => void} toast
   * @param {(traces: any[]) => void} step @param {{file?: string, protocol?: string, picture?: string}} asked
   */
  constructor(overview, ask, toast, step, asked = {}) {
    this.ask = ask;
    this.toast = toast;
    this.step = step;
    this.asked = 0;
    this.checking = "";
    /** What was typed into files and not saved, by name: what they held, and what they should. @type {Map<string, {before: string, text: string}>} */
    this.drafts = new Map();
    /** The picture that is shown; at first the one asked for, which is named after its protocol where there are several. */
    this.turned = [`${asked.protocol}: ${asked.picture}`, asked.picture ?? ""];
    this.files = el("nav", { class: "files", "aria-label": "files" });
    this.code = el("pre", { "aria-hidden": "true" });
    this.area = el("textarea", { spellcheck: "false", autocapitalize: "off", "aria-label": "text of the protocol", wrap: "off", oninput: () => this.typed(), onkeyup: () => this.follow(), onclick: () => this.follow() });
    this.problems = el("section", { class: "card", "aria-label": "diagnostics", "aria-live": "polite" });
    this.answer = el("section", { class: "card verdict", "aria-label": "answer of the check" });
    this.pictures = el("section", { class: "card machine", "aria-label": "pictures" });
    this.play = new PlayPanel((wish) => ask("/api/play", { name: this.name, text: this.area.value, wish }), step, toast);
    this.outline = el("select", { class: "outline", "aria-label": "outline", onchange: () => this.jump(Number(this.outline.value)) });
    this.begin = el("button", { type: "button", class: "begin", onclick: () => this.play.start() }, "▶ Play");
    this.save = el("button", { type: "button", class: "save", onclick: () => this.write() }, "Save");
    this.save.hidden = !overview.edit;
    const side = el("aside", { class: "side" }, this.answer, this.problems, this.play.node, this.pictures);
    this.node = el("main", { class: "protocol" }, this.files, el("div", { class: "panes" }, el("div", { class: "editor" }, this.code, this.area), side));
    this.area.readOnly = !overview.types;
    this.begin.hidden = !overview.types;
    const names = shortened(overview.files);
    const choice = (/** @type {string} */ name, /** @type {number} */ index) => el("option", { value: name }, names[index]);
    const button = (/** @type {string} */ name, /** @type {number} */ index) => el("button", { type: "button", title: name, "data-name": name, onclick: () => this.open(name) }, names[index]);
    this.list = el("select", { "aria-label": "file", onchange: () => this.open(this.list.value) });
    if (overview.files.length > MAX_BUTTONS) this.list.append(...overview.files.map(choice));
    this.files.replaceChildren(...(overview.files.length > MAX_BUTTONS ? [this.list] : overview.files.map(button)), this.outline, this.begin, this.save);
    this.open(overview.files.includes(asked.file) ? asked.file : overview.files[0]);
  }

  /** @param {string} name */
  async open(name) {
    this.name = name;
    this.list.value = name;
    for (const button of this.files.querySelectorAll("[data-name]")) button.getAttribute("data-name") === name ? button.setAttribute("aria-current", "true") : button.removeAttribute("aria-current");
    this.play.node.hidden = true;
    this.play.protocol = null;
    try {
      const found = await this.ask("/api/file", { name });
      // Another file may have been chosen meanwhile.
      if (this.name !== name) return;
      const draft = this.drafts.get(name);
      this.before = draft?.before ?? found.text;
      this.area.value = draft?.text ?? found.text;
      // Places are in the text that was sent; the page has no carriage returns, and perhaps what was typed.
      if (this.area.value !== found.text) return void this.refresh();
      this.draw(found);
      this.check();
    } catch (error) {
      this.toast(error.message);
    }
  }

  typed() {
    this.drafts.set(this.name ?? "", { before: this.before, text: this.area.value });
    this.plain();
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.refresh(), PAUSE);
  }

  async refresh() {
    const asked = (this.asked += 1);
    const text = this.area.value;
    const name = this.name;
    try {
      const found = await this.ask("/api/file", { name, text });
      // Another letter may have been typed meanwhile.
      if (asked !== this.asked || name !== this.name) return;
      if (text === this.area.value) this.draw(found);
      this.check();
    } catch (error) {
      this.toast(error.message);
    }
  }

  async check() {
    const asked = this.asked;
    const text = this.area.value;
    if (this.checking) this.ask("/api/cancel", { id: this.checking });
    const id = `${Date.now()}-${asked}`;
    this.checking = id;
    const progress = el("p", { class: "soft", role: "status" }, "checking…");
    const cancel = el("button", { type: "button", class: "cancel", onclick: () => this.ask("/api/cancel", { id }) }, "Cancel");
    this.answer.replaceChildren(el("h2", {}, "Check"), progress);
    this.answer.classList.remove("good");
    const look = setInterval(async () => {
      const found = await this.ask("/api/progress", { id }).catch(() => ({}));
      if (found.progress && this.checking === id) {
        progress.textContent = `checking… ${found.progress}`;
        if (!cancel.isConnected) this.answer.append(cancel);
      }
    }, 300);
    try {
      const found = await this.ask("/api/check", { name: this.name, text, id });
      if (this.checking !== id || text !== this.area.value) return;
      this.answer.classList.toggle("good", found.safe);
      const lines = found.answers.map((/** @type {string} */ line) => el("p", {}, ...prose(line)));
      const button = el("button", { type: "button", onclick: () => this.step(found.traces) }, "Step through the counterexample");
      this.answer.replaceChildren(el("h2", {}, "Check"), ...lines, ...(found.traces.length ? [button] : []));
    } catch (error) {
      if (this.checking === id) this.answer.replaceChildren(el("h2", {}, "Check"), el("p", {}, error.message));
    } finally {
      clearInterval(look);
      if (this.checking === id) this.checking = "";
    }
  }

  async write() {
    try {
      const [name, typed] = [this.name ?? "", this.area.value];
      // Lines end as they did in the file.
      const text = this.before.includes("\r\n") ? typed.replaceAll("\n", "\r\n") : typed;
      await this.ask("/api/save", { name, before: this.before, text });
      if (this.name === name) this.before = text;
      if (this.area.value === typed) this.drafts.delete(name);
      this.toast("saved");
    } catch (error) {
      this.toast(error.message);
    }
  }

  /** The text without colours, until the answer comes. */
  plain() {
    this.code.replaceChildren(...this.area.value.split("\n").map((/** @type {string} */ line) => el("div", {}, line)));
  }

  /** @param {any} found */
  draw(found) {
    const text = this.area.value;
    this.code.replaceChildren(...coloured(text, found.tokens, found.diagnostics));
    const items = found.diagnostics.map((/** @type {any} */ problem) => {
      const place = el("button", { type: "button", class: "problem-head", onclick: () => this.jump(problem.start) }, `line ${problem.line} · ${problem.code} · ${problem.title}`);
      const fix = problem.fix && el("button", { type: "button", class: "fix", onclick: () => this.apply(problem.fix.edits) }, problem.fix.title);
      return el("li", { class: problem.severity }, place, el("div", {}, ...prose(problem.message)), fix);
    });
    this.problems.replaceChildren(el("h2", {}, items.length ? "Diagnostics" : "No diagnostics"), items.length ? el("ul", { class: "problems" }, ...items) : "");
    this.outline.hidden = !found.outline.length;
    const entries = found.outline.map((/** @type {any} */ entry) => el("option", { value: entry.start }, `${"\u00a0\u00a0".repeat(entry.depth)}${entry.name}`));
    this.outline.replaceChildren(el("option", { value: "", disabled: true, selected: true }, "go to…"), ...entries);
    const all = found.pictures;
    this.pictures.hidden = !all.length;
    const shown = el("div", { class: "picture", role: "tabpanel", tabindex: "0" });
    const turn = (/** @type {number} */ index) => {
      this.turned = [all[index].name];
      shown.setAttribute("aria-label", all[index].name);
      const image = picture(all[index].svg);
      if (image) shown.replaceChildren(image);
      if (image) linkEdges(image, all[index].edges, (lines) => this.mark(lines), (line) => this.jumpLine(line));
      this.edges = all[index].edges;
      this.image = image;
    };
    const again = Math.max(0, all.findIndex((/** @type {any} */ one) => this.turned.includes(one.name)));
    const tabs = tabList("pictures", all.map((/** @type {any} */ one) => one.name), again, turn);
    this.pictures.replaceChildren(el("h2", {}, "Pictures"), tabs, shown);
    if (all.length) turn(again);
  }

  /** Marks lines of the text. @param {[number, number]|null} lines */
  mark(lines) {
    [...this.code.children].forEach((line, index) => line.classList.toggle("hot", Boolean(lines && lines[0] <= index + 1 && index + 1 <= lines[1])));
  }

  /** Lights the transitions that the line of the cursor is about. */
  follow() {
    const line = this.area.value.slice(0, this.area.selectionStart).split("\n").length;
    lightEdges(this.image, this.edges ?? [], line);
  }

  /** @param {number} line */
  jumpLine(line) {
    this.jump(this.area.value.split("\n").slice(0, line - 1).join("\n").length + (line > 1 ? 1 : 0));
  }

  /** @param {number} start */
  jump(start) {
    this.area.focus();
    this.area.setSelectionRange(start, start);
    const line = this.code.children[this.area.value.slice(0, start).split("\n").length - 1];
    line?.scrollIntoView({ block: "nearest" });
  }

  /** @param {{start: number, end: number, text: string}[]} edits */
  apply(edits) {
    let text = this.area.value;
    for (const edit of [...edits].reverse()) text = text.slice(0, edit.start) + edit.text + text.slice(edit.end);
    this.area.value = text;
    this.typed();
    this.area.focus();
  }
}

/** `names` without the folders that all of them are in. @param {string[]} names */
function shortened(names) {
  const folders = names.map((name) => name.split(/(?<=[/\\])/).slice(0, -1));
  let common = 0;
  while (names.length > 1 && folders.every((each) => common < each.length && each[common] === folders[0][common])) common += 1;
  return names.map((name) => name.slice(folders[0].slice(0, common).join("").length));
}

/**
 * The lines of a text with the colours of its tokens and the lines below its mistakes.
 * @param {string} text @param {[number, number, string][]} tokens @param {any[]} problems
 */
function coloured(text, tokens, problems) {
  const cuts = new Set([0, text.length]);
  for (const [start, end] of tokens) cuts.add(start).add(end);
  for (const problem of problems) cuts.add(problem.start).add(problem.end);
  for (let at = text.indexOf("\n"); at >= 0; at = text.indexOf("\n", at + 1)) cuts.add(at).add(at + 1);
  const places = [...cuts].sort((a, b) => a - b);
  const lines = [el("div")];
  let token = 0;
  for (let at = 0; at + 1 < places.length; at += 1) {
    const [start, end] = [places[at], places[at + 1]];
    const piece = text.slice(start, end);
    if (piece === "\n") {
      lines.push(el("div"));
      continue;
    }
    while (token < tokens.length && tokens[token][1] <= start) token += 1;
    const kind = token < tokens.length && tokens[token][0] <= start ? tokens[token][2] : "";
    const problem = problems.find((one) => one.start <= start && end <= Math.max(one.end, one.start + 1));
    const style = [kind, problem ? (problem.severity === "error" ? "error" : "warning") : ""].filter(Boolean).join(" ");
    lines[lines.length - 1].append(style ? el("span", { class: style }, piece) : piece);
  }
  return lines;
}
