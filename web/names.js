/**
 * Names in lists. Where a name has no room, what it has in common with the names around it is left out first, then what
 * only differs from names further away; what differs from its neighbours stays. Escapes such as `\u{202e}` are never
 * split. What is left out stays in the document, as one ellipsis on the screen.
 *
 * A name is compared word for word with names that have as many words, and with other neighbours from both ends.
 */

import { h } from './dom.js';

/**
 * A part of a name, with how much it says: 0 nothing, 1 it differs from names around it, 2 from a neighbour.
 * @typedef {{text: string, rank: number}} Part
 */

/** The longest name in a row, in characters; the full name is shown elsewhere. */
const MAX_SHOWN = 1_000;
/** How much of the beginning of a name stays. */
const HEAD = 4;
/** What is left out, one after the other: parts up to a rank, of a least length. */
const STAGES = [{ most: 0, least: 5 }, { most: 0, least: 3 }, { most: 1, least: 1 }];
/** The longest name that is compared with others. */
const MAX_COMPARED = 4_000;
/** The number of names whose words are kept. */
const MAX_KEPT = 2_000;

const ESCAPE = /\\(?:u\{[0-9a-f]{1,6}\}|x[0-9a-f]{2}|[nrt\\])/g;
const WORD = /\\(?:u\{[0-9a-f]{1,6}\}|x[0-9a-f]{2}|[nrt\\])|[A-Za-z]+|\d+|[^]/gu;

/** @type {Map<string, string[]>} */
const kept = new Map();

/** @param {string} name */
function wordsOf(name) {
  let words = kept.get(name);
  if (!words) {
    if (kept.size >= MAX_KEPT) kept.clear();
    words = name.slice(0, MAX_COMPARED).match(WORD) ?? [];
    kept.set(name, words);
  }
  return words;
}

/**
 * Splits a name by what it says beside other names.
 * @param {string} name
 * @param {(string | undefined)[]} neighbours
 * @param {(string | undefined)[]} [around] further names
 * @returns {Part[]}
 */
export function differing(name, neighbours, around = []) {
  const others = (/** @type {(string | undefined)[]} */ names) => /** @type {string[]} */ (names.filter((other) => other !== undefined && other !== name));
  const near = others(neighbours);
  if (name.length > MAX_COMPARED || near.length === 0) return [{ text: name, rank: 2 }];
  const words = wordsOf(name);
  const ranks = new Uint8Array(words.length);
  for (const other of others(around)) {
    const theirs = wordsOf(other);
    if (theirs.length !== words.length) continue;
    for (let k = 0; k < words.length; k++) if (words[k] !== theirs[k]) ranks[k] = 1;
  }
  for (const other of near) {
    const theirs = wordsOf(other);
    if (theirs.length === words.length) {
      if (words.some((word, k) => word === theirs[k])) words.forEach((word, k) => word !== theirs[k] && (ranks[k] = 2));
      continue;
    }
    const most = Math.min(words.length, theirs.length);
    let start = 0;
    while (start < most && words[start] === theirs[start]) start++;
    let end = 0;
    while (end < most - start && words[words.length - 1 - end] === theirs[theirs.length - 1 - end]) end++;
    // Names that have nothing in common say nothing about what matters in this one.
    if (start + end > 0) ranks.fill(2, start, Math.max(start, words.length - end));
  }
  /** @type {Part[]} */
  const parts = [];
  words.forEach((text, k) => {
    const last = parts.at(-1);
    if (last && last.rank === ranks[k]) last.text += text;
    else parts.push({ text, rank: ranks[k] });
  });
  // Without a difference nothing is more important than the rest.
  return parts.some(({ rank }) => rank > 0) ? parts : [{ text: name, rank: 2 }];
}

/** Widths of characters in pixels. @type {Map<string, number>} */
const widths = new Map();
/** @type {CanvasRenderingContext2D | null | undefined} */
let canvas;

/** @param {string} unit */
function widthOf(unit) {
  let width = widths.get(unit);
  if (width === undefined) {
    if (canvas === undefined) {
      canvas = document.createElement('canvas').getContext('2d');
      if (canvas) canvas.font = getComputedStyle(document.body).font;
    }
    width = canvas?.measureText(unit).width ?? 7;
    if (widths.size < MAX_KEPT) widths.set(unit, width);
  }
  return width;
}

/**
 * Leaves out what says least until a name fits.
 * @param {Part[]} parts
 * @param {number} room in pixels
 * @param {(unit: string) => number} [width]
 * @returns {{text: string, hidden: boolean}[]}
 */
export function elided(parts, room, width = widthOf) {
  /** @type {{text: string, rank: number, width: number, hidden: boolean}[]} */
  const units = [];
  for (const { text, rank } of parts) {
    for (const word of text.match(WORD) ?? []) {
      for (const unit of word.startsWith('\\') ? [word] : word) units.push({ text: unit, rank, width: width(unit), hidden: false });
    }
  }
  const ellipsis = width('…');
  let total = units.reduce((sum, unit) => sum + unit.width, 0);
  const hide = (/** @type {number} */ k) => {
    if (units[k].hidden) return;
    units[k].hidden = true;
    const besides = Number(units[k - 1]?.hidden ?? false) + Number(units[k + 1]?.hidden ?? false);
    // It begins an ellipsis, makes one longer, or joins two.
    total += (1 - besides) * ellipsis - units[k].width;
  };
  for (const { most, least } of STAGES) {
    /** @type {[from: number, to: number][]} */
    const spans = [];
    if (total > room) {
      units.forEach(({ rank }, k) => {
        const last = spans.at(-1);
        if (rank > most) return;
        if (last && last[1] === k) last[1]++;
        else spans.push([k, k + 1]);
      });
    }
    spans.sort(([from, to], [start, end]) => (end - start) - (to - from) || from - start);
    for (const [from, to] of spans) {
      const keep = from === 0 ? HEAD : from;
      if (to - keep < least) continue;
      // The beginning of a part says more than its end.
      for (let k = to - 1; k >= keep && total > room; k--) hide(k);
    }
  }
  /** @type {{text: string, hidden: boolean}[]} */
  const runs = [];
  for (const { text, hidden } of units) {
    const last = runs.at(-1);
    if (last && last.hidden === hidden) last.text += text;
    else runs.push({ text, hidden });
  }
  return runs;
}

/**
 * Shows a name in a row.
 * @param {HTMLElement} host
 * @param {string} name
 * @param {number} room in pixels
 * @param {(string | undefined)[]} neighbours
 * @param {(string | undefined)[]} around
 * @param {string[]} [marked] lower-case texts that are highlighted
 */
export function showName(host, name, room, neighbours, around, marked = []) {
  if (!name) {
    host.textContent = '(no name)';
    return;
  }
  const shown = name.length > MAX_SHOWN ? `${name.slice(0, MAX_SHOWN).replace(/\\[^\\]{0,8}$/, '')}…` : name;
  const runs = elided(differing(shown, neighbours, around), room);
  const nodes = runs.map(({ text, hidden }) => (hidden ? h('span', { class: 'elided' }, text) : h('span', {}, ...textNodes(text, marked))));
  host.replaceChildren(...(runs.length === 1 ? textNodes(shown, marked) : nodes));
}

/**
 * Returns a text with highlighted matches, and escapes that are not broken.
 * @param {string} text
 * @param {string[]} marked
 * @returns {(string | HTMLElement)[]}
 */
export function textNodes(text, marked = []) {
  const small = text.toLowerCase();
  /** @type {[number, number][]} */
  const ranges = [];
  if (small.length === text.length) {
    for (const wanted of marked) {
      for (let at = small.indexOf(wanted); wanted && at >= 0 && ranges.length < 50; at = small.indexOf(wanted, at + wanted.length)) ranges.push([at, at + wanted.length]);
    }
  }
  ranges.sort((one, other) => one[0] - other[0]);
  /** @type {(string | HTMLElement)[]} */
  const nodes = [];
  let from = 0;
  for (const [start, end] of ranges) {
    if (start < from) continue;
    nodes.push(...whole(text.slice(from, start)), h('mark', {}, ...whole(text.slice(start, end))));
    from = end;
  }
  nodes.push(...whole(text.slice(from)));
  return nodes;
}

/**
 * Returns a text whose escapes are shown whole or not at all.
 * @param {string} text
 * @returns {(string | HTMLElement)[]}
 */
function whole(text) {
  if (!text.includes('\\')) return text ? [text] : [];
  /** @type {(string | HTMLElement)[]} */
  const nodes = [];
  let from = 0;
  for (const match of text.matchAll(ESCAPE)) {
    if (match.index > from) nodes.push(text.slice(from, match.index));
    nodes.push(h('span', { class: 'escape' }, match[0]));
    from = match.index + match[0].length;
  }
  if (from < text.length) nodes.push(text.slice(from));
  return nodes;
}
