/** Comparison of two functions, programs or files: the changes, and the listings side by side. */

import { count, fill, h, plural } from './dom.js';
import { tokenNodes } from './listing.js';
import { aborted, nothing, problem, RowBox, waiting } from './rows.js';

/** @typedef {import('./protocol.js').Token} Token */
/** @typedef {{file: number, program: number, item?: number}} Subject */
/** @typedef {{number: number, tokens: Token[], changed: boolean} | null} Half */

/**
 * Returns the rows of a hunk. Common lines share a row; removed and added lines are paired in order.
 * @param {import('./protocol.js').Comparison['hunks'][number]} hunk
 * @returns {[Half, Half][]}
 */
export function pair(hunk) {
  let left = hunk.left_from;
  let right = hunk.right_from;
  /** @type {[Half, Half][]} */
  const rows = [];
  /** @type {Half[]} */
  let before = [];
  /** @type {Half[]} */
  let after = [];
  const flush = () => {
    for (let k = 0; k < Math.max(before.length, after.length); k++) rows.push([before[k] ?? null, after[k] ?? null]);
    before = [];
    after = [];
  };
  for (const { side, tokens } of hunk.lines) {
    if (side === 'left') {
      before.push({ number: left++, tokens, changed: true });
    } else if (side === 'right') {
      after.push({ number: right++, tokens, changed: true });
    } else {
      flush();
      rows.push([{ number: left++, tokens, changed: false }, { number: right++, tokens, changed: false }]);
    }
  }
  flush();
  return rows;
}

export class Comparison {
  /**
   * @param {object} options
   * @param {import('./transport.js').Transport} options.api
   * @param {(text: string) => void} options.say
   */
  constructor({ api, say }) {
    this.api = api;
    this.say = say;
    this.key = '';
    /** @type {([Half, Half] | string)[]} a string separates two hunks */
    this.rows = [];
    this.controller = new AbortController();
    this.head = h('div', { class: 'compare-head' });
    this.over = h('div', { class: 'over' });
    this.box = new RowBox({
      label: 'Differences',
      className: 'compare-rows mono',
      touchHeight: 28,
      create: () => h('div', { class: 'compare-row' }, ...[0, 1].map(() => h('span', { class: 'half' }, h('span', { class: 'gutter' }), h('span', { class: 'sign' }), h('span', { class: 'code' })))),
      render: (row, index) => this.#render(row, index),
    });
    this.element = h('div', { class: 'compare' }, this.head, this.box.element, this.over);
  }

  /**
   * @param {Subject} left
   * @param {Subject} right
   * @param {[string, string]} names
   */
  async show(left, right, names) {
    const key = JSON.stringify([left, right]);
    if (this.key === key) return;
    this.key = key;
    this.controller.abort();
    const controller = new AbortController();
    this.controller = controller;
    this.rows = [];
    this.box.reset(0);
    this.head.replaceChildren();
    this.over.replaceChildren();
    try {
      /** @type {import('./protocol.js').Comparison} */
      const answer = await waiting(this.over, 'Comparing…', controller, this.api.call({ query: 'compare', left, right }, controller.signal));
      if (this.controller !== controller) return;
      this.#show(answer, names);
    } catch (error) {
      if (this.controller !== controller) return;
      this.key = '';
      this.over.replaceChildren(aborted(error) ? nothing('Stopped.') : problem(error));
    }
  }

  /**
   * @param {import('./protocol.js').Comparison} answer
   * @param {[string, string]} names
   */
  #show(answer, names) {
    const { changes, hunks, more } = answer;
    fill(this.head,
      h('div', { class: 'compare-names' }, h('span', {}, names[0]), h('span', {}, names[1])),
      changes.length > 0 && h('div', { class: 'table-scroll changes', tabIndex: 0, role: 'region', 'aria-label': 'Changes' }, h('table', {},
        h('thead', {}, h('tr', {}, ...['change', 'of', 'left', 'right'].map((label) => h('th', { scope: 'col' }, label)))),
        h('tbody', {}, ...changes.map((change) => h('tr', {}, h('td', {}, change.kind), h('td', {}, change.name), h('td', {}, change.before ?? '–'), h('td', {}, change.after ?? '–')))))),
      more > 0 && h('p', { class: 'muted' }, `${count(more)} more differences. unshade diff shows all of them.`));
    this.rows = hunks.flatMap((hunk, index) => {
      /** @type {([Half, Half] | string)[]} */
      const rows = pair(hunk);
      if (index > 0) rows.unshift('…');
      return rows;
    });
    this.box.reset(this.rows.length);
    if (answer.same) this.over.replaceChildren(nothing('No differences.'));
    else if (this.rows.length === 0) this.over.replaceChildren(nothing(changes.length ? 'The listings do not differ.' : 'There is nothing to compare.'));
    this.say(answer.same ? 'No differences' : `${plural(changes.length, 'change')}, ${plural(hunks.length, 'difference')} in the listing`);
  }

  /**
   * @param {HTMLElement} row
   * @param {number} index
   */
  #render(row, index) {
    const data = this.rows[index];
    row.classList.toggle('between', typeof data === 'string');
    [...row.children].forEach((half, side) => {
      const [gutter, sign, code] = /** @type {[HTMLElement, HTMLElement, HTMLElement]} */ (/** @type {unknown} */ (half.children));
      const line = typeof data === 'string' ? null : data[side];
      gutter.textContent = line ? String(line.number + 1) : '';
      sign.textContent = line?.changed ? (side === 0 ? '−' : '+') : '';
      code.replaceChildren(...(line ? tokenNodes(line.tokens) : typeof data === 'string' ? [data] : []));
      half.classList.toggle('changed', line?.changed === true);
      half.classList.toggle('left', side === 0);
      half.classList.toggle('absent', !line && typeof data !== 'string');
    });
  }
}
