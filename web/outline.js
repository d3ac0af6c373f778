/** The structure of a program: the meaning of every byte, as a tree. */

import { h } from './dom.js';
import { aborted, waiting } from './rows.js';
import { Tree } from './tree.js';

/** @typedef {import('./protocol.js').OutlineNode} OutlineNode */
/** @typedef {import('./protocol.js').Range} Range */

export class Outline {
  /**
   * @param {object} options
   * @param {import('./transport.js').Transport} options.api
   * @param {(range: Range) => void} options.onselect
   * @param {(error: unknown) => void} options.onerror
   */
  constructor({ api, onselect, onerror }) {
    this.api = api;
    this.onerror = onerror;
    /** @type {{file: number, program: number} | null} */
    this.at = null;
    this.loaded = false;
    /** @type {Tree<OutlineNode>} */
    this.tree = new Tree({
      label: 'Structure',
      count: (node) => node.children,
      // The tree's only root is the program; paths of queries begin below it.
      load: async (path, _node, from, count) =>
        (await api.call({ query: 'outline', ...this.at, node: path.slice(1), from, count })).children,
      render: (row, node) => {
        row.append(h('span', { class: 'node-name' }, node.name), h('span', { class: 'node-value' }, node.meaning || node.value));
        row.title = [node.name, node.value, node.meaning, `0x${node.range[0].toString(16)}–0x${node.range[1].toString(16)}`].filter(Boolean).join('\n');
      },
      onchoose: (node) => onselect(node.range),
      onerror,
    });
    this.over = h('div', { class: 'over' });
    this.element = h('div', { class: 'outline' }, this.tree.element, this.over);
    this.controller = new AbortController();
  }

  /**
   * @param {number} file
   * @param {number} program
   */
  show(file, program) {
    if (this.at?.file === file && this.at.program === program) return;
    this.at = { file, program };
    this.loaded = false;
    this.tree.setRoots([]);
  }

  /** Loads the root when the section is opened. */
  async load() {
    if (this.loaded || !this.at) return;
    this.loaded = true;
    const { at } = this;
    try {
      this.controller = new AbortController();
      const { node } = await waiting(this.over, 'Reading the structure…', this.controller,
        this.api.call({ query: 'outline', ...at, node: [], from: 0, count: 1 }, this.controller.signal));
      if (this.at !== at) return;
      this.tree.setRoots([node]);
      await this.tree.open(this.tree.roots[0]);
    } catch (error) {
      this.loaded = false;
      if (!aborted(error)) this.onerror(error);
    }
  }

  /**
   * Returns the nodes that contain a byte, outermost first.
   * @param {number} offset
   * @param {AbortSignal} signal
   * @returns {Promise<(OutlineNode & {index: number})[]>}
   */
  async pathAt(offset, signal) {
    if (!this.at) return [];
    return (await this.api.call({ query: 'outline', ...this.at, at: offset }, signal)).path;
  }

  /**
   * Opens the tree at a node.
   * @param {{index: number}[]} path
   */
  async reveal(path) {
    await this.load();
    await this.tree.reveal([0, ...path.map(({ index }) => index)]);
  }
}
