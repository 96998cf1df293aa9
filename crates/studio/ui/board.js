// @ts-check
// What the live view knows: guards, their sessions, rates and verdicts, as their events tell; and the messages of a session,
// joined across the monitors that saw them. No DOM here.

/**
 * @typedef {{role: string, phase: string, state: number, waits_on: string, waits_for: string|null, messages: number, violations: number}} RoleRow
 * @typedef {{key: string, places: {guard: number, session: string}[], listener: string, network: boolean, source: string, state: string,
 *   waits: string, roles: string[], messages: number, violations: number, since: number, changed: number, gone: string|null, inspecting: boolean}} Row
 * @typedef {{guard: number, verdict: any, at: number}} Verdict
 * @typedef {{name: string, connected: boolean, error: string, dropped: number, more: number, listeners: any[], network: any}} GuardInfo
 * @typedef {{name: string, guard: number, open: number, messages: number[], verdicts: number, last: any, at: number}} Rate
 * @typedef {{text: string, role: string, state: string, listener: string, since: number, order: string}} BoardFilter
 */

/** So many verdicts are kept; and so many sessions that are over. */
const MAX_VERDICTS = 500;
const MAX_GONE = 200;
/** So many points has a chart: a minute. */
const MAX_POINTS = 120;
/** So many messages are kept of each monitor of a session that is followed. */
const MAX_FOLLOWED = 20_000;

export class Board {
  /** @param {string[]} names @param {() => number} clock */
  constructor(names, clock = Date.now) {
    this.clock = clock;
    /** @type {GuardInfo[]} */
    this.guards = names.map((name) => ({ name, connected: false, error: "", dropped: 0, more: 0, listeners: [], network: null }));
    /** @type {Map<string, Row>} */
    this.sessions = new Map();
    /** Of each place in a network session, how its roles stand. @type {Map<string, RoleRow[]>} */
    this.roles = new Map();
    /** @type {Verdict[]} */
    this.verdicts = [];
    /** @type {Map<string, Rate>} */
    this.rates = new Map();
    this.verdictCount = 0;
  }

  /** @param {string} name @param {number} guard @param {any} data */
  apply(name, guard, data) {
    const info = this.guards[guard];
    if (!info) return;
    if (name === "hello") {
      Object.assign(info, { connected: true, error: "", listeners: data.listeners, network: data.network });
      // It may have been started again: its sessions are told anew.
      for (const row of [...this.sessions.values()]) this.leave(row, guard, null);
      for (const [key, rate] of this.rates) if (rate.guard === guard) this.rates.delete(key);
    } else if (name === "unreachable") {
      Object.assign(info, { connected: false, error: data });
      for (const row of [...this.sessions.values()]) this.leave(row, guard, null);
    } else if (name === "sessions") {
      info.more = data.more;
      for (const session of data.sessions) this.update(guard, session);
      for (const id of data.gone) {
        for (const key of [`${guard}:${id}`, `n:${id}`]) {
          const row = this.sessions.get(key);
          if (row) this.leave(row, guard, id);
        }
      }
      if (data.gone.length) this.trim();
    } else if (name === "rates") {
      for (const one of data) this.rate(guard, one);
    } else if (name === "verdict") {
      this.verdictCount += 1;
      const row = this.sessions.get(keyOf(guard, data));
      if (row && data.verdict === "violation") row.violations = Math.max(1, row.violations);
      this.verdicts.unshift({ guard, verdict: data, at: this.clock() });
      this.verdicts.length = Math.min(this.verdicts.length, MAX_VERDICTS);
    } else if (name === "end") {
      const row = this.sessions.get(keyOf(guard, data));
      if (row) row.gone = data.why;
    } else if (name === "dropped") {
      info.dropped += data.events;
    }
  }

  /** @param {number} guard @param {any} session */
  update(guard, session) {
    const now = this.clock();
    const key = keyOf(guard, session);
    const before = this.sessions.get(key);
    const network = Boolean(session.network_session);
    /** @type {Row} */
    const row = before ?? {
      key, places: [], listener: session.listener, network, source: session.source ?? "", state: "", waits: "", roles: [], messages: 0,
      violations: 0, since: now - (session.milliseconds ?? 0), changed: now, gone: null, inspecting: true,
    };
    if (!row.places.some((place) => place.guard === guard)) row.places.push({ guard, session: session.session });
    row.gone = null;
    row.changed = now;
    if (network) {
      this.roles.set(`${guard}/${key}`, session.roles);
      this.joinRoles(row);
    } else {
      row.state = session.state;
      row.roles = this.guards[guard].listeners.find((listener) => listener.name === row.listener)?.roles ?? [];
      row.waits = session.awaits.join(", ");
      row.messages = session.messages;
      row.violations = session.violations;
      row.inspecting = session.inspecting;
    }
    this.sessions.set(key, row);
  }

  /** What the roles of a network session say together, wherever they are. @param {Row} row */
  joinRoles(row) {
    const roles = this.guards.flatMap((_, guard) => this.roles.get(`${guard}/${row.key}`) ?? []);
    row.roles = roles.map((role) => role.role);
    row.messages = roles.reduce((sum, role) => sum + role.messages, 0);
    row.violations = Math.max(row.violations, roles.reduce((sum, role) => sum + role.violations, 0));
    row.state = roles.every((role) => role.phase === "running") ? "running" : (roles.find((role) => role.phase !== "running")?.phase ?? "");
    row.waits = roles
      .filter((role) => role.waits_on !== "end")
      .map((role) => `${role.role} ← ${role.waits_for ?? role.waits_on}`)
      .join(", ");
    row.source = row.places.map((place) => this.guards[place.guard].name).join(", ");
  }

  /** The session `id` (or any) of `guard` is not under way any more. @param {Row} row @param {number} guard @param {string|null} id */
  leave(row, guard, id) {
    if (!row.places.some((place) => place.guard === guard && (id === null || place.session === id))) return;
    row.places = row.places.filter((place) => place.guard !== guard);
    if (row.places.length) return;
    row.gone ??= "over";
    row.changed = this.clock();
  }

  /** Forgets the oldest sessions that are over; those with violations stay longest. */
  trim() {
    const gone = [...this.sessions.values()].filter((one) => !one.places.length);
    gone.sort((a, b) => Number(a.violations > 0) - Number(b.violations > 0) || a.changed - b.changed);
    for (const old of gone.slice(0, Math.max(0, gone.length - MAX_GONE))) {
      this.sessions.delete(old.key);
      this.guards.forEach((_, guard) => this.roles.delete(`${guard}/${old.key}`));
    }
  }

  /** @param {number} guard @param {any} totals */
  rate(guard, totals) {
    const now = this.clock();
    const key = `${guard}/${totals.name}`;
    const rate = this.rates.get(key) ?? { name: totals.name, guard, open: 0, messages: [], verdicts: 0, last: totals, at: now };
    const seconds = (now - rate.at) / 1000;
    if (seconds > 0) rate.messages.push(Math.max(0, (totals.messages - rate.last.messages) / seconds));
    if (rate.messages.length > MAX_POINTS) rate.messages.shift();
    Object.assign(rate, { open: totals.open, verdicts: totals.verdicts, last: totals, at: now });
    this.rates.set(key, rate);
  }

  /** The sessions to list, in order. @param {BoardFilter} filter @returns {Row[]} */
  rows(filter) {
    const now = this.clock();
    const text = filter.text.toLowerCase();
    const rows = [...this.sessions.values()].filter((row) => {
      if (filter.listener && row.listener !== filter.listener) return false;
      if (filter.role && !row.roles.includes(filter.role)) return false;
      if (filter.state === "open" && row.gone) return false;
      if (filter.state === "over" && !row.gone) return false;
      if (filter.state === "wrong" && !row.violations) return false;
      if (filter.since && now - row.since > filter.since * 1000) return false;
      return !text || [row.key, row.listener, row.source, row.state, row.waits].some((field) => field.toLowerCase().includes(text));
    });
    const newest = (/** @type {Row} */ a, /** @type {Row} */ b) => b.since - a.since || (a.key < b.key ? 1 : -1);
    const orders = {
      violations: (/** @type {Row} */ a, /** @type {Row} */ b) => Number(b.violations > 0) - Number(a.violations > 0) || Number(Boolean(a.gone)) - Number(Boolean(b.gone)) || newest(a, b),
      newest,
      busiest: (/** @type {Row} */ a, /** @type {Row} */ b) => b.messages - a.messages || newest(a, b),
      quietest: (/** @type {Row} */ a, /** @type {Row} */ b) => Number(Boolean(a.gone)) - Number(Boolean(b.gone)) || a.changed - b.changed,
    };
    return rows.sort(orders[/** @type {keyof orders} */ (filter.order)] ?? orders.violations);
  }

  /** All names that sessions have. @param {(row: Row) => string[]} names */
  names(names) {
    return [...new Set([...this.sessions.values()].flatMap(names))].sort();
  }
}

/** Sessions of a network have one name in all guards; others are numbered by each. @param {number} guard @param {any} session */
export function keyOf(guard, session) {
  return session.network_session ? `n:${session.network_session}` : `${guard}:${session.session}`;
}

/**
 * @typedef {{number: number, from: string, to: string, text: string, wrong: boolean, at: number, note: string|null}} Heard
 * @typedef {{role: string|null, heard: Heard[]}} Monitor
 */

/** The messages of one session, as each of its monitors saw them. */
export class Conversation {
  constructor() {
    /** @type {Map<string, Monitor>} */
    this.monitors = new Map();
    /** The number of the next message of each. @type {Map<string, number>} */
    this.next = new Map();
    this.before = 0;
    this.missed = 0;
    this.clock = 0;
  }

  /** @param {number} guard @param {{role: string|null, messages: any[]}} data */
  add(guard, data) {
    const key = `${guard}/${data.role ?? ""}`;
    const monitor = this.monitors.get(key) ?? { role: data.role, heard: [] };
    const first = data.messages[0]?.number ?? 0;
    const next = this.next.get(key);
    if (next === undefined) this.before += first;
    else this.missed += Math.max(0, first - next);
    this.next.set(key, (data.messages.at(-1)?.number ?? first - 1) + 1);
    this.clock += 1;
    for (const message of data.messages) monitor.heard.push({ ...message, at: this.clock, note: null });
    if (monitor.heard.length > MAX_FOLLOWED) this.missed += monitor.heard.splice(0, monitor.heard.length - MAX_FOLLOWED).length;
    this.monitors.set(key, monitor);
  }

  /** A verdict about something that is no message of the diagram yet is shown in it. @param {number} guard @param {any} verdict */
  judge(guard, verdict) {
    const own = this.monitors.get(`${guard}/`) ?? this.monitors.get(`${guard}/${verdict.role}`);
    const monitor = own ?? { role: null, heard: [] };
    if (!own) this.monitors.set(`${guard}/`, monitor);
    const last = monitor.heard.at(-1);
    if (last?.wrong && last.note === null) {
      last.note = verdict.message;
      return;
    }
    this.clock += 1;
    const text = verdict.got ?? verdict.kind;
    monitor.heard.push({ number: -1, from: verdict.blame ?? verdict.role ?? "", to: "", text, wrong: true, at: this.clock, note: verdict.message });
  }

  /** The steps of the diagram: what each monitor saw in its order, and a message received after it was sent. */
  steps() {
    const monitors = [...this.monitors.values()];
    const here = new Set(monitors.map((monitor) => monitor.role).filter((role) => role !== null));
    const places = monitors.map(() => 0);
    /** What is on its way, by channel. @type {Map<string, string[]>} */
    const sent = new Map();
    /** @type {import("./model.js").Step[]} */
    const steps = [];
    const action = (/** @type {Monitor} */ monitor, /** @type {Heard} */ heard) => {
      if (heard.number < 0) return "end";
      if (monitor.role === heard.from && here.has(heard.to)) return "send";
      if (monitor.role === heard.to && here.has(heard.from)) return "receive";
      return "exchange";
    };
    const comes = (/** @type {Monitor} */ monitor, /** @type {number} */ from, /** @type {Heard} */ wanted) =>
      monitor.heard.slice(from).some((heard) => heard.from === wanted.from && heard.to === wanted.to && heard.text === wanted.text);
    for (;;) {
      let best = -1;
      let forced = -1;
      monitors.forEach((monitor, index) => {
        const heard = monitor.heard[places[index]];
        if (!heard) return;
        const earlier = (/** @type {number} */ other) => other < 0 || heard.at < monitors[other].heard[places[other]].at;
        if (earlier(forced)) forced = index;
        if (action(monitor, heard) === "receive" && !sent.get(`${heard.from}>${heard.to}`)?.includes(heard.text)) {
          const sender = monitors.findIndex((other) => other.role === heard.from);
          // It was sent before anybody looked, if its sender never says so.
          if (sender >= 0 && comes(monitors[sender], places[sender], heard)) return;
        }
        if (earlier(best)) best = index;
      });
      const index = best >= 0 ? best : forced;
      if (index < 0) return steps;
      const monitor = monitors[index];
      const heard = monitor.heard[places[index]];
      places[index] += 1;
      const does = action(monitor, heard);
      const channel = `${heard.from}>${heard.to}`;
      if (does === "send") sent.set(channel, [...(sent.get(channel) ?? []), heard.text]);
      if (does === "receive") sent.get(channel)?.splice(sent.get(channel)?.indexOf(heard.text) ?? 0, 1);
      const [role, peer] = does === "receive" ? [heard.to, heard.from] : [heard.from, heard.to];
      const step = { role, peer: peer || null, label: heard.text.split("(")[0], text: heard.text, states: null, lines: null, wrong: heard.wrong, note: heard.note };
      steps.push({ ...step, action: /** @type {any} */ (does), bindings: [] });
    }
  }
}

/** `1.2k` @param {number} value */
export function short(value) {
  if (value >= 1e6) return `${(value / 1e6).toFixed(1)}M`;
  if (value >= 1e4) return `${Math.round(value / 1e3)}k`;
  if (value >= 1e3) return `${(value / 1e3).toFixed(1)}k`;
  return String(Math.round(value));
}

/** `3 min` @param {number} milliseconds */
export function duration(milliseconds) {
  const seconds = Math.max(0, Math.round(milliseconds / 1000));
  if (seconds < 60) return `${seconds} s`;
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min`;
  return `${Math.floor(seconds / 3600)} h ${Math.floor((seconds % 3600) / 60)} min`;
}
