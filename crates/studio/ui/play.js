// @ts-check
// Playing a protocol: be one role or several, choose among what is possible, and hear what the monitors say.
import { download } from "./diagram.js";
import { el, prose } from "./model.js";
import { Sequence } from "./sequence.js";

/** @typedef {{role: string, sends: boolean, peer: string, label: string, values: any[]}} Move */

export class PlayPanel {
  /** @param {(wish: object) => Promise<any>} ask @param {(traces: any[]) => void} step @param {(text: string) => void} toast */
  constructor(ask, step, toast) {
    this.ask = ask;
    this.step = step;
    this.toast = toast;
    /** @type {Move[]} */
    this.moves = [];
    /** Where each own move began, to take it back. @type {number[]} */
    this.marks = [];
    /** @type {Set<string>} */
    this.others = new Set();
    this.protocol = /** @type {string|null} */ (null);
    this.sequence = new Sequence(() => {});
    this.head = el("div", { class: "play-head" });
    this.word = el("div", { class: "word", role: "status" });
    this.choices = el("ul", { class: "choices", "aria-label": "what can be done now" });
    this.node = el("section", { class: "card play", "aria-label": "play" }, this.head, this.sequence.node, this.word, this.choices);
    this.node.hidden = true;
  }

  /** From the beginning; the first role is the user's. */
  async start() {
    this.moves = [];
    this.marks = [];
    this.others = new Set();
    this.node.hidden = false;
    await this.refresh();
    this.others = new Set((this.now?.roles ?? []).slice(1).map((/** @type {any} */ role) => role.name));
    await this.refresh();
  }

  async refresh() {
    try {
      this.now = await this.ask({ protocol: this.protocol, moves: this.moves, others: [...this.others] });
      this.moves = this.now.moves;
      this.draw();
    } catch (error) {
      this.head.replaceChildren(el("h2", {}, "Play"), el("p", {}, error.message));
      this.choices.replaceChildren();
      this.word.replaceChildren();
    }
  }

  /** @param {Move} move */
  async play(move) {
    this.marks.push(this.moves.length);
    this.moves = [...this.moves, move];
    await this.refresh();
    (this.choices.querySelector("button") ?? this.head.querySelector("button"))?.focus();
  }

  async back() {
    this.moves = this.moves.slice(0, this.marks.pop() ?? 0);
    const others = this.others;
    // They would move again at once.
    this.others = new Set();
    await this.refresh();
    this.others = others;
    this.drawHead();
  }

  drawHead() {
    const now = this.now;
    const roles = now.roles.map((/** @type {any} */ role) => {
      const box = el("input", { type: "checkbox", onchange: () => this.turn(role.name, box.checked) });
      box.checked = !this.others.has(role.name);
      return el("label", { class: "who" }, box, `${role.name} `, el("span", { class: "soft" }, role.over ? "over" : role.state));
    });
    const button = (/** @type {string} */ text, /** @type {() => void} */ act, on = true) => {
      const node = el("button", { type: "button", onclick: act }, text);
      node.disabled = !on;
      return node;
    };
    const which = el("select", { "aria-label": "which protocol", onchange: () => ((this.protocol = which.value), this.start()) }, ...now.protocols.map((/** @type {string} */ name) => el("option", { value: name }, name)));
    which.value = this.protocol ?? now.protocols[0] ?? "";
    which.hidden = now.protocols.length < 2;
    const any = this.moves.length > 0;
    this.head.replaceChildren(
      el("div", { class: "play-title" }, el("h2", {}, "Play"), which),
      el("fieldset", { class: "roles" }, el("legend", {}, "you are"), ...roles),
      el("div", { class: "buttons" }, button("Take back", () => this.back(), any), button("Again", () => this.start(), any), button("Step through", () => this.step([now.trace]), any), button("Save the run", () => this.save(), any)),
    );
  }

  draw() {
    const now = this.now;
    this.drawHead();
    this.sequence.node.hidden = !now.trace.steps.length;
    this.sequence.node.style.height = `${Math.min(280, 52 + 38 * now.trace.steps.length)}px`;
    this.sequence.grow({ ...now.trace, kind: "played" });
    this.word.className = now.verdict ? "word bad" : "word";
    if (now.verdict) this.word.replaceChildren(el("b", {}, `The monitor of ${now.verdict.role} objects: `), ...prose(now.verdict.message));
    else if (now.over) this.word.replaceChildren("The session is over: every role has come to its end.");
    else if (!now.choices.length) this.word.replaceChildren("Nothing is possible any more, and the session is not over.");
    else this.word.replaceChildren(this.moves.length ? "No monitor objects." : "Nothing has happened yet.");
    const mine = now.choices.filter((/** @type {any} */ choice) => !this.others.has(choice.role));
    this.choices.replaceChildren(...mine.map((/** @type {any} */ choice) => this.choice(choice)), now.over ? "" : this.anything());
    if (!mine.length && now.choices.length) this.choices.prepend(el("li", { class: "soft" }, "You have nothing to do now; others have."));
  }

  /** @param {any} choice */
  choice(choice) {
    const inputs = choice.fields.map((/** @type {any} */ field, /** @type {number} */ index) => {
      const input = el("input", { type: "text", size: 9, "aria-label": `${field.name || `field ${index + 1}`}: ${field.type}`, value: shown(choice.values[index]) });
      return el("label", { class: "field" }, `${field.name || field.type} `, input);
    });
    const act = () => {
      const values = choice.sends ? choice.fields.map((/** @type {any} */ field, /** @type {number} */ index) => read(inputs[index].querySelector("input").value, field.type)) : choice.values;
      this.play({ role: choice.role, sends: choice.sends, peer: choice.peer, label: choice.label, values });
    };
    const text = choice.sends ? `${choice.role} sends ${choice.label} to ${choice.peer}` : `${choice.role} takes ${choice.text} from ${choice.peer}`;
    const notes = [choice.assertion && `where ${choice.assertion}`, choice.objected && "its monitor would object"].filter(Boolean).join(" · ");
    return el("li", { class: choice.sends ? "sends" : "takes" }, el("button", { type: "button", onclick: act }, text), ...inputs, notes ? el("span", { class: "soft" }, notes) : null);
  }

  /** Something that the protocol may not allow. */
  anything() {
    const roles = this.now.roles.map((/** @type {any} */ role) => role.name);
    const select = (/** @type {string} */ label, /** @type {number} */ first) => {
      const node = el("select", { "aria-label": label }, ...roles.map((/** @type {string} */ name) => el("option", { value: name }, name)));
      node.selectedIndex = first;
      return node;
    };
    const [from, to] = [select("who sends", 0), select("to whom", 1)];
    const label = el("input", { type: "text", size: 12, placeholder: "Label", "aria-label": "label" });
    const values = el("input", { type: "text", size: 12, placeholder: '1, "text"', "aria-label": "values" });
    const act = () => {
      try {
        this.play({ role: from.value, sends: true, peer: to.value, label: label.value.trim(), values: JSON.parse(`[${values.value}]`) });
      } catch {
        this.toast('values are written as in JSON: 1, "text", true');
      }
    };
    return el("li", {}, el("details", {}, el("summary", {}, "Send something else, to see what the monitor says"), el("div", { class: "anything" }, from, "→", to, label, values, el("button", { type: "button", onclick: act }, "Send"))));
  }

  /** @param {string} role @param {boolean} mine */
  turn(role, mine) {
    if (mine) this.others.delete(role);
    else this.others.add(role);
    this.refresh();
  }

  /** The run as events that `referee watch` reads. */
  save() {
    const sent = this.moves.filter((move) => move.sends);
    const lines = sent.map((move) => JSON.stringify({ session: "played", from: move.role, to: move.peer, label: move.label, payload: move.values }));
    download("run.jsonl", new Blob([`${lines.join("\n")}\n`], { type: "application/x-ndjson" }));
  }
}

/** @param {any} value */
function shown(value) {
  return typeof value === "string" ? value : JSON.stringify(value);
}

/** What was typed into a field. @param {string} text @param {string} type */
function read(text, type) {
  if (type === "string" || type === "bytes") return text;
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
