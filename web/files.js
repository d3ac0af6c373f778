/** The tree of open files and their programs; hidden if there is nothing to choose. */

import { append, baseName, count, h, size } from './dom.js';
import { Tree } from './tree.js';

/** @typedef {import('./protocol.js').FileEntry} FileEntry */
/** @typedef {import('./protocol.js').Overview} Overview */
/** @typedef {import('./protocol.js').Program} Program */
/** @typedef {{entry: FileEntry, program?: Program}} FileNode */
/** @typedef {{promise: Promise<Overview>, controller: AbortController}} Opening */

/** Maximum number of rows before the list scrolls. */
const MAX_ROWS = 9;

export class FileTree {
  /**
   * @param {object} options
   * @param {import('./transport.js').Transport} options.api
   * @param {(entry: FileEntry, program: number) => void} options.onchoose
   */
  constructor({ api, onchoose }) {
    /** @type {FileEntry[]} */
    this.files = [];
    /** @type {Set<FileEntry>} */
    this.hidden = new Set();
    this.selectedKey = '';
    this.rows = 0;
    /** @type {Map<number, Opening>} */
    this.overviews = new Map();
    this.api = api;
    /** @type {Tree<FileNode>} */
    this.tree = new Tree({
      label: 'Files and programs',
      // Programs are added when a file is opened.
      count: (/** @type {FileNode} */ _node) => 0,
      load: async () => [],
      render: (/** @type {HTMLElement} */ row, /** @type {FileNode} */ node) => this.#render(row, node),
      onchoose: (/** @type {FileNode} */ { entry, program }) => onchoose(entry, program?.program ?? 0),
      onerror: () => {},
    });
    this.element = this.tree.element;
  }

  /**
   * Requests the overview of a file, once. After cancelling it can be requested again.
   * @param {number} file
   * @returns {Opening}
   */
  overview(file) {
    let opening = this.overviews.get(file);
    if (!opening) {
      const controller = new AbortController();
      const promise = this.api.call({ query: 'overview', file }, controller.signal);
      promise.catch(() => this.overviews.delete(file));
      opening = { promise, controller };
      this.overviews.set(file, opening);
    }
    return opening;
  }

  /**
   * Returns a program with all details. For a file with many programs the overview has brief entries after the first
   * ones.
   * @param {Overview} overview
   * @param {number} number
   * @returns {Promise<Program | null>}
   */
  async program({ file, programs }, number) {
    const at = programs.findIndex(({ program }) => program === number);
    if (at < 0 || !programs[at].brief) return programs[at] ?? null;
    /** @type {Overview} */
    const answer = await this.api.call({ query: 'overview', file: file.file, program: number });
    programs[at] = answer.programs.find(({ program }) => program === number) ?? programs[at];
    return programs[at];
  }

  /** @param {FileEntry[]} files */
  set(files) {
    this.files = files;
    const listed = this.listed();
    this.selectedKey = '';
    this.rows = Math.min(MAX_ROWS, listed.length);
    this.tree.setRoots(listed.map((entry) => ({ entry })));
  }

  /**
   * Adds, hides and removes versions of edited files. Hidden ones have addresses as before.
   * @param {{add?: FileEntry, hide?: FileEntry[], remove?: FileEntry[]}} change
   */
  change({ add, hide = [], remove = [] }) {
    for (const entry of hide) this.hidden.add(entry);
    if (add) this.hidden.delete(add);
    const files = this.files.filter((entry) => !remove.includes(entry));
    if (add && !files.includes(add)) {
      if (files.some(({ name }) => name === add.name)) add.name = `${add.name} (${add.file})`;
      files.push(add);
    }
    this.set(files);
  }

  /** Returns the files that are in the list. */
  listed() {
    return this.files.filter((entry) => !this.hidden.has(entry));
  }

  /**
   * Highlights the selected file and program, and lists the programs of a file that has several.
   * @param {Overview} overview
   * @param {number} program
   * @returns {boolean} whether there is anything to choose from
   */
  select({ file, programs }, program) {
    const several = programs.length > 1;
    const listed = this.listed();
    const at = listed.findIndex((entry) => entry.file === file.file);
    const root = this.tree.roots[at];
    const key = `${file.file}/${program}`;
    if (root && this.selectedKey !== key) {
      this.selectedKey = key;
      if (several && root.count === 0) {
        root.count = programs.length;
        programs.forEach((program, index) => root.children.set(index, {
          data: { entry: root.data.entry, program }, parent: root, index, depth: 1, count: 0, open: false, children: new Map(),
        }));
      }
      this.rows = Math.min(MAX_ROWS, listed.length + (several ? programs.length : 0));
      this.tree.reveal(several ? [at, Math.max(0, programs.findIndex((other) => other.program === program))] : [at]);
    }
    return several || listed.length > 1;
  }

  /**
   * @param {HTMLElement} row
   * @param {FileNode} node
   */
  #render(row, { entry, program }) {
    const name = program ? program.path || program.format_name : entry.name;
    const note = program ? `${program.format_name}${!program.brief && program.items > 1 ? ` · ${count(program.items)}` : ''}`
      : entry.error ? 'unreadable' : size(entry.size);
    append(row, [
      h('span', { class: 'node-name', title: name }, program ? name.split('!').pop() ?? name : baseName(name)),
      h('span', { class: 'node-value' }, note),
    ]);
  }
}
