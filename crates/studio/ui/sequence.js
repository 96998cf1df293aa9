// @ts-check
// The sequence diagram: one row for each step, of which only those in sight are in the page.
import { el, sentence } from "./model.js";

const ROW = 38;
const HEADER = 40;
const OVERSCAN = 12;
/** So many rows are printed. */
const MAX_PRINTED = 2_000;
const SVG = "http://www.w3.org/2000/svg";

/** @param {string} tag @param {Record<string, string|number>} attributes @param {string} [text] */
export function shape(tag, attributes, text) {
  const node = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, String(value));
  if (text !== undefined) node.textContent = text;
  return node;
}

/** `text`, cut to so many pixels. @param {string} text @param {number} width */
function cut(text, width) {
  const most = Math.max(4, Math.floor(width / 7.2));
  const characters = [...text];
  return characters.length <= most ? text : characters.slice(0, most - 1).join("") + "…";
}

export class Sequence {
  /** @param {(step: number) => void} choose */
  constructor(choose) {
    this.choose = choose;
    this.heads = el("div", { class: "heads", "aria-hidden": "true" });
    this.rows = el("div", { class: "rows" });
    this.node = el("div", { class: "sequence", role: "listbox", tabindex: "0", "aria-label": "steps" }, this.heads, this.rows);
    this.node.addEventListener("scroll", () => this.schedule(), { passive: true });
    new ResizeObserver(() => this.layout()).observe(this.node);
    this.pending = false;
    this.drawn = new Map();
    /** @type {import("./model.js").Trace|null} */
    this.trace = null;
    /** @type {number[]} */
    this.shown = [];
    /** What negative entries of `shown` stand for. @type {import("./compare.js").Fold[]} */
    this.folds = [];
    /** Steps that another trace does not have. @type {Set<number>|null} */
    this.only = null;
    /** @type {(from: number) => void} */
    this.unfold = () => {};
    this.current = 0;
    this.all = false;
  }

  /** @param {import("./model.js").Trace} trace @param {number[]} shown */
  set(trace, shown, folds = /** @type {import("./compare.js").Fold[]} */ ([])) {
    this.trace = trace;
    this.shown = shown;
    this.folds = folds;
    this.layout();
  }

  /** The same trace with more steps at its end; whoever looks at the end goes on doing so. @param {import("./model.js").Trace} trace */
  grow(trace) {
    const { scrollTop, scrollHeight, clientHeight } = this.node;
    const follows = scrollTop + clientHeight > scrollHeight - ROW;
    this.current = trace.steps.length;
    this.set(trace, trace.steps.map((_, index) => index));
    for (const [step, row] of this.drawn) this.mark(step, row);
    if (follows) this.node.scrollTop = this.node.scrollHeight;
    this.draw();
  }

  /** Marks what has happened after `count` steps. @param {number} count @param {boolean} follow */
  select(count, follow) {
    this.current = count;
    const at = this.place(count - 1);
    if (follow && at >= 0) {
      const top = at * ROW;
      const height = this.node.clientHeight - HEADER;
      if (top < this.node.scrollTop) this.node.scrollTop = top;
      if (top + ROW > this.node.scrollTop + height) this.node.scrollTop = top + ROW - height;
    }
    if (follow && count === 0) this.node.scrollTop = 0;
    for (const [step, row] of this.drawn) this.mark(step, row);
    const active = this.drawn.has(count - 1) ? `step-${count}` : "";
    this.node.setAttribute("aria-activedescendant", active);
  }

  /** Where a step is shown, by itself or in a fold; −1 if it is not. @param {number} step */
  place(step) {
    const own = this.shown.indexOf(step);
    if (own >= 0 || step < 0) return step < 0 ? -1 : own;
    const fold = this.folds.findIndex((one) => one.from <= step && step <= one.to);
    return fold < 0 ? -1 : this.shown.indexOf(-1 - fold);
  }

  /** @param {number} step @param {HTMLElement} row */
  mark(step, row) {
    const fold = step < 0 ? this.folds[-1 - step] : null;
    const is = fold ? fold.from < this.current && this.current <= fold.to + 1 : step === this.current - 1;
    row.classList.toggle("done", (fold ? fold.from : step) < this.current);
    row.classList.toggle("current", is);
    row.setAttribute("aria-selected", String(is));
  }

  /** All rows are in the page, to be printed; or those in sight again. @param {boolean} all */
  print(all) {
    this.all = all;
    this.draw();
  }

  layout() {
    if (!this.trace) return;
    const roles = this.trace.roles;
    const width = this.node.clientWidth - 56;
    this.column = Math.max(112, Math.min(260, width / Math.max(1, roles.length)));
    const total = 56 + this.column * roles.length;
    this.heads.replaceChildren(
      ...roles.map((role, index) => {
        const head = el("span", { class: "head", title: role }, cut(role, this.column - 16));
        head.style.left = `${56 + index * this.column}px`;
        head.style.width = `${this.column}px`;
        return head;
      }),
    );
    this.heads.style.width = `${total}px`;
    this.rows.style.width = `${total}px`;
    this.rows.style.height = `${Math.max(1, this.shown.length) * ROW + 8}px`;
    this.drawn.clear();
    this.rows.replaceChildren();
    this.draw();
  }

  schedule() {
    if (this.pending) return;
    this.pending = true;
    requestAnimationFrame(() => {
      this.pending = false;
      this.draw();
    });
  }

  /** Draws the rows in sight and forgets the others. */
  draw() {
    if (!this.trace) return;
    const first = this.all ? 0 : Math.max(0, Math.floor(this.node.scrollTop / ROW) - OVERSCAN);
    const end = this.all ? MAX_PRINTED : Math.ceil((this.node.scrollTop + this.node.clientHeight) / ROW) + OVERSCAN;
    const last = Math.min(this.shown.length, end);
    const wanted = new Set(this.shown.slice(first, last));
    for (const [step, row] of this.drawn) {
      if (!wanted.has(step)) {
        row.remove();
        this.drawn.delete(step);
      }
    }
    const fresh = document.createDocumentFragment();
    for (let at = first; at < last; at += 1) {
      const step = this.shown[at];
      if (this.drawn.has(step)) continue;
      const row = this.row(step, at);
      this.mark(step, row);
      this.drawn.set(step, row);
      fresh.append(row);
    }
    this.rows.append(fresh);
  }

  /** Repetitions that are not shown. @param {number} step @param {number} at */
  foldRow(step, at) {
    const fold = this.folds[-1 - step];
    const what = fold.length === 1 ? "the step above" : `the ${fold.length} steps above`;
    const text = `${what}, ${fold.times} more times: steps ${fold.from + 1} to ${fold.to + 1}`;
    const row = el("div", { class: "row fold", role: "option", id: `fold-${fold.from}`, title: "show them", onclick: () => this.unfold(fold.from) }, el("span", { class: "number", "aria-hidden": "true" }, "⟳"), el("span", { class: "folded" }, text));
    row.style.top = `${at * ROW}px`;
    return row;
  }

  /** @param {number} step @param {number} at */
  row(step, at) {
    const trace = /** @type {import("./model.js").Trace} */ (this.trace);
    if (step < 0) return this.foldRow(step, at);
    const done = trace.steps[step];
    const label = `${step + 1}: ${sentence(done)}`;
    const row = el("div", { class: `row ${done.action}${done.wrong ? " wrong" : ""}`, role: "option", id: `step-${step + 1}`, title: label }, el("span", { class: "spoken" }, label));
    if (trace.point_of_no_return !== null && step === trace.point_of_no_return) row.classList.add("no-return");
    if (trace.loop_from !== null && step === trace.loop_from) row.classList.add("loop");
    if (this.only?.has(step)) row.classList.add("only");
    row.style.top = `${at * ROW}px`;
    row.addEventListener("click", () => this.choose(step + 1));
    row.append(el("span", { class: "number", "aria-hidden": "true" }, String(step + 1 + (trace.kind === "live" ? trace.before : 0))));
    row.append(arrowOf(done, trace.roles, this.column ?? 140));
    return row;
  }
}

/** What a step looks like between the lines of its roles. @param {import("./model.js").Step} done @param {string[]} roles @param {number} column */
export function arrowOf(done, roles, column) {
  const centre = (/** @type {string|null} */ role) => column * (roles.indexOf(role ?? "") + 0.5);
  const svg = shape("svg", { class: "arrow", width: column * roles.length, height: ROW, "aria-hidden": "true" });
  roles.forEach((_, index) => {
    const x = column * (index + 0.5);
    svg.append(shape("line", { class: "life", x1: x, y1: 0, x2: x, y2: ROW }));
  });
  const receives = done.action === "receive";
  const from = centre(receives ? done.peer : done.role);
  const to = centre(receives ? done.role : done.peer);
  const y = ROW - 11;
  if (done.action === "end" || !roles.includes(done.peer ?? "") || !roles.includes(done.role)) {
    const x = centre(roles.includes(done.role) ? done.role : done.peer);
    svg.append(shape("circle", { class: "dot", cx: x, cy: y, r: 4 }));
    svg.append(shape("text", { x: x + 10, y: y + 4 }, cut(done.action === "end" ? done.text || "ends" : done.text, column - 16)));
    return svg;
  }
  if (from === to) {
    svg.append(shape("path", { class: "line", d: `M${from} ${y - 10}h22v10h-14` }));
    svg.append(shape("path", { class: "tip", d: `M${from + 4} ${y}l9 -4.5v9z` }));
    svg.append(shape("text", { x: from + 30, y: y - 1 }, cut(done.text, column - 40)));
    return svg;
  }
  const heading = Math.sign(to - from);
  svg.append(shape("line", { class: "line", x1: from, y1: y, x2: to - heading * 8, y2: y }));
  svg.append(shape("path", { class: "tip", d: `M${to - heading * 1} ${y}l${-heading * 9} -4.5v9z` }));
  if (done.action !== "exchange") svg.append(shape("circle", { class: "actor", cx: receives ? to : from, cy: y, r: 3.5 }));
  const width = Math.abs(to - from) - 20;
  svg.append(shape("text", { x: (from + to) / 2, y: y - 7, "text-anchor": "middle" }, cut(done.text, width)));
  return svg;
}
