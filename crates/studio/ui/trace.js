// @ts-check
// The trace view: the diagram, and beside it how things stand after the chosen step.
import { align, fold } from "./compare.js";
import { diagram, download, png, svgText } from "./diagram.js";
import { el, lightEdges, linkEdges, matches, picture, prose, Replay, sentence, tabList } from "./model.js";
import { Sequence } from "./sequence.js";

const HELP = "← → or k j: one step · Page Up, Page Down: ten · Home, End · /: search · n: next match · m: next machine · f: fold repetitions";

export class TraceView {
  /** @param {import("./model.js").Trace[]} traces @param {{jump?: (name: string, line: number) => void}} [links] */
  constructor(traces, links = {}) {
    this.traces = traces;
    this.links = links;
    this.count = 0;
    this.which = 0;
    this.machine = 0;
    this.filter = { role: "", text: "", label: "" };
    this.sequence = new Sequence((step) => this.go(step, false));
    this.sequence.unfold = (from) => {
      this.unfolded.add(from);
      this.narrow();
    };
    /** Folds that were opened. @type {Set<number>} */
    this.unfolded = new Set();
    this.other = new Sequence((step) => this.goOther(step));
    this.other.node.setAttribute("aria-label", "steps of the other trace");
    /** The trace beside this one. @type {number|null} */
    this.beside = null;
    /** @type {number[]} */
    this.pairs = [];
    this.build();
    this.node.addEventListener("keydown", (/** @type {KeyboardEvent} */ event) => this.key(event));
    addEventListener("hashchange", () => this.node.isConnected && this.open());
    addEventListener("beforeprint", () => this.node.isConnected && this.sequence.print(true));
    addEventListener("afterprint", () => this.sequence.print(false));
    this.open();
  }

  get trace() {
    return this.traces[this.which];
  }

  build() {
    const choice = (/** @type {import("./model.js").Trace} */ trace, /** @type {number} */ index) =>
      el("option", { value: index }, `${index + 1}. ${trace.title}${trace.session ? ` · ${trace.session}` : ""}`);
    this.select = el("select", { "aria-label": "trace", onchange: () => this.show(Number(this.select.value), 0) }, ...this.traces.map(choice));
    const sessions = [...new Set(this.traces.map((trace) => trace.session ?? ""))].filter(Boolean);
    this.session = el("select", { "aria-label": "only traces of this session", onchange: () => this.pick() }, el("option", { value: "" }, "all sessions"), ...sessions.map((name) => el("option", { value: name }, name)));
    this.session.hidden = sessions.length < 2;
    this.role = el("select", { "aria-label": "only steps of this role", onchange: () => this.narrow() });
    this.label = el("select", { "aria-label": "only steps with this label", onchange: () => this.narrow() });
    this.folding = el("button", { type: "button", class: "toggle", "aria-pressed": "false", onclick: () => this.toggleFolds() }, "Fold repetitions");
    this.comparing = el("select", { "aria-label": "compare with", onchange: () => this.compare(this.comparing.value === "" ? null : Number(this.comparing.value)) }, el("option", { value: "" }, "compare with…"), ...this.traces.map(choice));
    this.comparing.hidden = this.traces.length < 2;
    const save = (/** @type {string} */ text, /** @type {() => void} */ act) => el("button", { type: "button", onclick: act }, text);
    const name = () => (this.trace.title.replace(/[^\p{L}\p{N}]+/gu, "-").replace(/^-|-$/g, "") || "trace").slice(0, 60);
    const drawn = () => diagram(this.trace, this.shown ?? []);
    const exports = el(
      "details",
      { class: "menu" },
      el("summary", {}, "Export"),
      el(
        "div",
        { class: "entries" },
        save("SVG picture", () => download(`${name()}.svg`, new Blob([svgText(drawn())], { type: "image/svg+xml" }))),
        save("PNG picture", () => png(drawn()).then((blob) => download(`${name()}.png`, blob))),
        save("Print", () => print()),
      ),
    );
    this.search = el("input", { type: "search", placeholder: "search", "aria-label": "search steps", oninput: () => this.narrow() });
    this.found = el("span", { class: "found", role: "status" });
    const button = (/** @type {string} */ text, /** @type {string} */ label, /** @type {() => void} */ act) =>
      el("button", { type: "button", "aria-label": label, title: label, onclick: act }, text);
    this.slider = el("input", { type: "range", min: 0, max: 0, value: 0, "aria-label": "step", oninput: () => this.go(Number(this.slider.value), true) });
    this.counter = el("output", { class: "counter" });
    this.now = el("p", { class: "now", "aria-live": "polite" });
    this.both = el("div", { class: "both" }, this.sequence.node);
    this.verdict = el("section", { class: "card verdict", "aria-label": "what is wrong" });
    this.situation = el("section", { class: "card", "aria-label": "state" });
    this.machines = el("section", { class: "card machine", "aria-label": "machine" });
    this.text = el("section", { class: "card source", "aria-label": "protocol" });
    this.node = el(
      "main",
      { class: "trace" },
      el("div", { class: "bar" }, this.session, this.select, this.role, this.label, this.search, this.found, this.folding, this.comparing, exports),
      el("div", { class: "panes" }, this.both, el("aside", { class: "side" }, this.verdict, this.situation, this.machines, this.text)),
      el(
        "div",
        { class: "player" },
        button("|◀", "to the start", () => this.go(0, true)),
        button("◀", "one step back", () => this.move(-1)),
        button("▶", "one step forward", () => this.move(1)),
        button("▶|", "to the end", () => this.go(this.trace.steps.length, true)),
        this.slider,
        this.counter,
        this.now,
      ),
      el("p", { class: "help" }, HELP),
    );
    if (this.traces.length < 2) this.select.hidden = true;
  }

  /** Opens what the address says. */
  open() {
    const asked = new URLSearchParams(location.hash.slice(1));
    const which = Math.min(Math.max(0, Number(asked.get("trace") ?? 1) - 1 || 0), this.traces.length - 1);
    const step = Number(asked.get("step") ?? this.traces[which].steps.length);
    if (which !== this.which || !this.replay) this.show(which, step);
    else if (step !== this.count) this.go(step, true);
    const beside = asked.get("beside");
    if (beside !== null && this.traces[Number(beside) - 1]) this.compare(Number(beside) - 1);
  }

  /** Lists the traces of the chosen session alone. */
  pick() {
    const fits = (/** @type {number} */ index) => !this.session.value || this.traces[index].session === this.session.value;
    for (const option of this.select.options) option.hidden = !fits(Number(option.value));
    const first = this.traces.findIndex((_, index) => fits(index));
    if (!fits(this.which) && first >= 0) this.show(first, this.traces[first].steps.length);
  }

  toggleFolds() {
    const on = this.folding.getAttribute("aria-pressed") !== "true";
    this.folding.setAttribute("aria-pressed", String(on));
    this.unfolded.clear();
    this.narrow();
  }

  /** Shows the trace `which` beside this one, or none. @param {number|null} which */
  compare(which) {
    this.beside = which;
    this.comparing.value = which === null ? "" : String(which);
    this.both.classList.toggle("two", which !== null);
    if (which === null) {
      this.other.node.remove();
      this.sequence.only = null;
      this.pairs = [];
    } else {
      const other = this.traces[which];
      const [left, right] = [this.trace, other].map((trace) => trace.steps.map(sentence));
      this.pairs = align(left, right);
      const common = new Set(this.pairs);
      this.sequence.only = new Set(this.pairs.flatMap((pair, index) => (pair < 0 ? [index] : [])));
      this.other.only = new Set(right.flatMap((_, index) => (common.has(index) ? [] : [index])));
      this.both.append(this.other.node);
      this.other.set(other, right.map((_, index) => index));
    }
    this.narrow();
    this.go(this.count, true);
  }

  /** A step of the other trace was chosen: to the one that corresponds to it, or the last one before. @param {number} step */
  goOther(step) {
    const at = this.pairs.findLastIndex((pair) => pair >= 0 && pair < step);
    this.go(at + 1, true);
    this.other.select(step, false);
  }

  /** @param {number} which @param {number} step */
  show(which, step) {
    this.which = which;
    this.select.value = String(which);
    this.replay = new Replay(this.trace);
    this.machine = 0;
    this.role.replaceChildren(el("option", { value: "" }, "all roles"), ...this.trace.roles.map((role) => el("option", { value: role }, role)));
    const labels = [...new Set(this.trace.steps.map((step) => step.label))].filter(Boolean).sort().slice(0, 500);
    this.label.replaceChildren(el("option", { value: "" }, "all labels"), ...labels.map((label) => el("option", { value: label }, label)));
    this.unfolded.clear();
    this.slider.max = this.trace.steps.length;
    this.verdict.replaceChildren(
      el("h2", {}, this.trace.title),
      el("p", {}, ...prose(this.trace.explanation)),
      ...(this.trace.before ? [el("p", { class: "soft" }, `${this.trace.before} events came before`)] : []),
    );
    this.drawText();
    if (this.beside !== null) return void ((this.count = step), this.compare(this.beside));
    this.narrow();
    this.go(step, true);
  }

  narrow() {
    this.filter = { role: this.role.value, text: this.search.value.trim(), label: this.label.value };
    const shown = [];
    this.trace.steps.forEach((step, index) => matches(step, this.filter) && shown.push(index));
    this.shown = shown;
    const folded = this.folding.getAttribute("aria-pressed") === "true" ? fold(shown, this.trace.steps.map(sentence), this.unfolded) : { shown, folds: [] };
    const all = this.trace.steps.length;
    this.found.textContent = shown.length === all ? `${all} steps` : `${shown.length} of ${all} steps`;
    this.sequence.set(this.trace, folded.shown, folded.folds);
    this.sequence.select(this.count, true);
  }

  /** To the next step that is shown. @param {number} by */
  move(by) {
    const shown = this.shown ?? [];
    let at = this.count;
    for (let left = Math.abs(by); left > 0; left -= 1) {
      const next = by > 0 ? shown.find((step) => step + 1 > at) : [...shown].reverse().find((step) => step + 1 < at);
      if (next === undefined) {
        if (by < 0) at = 0;
        break;
      }
      at = next + 1;
    }
    this.go(at, true);
  }

  /** @param {number} step @param {boolean} follow */
  go(step, follow) {
    this.count = Math.min(Math.max(0, Math.floor(step) || 0), this.trace.steps.length);
    const last = this.trace.steps[this.count - 1];
    this.slider.value = String(this.count);
    this.counter.textContent = `${this.count} / ${this.trace.steps.length}`;
    this.now.textContent = last ? sentence(last) + (last.note ? ` (${last.note})` : "") : "before the first step";
    this.now.classList.toggle("wrong", Boolean(last?.wrong));
    this.sequence.select(this.count, follow);
    this.drawSituation(last);
    this.drawMachine(last);
    this.lightText(last);
    if (this.beside !== null) this.other.select((this.pairs.slice(0, this.count).findLast((pair) => pair >= 0) ?? -1) + 1, follow);
    history.replaceState(null, "", `#trace=${this.which + 1}&step=${this.count}${this.beside === null ? "" : `&beside=${this.beside + 1}`}`);
  }

  /** @param {import("./model.js").Step|undefined} last */
  drawSituation(last) {
    const replay = /** @type {Replay} */ (this.replay);
    const now = replay.at(this.count);
    const before = replay.at(Math.max(0, this.count - 1));
    const parts = [el("h2", {}, this.count === this.trace.steps.length ? "At the end" : `After step ${this.count}`)];
    if (now.states.size) {
      const rows = this.trace.machines.map((machine) => {
        const state = now.states.get(machine.role) ?? 0;
        const changed = state !== before.states.get(machine.role) || (last?.role === machine.role && !last.wrong);
        return el("tr", { class: changed ? "changed" : "" }, el("th", { scope: "row" }, machine.role), el("td", {}, machine.states[state] ?? String(state)));
      });
      parts.push(el("table", {}, el("caption", {}, "states"), el("tbody", {}, ...rows)));
    }
    const queues = [...now.queues].filter(([, queue]) => queue.length);
    if (this.trace.machines.length) {
      const rows = queues.map(([channel, queue]) => {
        const grown = queue.length !== (before.queues.get(channel)?.length ?? 0);
        const entries = queue.slice(0, 12).map((entry) => el("li", {}, entry.text));
        if (queue.length > 12) entries.push(el("li", { class: "soft" }, `and ${queue.length - 12} more`));
        return el("tr", { class: grown ? "changed" : "" }, el("th", { scope: "row" }, channel), el("td", {}, el("ol", { class: "queue" }, ...entries)));
      });
      parts.push(el("table", {}, el("caption", {}, "channels"), el("tbody", {}, ...rows)));
      if (!rows.length) parts.push(el("p", { class: "soft" }, "every channel is empty"));
    }
    if (now.bindings.size) {
      const rows = [...now.bindings].map(([name, value]) => {
        const changed = before.bindings.get(name) !== value;
        return el("tr", { class: changed ? "changed" : "" }, el("th", { scope: "row" }, name), el("td", {}, el("code", {}, value)));
      });
      parts.push(el("table", {}, el("caption", {}, "values"), el("tbody", {}, ...rows)));
    }
    if (this.count === this.trace.steps.length && this.trace.ending.length) {
      parts.push(el("ul", { class: "ending" }, ...this.trace.ending.map((line) => el("li", {}, ...prose(line)))));
    }
    this.situation.hidden = parts.length === 1;
    this.situation.replaceChildren(...parts);
  }

  /** @param {import("./model.js").Step|undefined} last */
  drawMachine(last) {
    const machines = this.trace.machines.filter((machine) => machine.svg);
    this.machines.hidden = !machines.length;
    if (!machines.length) return;
    const machine = machines[this.machine % machines.length];
    if (this.pictured !== machine) {
      this.pictured = machine;
      const focused = this.machines.contains(document.activeElement) && document.activeElement?.getAttribute("role") === "tab";
      const tabs = tabList("machines", machines.map((other) => other.role), machines.indexOf(machine), (index) => this.turn(index));
      const shown = picture(machine.svg ?? "");
      if (shown) linkEdges(shown, machine.edges ?? [], (lines) => this.pointAt(lines), (line) => this.nextAt(line));
      this.machines.replaceChildren(el("h2", {}, "Machine"), tabs, el("div", { class: "picture", role: "tabpanel", tabindex: "0", "aria-label": `machine of ${machine.role}` }, shown));
      if (focused) tabs.querySelector('[aria-selected="true"]')?.focus();
    }
    const replay = /** @type {Replay} */ (this.replay);
    const state = String(replay.at(this.count).states.get(machine.role) ?? 0);
    for (const node of this.machines.querySelectorAll(".rd-node")) node.classList.toggle("lit", node.getAttribute("data-node") === state);
    const moved = last?.role === machine.role ? last.states : last?.peer === machine.role ? last.peer_states : null;
    const taken = moved?.map(String);
    for (const edge of this.machines.querySelectorAll(".rd-edge")) {
      const is = taken && edge.getAttribute("data-from") === taken[0] && edge.getAttribute("data-to") === taken[1];
      edge.classList.toggle("lit", Boolean(is));
    }
  }

  /** @param {number} index */
  turn(index) {
    this.machine = index;
    this.drawMachine(this.trace.steps[this.count - 1]);
  }

  drawText() {
    const source = this.trace.source;
    this.text.hidden = !source;
    if (!source) return;
    const lines = source.text.split("\n").map((line, index) => {
      const steps = this.trace.steps.findIndex((step) => step.lines && step.lines[0] <= index + 1 && index + 1 <= step.lines[1]);
      const row = el("li", { class: steps >= 0 ? "linked" : "", title: steps >= 0 ? "go to the next step that this line is about" : null }, line || " ");
      if (steps >= 0) row.addEventListener("click", () => this.nextAt(index + 1));
      row.addEventListener("mouseenter", () => this.lightMachine(index + 1));
      row.addEventListener("mouseleave", () => this.lightMachine(0));
      return row;
    });
    this.lines = lines;
    // By keyboard: ↓ and ↑ go through the lines that steps come from, Enter to the next step of one.
    let chosen = -1;
    const key = (/** @type {KeyboardEvent} */ event) => {
      const by = { ArrowDown: 1, ArrowUp: -1 }[event.key];
      if (event.key === "Enter" && chosen >= 0) return this.nextAt(chosen + 1);
      if (!by) return;
      event.preventDefault();
      let next = chosen + by;
      while (lines[next] && !lines[next].classList.contains("linked")) next += by;
      if (!lines[next]) return;
      chosen = next;
      this.pointAt([next + 1, next + 1]);
      this.lightMachine(next + 1);
    };
    this.text.replaceChildren(el("h2", {}, source.name), el("ol", { class: "text", tabindex: "0", "aria-label": "text of the protocol: arrow keys choose a line, Enter goes to its next step", onkeydown: key }, ...lines));
  }

  /** Marks the lines that a transition comes from. @param {[number, number]|null} lines */
  pointAt(lines) {
    (this.lines ?? []).forEach((row, index) => row.classList.toggle("pointed", Boolean(lines && lines[0] <= index + 1 && index + 1 <= lines[1])));
    const first = lines && this.lines?.[lines[0] - 1];
    if (first) first.parentElement.scrollTop = first.offsetTop - first.parentElement.clientHeight / 2;
  }

  /** Lights the transitions of the machine that `line` is about. @param {number} line */
  lightMachine(line) {
    lightEdges(this.machines.querySelector(".picture svg"), this.pictured?.edges ?? [], line);
  }

  /** To the next step that `line` is about. @param {number} line */
  nextAt(line) {
    const steps = this.trace.steps;
    const about = (/** @type {import("./model.js").Step} */ step) => Boolean(step.lines && step.lines[0] <= line && line <= step.lines[1]);
    const after = steps.findIndex((step, index) => index + 1 > this.count && about(step));
    this.go((after >= 0 ? after : steps.findIndex(about)) + 1, true);
  }

  /** @param {import("./model.js").Step|undefined} last */
  lightText(last) {
    const lines = this.lines ?? [];
    for (const line of this.lit ?? []) line.classList.remove("lit");
    this.lit = last?.lines ? lines.slice(last.lines[0] - 1, last.lines[1]) : [];
    for (const line of this.lit) line.classList.add("lit");
    const list = this.lit[0]?.parentElement;
    if (list) list.scrollTop = this.lit[0].offsetTop - list.clientHeight / 2;
  }

  /** @param {KeyboardEvent} event */
  key(event) {
    const target = /** @type {HTMLElement} */ (event.target);
    const typing = target.matches("input:not([type=range]), select, textarea");
    if (event.key === "Escape" && typing) return void this.sequence.node.focus();
    if (typing && event.key !== "Enter") return;
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const moves = { ArrowRight: 1, ArrowDown: 1, j: 1, l: 1, n: 1, Enter: 1, ArrowLeft: -1, ArrowUp: -1, k: -1, h: -1, N: -1, PageDown: 10, PageUp: -10 };
    if (event.key === "Enter" && target.matches("button")) return;
    if (event.key in moves) this.move(moves[/** @type {keyof moves} */ (event.key)]);
    else if (event.key === "Home") this.go(0, true);
    else if (event.key === "End") this.go(this.trace.steps.length, true);
    else if (event.key === "f") this.toggleFolds();
    else if (event.key === "m") this.turn(this.machine + 1);
    else if (event.key === "/") this.search.focus();
    else return;
    event.preventDefault();
  }
}
