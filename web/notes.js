/**
 * The reader's notes on a file: names for what the decompiler has named, and comments on instructions.
 *
 * They are kept in the browser under the SHA-256 of the program, so that they are there again for the same bytes under any
 * name, and for no others. They are exported and imported as a file, which `unshade decompile --types` reads as well
 * (`docs/decompiler.md`): names by function, comments by the offset of the instruction.
 */

import { keep, kept } from './theme.js';

/** @typedef {import('./protocol.js').Line} Line */
/** @typedef {import('./protocol.js').Token} Token */
/** @typedef {{names: Record<string, string>, comments: Record<string, string>}} FunctionNotes names by those of the decompiler, comments by offset in hex */
/** @typedef {{schema: 1, name: string, size: number, sha256: string, functions: Record<string, FunctionNotes>}} NotesFile */

/** The key of a function in notes; that of a program without functions is empty. */
const PROGRAM = '';
/** Words of C, HLSL and Metal that name nothing else. */
const RESERVED = new Set(`auto bool break case cbuffer char class const constant continue default device discard do double else enum extern false float
for fragment goto half if in inline inout int kernel long namespace out register return short signed sizeof static struct switch template texture thread
threadgroup true typedef uint ulong uniform union unsigned ushort using vertex void volatile while`.split(/\s+/));
/** The panes whose names can be changed. */
const RENAMED = new Set(['c', 'hlsl', 'metal']);
/** The panes that show comments. */
const COMMENTED = new Set([...RENAMED, 'assembly', 'raw']);
const MAX_FILE = 1 << 20;
const MAX_NAME = 256;
const MAX_COMMENT = 4096;
const INDEX = 'unshade.notes';

/** @param {string} name */
export function isName(name) {
  return /^[A-Za-z_][A-Za-z0-9_]*$/.test(name) && name.length <= MAX_NAME;
}

/**
 * Reads a file of notes. What it can't be is left out and counted.
 * @param {string} text
 * @returns {{notes: NotesFile, dropped: number}}
 */
export function readNotes(text) {
  if (text.length > MAX_FILE) throw new Error('The file is too large for notes.');
  /** @type {any} */
  let data;
  try {
    data = JSON.parse(text);
  } catch {
    throw new Error('The file is not one of notes: it is no JSON.');
  }
  if (data?.schema !== 1 || typeof data.sha256 !== 'string' || !/^[0-9a-f]{64}$/.test(data.sha256) || typeof data.functions !== 'object' || data.functions === null) {
    throw new Error('The file is not one of notes: it has no schema 1, hash and functions.');
  }
  let dropped = 0;
  /** @type {Record<string, FunctionNotes>} */
  const functions = Object.create(null);
  for (const [name, value] of Object.entries(data.functions)) {
    /** @type {FunctionNotes} */
    const own = { names: Object.create(null), comments: Object.create(null) };
    for (const [old, renamed] of Object.entries(value?.names ?? {})) {
      if (isName(old) && typeof renamed === 'string' && isName(renamed)) own.names[old] = renamed;
      else dropped++;
    }
    for (const [offset, comment] of Object.entries(value?.comments ?? {})) {
      if (/^0x[0-9a-f]{1,13}$/.test(offset) && typeof comment === 'string' && comment.length <= MAX_COMMENT) own.comments[offset] = oneLine(comment);
      else dropped++;
    }
    functions[name] = own;
  }
  return { notes: { schema: 1, name: String(data.name ?? '').slice(0, MAX_NAME), size: Number(data.size) || 0, sha256: data.sha256, functions }, dropped };
}

/**
 * Returns a comment without line breaks and characters that reorder text.
 * @param {string} text
 */
function oneLine(text) {
  return text.replace(/[\u0000-\u001f\u007f-\u009f\u2028\u2029]+/g, ' ').replace(/[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g, '').trim();
}

export class Notes {
  /**
   * @param {object} options
   * @param {import('./transport.js').Transport} options.api
   * @param {() => void} options.onchange
   */
  constructor({ api, onchange }) {
    this.api = api;
    this.onchange = onchange;
    /** @type {{file: number, program: number, name: string, size: number} | null} */
    this.at = null;
    /** @type {NotesFile | null} */
    this.notes = null;
    /** Hashes of programs. @type {Map<string, Promise<string>>} */
    this.hashes = new Map();
  }

  /**
   * Loads the notes on a program. Its hash is computed only if there are notes on one of this size.
   * @param {{file: number, program: number, name: string, size: number}} at
   */
  async open(at) {
    if (this.at?.file === at.file && this.at.program === at.program) return;
    this.at = at;
    this.notes = null;
    if (!stored().some(({ size }) => size === at.size)) return;
    try {
      const sha256 = await this.#hash(at);
      const text = kept(`${INDEX}.${sha256}`);
      if (this.at !== at || !text) return;
      this.notes = readNotes(text).notes;
      this.onchange();
    } catch {
      // Notes that can't be read are as none; writing replaces them.
    }
  }

  /** @param {{file: number, program: number}} at */
  #hash({ file, program }) {
    const key = `${file}/${program}`;
    let hash = this.hashes.get(key);
    if (!hash) {
      hash = this.api.call({ query: 'hash', file, program }).then(({ sha256 }) => sha256);
      this.hashes.set(key, hash);
    }
    return hash;
  }

  /**
   * Returns the notes on a function.
   * @param {string | null} name
   * @returns {FunctionNotes | null}
   */
  of(name) {
    return this.notes?.functions[name ?? PROGRAM] ?? null;
  }

  /** Returns how many names and comments there are. */
  get count() {
    return countOf(this.notes?.functions ?? {});
  }

  /**
   * Sets or, with an empty text, removes a note.
   * @param {string | null} name of the function
   * @param {'names' | 'comments'} kind
   * @param {string} key
   * @param {string} text
   */
  async set(name, kind, key, text) {
    const { at } = this;
    if (!at) return;
    const sha256 = await this.#hash(at);
    this.notes ??= { schema: 1, name: at.name, size: at.size, sha256, functions: Object.create(null) };
    const functions = this.notes.functions;
    const own = functions[name ?? PROGRAM] ??= { names: Object.create(null), comments: Object.create(null) };
    const value = kind === 'comments' ? oneLine(text).slice(0, MAX_COMMENT) : text;
    if (value) own[kind][key] = value;
    else delete own[kind][key];
    if (Object.keys(own.names).length + Object.keys(own.comments).length === 0) delete functions[name ?? PROGRAM];
    this.#keep();
  }

  /** Removes all notes on the program. */
  clear() {
    if (this.notes) this.notes.functions = Object.create(null);
    this.#keep();
  }

  #keep() {
    const { notes } = this;
    if (!notes) return;
    const others = stored().filter(({ sha256 }) => sha256 !== notes.sha256);
    keep(INDEX, JSON.stringify(this.count ? [...others, { sha256: notes.sha256, size: notes.size }] : others));
    keep(`${INDEX}.${notes.sha256}`, this.count ? JSON.stringify(notes) : '');
    this.onchange();
  }

  /** Returns the notes as a file. */
  text() {
    return `${JSON.stringify(this.notes, null, 2)}\n`;
  }

  /**
   * Adds the notes of a file to those that there are; notes on the same thing are replaced.
   * @param {string} text
   * @returns {Promise<{count: number, dropped: number}>}
   */
  async import(text) {
    const { at } = this;
    if (!at) throw new Error('Open the file first that the notes are on.');
    const { notes, dropped } = readNotes(text);
    const sha256 = await this.#hash(at);
    if (notes.sha256 !== sha256) {
      throw new Error(`These notes are on another file${notes.name ? `, ${oneLine(notes.name)}` : ''}: its SHA-256 begins with ${notes.sha256.slice(0, 12)}, that of this one with ${sha256.slice(0, 12)}.`);
    }
    this.notes ??= { ...notes, name: at.name, size: at.size, functions: Object.create(null) };
    for (const [name, { names, comments }] of Object.entries(notes.functions)) {
      const own = this.notes.functions[name] ??= { names: Object.create(null), comments: Object.create(null) };
      Object.assign(own.names, names);
      Object.assign(own.comments, comments);
    }
    this.#keep();
    return { count: countOf(notes.functions), dropped };
  }
}

/** @param {Record<string, FunctionNotes>} functions */
function countOf(functions) {
  return Object.values(functions).reduce((sum, { names, comments }) => sum + Object.keys(names).length + Object.keys(comments).length, 0);
}

/** @returns {{sha256: string, size: number}[]} */
function stored() {
  try {
    const list = JSON.parse(kept(INDEX) || '[]');
    return Array.isArray(list) ? list : [];
  } catch {
    return [];
  }
}

/**
 * Returns the tokens of a line with the reader's names and comments.
 * @param {Line} line
 * @param {string} pane
 * @param {FunctionNotes | null} notes
 * @returns {Token[]}
 */
export function annotated(line, pane, notes) {
  if (!notes || !COMMENTED.has(pane)) return line.tokens;
  const { names } = notes;
  const tokens = RENAMED.has(pane)
    ? line.tokens.map((token) => (token[2] !== undefined && Object.hasOwn(names, token[1]) ? /** @type {Token} */ ([token[0], names[token[1]], token[2]]) : token))
    : line.tokens;
  const comments = commentsOf(line, notes);
  return comments.length ? [...tokens, ['space', '  '], ['comment', `// ${comments.join(' · ')}`]] : tokens;
}

/**
 * @param {Line} line
 * @param {FunctionNotes} notes
 */
function commentsOf({ range, also }, { comments }) {
  if (!range || range[1] <= range[0]) return [];
  return [range, ...(also ?? [])].flatMap(([start, end]) => Object.entries(comments).filter(([offset]) => Number(offset) >= start && Number(offset) < end).map(([, text]) => text));
}

/**
 * Returns why a name can't be given to another, or an empty text.
 * @param {string} old
 * @param {string} name
 * @param {string} text the whole listing, as it is shown
 */
export function whyNot(old, name, text) {
  if (RESERVED.has(name) || /^(bool|half|float|double|u?(int|short|char|long))\d(x\d)?$/.test(name)) return `${name} is a word of the language.`;
  if (!isName(name)) return 'A name has letters, digits and underscores, and does not begin with a digit.';
  if (name !== old && new RegExp(`(?<![A-Za-z0-9_$])${name}(?![A-Za-z0-9_$])`).test(text)) return `${name} is used in this text already.`;
  return '';
}
