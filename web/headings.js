/** The headings of the columns of a list: as many columns as its width permits, each sorts the list. */

import { fill, h } from './dom.js';

/** @typedef {import('./protocol.js').Column} Column */
/** @typedef {import('./protocol.js').Row} Row */

/** Columns in the order in which they get room; the others follow. */
const FIRST = ['size', 'registers', 'instructions', 'shared', 'stack', 'parameters', 'functions', 'chip', 'metal'];
/** Room in pixels for the name, and for everything that is no column. */
const NAME = 150;
const AROUND = 56;
/** Pixels of a character of a cell, and between cells. */
const CHARACTER = 6.7;
const GAP = 10;
/** The longest cell in characters. */
const MAX_CELL = 22;

/** The column of kinds, which every list has. @type {Column} */
const KIND = { key: 'kind', label: 'kind', align: 'left' };

export class Headings {
  /**
   * @param {object} options
   * @param {(column: string) => void} options.onsort
   */
  constructor({ onsort }) {
    this.onsort = onsort;
    /** @type {Column[]} */
    this.columns = [];
    /** The columns that are shown, in the order of the file. @type {Column[]} */
    this.shown = [];
    /** The longest cell of each column in characters. @type {Map<string, number>} */
    this.longest = new Map();
    /** The columns that have cells: what was not counted yet has none. @type {Set<string>} */
    this.filled = new Set();
    /** The pixels that the columns take, and their widths in CSS. */
    this.taken = 0;
    this.template = '';
    this.element = h('div', { class: 'headings', role: 'group', 'aria-label': 'Sort by column' });
  }

  /** @param {Column[]} columns */
  set(columns) {
    this.columns = [...columns, KIND];
    this.longest = new Map(this.columns.map(({ key, label }) => [key, label.length + 1]));
    this.filled.clear();
  }

  /**
   * Learns the lengths of cells.
   * @param {Row[]} rows
   */
  measure(rows) {
    for (const row of rows) {
      for (const { key } of this.columns) {
        const length = Math.min(MAX_CELL, cellOf(row, key).length);
        if (length > 0) this.filled.add(key);
        if (length > (this.longest.get(key) ?? 0)) this.longest.set(key, length);
      }
    }
  }

  /**
   * Chooses the columns for a width, and shows their headings.
   * @param {number} width
   * @param {string} sorted the key of the column that the list is sorted by
   * @param {boolean} descending
   * @returns {boolean} whether rows have to be shown again
   */
  arrange(width, sorted, descending) {
    const before = this.template;
    let room = width - AROUND - NAME;
    const rank = (/** @type {Column} */ { key }) => (key === sorted ? -1 : FIRST.includes(key) ? FIRST.indexOf(key) : FIRST.length + this.columns.findIndex((column) => column.key === key));
    const chosen = new Set();
    const possible = this.columns.filter(({ key }) => key === sorted || this.filled.has(key));
    for (const column of possible.sort((one, other) => rank(one) - rank(other))) {
      room -= this.#pixels(column.key) + GAP;
      if (room < 0) break;
      chosen.add(column.key);
    }
    this.shown = this.columns.filter(({ key }) => chosen.has(key));
    this.taken = this.shown.reduce((sum, { key }) => sum + this.#pixels(key) + GAP, 0);
    this.template = this.shown.map(({ key }) => `${this.#pixels(key)}px`).join(' ');
    const heading = (/** @type {string} */ key, /** @type {string} */ label, /** @type {string} */ align) => h('button', {
      type: 'button', class: `heading ${align}`, 'aria-pressed': String(key === sorted),
      'aria-label': `Sort by ${label}${key === sorted ? `, now ${descending ? 'descending' : 'ascending'}` : ''}`,
      onclick: () => this.onsort(key),
    }, label, key === sorted && h('span', { 'aria-hidden': 'true' }, descending ? '↓' : '↑'));
    fill(this.element, heading('name', 'name', 'left'), ...this.shown.map(({ key, label, align }) => heading(key, label, align)));
    return this.template !== before;
  }

  /** @param {string} key */
  #pixels(key) {
    return Math.ceil((this.longest.get(key) ?? 4) * CHARACTER);
  }

  /**
   * Shows the cells of a row.
   * @param {HTMLElement} host
   * @param {Row | undefined} row
   */
  show(host, row) {
    while (host.children.length > this.shown.length) host.lastChild?.remove();
    while (host.children.length < this.shown.length) host.append(h('span', { class: 'item-cell' }));
    this.shown.forEach(({ key, align }, k) => {
      const cell = /** @type {HTMLElement} */ (host.children[k]);
      cell.textContent = row ? cellOf(row, key) : '';
      cell.className = `item-cell ${align}`;
    });
  }
}

/** @param {Row} row @param {string} key */
function cellOf(row, key) {
  return key === 'kind' ? row.kind : row.cells[key] ?? '';
}
