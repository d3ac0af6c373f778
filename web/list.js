/** The list of functions: filtered and sorted, of any length. */

import { count, fill, h, icon, plural } from './dom.js';
import { Pages } from './pages.js';
import { aborted, nothing, problem, RowBox } from './rows.js';

/** @typedef {import('./protocol.js').Row} Row */
/** @typedef {import('./protocol.js').Program} Program */

const PAGE = 200;
/** Milliseconds after the last key press before the list is filtered. */
const FILTER_DELAY = 70;
/** Milliseconds that a row must stay active, when moving with the keys, before its function is shown. */
const SHOW_DELAY = 90;

export class FunctionList {
  /**
   * @param {object} options
   * @param {import('./transport.js').Transport} options.api
   * @param {(row: Row, replace: boolean) => void} options.onchoose
   * @param {(text: string) => void} options.say
   */
  constructor({ api, onchoose, say }) {
    this.api = api;
    this.onchoose = onchoose;
    this.say = say;
    /** @type {{file: number, program: Program} | null} */
    this.at = null;
    /** @type {import('./protocol.js').Column[]} */
    this.columns = [];
    /** @type {string[]} */
    this.kinds = [];
    this.withSource = false;
    this.matched = 0;
    /** @type {number | null} */
    this.item = null;
    this.column = '';
    /** @type {ReturnType<typeof setTimeout> | undefined} */
    this.typing = undefined;
    /** @type {ReturnType<typeof setTimeout> | undefined} */
    this.resting = undefined;

    this.input = h('input', {
      type: 'search', id: 'filter', class: 'field', placeholder: 'Filter', 'aria-label': 'Filter functions by name; between slashes, a regular expression',
      'aria-keyshortcuts': '/', autocomplete: 'off', spellcheck: false,
      oninput: () => {
        clearTimeout(this.typing);
        this.typing = setTimeout(() => this.#load(), FILTER_DELAY);
      },
      onkeydown: (/** @type {KeyboardEvent} */ event) => {
        if (event.key === 'ArrowDown' || event.key === 'Enter') {
          event.preventDefault();
          this.box.element.focus();
          if (this.box.active < 0) this.box.move(1);
          if (event.key === 'Enter') this.#choose(this.box.active, false);
        } else if (event.key === 'Escape') {
          if (this.input.value === '') this.box.element.focus();
          this.input.value = '';
          this.#load();
        }
      },
    });
    this.sort = h('select', { class: 'sort', 'aria-label': 'Sort order of functions', onchange: () => this.#load() });
    this.chips = h('div', { class: 'chips', role: 'group', 'aria-label': 'Kinds of functions' });
    this.counted = h('span', { class: 'muted counted' });
    this.box = new RowBox({
      label: 'Functions',
      className: 'functions',
      create: () => h('div', { class: 'row item-row' }, h('span', { class: 'badge' }), h('span', { class: 'item-name' }), h('span', { class: 'item-cell' })),
      render: (row, index) => this.#render(row, index),
      onchoose: (index) => this.#choose(index, false),
      onmove: (index) => {
        clearTimeout(this.resting);
        this.resting = setTimeout(() => this.#choose(index, true), SHOW_DELAY);
      },
    });
    this.message = h('div', { class: 'list-message' });
    this.element = h('div', { class: 'function-list' },
      h('div', { class: 'filter' }, h('span', { class: 'filter-field' }, icon('search'), this.input), this.chips,
        h('div', { class: 'list-head' }, this.counted, this.sort)),
      this.message, this.box.element);

    /** @type {Pages<Row>} */
    this.pages = new Pages({
      size: PAGE,
      load: async (from, count, signal) => (await this.api.call(this.#request(from, count), signal)).rows,
      onload: (from, to) => this.box.virtual.refreshRange(from, to),
      onerror: (error) => this.#fail(error),
    });
  }

  /**
   * @param {number} file
   * @param {Program | null} program
   */
  async show(file, program) {
    if (this.at && program && this.at.file === file && this.at.program.program === program.program) return;
    this.at = program && { file, program };
    this.kinds = [];
    this.withSource = false;
    this.input.value = '';
    this.columns = [];
    this.sort.replaceChildren();
    this.#showChips();
    await this.#load();
  }

  /**
   * Highlights the function that is shown.
   * @param {number | null} item
   */
  mark(item) {
    this.item = item;
    const row = this.pages.peek(this.box.active);
    if (item === null) return this.box.setActive(-1);
    if (row?.item === item) return this.box.refresh();
    for (const [page, rows] of this.pages.pages) {
      const at = rows.findIndex((row) => row.item === item);
      if (at >= 0) {
        this.box.setActive(page * PAGE + at);
        return this.box.refresh();
      }
    }
    this.box.setActive(-1);
    this.box.refresh();
    if (this.at) this.#find(item);
  }

  /**
   * Looks up the position of a function in the filtered list, and makes it active.
   * @param {number} item
   */
  async #find(item) {
    const { signal } = this.pages.controller;
    try {
      /** @type {import('./protocol.js').Rows} */
      const { at } = await this.api.call({ ...this.#request(0, 1), find: item, from: undefined }, signal);
      if (at !== undefined && this.item === item && !signal.aborted) this.box.setActive(at, 'center');
    } catch (error) {
      if (!aborted(error)) this.#fail(error);
    }
  }

  /**
   * Returns the row of a function, if it is loaded.
   * @param {number} item
   * @returns {Row | undefined}
   */
  rowOf(item) {
    for (const page of this.pages.pages.values()) {
      const row = page.find((row) => row.item === item);
      if (row) return row;
    }
    return undefined;
  }

  focus() {
    this.input.focus();
    this.input.select();
  }

  /**
   * @param {number} from
   * @param {number} count
   */
  #request(from, count) {
    const text = this.input.value.trim();
    const regex = /^\/(.+)\/$/.exec(text);
    /** @type {import('./protocol.js').Filter} */
    const filter = {};
    if (text) Object.assign(filter, regex ? { text: regex[1], regex: true } : { text });
    if (this.kinds.length) filter.kinds = this.kinds;
    if (this.withSource) filter.has_source = true;
    const [column, order] = this.sort.value.split(' ');
    return {
      query: 'rows', file: this.at?.file, program: this.at?.program.program, filter,
      ...(column ? { sort: { column, descending: order === 'down' } } : {}), from, count,
    };
  }

  async #load() {
    this.pages.clear();
    const { at } = this;
    this.message.replaceChildren();
    if (!at) {
      this.counted.textContent = '';
      return this.box.reset(0);
    }
    const { signal } = this.pages.controller;
    try {
      /** @type {import('./protocol.js').Rows} */
      const answer = await this.api.call(this.#request(0, PAGE), signal);
      if (signal.aborted) return;
      this.#showColumns(answer.columns);
      this.matched = answer.matched;
      this.pages.put(0, answer.rows);
      const { total, matched } = answer;
      this.counted.textContent = matched === total ? plural(total, at.program.item_name) : `${count(matched)} of ${plural(total, at.program.item_name)}`;
      this.box.label = this.counted.textContent;
      this.box.reset(matched);
      performance.mark('unshade:list');
      this.say(this.counted.textContent);
      if (matched === 0) {
        fill(this.message, nothing(total === 0 ? `There are no ${at.program.item_name}s.` : 'No matches.', total > 0 && h('button', {
          type: 'button', class: 'quiet', onclick: () => {
            this.input.value = '';
            this.kinds = [];
            this.withSource = false;
            this.#showChips();
            this.#load();
          },
        }, 'Show all')));
      }
      this.mark(this.item);
    } catch (error) {
      if (!aborted(error)) this.#fail(error);
    }
  }

  /** @param {unknown} error */
  #fail(error) {
    fill(this.message, problem(error));
    this.box.reset(0);
  }

  #showChips() {
    const kinds = Object.entries(this.at?.program.kinds ?? {}).sort((a, b) => b[1] - a[1]);
    const chip = (/** @type {string} */ text, /** @type {boolean} */ pressed, /** @type {() => void} */ toggle) => h('button', {
      type: 'button', class: 'chip', 'aria-pressed': String(pressed),
      onclick: () => {
        toggle();
        this.#showChips();
        this.#load();
      },
    }, text);
    fill(this.chips,
      ...(kinds.length > 1 ? kinds : []).slice(0, 12).map(([kind, number]) => chip(`${kind} ${count(number)}`, this.kinds.includes(kind), () => {
        this.kinds = this.kinds.includes(kind) ? this.kinds.filter((other) => other !== kind) : [...this.kinds, kind];
      })),
      this.at?.program.has_sources && this.at.program.items > 1 && chip('has source', this.withSource, () => {
        this.withSource = !this.withSource;
      }));
  }

  /** @param {import('./protocol.js').Column[]} columns */
  #showColumns(columns) {
    if (this.columns.map((column) => column.key).join() === columns.map((column) => column.key).join()) return;
    this.columns = columns;
    this.column = columns.find((column) => column.align === 'right')?.key ?? columns.find((column) => column.key !== 'name' && column.key !== 'kind')?.key ?? '';
    fill(this.sort, h('option', { value: '' }, 'in file order'),
      ...columns.flatMap(({ key, label }) => [h('option', { value: `${key} up` }, `${label} ↑`), h('option', { value: `${key} down` }, `${label} ↓`)]));
  }

  /**
   * @param {HTMLElement} row
   * @param {number} index
   */
  #render(row, index) {
    const [badge, name, cell] = /** @type {[HTMLElement, HTMLElement, HTMLElement]} */ (/** @type {unknown} */ (row.children));
    const data = this.pages.get(index);
    row.classList.toggle('shown', data !== undefined && data.item === this.item);
    if (!data) {
      badge.textContent = '';
      name.textContent = '…';
      cell.textContent = '';
      return;
    }
    badge.textContent = letter(data.kind);
    badge.title = data.kind;
    badge.dataset.kind = data.kind;
    row.title = data.mangled && data.mangled !== data.name ? `${data.name}\n${data.mangled}` : data.name;
    this.#name(name, data.name);
    const column = this.sort.value.split(' ')[0];
    cell.textContent = data.cells[column && column !== 'name' && column !== 'kind' ? column : this.column] ?? '';
  }

  /**
   * Shows the name with the filter text highlighted.
   * @param {HTMLElement} host
   * @param {string} name
   */
  #name(host, name) {
    const text = this.input.value.trim().toLowerCase();
    const at = text && !text.startsWith('/') ? name.toLowerCase().indexOf(text) : -1;
    if (at < 0) {
      host.textContent = name || '(no name)';
      return;
    }
    host.replaceChildren(name.slice(0, at), h('mark', {}, name.slice(at, at + text.length)), name.slice(at + text.length));
  }

  /**
   * @param {number} index
   * @param {boolean} replace
   */
  async #choose(index, replace) {
    const row = await this.pages.fetch(index);
    if (row && (replace ? this.box.active === index : true)) this.onchoose(row, replace);
  }
}

/**
 * Returns the letter of a kind's badge; the tooltip has the whole name.
 * @param {string} kind
 */
export function letter(kind) {
  return kind.charAt(0).toUpperCase();
}
