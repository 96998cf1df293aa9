// @ts-check
// A sequence diagram as one picture, to keep: SVG and PNG. Colours are in the picture itself, so that it looks the same anywhere.
import { sentence } from "./model.js";
import { arrowOf, shape } from "./sequence.js";

/** So many steps fit into a picture. */
export const MAX_DRAWN = 2_000;
const TALL = 38;
const TOP = 76;
const LEFT = 56;
const INK = "#1b1f24";
const FONT = "ui-monospace, 'DejaVu Sans Mono', Menlo, Consolas, monospace";

/** @param {import("./model.js").Trace} trace @param {number[]} shown steps; others are left out @returns {SVGElement} */
export function diagram(trace, shown) {
  const steps = shown.filter((step) => step >= 0).slice(0, MAX_DRAWN);
  const column = Math.max(150, Math.min(260, 900 / Math.max(1, trace.roles.length)));
  const width = LEFT + column * trace.roles.length + 16;
  const height = TOP + steps.length * TALL + 20;
  const svg = shape("svg", { xmlns: "http://www.w3.org/2000/svg", width, height, viewBox: `0 0 ${width} ${height}` });
  svg.append(shape("rect", { width, height, fill: "#ffffff" }));
  svg.append(shape("text", { x: 16, y: 26, fill: INK, "font-family": "system-ui, sans-serif", "font-size": 15, "font-weight": 600 }, trace.title));
  trace.roles.forEach((role, index) => {
    const x = LEFT + column * (index + 0.5);
    svg.append(shape("text", { x, y: 58, fill: INK, "text-anchor": "middle", "font-family": "system-ui, sans-serif", "font-size": 14, "font-weight": 600 }, role));
  });
  steps.forEach((step, at) => {
    const done = trace.steps[step];
    const row = shape("g", { transform: `translate(${LEFT} ${TOP + at * TALL})` });
    row.append(shape("title", {}, sentence(done)));
    row.append(shape("text", { x: -10, y: 31, fill: "#5d6775", "text-anchor": "end", "font-family": FONT, "font-size": 11.5 }, String(step + 1)));
    for (const child of [...arrowOf(done, trace.roles, column).children]) row.append(paint(child, done));
    svg.append(row);
  });
  return svg;
}

/** @param {Element} part @param {import("./model.js").Step} done */
function paint(part, done) {
  const kinds = { send: "#0062a8", receive: "#a64300", exchange: INK, end: INK };
  const colour = done.wrong ? "#b81824" : kinds[done.action];
  const kind = part.getAttribute("class");
  const set = (/** @type {Record<string, string|number>} */ attributes) => Object.entries(attributes).forEach(([name, value]) => part.setAttribute(name, String(value)));
  if (kind === "life") set({ stroke: "#d8dde4" });
  else if (kind === "line") set({ stroke: colour, "stroke-width": done.wrong ? 2.2 : 1.6, fill: "none", ...(done.action === "send" && !done.wrong ? { "stroke-dasharray": "5 4" } : {}) });
  else if (kind === "tip") set(done.action === "send" && !done.wrong ? { fill: "#ffffff", stroke: colour, "stroke-width": 1.4 } : { fill: colour });
  else if (part.nodeName === "text") set({ fill: done.wrong ? colour : INK, "font-family": FONT, "font-size": 12.5 });
  else set({ fill: colour });
  return part;
}

/** @param {SVGElement} svg */
export function svgText(svg) {
  return new XMLSerializer().serializeToString(svg);
}

/** @param {SVGElement} svg @returns {Promise<Blob>} */
export async function png(svg) {
  const url = URL.createObjectURL(new Blob([svgText(svg)], { type: "image/svg+xml" }));
  try {
    const image = new Image();
    image.src = url;
    await image.decode();
    // Browsers have canvases of some 16,000 pixels.
    const scale = Math.min(2, 16_000 / Math.max(image.width, image.height));
    const canvas = document.createElement("canvas");
    canvas.width = image.width * scale;
    canvas.height = image.height * scale;
    canvas.getContext("2d")?.drawImage(image, 0, 0, canvas.width, canvas.height);
    const blob = await new Promise((resolve) => canvas.toBlob(resolve, "image/png"));
    if (!blob) throw new Error("this browser makes no such picture");
    return blob;
  } finally {
    URL.revokeObjectURL(url);
  }
}

/** @param {string} name @param {Blob} content */
export function download(name, content) {
  const link = document.createElement("a");
  link.download = name;
  link.href = URL.createObjectURL(content);
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}
