/**
 * A tree whose children are fetched when a node is opened, a batch at a time.
 *
 * Open nodes are kept as one flat list of rows. A row can represent a gap, children that are not loaded yet; choosing
 * it fetches the next batch.
 */

import { h, plural } from './dom.js';
import { RowBox } from './rows.js';

/** Children per request. */
const BATCH = 400;

/**
 * @template T
 * @typedef {object} Node
 * @property {T} data
 * @property {Node<T> | null} parent
 * @property {number} index among the parent's children
 * @property {number} depth
 * @property {number} count of children
 * @property {boolean} open
 * @property {Map<number, Node<T>>} children the loaded children
 */

/**
 * @template T
 * @typedef {{node: Node<T>, from?: number, to?: number}} Entry a node, or the gap `from..to` among its children
 */

/** @template T */
export class Tree {
  /**
   * @param {object} options
   * @param {string} options.label
   * @param {(data: T) => number} options.count the number of children
   * @param {(path: number[], data: T, from: number, count: number) => Promise<T[]>} options.load
   * @param {(row: HTMLElement, data: T) => void} options.render fills a row
   * @param {(data: T, path: number[]) => void} options.onchoose
   * @param {(error: unknown) => void} options.onerror
   */
  constructor(options) {
    this.options = options;
    /** @type {Node<T>[]} */
    this.roots = [];
    /** @type {Entry<T>[]} */
    this.entries = [];
    this.box = new RowBox({
      role: 'tree',
      label: options.label,
      create: () => h('div', { class: 'row tree-row' }, h('span', { class: 'twist', 'aria-hidden': 'true' }), h('span', { class: 'tree-text' })),
      render: (row, index) => this.#render(row, index),
      onchoose: (index, event) => this.#choose(index, event),
      onmove: (index) => {
        const { node, to } = this.entries[index];
        if (to === undefined) options.onchoose(node.data, pathOf(node));
      },
      onkey: (event, index) => this.#key(event, index),
    });
    this.element = this.box.element;
  }

  /** @param {T[]} roots */
  setRoots(roots) {
    this.roots = roots.map((data, index) => this.#node(data, null, index));
    this.#flatten(false);
  }

  /**
   * Opens a node.
   * @param {Node<T>} node
   * @param {number} [at] the child that must be loaded
   */
  async open(node, at = 0) {
    if (node.count === 0) return;
    node.open = true;
    if (!node.children.has(at)) await this.#fetch(node, Math.floor(at / BATCH) * BATCH, BATCH);
    this.#flatten(true);
  }

  /**
   * Opens the ancestors of a node and makes it active, without choosing it.
   * @param {number[]} path indices, starting with the root's
   */
  async reveal(path) {
    let node = this.roots[path[0]];
    for (const index of path.slice(1)) {
      if (!node) return;
      await this.open(node, index);
      const next = node.children.get(index);
      if (!next) break;
      node = next;
    }
    const index = this.entries.findIndex((entry) => entry.node === node && entry.to === undefined);
    if (index >= 0) this.box.setActive(index, 'center');
  }

  /**
   * @param {T} data
   * @param {Node<T> | null} parent
   * @param {number} index
   * @returns {Node<T>}
   */
  #node(data, parent, index) {
    return { data, parent, index, depth: parent ? parent.depth + 1 : 0, count: this.options.count(data), open: false, children: new Map() };
  }

  /**
   * @param {Node<T>} node
   * @param {number} from
   * @param {number} count
   */
  async #fetch(node, from, count) {
    try {
      const children = await this.options.load(pathOf(node), node.data, from, Math.min(count, node.count - from));
      children.forEach((data, k) => {
        if (!node.children.has(from + k)) node.children.set(from + k, this.#node(data, node, from + k));
      });
    } catch (error) {
      this.options.onerror(error);
    }
  }

  /** @param {boolean} keep */
  #flatten(keep) {
    const active = keep ? this.entries[this.box.active]?.node : undefined;
    /** @type {Entry<T>[]} */
    const entries = [];
    /** @param {Node<T>} node */
    const add = (node) => {
      entries.push({ node });
      if (!node.open) return;
      let next = 0;
      for (const index of [...node.children.keys()].sort((a, b) => a - b)) {
        if (index > next) entries.push({ node, from: next, to: index });
        add(/** @type {Node<T>} */ (node.children.get(index)));
        next = index + 1;
      }
      if (next < node.count) entries.push({ node, from: next, to: node.count });
    };
    this.roots.forEach(add);
    this.entries = entries;
    this.box.reset(entries.length, keep);
    if (active) this.box.setActive(entries.findIndex((entry) => entry.node === active && entry.to === undefined), 'stay');
  }

  /**
   * @param {HTMLElement} row
   * @param {number} index
   */
  #render(row, index) {
    const { node, from = 0, to } = this.entries[index];
    const gap = to !== undefined;
    const depth = node.depth + (gap ? 1 : 0);
    const [twist, text] = /** @type {[HTMLElement, HTMLElement]} */ (/** @type {unknown} */ (row.children));
    row.style.setProperty('--depth', String(depth));
    row.setAttribute('aria-level', String(depth + 1));
    const siblings = gap ? node.count : node.parent?.count ?? this.roots.length;
    row.setAttribute('aria-setsize', String(siblings));
    row.setAttribute('aria-posinset', String((gap ? from : node.index) + 1));
    if (!gap && node.count > 0) row.setAttribute('aria-expanded', String(node.open));
    else row.removeAttribute('aria-expanded');
    twist.classList.toggle('has', !gap && node.count > 0);
    row.classList.toggle('gap', gap);
    text.replaceChildren();
    if (gap) text.textContent = `… ${plural(to - from, 'more', 'more')}`;
    else this.options.render(text, node.data);
  }

  /**
   * @param {number} index
   * @param {Event} event
   */
  async #choose(index, event) {
    const { node, from = 0, to } = this.entries[index];
    if (to !== undefined) {
      await this.#fetch(node, from, Math.min(BATCH, to - from));
      return this.#flatten(true);
    }
    const twist = event.target instanceof Element && event.target.classList.contains('twist');
    if (!twist) this.options.onchoose(node.data, pathOf(node));
    if (node.open && (twist || event instanceof KeyboardEvent)) this.#close(node);
    else if (!node.open) await this.open(node);
  }

  /** @param {Node<T>} node */
  #close(node) {
    node.open = false;
    this.#flatten(true);
  }

  /**
   * @param {KeyboardEvent} event
   * @param {number} index
   */
  #key(event, index) {
    const entry = this.entries[index];
    if (!entry) return false;
    const { node, to } = entry;
    if (event.key === 'ArrowRight') {
      if (to === undefined && node.open) this.box.move(1);
      else if (to === undefined) this.open(node);
      return true;
    }
    if (event.key === 'ArrowLeft') {
      if (to === undefined && node.open) {
        this.#close(node);
      } else {
        const parent = to === undefined ? node.parent : node;
        const at = this.entries.findIndex((other) => other.node === parent && other.to === undefined);
        if (at >= 0) this.box.setActive(at);
      }
      return true;
    }
    return false;
  }
}

/**
 * @template T
 * @param {Node<T>} node
 * @returns {number[]}
 */
function pathOf(node) {
  const path = [];
  /** @type {Node<T> | null} */
  let at = node;
  for (; at; at = at.parent) path.unshift(at.index);
  return path;
}
