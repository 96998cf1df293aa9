// @ts-check
// What a trace is, and what each of its steps leaves behind. No DOM here but the helper that builds it from text.

/**
 * @typedef {{role: string, action: "send"|"receive"|"exchange"|"end", peer: string|null, label: string, text: string,
 *   states: [number, number]|null, peer_states?: [number, number]|null, lines: [number, number]|null, wrong: boolean, bindings: [string, string][],
 *   note: string|null}} Step
 * @typedef {{from: number, to: number, lines: [number, number]}} MachineEdge
 * @typedef {{role: string, states: string[], svg: string|null, edges: MachineEdge[]}} Machine
 * @typedef {{kind: string, title: string, explanation: string, protocol: string|null, session: string|null,
 *   roles: string[], machines: Machine[], steps: Step[], point_of_no_return: number|null, loop_from: number|null,
 *   ending: string[], before: number, source: {name: string, text: string}|null}} Trace
 * @typedef {{states: Map<string, number>, queues: Map<string, {text: string, step: number}[]>, bindings: Map<string, string>}} Situation
 * @typedef {{role: string, text: string, label: string}} Filter
 */

/** So many steps lie between two situations that are kept. */
const STRIDE = 256;

/** The situations of a trace, each computed from the nearest one that is kept. */
export class Replay {
  /** @param {Trace} trace */
  constructor(trace) {
    this.trace = trace;
    const states = new Map(trace.machines.map((machine) => [machine.role, 0]));
    /** @type {Situation[]} */
    this.kept = [{ states, queues: new Map(), bindings: new Map() }];
  }

  /** The situation after `count` steps. @param {number} count @returns {Situation} */
  at(count) {
    const wanted = Math.floor(count / STRIDE);
    while (this.kept.length <= wanted) {
      const from = (this.kept.length - 1) * STRIDE;
      this.kept.push(this.play(this.kept[this.kept.length - 1], from, from + STRIDE));
    }
    return this.play(this.kept[wanted], wanted * STRIDE, count);
  }

  /** @param {Situation} start @param {number} from @param {number} to */
  play(start, from, to) {
    const queues = new Map([...start.queues].map(([channel, queue]) => [channel, [...queue]]));
    const now = { states: new Map(start.states), queues, bindings: new Map(start.bindings) };
    for (let index = from; index < Math.min(to, this.trace.steps.length); index += 1) step(now, this.trace.steps[index], index);
    return now;
  }
}

/** @param {Situation} now @param {Step} done @param {number} index */
function step(now, done, index) {
  if (done.states) now.states.set(done.role, done.states[1]);
  if (done.peer_states && done.peer) now.states.set(done.peer, done.peer_states[1]);
  for (const [name, value] of done.bindings) now.bindings.set(name, value);
  if (done.action === "send") {
    const channel = `${done.role} → ${done.peer}`;
    if (!now.queues.has(channel)) now.queues.set(channel, []);
    if (!(done.note ?? "").includes("lossy")) now.queues.get(channel)?.push({ text: done.text, step: index });
  } else if (done.action === "receive") {
    const queue = now.queues.get(`${done.peer} → ${done.role}`) ?? [];
    const at = queue.findIndex((entry) => entry.text === done.text);
    if (at >= 0 && !(done.note ?? "").includes("duplicate")) queue.splice(at, 1);
  }
}

/** A step in words. @param {Step} done */
export function sentence(done) {
  if (done.action === "send") return `${done.role} sends ${done.text} to ${done.peer}`;
  if (done.action === "receive") return `${done.role} receives ${done.text} from ${done.peer}`;
  if (done.action === "end") return `${done.role} ends`;
  return `${done.role} → ${done.peer ?? "?"}: ${done.text}`;
}

/** Whether a step is shown. @param {Step} done @param {Filter} filter */
export function matches(done, filter) {
  if (filter.role && done.role !== filter.role && done.peer !== filter.role) return false;
  if (filter.label && done.label !== filter.label) return false;
  return !filter.text || sentence(done).toLowerCase().includes(filter.text.toLowerCase());
}

/**
 * An element. Children that are strings become text: nothing that a trace says is ever read as HTML.
 * @param {string} tag @param {Record<string, any>} [attributes] @param {...(Node|string|null|undefined)} children
 * @returns {any}
 */
export function el(tag, attributes = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else if (value === true) node.setAttribute(name, "");
    else if (value !== false && value !== null && value !== undefined) node.setAttribute(name, String(value));
  }
  node.append(...children.filter((child) => child !== null && child !== undefined));
  return node;
}

/** `text` with what stands between backticks as code. @param {string} text @returns {(Node|string)[]} */
export function prose(text) {
  return text.split("`").map((part, index) => (index % 2 ? el("code", {}, part) : part));
}

/**
 * Tabs: one of them is chosen, with the pointer or the arrow keys.
 * @param {string} label @param {string[]} names @param {number} chosen @param {(index: number) => void} turn
 */
export function tabList(label, names, chosen, turn) {
  const choose = (/** @type {number} */ index) => {
    tabs.forEach((tab, other) => {
      tab.setAttribute("aria-selected", String(other === index));
      tab.tabIndex = other === index ? 0 : -1;
    });
    turn(index);
  };
  const tabs = names.map((name, index) => el("button", { type: "button", role: "tab", "aria-selected": String(index === chosen), tabindex: index === chosen ? 0 : -1, onclick: () => choose(index) }, name));
  const key = (/** @type {KeyboardEvent} */ event) => {
    const at = tabs.findIndex((tab) => tab === document.activeElement);
    const by = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (at < 0 || !by) return;
    event.preventDefault();
    event.stopPropagation();
    const next = (at + by + tabs.length) % tabs.length;
    choose(next);
    tabs[next].focus();
  };
  return el("div", { class: "tabs", role: "tablist", "aria-label": label, onkeydown: key }, ...tabs);
}

const adopted = new Set();

/** The picture that `svg` describes; its style is adopted by the page once. @param {string} svg @returns {Element|null} */
export function picture(svg) {
  // The policy refuses style elements, and would complain of each.
  const plain = svg.replace(/<style>([^<]*)<\/style>/, (_, text) => {
    if (!adopted.has(text)) {
      const sheet = new CSSStyleSheet();
      sheet.replaceSync(text);
      document.adoptedStyleSheets = [...document.adoptedStyleSheets, sheet];
      adopted.add(text);
    }
    return "";
  });
  const root = new DOMParser().parseFromString(plain, "image/svg+xml").documentElement;
  return root.nodeName === "svg" ? document.importNode(root, true) : null;
}

/**
 * Says which lines of the text a transition under the pointer comes from, and leads there.
 * @param {Element} image @param {MachineEdge[]} edges @param {(lines: [number, number]|null) => void} mark @param {(line: number) => void} jump
 */
export function linkEdges(image, edges, mark, jump) {
  const linesOf = (/** @type {EventTarget|null} */ target) => {
    const edge = target instanceof Element ? target.closest(".rd-edge") : null;
    if (!edge) return null;
    return edges.find((one) => String(one.from) === edge.getAttribute("data-from") && String(one.to) === edge.getAttribute("data-to"))?.lines ?? null;
  };
  image.addEventListener("mouseover", (event) => mark(linesOf(event.target)));
  image.addEventListener("mouseleave", () => mark(null));
  image.addEventListener("click", (event) => {
    const lines = linesOf(event.target);
    if (lines) jump(lines[0]);
  });
}

/** Lights the transitions that come from `line`. @param {Element|null|undefined} image @param {MachineEdge[]} edges @param {number} line */
export function lightEdges(image, edges, line) {
  for (const edge of image?.querySelectorAll(".rd-edge") ?? []) {
    const is = edges.some((one) => String(one.from) === edge.getAttribute("data-from") && String(one.to) === edge.getAttribute("data-to") && one.lines[0] <= line && line <= one.lines[1]);
    edge.classList.toggle("hot", is);
  }
}
