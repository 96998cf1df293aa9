// @ts-check
// Which steps repeat, and what two traces have in common. No DOM here.

/** A repeated block is this long at most, and is folded from so many repetitions on. */
const MAX_BLOCK = 24;
const MIN_TIMES = 3;
/** Larger comparisons look at the common beginning and end only. */
const MAX_CELLS = 4_000_000;

/** @typedef {{from: number, to: number, length: number, times: number}} Fold */

/**
 * `shown` without repetitions: the first time a block is there stays, and the others become one entry `-1 - index of the fold`.
 * @param {number[]} shown @param {string[]} keys of all steps @param {Set<number>} open folds, by the place where they begin, that stay as they are
 */
export function fold(shown, keys, open) {
  const ids = new Map();
  const code = shown.map((step) => {
    const key = keys[step];
    if (!ids.has(key)) ids.set(key, ids.size);
    return ids.get(key);
  });
  /** @type {number[]} */
  const out = [];
  /** @type {Fold[]} */
  const folds = [];
  let at = 0;
  while (at < code.length) {
    let best = { length: 0, times: 0 };
    for (let length = 1; length <= MAX_BLOCK && at + length * MIN_TIMES <= code.length; length += 1) {
      let end = at + length;
      while (end < code.length && code[end] === code[end - length]) end += 1;
      const times = Math.floor((end - at) / length);
      // The shortest block says it best; a longer one only if it saves more.
      if (times >= MIN_TIMES && (times - 1) * length > (best.times - 1) * best.length) best = { length, times };
    }
    if (!best.length) {
      out.push(shown[at]);
      at += 1;
      continue;
    }
    const rest = at + best.length;
    const end = at + best.length * best.times;
    if (open.has(shown[rest])) {
      out.push(...shown.slice(at, end));
    } else {
      out.push(...shown.slice(at, rest), -1 - folds.length);
      folds.push({ from: shown[rest], to: shown[end - 1], length: best.length, times: best.times - 1 });
    }
    at = end;
  }
  return { shown: out, folds };
}

/**
 * The step of the other trace that each step of the first corresponds to, or −1: a longest common subsequence where that is cheap.
 * @param {string[]} left @param {string[]} right @returns {number[]}
 */
export function align(left, right) {
  const pairs = new Array(left.length).fill(-1);
  let start = 0;
  while (start < left.length && start < right.length && left[start] === right[start]) pairs[start] = start++;
  let [a, b] = [left.length, right.length];
  while (a > start && b > start && left[a - 1] === right[b - 1]) pairs[--a] = --b;
  const [rows, columns] = [a - start, b - start];
  if (!rows || !columns || rows * columns > MAX_CELLS) return pairs;
  const width = columns + 1;
  const best = new Uint32Array((rows + 1) * width);
  for (let row = rows - 1; row >= 0; row -= 1) {
    for (let column = columns - 1; column >= 0; column -= 1) {
      const same = left[start + row] === right[start + column];
      best[row * width + column] = same ? best[(row + 1) * width + column + 1] + 1 : Math.max(best[(row + 1) * width + column], best[row * width + column + 1]);
    }
  }
  let [row, column] = [0, 0];
  while (row < rows && column < columns) {
    if (left[start + row] === right[start + column]) pairs[start + row++] = start + column++;
    else if (best[(row + 1) * width + column] >= best[row * width + column + 1]) row += 1;
    else column += 1;
  }
  return pairs;
}
