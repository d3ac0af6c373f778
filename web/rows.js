/**
 * A list with keyboard navigation, used for lists, trees and listings. Only visible rows exist (`virtual.js`), and
 * one row is active. The focus stays on the list; `aria-activedescendant` names the active row.
 */

import { h } from './dom.js';
import { VirtualRows } from './virtual.js';

/**
 * @typedef {object} RowBoxOptions
 * @property {string} label accessible name
 * @property {'listbox' | 'tree'} [role]
 * @property {number} [rowHeight]
 * @property {number} [touchHeight] the height of rows for fingers; less for text that is read rather than chosen
 * @property {string} [className]
 * @property {() => HTMLElement} [create]
 * @property {(row: HTMLElement, index: number) => void} render
 * @property {(index: number, event: Event) => void} [onchoose] called on click or Enter
 * @property {(index: number, event?: KeyboardEvent) => void} [onmove] called when a key made the row active
 * @property {(event: KeyboardEvent, index: number) => boolean | void} [onkey] returns true if it handled the key
 * @property {(first: number, last: number) => void} [onview]
 */

let boxes = 0;

export class RowBox {
  /** @param {RowBoxOptions} options */
  constructor(options) {
    const { role = 'listbox', rowHeight = 20, touchHeight = 40 } = options;
    this.options = options;
    this.prefix = `box${++boxes}`;
    this.active = -1;
    this.rowRole = role === 'tree' ? 'treeitem' : 'option';
    this.element = h('div', { class: `rows ${options.className ?? ''}`, role, 'aria-label': options.label, tabIndex: 0 });
    this.virtual = new VirtualRows(this.element, {
      rowHeight,
      touchHeight,
      create: () => {
        const row = options.create?.() ?? h('div', { class: 'row' });
        row.setAttribute('role', this.rowRole);
        return row;
      },
      render: (row, index) => this.#render(row, index),
      onview: options.onview,
    });
    this.element.addEventListener('keydown', (event) => this.#key(event));
    this.element.addEventListener('click', (event) => {
      const index = this.virtual.indexOf(event.target);
      if (index < 0 || !(document.getSelection()?.isCollapsed ?? true)) return;
      this.setActive(index);
      options.onchoose?.(index, event);
    });
  }

  get total() {
    return this.virtual.total;
  }

  /** @param {string} label */
  set label(label) {
    this.element.setAttribute('aria-label', label);
  }

  /**
   * @param {number} total
   * @param {boolean} [keep] whether to keep position and active row
   */
  reset(total, keep = false) {
    if (!keep || this.active >= total) this.active = -1;
    this.virtual.reset(total, keep);
    this.#point();
  }

  refresh() {
    this.virtual.refresh();
    this.#point();
  }

  /**
   * @param {number} index −1 for none
   * @param {'nearest' | 'center' | 'start' | 'stay'} [where]
   */
  setActive(index, where = 'nearest') {
    const before = this.active;
    this.active = index;
    if (index >= 0 && where !== 'stay') this.virtual.show(index, where);
    this.virtual.refreshRow(before);
    this.virtual.refreshRow(index);
    this.#point();
  }

  /**
   * Moves by a number of rows, as the arrow keys do.
   * @param {number} by
   * @param {KeyboardEvent} [event]
   */
  move(by, event) {
    const from = this.active >= 0 ? this.active : by > 0 ? -1 : this.total;
    this.moveTo(from + by, event);
  }

  /**
   * Makes a row active as the keys do, and calls `onmove`.
   * @param {number} index
   * @param {KeyboardEvent} [event]
   */
  moveTo(index, event) {
    const next = Math.max(0, Math.min(this.total - 1, index));
    if (this.total === 0 || next === this.active) return;
    this.setActive(next);
    this.options.onmove?.(next, event);
  }

  #point() {
    const node = this.active >= 0 ? this.virtual.nodeOf(this.active) : undefined;
    if (node) this.element.setAttribute('aria-activedescendant', node.id);
    else this.element.removeAttribute('aria-activedescendant');
  }

  /**
   * @param {HTMLElement} row
   * @param {number} index
   */
  #render(row, index) {
    row.id = `${this.prefix}-${index}`;
    row.setAttribute('aria-selected', String(index === this.active));
    row.setAttribute('aria-setsize', String(this.total));
    row.setAttribute('aria-posinset', String(index + 1));
    row.classList.toggle('active', index === this.active);
    this.options.render(row, index);
  }

  /** @param {KeyboardEvent} event */
  #key(event) {
    if (event.altKey || event.metaKey || event.ctrlKey) return;
    if (this.options.onkey?.(event, this.active)) {
      event.preventDefault();
      return;
    }
    const { page } = this.virtual;
    switch (event.key) {
      case 'ArrowDown': case 'j': this.move(1, event); break;
      case 'ArrowUp': case 'k': this.move(-1, event); break;
      case 'PageDown': this.move(page, event); break;
      case 'PageUp': this.move(-page, event); break;
      case 'Home': this.moveTo(0, event); break;
      case 'End': this.moveTo(this.total - 1, event); break;
      case 'Enter': case ' ':
        if (this.active >= 0) this.options.onchoose?.(this.active, event);
        break;
      default: return;
    }
    event.preventDefault();
  }
}

/**
 * Creates the message of an empty list.
 * @param {string} text
 * @param {...import('./dom.js').Child} more
 */
export function nothing(text, ...more) {
  return h('div', { class: 'nothing' }, h('p', {}, text), ...more);
}

/**
 * Creates an error message: what, where, what was expected, what to do.
 * @param {unknown} error
 * @returns {HTMLElement}
 */
export function problem(error) {
  const shape = /** @type {import('./protocol.js').ErrorShape | undefined} */ (/** @type {any} */ (error)?.shape);
  const message = shape?.message ?? (error instanceof Error ? error.message : String(error));
  const path = shape?.path?.length ? shape.path.join(' › ') : '';
  return h('div', { class: 'problem', role: 'alert' },
    h('p', { class: 'problem-message' }, message),
    (path || shape?.offset !== undefined && shape.offset !== null) && h('p', { class: 'muted mono' },
      [path, shape?.offset !== undefined && shape.offset !== null ? `at 0x${shape.offset.toString(16)}` : ''].filter(Boolean).join(' ')),
    shape?.expected && h('p', {}, `Expected: ${shape.expected}`),
    shape?.hint && h('p', { class: 'hint' }, shape.hint));
}

/**
 * Waits for an answer. After a noticeable delay, shows what is being done and a button to cancel it.
 * @template T
 * @param {HTMLElement} host
 * @param {string} what
 * @param {AbortController} controller
 * @param {Promise<T>} promise
 * @returns {Promise<T>}
 */
export async function waiting(host, what, controller, promise) {
  /** @type {HTMLElement | undefined} */
  let note;
  const timer = setTimeout(() => {
    note = h('div', { class: 'waiting', role: 'status' }, h('span', { class: 'spinner', 'aria-hidden': 'true' }), h('span', {}, what),
      h('button', { type: 'button', class: 'quiet', onclick: () => controller.abort() }, 'Cancel'));
    host.append(note);
  }, 180);
  try {
    return await promise;
  } finally {
    clearTimeout(timer);
    note?.remove();
  }
}

/** @param {unknown} error */
export function aborted(error) {
  return error instanceof DOMException && error.name === 'AbortError';
}
