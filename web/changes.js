/**
 * The functions of two programs that differ, the most changed first. They arrive in steps; choosing one opens the pair.
 */

import { count, fill, h, plural } from './dom.js';
import { aborted, problem, RowBox } from './rows.js';

/** @typedef {import('./protocol.js').ItemChange} ItemChange */
/** @typedef {import('./protocol.js').ChangesPart} ChangesPart */
/** @typedef {{file: number, program: number, item?: number}} Subject */

/** Milliseconds that a step may take. */
const BUDGET = 400;
/** Milliseconds between two sortings while functions arrive. */
const SORT_EVERY = 400;

const KINDS = /** @type {const} */ (['changed', 'renamed', 'added', 'removed']);

/** @param {ItemChange} change */
function sizeText({ kind, lines, changed, added, removed, renamed, fault, measure }) {
  if (kind === 'added' || kind === 'removed') return plural(lines, 'line');
  if (fault) return measure === 0 ? 'same bytes' : 'bytes differ';
  const parts = [];
  if (changed) parts.push(`~${count(changed)}`);
  if (added) parts.push(`+${count(added)}`);
  if (removed) parts.push(`−${count(removed)}`);
  if (parts.length === 0) return renamed ? `${plural(renamed, 'line')} renamed` : kind === 'renamed' ? 'same code' : 'bytes only';
  return parts.join(' ');
}

export class ChangeList {
  /**
   * @param {object} options
   * @param {import('./transport.js').Transport} options.api
   * @param {(text: string) => void} options.say
   * @param {(left: number | undefined, right: number | undefined) => void} options.onpair
   */
  constructor({ api, say, onpair }) {
    this.api = api;
    this.say = say;
    /** @type {ItemChange[]} */
    this.all = [];
    /** @type {ItemChange[]} */
    this.shown = [];
    this.same = 0;
    /** @type {Set<string>} kinds that are hidden */
    this.hidden = new Set();
    this.controller = new AbortController();
    this.chips = h('div', { class: 'chips', role: 'group', 'aria-label': 'Kinds of changes' });
    this.sort = h('select', { 'aria-label': 'Order', onchange: () => this.#arrange() },
      ...[['measure', 'most changed first'], ['lines', 'most lines first'], ['name', 'by name']].map(([value, text]) => h('option', { value }, text)));
    this.progress = h('progress', { 'aria-label': 'Compared' });
    this.state = h('span', { class: 'muted', role: 'status' });
    this.stopButton = h('button', { type: 'button', class: 'quiet', hidden: true, onclick: () => this.controller.abort() }, 'Stop');
    this.message = h('div', { class: 'list-message' });
    this.box = new RowBox({
      label: 'Functions that differ',
      className: 'change-rows',
      create: () => h('div', { class: 'row change-row' }, h('span', { class: 'change-measure' }, h('span', { class: 'change-bar' })), h('span', { class: 'change-kind' }),
        h('span', { class: 'change-name mono' }), h('span', { class: 'change-size' })),
      render: (row, index) => this.#render(row, index),
      onchoose: (index) => {
        const change = this.shown[index];
        if (change) onpair(change.left, change.right);
      },
    });
    this.element = h('div', { class: 'change-list' },
      h('div', { class: 'compare-bar' }, this.chips, this.sort, this.progress, this.state, this.stopButton), this.message, this.box.element);
  }

  stop() {
    this.controller.abort();
  }

  /**
   * @param {Subject} left
   * @param {Subject} right
   * @param {AbortSignal} signal
   */
  async load(left, right, signal) {
    const controller = new AbortController();
    this.controller = controller;
    signal.addEventListener('abort', () => controller.abort(), { once: true });
    this.all = [];
    this.same = 0;
    this.message.replaceChildren();
    this.#arrange();
    this.stopButton.hidden = false;
    this.progress.classList.add('running');
    this.progress.removeAttribute('value');
    let sorted = 0;
    try {
      for (let cursor = /** @type {string | null | undefined} */ (undefined); cursor !== null;) {
        /** @type {ChangesPart} */
        const part = await this.api.call({ query: 'changes', left, right, budget_ms: BUDGET, ...(cursor ? { cursor } : {}) }, controller.signal);
        this.all.push(...part.changes);
        this.same += part.same;
        cursor = part.cursor;
        this.progress.max = Math.max(1, part.total);
        this.progress.value = part.searched;
        this.state.textContent = `${count(part.searched)} of ${count(part.total)} compared`;
        if (performance.now() - sorted > SORT_EVERY) {
          this.#arrange();
          sorted = performance.now();
        }
      }
      this.#arrange();
      this.state.textContent = `${plural(this.all.length, 'difference')}, ${count(this.same)} the same`;
      this.say(this.state.textContent);
    } catch (error) {
      if (signal.aborted || this.controller !== controller) return;
      this.#arrange();
      if (aborted(error)) this.state.textContent = `stopped: ${plural(this.all.length, 'difference')} so far`;
      else this.message.replaceChildren(problem(error));
    } finally {
      if (this.controller === controller) {
        this.stopButton.hidden = true;
        this.progress.classList.remove('running');
      }
    }
  }

  #arrange() {
    const order = this.sort.value;
    const size = (/** @type {ItemChange} */ { changed, added, removed }) => changed + added + removed;
    // What both programs have comes before what only one has, which is all different.
    const alone = (/** @type {ItemChange} */ { kind }) => Number(kind === 'added' || kind === 'removed');
    this.shown = this.all.filter(({ kind }) => !this.hidden.has(kind)).sort((a, b) =>
      (order === 'name' ? 0 : order === 'lines' ? size(b) - size(a) : alone(a) - alone(b) || b.measure - a.measure || size(b) - size(a)) || (a.name < b.name ? -1 : a.name > b.name ? 1 : 0));
    const counts = new Map(KINDS.map((kind) => [kind, 0]));
    for (const { kind } of this.all) counts.set(kind, (counts.get(kind) ?? 0) + 1);
    const chips = KINDS.filter((kind) => counts.get(kind));
    // A click must find the same chip before and after.
    if (chips.join() !== this.offered) {
      this.offered = chips.join();
      fill(this.chips, ...chips.map((kind) => h('button', {
        type: 'button', class: 'chip', 'data-kind': kind, 'aria-pressed': String(!this.hidden.has(kind)),
        onclick: () => {
          if (!this.hidden.delete(kind)) this.hidden.add(kind);
          this.#arrange();
        },
      })));
    }
    for (const chip of this.chips.children) {
      const kind = /** @type {HTMLElement} */ (chip).dataset.kind ?? '';
      chip.setAttribute('aria-pressed', String(!this.hidden.has(kind)));
      chip.textContent = `${count(counts.get(/** @type {any} */ (kind)) ?? 0)} ${kind}`;
    }
    this.box.reset(this.shown.length, true);
  }

  /**
   * @param {HTMLElement} row
   * @param {number} index
   */
  #render(row, index) {
    const change = this.shown[index];
    const [measure, kind, name, size] = /** @type {HTMLElement[]} */ ([...row.children]);
    const bar = /** @type {HTMLElement} */ (measure.firstElementChild);
    bar.style.width = `${change.measure / 10}%`;
    measure.title = `${(change.measure / 10).toFixed(1)} % of the lines differ`;
    row.dataset.kind = change.kind;
    kind.textContent = change.kind;
    name.textContent = change.before === undefined ? change.name : `${change.before} → ${change.name}`;
    name.title = name.textContent;
    size.textContent = sizeText(change);
    size.title = change.fault ?? '';
  }
}
