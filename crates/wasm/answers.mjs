// What the module answers in Node: the answers about the files given, each after its path. Run by `./test wasm`.
import { readFileSync, writeSync } from "node:fs";

const [file, ...paths] = process.argv.slice(2);
const { instance } = await WebAssembly.instantiate(readFileSync(file));
const { memory, buffer, open, answers } = instance.exports;

function write(text) {
  const bytes = Buffer.from(text);
  const at = buffer(bytes.length);
  new Uint8Array(memory.buffer, at, bytes.length).set(bytes);
}

function read(length) {
  return Buffer.from(new Uint8Array(memory.buffer, buffer(length), length)).toString();
}

/** Writes all of it: a pipe takes a piece at a time. */
function print(text) {
  const bytes = Buffer.from(text);
  for (let at = 0; at < bytes.length; ) at += writeSync(1, bytes, at);
}

for (const path of paths) {
  write(`${path}\n${readFileSync(path, "utf8")}`);
  open();
}
for (const path of paths) {
  write(path);
  print(`${path}\n${read(answers())}\n`);
}
