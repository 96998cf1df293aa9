// @ts-check
// The protocol view: text with its diagnostics as it is typed, machines and sequence as pictures, the checker's answer.
import { el, lightEdges, linkEdges, picture, prose } from "./model.js";
import { PlayPanel } from "./play.js";

/** Typing is answered once it pauses for so many milliseconds. */
const PAUSE = 120;

export class ProtocolView {
  /**
   * @param {any} overview @param {(path: string, body: object) => Promise<any>} ask @param {(text: string) => void} toast
   * @param {(traces: any[]) => void} step
   */
  constructor(overview, ask, toast, step) {
    this.ask = ask;
    this.toast = toast;
    this.step = step;
    this.asked = 0;
    this.checking = "";
    this.files = el("nav", { class: "files", "aria-label": "files" });
    this.code = el("pre", { "aria-hidden": "true" });
    this.area = el("textarea", { spellcheck: "false", autocapitalize: "off", "aria-label": "text of the protocol", wrap: "off", oninput: () => this.typed(), onkeyup: () => this.follow(), onclick: () => this.follow() });
    this.problems = el("section", { class: "card", "aria-label": "diagnostics", "aria-live": "polite" });
    this.answer = el("section", { class: "card verdict", "aria-label": "answer of the check" });
    this.pictures = el("section", { class: "card machine", "aria-label": "pictures" });
    this.play = new PlayPanel((wish) => ask("/api/play", { name: this.name, text: this.area.value, wish }), step, toast);
    this.begin = el("button", { type: "button", class: "begin", onclick: () => this.play.start() }, "▶ Play");
    this.save = el("button", { type: "button", class: "save", onclick: () => this.write() }, "Save");
    this.save.hidden = !overview.edit;
    const side = el("aside", { class: "side" }, this.answer, this.problems, this.play.node, this.pictures);
    this.node = el("main", { class: "protocol" }, this.files, el("div", { class: "panes" }, el("div", { class: "editor" }, this.code, this.area), side));
    this.files.replaceChildren(
      ...overview.files.map((/** @type {string} */ name) => el("button", { type: "button", onclick: () => this.open(name) }, name)),
      this.begin,
      this.save,
    );
    this.open(overview.files[0]);
  }

  /** @param {string} name */
  async open(name) {
    this.name = name;
    for (const button of this.files.children) button.textContent === name ? button.setAttribute("aria-current", "true") : button.removeAttribute("aria-current");
    this.play.node.hidden = true;
    this.play.protocol = null;
    try {
      const found = await this.ask("/api/file", { name });
      this.before = found.text;
      this.area.value = found.text;
      this.draw(found);
      this.check();
    } catch (error) {
      this.toast(error.message);
    }
  }

  typed() {
    this.plain();
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.refresh(), PAUSE);
  }

  async refresh() {
    const asked = (this.asked += 1);
    const text = this.area.value;
    try {
      const found = await this.ask("/api/file", { name: this.name, text });
      // Another letter may have been typed meanwhile.
      if (asked === this.asked && text === this.area.value) this.draw(found);
      if (asked === this.asked) this.check();
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
      await this.ask("/api/save", { name: this.name, before: this.before, text: this.area.value });
      this.before = this.area.value;
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
    this.problems.replaceChildren(el("h2", {}, items.length ? "Diagnostics" : "No diagnostics"), el("ul", { class: "problems" }, ...items));
    const all = found.pictures;
    this.pictures.hidden = !all.length;
    const shown = el("div", { class: "picture", tabindex: "0" });
    const turn = (/** @type {number} */ index) => {
      this.turned = all[index].name;
      tabs.forEach((/** @type {HTMLElement} */ tab, /** @type {number} */ other) => tab.setAttribute("aria-selected", String(other === index)));
      shown.setAttribute("aria-label", all[index].name);
      const image = picture(all[index].svg);
      if (image) shown.replaceChildren(image);
      if (image) linkEdges(image, all[index].edges, (lines) => this.mark(lines), (line) => this.jumpLine(line));
      this.edges = all[index].edges;
      this.image = image;
    };
    const tabs = all.map((/** @type {any} */ one, /** @type {number} */ index) => el("button", { type: "button", role: "tab", onclick: () => turn(index) }, one.name));
    this.pictures.replaceChildren(el("h2", {}, "Pictures"), el("div", { class: "tabs", role: "tablist" }, ...tabs), shown);
    const again = all.findIndex((/** @type {any} */ one) => one.name === this.turned);
    if (all.length) turn(Math.max(0, again));
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
