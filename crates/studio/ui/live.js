// @ts-check
// The live view: the sessions of running guards as they happen, one of them message by message, verdicts and rates.
import { Board, Conversation, duration, keyOf, short } from "./board.js";
import { el, prose } from "./model.js";
import { Sequence, shape } from "./sequence.js";

const LINE = 34;
const MARGIN = 10;
/** The list is drawn anew so often, in milliseconds. */
const REDRAW = 250;
/** So many verdicts are in the page. */
const SHOWN_VERDICTS = 60;
/** So many verdicts about one session. */
const MAX_FINDINGS = 50;
const AGAIN = 1000;

/**
 * Calls `heard` with each event of a stream, which is opened again when it ends unless `once`. What is returned closes it.
 * A page that nobody sees has none: a browser opens six connections to a server, and there may be more tabs.
 * @param {string} path @param {(name: string, guard: number, data: any) => void} heard @param {boolean} once
 */
function listen(path, heard, once) {
  /** @type {EventSource|null} */
  let source = null;
  let closed = false;
  const turned = () => {
    if (!document.hidden) return open();
    source?.close();
    source = null;
  };
  const open = () => {
    if (closed || document.hidden || source) return;
    source = new EventSource(path);
    for (const name of ["hello", "sessions", "rates", "verdict", "end", "dropped", "unreachable", "messages", "state", "gone"]) {
      source.addEventListener(name, (event) => {
        const { guard, data } = JSON.parse(/** @type {MessageEvent} */ (event).data);
        heard(name, guard, data);
      });
    }
    source.addEventListener("error", () => {
      source?.close();
      source = null;
      if (once) closed = true;
      else setTimeout(open, AGAIN);
    });
  };
  document.addEventListener("visibilitychange", turned);
  open();
  return () => {
    closed = true;
    document.removeEventListener("visibilitychange", turned);
    source?.close();
  };
}

export class LiveView {
  /** @param {{guards: string[]}} overview */
  constructor(overview) {
    this.board = new Board(overview.guards);
    this.filter = { text: "", role: "", state: "", listener: "", since: 0, order: "violations" };
    /** @type {import("./board.js").Row[]} */
    this.rows = [];
    this.chosen = "";
    /** The lines in the page, by session. @type {Map<string, any>} */
    this.drawn = new Map();
    /** @type {(() => void)|null} */
    this.stop = null;
    this.build();
    listen("/api/live", (name, guard, data) => this.heard(name, guard, data), false);
    setInterval(() => this.node.isConnected && this.redraw(), REDRAW);
    addEventListener("hashchange", () => this.open());
  }

  build() {
    const options = (/** @type {[string, string][]} */ pairs) => pairs.map(([value, text]) => el("option", { value }, text));
    const select = (/** @type {string} */ label, /** @type {[string, string][]} */ pairs, /** @type {(value: string) => void} */ set) => {
      const node = el("select", { "aria-label": label, onchange: () => (set(node.value), this.redraw()) }, ...options(pairs));
      return node;
    };
    this.search = el("input", { type: "search", placeholder: "filter sessions", "aria-label": "filter sessions", oninput: () => ((this.filter.text = this.search.value.trim()), this.redraw()) });
    this.listener = select("protocol or listener", [["", "all protocols"]], (value) => (this.filter.listener = value));
    this.role = select("role", [["", "all roles"]], (value) => (this.filter.role = value));
    const state = select("state", [["", "open and over"], ["open", "open"], ["over", "over"], ["wrong", "with violations"]], (value) => (this.filter.state = value));
    const since = select("begun", [["0", "since any time"], ["10", "last 10 s"], ["60", "last minute"], ["600", "last 10 minutes"]], (value) => (this.filter.since = Number(value)));
    const order = select("order", [["violations", "violations first"], ["newest", "newest first"], ["busiest", "busiest first"], ["quietest", "longest quiet first"]], (value) => (this.filter.order = value));
    this.found = el("span", { class: "found", role: "status" });
    this.guards = el("ul", { class: "guards", "aria-label": "guards" });
    this.charts = el("div", { class: "charts" });
    this.lines = el("div", { class: "lines" });
    const head = el("div", { class: "line head-line", "aria-hidden": "true" }, ...["", "session", "protocol", "state", "waits for", "messages", "for"].map((text) => el("span", {}, text)));
    this.list = el("div", { class: "list", role: "listbox", tabindex: "0", "aria-label": "sessions" }, head, this.lines);
    this.list.addEventListener("scroll", () => this.drawLines(), { passive: true });
    this.list.addEventListener("keydown", (/** @type {KeyboardEvent} */ event) => this.key(event));
    new ResizeObserver(() => this.drawLines()).observe(this.list);
    this.verdicts = el("section", { class: "card feed", "aria-label": "verdicts" });
    this.sequence = new Sequence(() => {});
    this.facts = el("section", { class: "card", "aria-label": "session" });
    this.findings = el("div", { class: "findings", "aria-live": "polite", tabindex: "0", role: "group", "aria-label": "verdicts about this session" });
    this.one = el("section", { class: "one", "aria-label": "one session" }, this.facts, this.findings, this.sequence.node);
    const empty = el("p", { class: "soft hint" }, "Choose a session to follow it: ↑ ↓ and Enter in the list, or a click.");
    this.detail = el("div", { class: "detail" }, empty);
    this.node = el(
      "main",
      { class: "live" },
      el("div", { class: "bar" }, this.search, this.listener, this.role, state, since, order, this.found),
      this.guards,
      el("div", { class: "panes" }, el("div", { class: "board" }, this.charts, this.list, this.verdicts), this.detail),
    );
    this.drawVerdicts();
  }

  /** @param {string} name @param {number} guard @param {any} data */
  heard(name, guard, data) {
    this.board.apply(name, guard, data);
    if (name === "verdict") this.feed ??= requestAnimationFrame(() => ((this.feed = undefined), this.drawVerdicts()));
    if (name === "hello" || name === "unreachable" || name === "dropped") this.drawGuards();
    if (name === "rates") this.drawCharts();
    // What the address names is followed as soon as it is known.
    if (name === "sessions" && !this.chosen) this.open();
  }

  /** Follows the session that the address names. */
  open() {
    const key = new URLSearchParams(location.hash.slice(1)).get("live");
    if (key && key !== this.chosen && this.board.sessions.get(key)?.places.length) this.follow(key);
  }

  redraw() {
    this.rows = this.board.rows(this.filter);
    const all = this.board.sessions.size;
    const more = this.board.guards.reduce((sum, guard) => sum + guard.more, 0);
    this.found.textContent = (this.rows.length === all ? (all === 1 ? "1 session" : `${all} sessions`) : `${this.rows.length} of ${all} sessions`) + (more ? ` and ${more} more` : "");
    this.fill(this.listener, "all protocols", this.board.names((row) => [row.listener]));
    this.fill(this.role, "all roles", this.board.names((row) => row.roles));
    this.drawLines();
  }

  /** @param {any} node @param {string} all @param {string[]} names */
  fill(node, all, names) {
    if (node.options.length === names.length + 1 && names.every((name, index) => node.options[index + 1].value === name)) return;
    const value = node.value;
    node.replaceChildren(el("option", { value: "" }, all), ...names.map((name) => el("option", { value: name }, name)));
    node.value = names.includes(value) ? value : "";
  }

  drawGuards() {
    this.guards.replaceChildren(
      ...this.board.guards.map((guard) => {
        const words = guard.connected ? `${guard.name}: connected` : `${guard.name}: ${guard.error || "connecting"}`;
        const missed = guard.dropped ? ` · ${guard.dropped} events were dropped, because this page was too slow` : "";
        return el("li", { class: guard.connected ? "on" : "off" }, words + missed);
      }),
    );
  }

  drawCharts() {
    const rates = [...this.board.rates.values()];
    this.charts.replaceChildren(
      ...rates.slice(0, 6).map((rate) => {
        const now = rate.messages.at(-1) ?? 0;
        const name = this.board.guards.length > 1 ? `${this.board.guards[rate.guard].name} · ${rate.name}` : rate.name;
        const words = `${name}: ${short(now)} messages a second, ${rate.open} open sessions, ${rate.verdicts} verdicts`;
        return el(
          "figure",
          { class: "chart", role: "img", "aria-label": words },
          el("figcaption", {}, name),
          el("div", { class: "figures" }, figure(short(now), "msg/s"), figure(short(rate.open), "open"), figure(short(rate.verdicts), "verdicts", rate.verdicts > 0)),
          spark(rate.messages),
        );
      }),
    );
  }

  /** The lines in sight. */
  drawLines() {
    const now = Date.now();
    const first = Math.max(0, Math.floor((this.list.scrollTop - LINE) / LINE) - MARGIN);
    const last = Math.min(this.rows.length, Math.ceil((this.list.scrollTop + this.list.clientHeight) / LINE) + MARGIN);
    this.lines.style.height = `${this.rows.length * LINE}px`;
    /** @type {Map<string, any>} */
    const drawn = new Map();
    this.rows.slice(first, last).forEach((row, offset) => {
      // The same element for the same session, so that a click does not fall between two.
      const line = this.drawn.get(row.key) ?? this.line(row.key);
      drawn.set(row.key, line);
      const kind = row.violations ? "bad" : row.gone ? "over" : row.inspecting ? "good" : "blind";
      const mark = { bad: "✗", over: "■", good: "●", blind: "○" }[kind];
      const name = row.network ? row.key.slice(2, 10) : row.key.split(":")[1];
      const cells = [mark, name, row.listener, row.gone ? `over: ${row.gone}` : row.state, row.gone ? "" : row.waits || "–", `${row.messages}`, duration((row.gone ? row.changed : now) - row.since)];
      const titles = [{ bad: "with violations", over: "over", good: "under way", blind: "not looked at" }[kind], ...cells.slice(1)];
      cells.forEach((text, index) => {
        const cell = line.children[index];
        if (cell.textContent !== text) cell.textContent = text;
        if (cell.title !== titles[index]) cell.title = titles[index];
      });
      const is = row.key === this.chosen;
      line.className = `line ${kind}${is ? " chosen" : ""}`;
      line.setAttribute("aria-selected", String(is));
      line.style.top = `${(first + offset) * LINE}px`;
    });
    for (const [key, line] of this.drawn) if (!drawn.has(key)) line.remove();
    let before = null;
    for (const line of drawn.values()) {
      // For screen readers the order in the page is that of the list.
      const place = before ? before.nextSibling : this.lines.firstChild;
      if (place !== line) this.lines.insertBefore(line, place);
      before = line;
    }
    this.drawn = drawn;
    const active = this.rows.some((row) => row.key === this.chosen) ? `line-${this.chosen}` : "";
    this.list.setAttribute("aria-activedescendant", active);
  }

  /** @param {string} key */
  line(key) {
    return el("div", { role: "option", id: `line-${key}`, onclick: () => this.follow(key) }, ...Array.from({ length: 7 }, () => el("span")));
  }

  drawVerdicts() {
    const shown = this.board.verdicts.slice(0, SHOWN_VERDICTS);
    const count = this.board.verdictCount;
    const items = shown.map(({ guard, verdict, at }) => {
      const time = new Date(verdict.time ?? at).toLocaleTimeString();
      const key = keyOf(guard, verdict);
      const open = el("button", { type: "button", class: "problem-head", onclick: () => this.follow(key, { guard, verdict }) }, `${time} · session ${verdict.network_session?.slice(0, 8) ?? verdict.session} · ${verdict.kind}`);
      return el("li", { class: verdict.certain ? "" : "warning" }, open, el("div", {}, ...prose(verdict.message)));
    });
    const title = count ? `${count} verdict${count === 1 ? "" : "s"} since this page was opened` : "No verdict since this page was opened";
    this.verdicts.replaceChildren(el("h2", {}, title), el("ul", { class: "problems", tabindex: items.length ? "0" : null, "aria-label": "verdicts, newest first" }, ...items));
  }

  /** @param {string} key @param {{guard: number, verdict: any}} [about] */
  follow(key, about) {
    this.stop?.();
    this.chosen = key;
    this.conversation = new Conversation();
    /** What is known of it: by guard. @type {Map<number, any>} */
    this.views = new Map();
    this.over = "";
    this.findings.replaceChildren();
    this.detail.replaceChildren(this.one);
    const row = this.board.sessions.get(key);
    const places = row?.places ?? [];
    if (places.length) {
      const query = places.map((place) => `session=${place.guard}:${place.session}`).join("&");
      this.stop = listen(`/api/follow?${query}`, (name, guard, data) => this.heardOne(name, guard, data), true);
    } else {
      this.over = row?.gone ?? "over";
    }
    // What was said before somebody followed it is said again.
    for (const known of [...this.board.verdicts].reverse()) {
      if (keyOf(known.guard, known.verdict) === key) this.find(known.guard, known.verdict, !places.length);
    }
    if (about && !this.findings.children.length) this.find(about.guard, about.verdict, !places.length);
    history.replaceState(null, "", `#live=${encodeURIComponent(key)}`);
    this.drawOne();
    this.drawLines();
  }

  /** @param {string} name @param {number} guard @param {any} data */
  heardOne(name, guard, data) {
    const conversation = /** @type {Conversation} */ (this.conversation);
    if (name === "messages") conversation.add(guard, data);
    else if (name === "state") this.views?.set(guard, data);
    else if (name === "verdict") this.find(guard, data, true);
    else if (name === "end") this.over = data.why;
    else if (name === "gone") this.over ||= "over";
    else if (name === "unreachable") this.over ||= data;
    else return;
    this.soon ??= requestAnimationFrame(() => {
      this.soon = undefined;
      this.drawOne();
    });
  }

  /** A verdict about the session that is followed. @param {number} guard @param {any} verdict @param {boolean} draw */
  find(guard, verdict, draw) {
    const same = JSON.stringify([guard, verdict.event, verdict.kind, verdict.message]);
    if ([...this.findings.children].some((card) => card.getAttribute("data-verdict") === same)) return;
    const conversation = /** @type {Conversation} */ (this.conversation);
    if (draw && !conversation.monitors.size) recall(conversation, guard, verdict);
    if (draw) conversation.judge(guard, verdict);
    this.findings.prepend(finding(verdict, same));
    if (this.findings.children.length > MAX_FINDINGS) this.findings.lastElementChild?.remove();
  }

  drawOne() {
    const conversation = /** @type {Conversation} */ (this.conversation);
    const steps = conversation.steps();
    const row = this.board.sessions.get(this.chosen);
    const names = row?.roles.length ? row.roles : [];
    const roles = [...new Set([...names, ...steps.flatMap((step) => [step.role, step.peer ?? ""])])].filter(Boolean);
    this.sequence.grow({
      kind: "live", title: "", explanation: "", protocol: null, session: this.chosen, roles, machines: [], steps, point_of_no_return: null,
      loop_from: null, ending: [], before: conversation.before, source: null,
    });
    const name = this.chosen.startsWith("n:") ? this.chosen.slice(2) : this.chosen.split(":")[1];
    const state = this.over ? `over: ${this.over}` : "under way";
    const earlier = [];
    const messages = (/** @type {number} */ count) => (count === 1 ? "1 message" : `${count} messages`);
    if (conversation.before) earlier.push(`${messages(conversation.before)} came before anybody looked`);
    if (conversation.missed) earlier.push(`${messages(conversation.missed)} came too fast for this page`);
    this.facts.replaceChildren(
      el("h2", {}, `Session ${name} `, el("span", { class: this.over ? "tag" : "tag on" }, state)),
      ...[...(this.views?.values() ?? [])].map((view) => facts(view)),
      ...(earlier.length ? [el("p", { class: "soft" }, earlier.join(" · "))] : []),
    );
  }

  /** @param {KeyboardEvent} event */
  key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const at = this.rows.findIndex((row) => row.key === this.chosen);
    const moves = { ArrowDown: at + 1, j: at + 1, ArrowUp: Math.max(0, at - 1), k: Math.max(0, at - 1), Home: 0, End: this.rows.length - 1, Enter: Math.max(0, at), " ": Math.max(0, at) };
    if (!(event.key in moves)) return;
    const to = Math.min(moves[/** @type {keyof moves} */ (event.key)], this.rows.length - 1);
    event.preventDefault();
    if (to < 0) return;
    this.follow(this.rows[to].key);
    const top = to * LINE;
    if (top < this.list.scrollTop) this.list.scrollTop = top;
    if (top + 2 * LINE > this.list.scrollTop + this.list.clientHeight) this.list.scrollTop = top + 2 * LINE - this.list.clientHeight;
  }
}

/** The messages before `verdict`, where nobody followed the session. @param {Conversation} conversation @param {number} guard @param {any} verdict */
function recall(conversation, guard, verdict) {
  const recent = (verdict.recent ?? []).map((/** @type {string} */ line) => line.split(/: (.*)/s));
  const roles = [...new Set([...recent.map(([role]) => role), verdict.blame, verdict.role])].filter(Boolean);
  const messages = recent.map((/** @type {string[]} */ [from, text], /** @type {number} */ number) => {
    const to = roles.length === 2 ? (roles.find((role) => role !== from) ?? "") : "";
    return { number, from, to, text: text ?? "", wrong: false };
  });
  conversation.add(guard, { role: null, messages });
}

/** @param {any} verdict @param {string} same */
function finding(verdict, same) {
  const rows = [
    ["blamed", [verdict.blame, ...(verdict.blame_also ?? [])].filter(Boolean).join(", ") || "nobody: it is not known who"],
    ["came", verdict.got],
    ["expected", (verdict.expected ?? []).join(", ")],
    ["assertion", verdict.assertion],
    ["values", Object.entries(verdict.values ?? {}).map(([name, value]) => `${name} = ${JSON.stringify(value)}`).join(", ")],
    ["property", verdict.property],
    ["in the protocol", verdict.rule],
    ["consequence", verdict.consequence],
    ["what was done", verdict.action],
  ].filter(([, value]) => value);
  const title = `${verdict.kind}${verdict.certain ? "" : " (not certain)"}`;
  return el("section", { class: "card verdict", "data-verdict": same }, el("h2", {}, title), el("p", {}, ...prose(verdict.message)), list(/** @type {string[][]} */ (rows)));
}

/** How a session stands at one guard. @param {any} view */
function facts(view) {
  const roles = view.roles ? Object.values(view.roles) : null;
  if (roles) {
    const pairs = roles.map((role) => {
      const waits = role.waits_on === "end" ? "its part is over" : `waits for ${role.waits_for ?? `its ${role.waits_on}`}`;
      return [role.role, [`${role.phase}, state ${role.state}`, waits, role.expected?.length ? `expects ${role.expected.join(", ")}` : ""].filter(Boolean).join(" · ")];
    });
    return list(pairs);
  }
  const queues = (view.queues ?? []).filter((/** @type {any} */ queue) => queue.undecided_bytes || queue.unsent_bytes);
  return list([
    ["state", view.state],
    ["waits for", view.awaits?.join(", ")],
    ["expected", view.expected?.join(", ")],
    ["queued", queues.map((/** @type {any} */ queue) => `${queue.role}: ${queue.undecided_bytes} bytes undecided, ${queue.unsent_bytes} unsent`).join("; ")],
    ["from", [view.source, view.policy && `policy ${view.policy}`].filter(Boolean).join(" · ")],
    ["checked", view.inspecting ? "" : "no: the guard does not look at it"],
  ]);
}

/** @param {string[][]} pairs */
function list(pairs) {
  return el("dl", { class: "facts" }, ...pairs.filter(([, value]) => value).flatMap(([name, value]) => [el("dt", {}, name), el("dd", {}, value)]));
}

/** @param {string} value @param {string} unit @param {boolean} [bad] */
function figure(value, unit, bad) {
  return el("span", { class: bad ? "figure bad" : "figure" }, el("b", {}, value), ` ${unit}`);
}

/** @param {number[]} values */
function spark(values) {
  const [width, height] = [240, 36];
  const svg = shape("svg", { class: "spark", viewBox: `0 0 ${width} ${height}`, preserveAspectRatio: "none", "aria-hidden": "true" });
  const most = Math.max(1, ...values);
  const step = width / 119;
  const start = width - step * (values.length - 1);
  const points = values.map((value, index) => `${(start + index * step).toFixed(1)},${(height - 2 - (value / most) * (height - 6)).toFixed(1)}`);
  if (points.length > 1) {
    svg.append(shape("polygon", { class: "area", points: `${start.toFixed(1)},${height} ${points.join(" ")} ${width},${height}` }));
    svg.append(shape("polyline", { class: "curve", points: points.join(" ") }));
  }
  return svg;
}
