// @ts-check
// The page: data that stands in it (an exported file), or a server to ask.
import { el } from "./model.js";
import { TraceView } from "./trace.js";
import { ProtocolView } from "./protocol.js";
import { LiveView } from "./live.js";

const app = /** @type {HTMLElement} */ (document.getElementById("app"));

/** @param {string} path @param {object} body */
async function ask(path, body) {
  const response = await fetch(path, { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(body) });
  const answer = await response.json();
  if (!response.ok) throw new Error(answer.error ?? response.statusText);
  return answer;
}

/** @param {string} text */
function toast(text) {
  const shown = el("div", { class: "toast", role: "alert" }, text);
  document.body.append(shown);
  setTimeout(() => shown.remove(), 6000);
}

/** @param {string} title @param {string} name @param {Node[]} links */
function top(title, name, links) {
  return el("header", { class: "top" }, el("h1", {}, title), el("nav", { "aria-label": "views" }, ...links), el("span", { class: "name", title: name }, name));
}

/** What the page was asked to open, by its address or, inside an editor, by its first element. */
function opened() {
  const asked = new URLSearchParams(app.dataset.open ?? location.hash.slice(1));
  return { file: asked.get("file") ?? undefined, protocol: asked.get("protocol") ?? undefined, picture: asked.get("picture") ?? undefined };
}

/** @param {import("./model.js").Trace[]} traces */
function traceMain(traces) {
  if (traces.length) return new TraceView(traces).node;
  return el("main", {}, el("p", { class: "bar soft" }, "There is nothing to step through."));
}

/** @param {any} overview @param {(path: string, body: any) => Promise<any>} ask */
function page(overview, ask) {
  /** @type {import("./model.js").Trace[]} */
  let traces = overview.traces;
  /** @type {any} */
  let protocols = null;
  /** @type {any} */
  let live = null;
  const links = {
    trace: el("button", { type: "button", onclick: () => show("trace") }, "Traces"),
    protocol: el("button", { type: "button", onclick: () => show("protocol") }, "Protocols"),
    live: el("button", { type: "button", onclick: () => show("live") }, "Live"),
  };
  const head = top(overview.types ? "Referee studio" : "Referee", overview.title, [links.trace, links.protocol, links.live]);
  /** @param {"trace"|"protocol"|"live"} which */
  const show = (which) => {
    for (const [name, link] of Object.entries(links)) link.toggleAttribute("aria-current", false), name === which && link.setAttribute("aria-current", "page");
    if (which === "protocol") {
      protocols ??= new ProtocolView(overview, ask, toast, (/** @type {any[]} */ found) => {
        traces = found;
        history.replaceState(null, "", location.pathname);
        show("trace");
      }, opened());
      app.replaceChildren(head, protocols.node);
    } else if (which === "live") {
      live ??= new LiveView(overview);
      app.replaceChildren(head, live.node);
      live.list.focus();
    } else {
      const view = traceMain(traces);
      app.replaceChildren(head, view);
      view.querySelector(".sequence")?.focus();
    }
  };
  links.protocol.hidden = !overview.files.length;
  links.live.hidden = !overview.guards.length;
  links.trace.hidden = !traces.length && !overview.files.length;
  if (overview.guards.length && (location.hash.startsWith("#live") || !traces.length)) show("live");
  else show((traces.length && !opened().picture) || !overview.files.length ? "trace" : "protocol");
}

/** What an exported page holds, asked as a server is. @param {any} data @returns {(path: string, body: any) => Promise<any>} */
function held(data) {
  return async (path, body) => {
    const found = data.protocols.find((/** @type {any} */ one) => one.name === body.name);
    if (found && path === "/api/file") return found.file;
    if (found && path === "/api/check") return found.check;
    return {};
  };
}

const inside = document.getElementById("data");
if (inside) {
  const data = JSON.parse(inside.textContent ?? "{}");
  const files = data.protocols.map((/** @type {any} */ one) => one.name);
  page({ title: data.title, traces: data.traces, files, guards: [], edit: false, types: false }, held(data));
} else {
  ask("/api/overview", {}).then((overview) => page({ ...overview, types: true }, ask)).catch((error) => app.replaceChildren(el("main", {}, el("p", { class: "bar", role: "alert" }, error.message))));
}
