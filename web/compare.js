/**
 * Comparison of two functions or programs. Listings stand side by side, or below each other on narrow panes; what
 * differs in a line is marked, and lines that differ only in the names of registers or values can be hidden. Programs
 * have a list of the functions that differ (`changes`).
 */

import { ChangeList } from './changes.js';
import { count, fill, h, iconButton, plural } from './dom.js';
import { tokenNodes } from './listing.js';
import { aborted, nothing, problem, RowBox, waiting } from './rows.js';

/** @typedef {import('./protocol.js').Comparison} Answer */
/** @typedef {import('./protocol.js').Hunk} Hunk */
/** @typedef {import('./protocol.js').HunkLine} HunkLine */
/** @typedef {import('./protocol.js').Token} Token */
/** @typedef {{file: number, program: number, item?: number}} Subject */
/** @typedef {'same' | 'renamed' | 'changed' | 'removed' | 'added'} Kind */
/** @typedef {{number: number, tokens: Token[], changed: boolean, marks: number[]}} Half */

/**
 * @typedef {object} Row
 * @property {Kind} kind
 * @property {Half | null} left
 * @property {Half | null} right
 */

/** Width of a pane from which both sides stand beside each other. */
const WIDE = 620;

/**
 * Returns the rows of a hunk. Common lines share a row, and so do lines that are one that changed; other removed and
 * added lines are paired in order.
 * @param {Hunk} hunk
 * @returns {Row[]}
 */
export function pair(hunk) {
  let left = hunk.left_from;
  let right = hunk.right_from;
  /** @type {Row[]} */
  const rows = [];
  /** @type {Half[]} */
  let before = [];
  /** @type {Half[]} */
  let after = [];
  const flush = () => {
    for (let k = 0; k < Math.max(before.length, after.length); k++) {
      const [one, other] = [before[k] ?? null, after[k] ?? null];
      rows.push({ kind: one && other ? 'changed' : one ? 'removed' : 'added', left: one, right: other });
    }
    before = [];
    after = [];
  };
  /** @type {Half | null} */
  let half = null;
  for (const { side, tokens, before: old, paired, marks = [] } of hunk.lines) {
    if (side === 'left') {
      const line = { number: left++, tokens, changed: true, marks };
      if (paired) {
        flush();
        half = line;
      } else {
        before.push(line);
      }
    } else if (side === 'right') {
      const line = { number: right++, tokens, changed: true, marks };
      if (paired && half) {
        rows.push({ kind: 'changed', left: half, right: line });
        half = null;
      } else {
        after.push(line);
      }
    } else {
      flush();
      rows.push({
        kind: old ? 'renamed' : 'same',
        left: { number: left++, tokens: old ?? tokens, changed: false, marks: old ? marks : [] },
        right: { number: right++, tokens, changed: false, marks },
      });
    }
  }
  flush();
  return rows;
}

/**
 * Returns the rows that are shown, with `…` where lines are left out.
 * @param {Hunk[]} hunks
 * @param {boolean} renamed whether lines that were only renamed are differences
 * @param {boolean} unified whether each line has a row of its own
 * @returns {(Row | string)[]}
 */
export function rowsOf(hunks, renamed, unified) {
  /** @type {(Row | string)[]} */
  const shown = [];
  for (const hunk of hunks) {
    const rows = pair(hunk);
    const isChange = (/** @type {Row} */ { kind }) => kind !== 'same' && (renamed || kind !== 'renamed');
    if (!rows.some(isChange)) continue;
    // Without the renamed lines, a hunk may be shorter: three lines around each change are kept.
    const near = rows.map(() => false);
    rows.forEach((row, at) => {
      if (isChange(row)) for (let k = Math.max(0, at - 3); k <= Math.min(rows.length - 1, at + 3); k++) near[k] = true;
    });
    let wasNear = false;
    rows.forEach((row, at) => {
      if (near[at] && !wasNear && shown.length > 0) shown.push('…');
      wasNear = near[at];
      if (!near[at]) return;
      if (!unified || row.kind === 'same' || row.kind === 'renamed') shown.push(row);
      else if (row.left && row.right) shown.push({ ...row, right: null }, { ...row, left: null });
      else shown.push(row);
    });
  }
  return shown;
}

/** The signs of rows, so that no colour is needed. */
const SIGNS = { same: ['', ''], renamed: ['~', '~'], changed: ['−', '+'], removed: ['−', ''], added: ['', '+'] };

export class Comparison {
  /**
   * @param {object} options
   * @param {import('./transport.js').Transport} options.api
   * @param {(text: string) => void} options.say
   * @param {(left: number | undefined, right: number | undefined) => void} options.onpair a pair of items was chosen
   */
  constructor({ api, say, onpair }) {
    this.api = api;
    this.say = say;
    this.key = '';
    /** @type {Hunk[]} */
    this.hunks = [];
    /** @type {(Row | string)[]} */
    this.rows = [];
    /** The first rows of differences. @type {number[]} */
    this.differences = [];
    this.unified = false;
    this.controller = new AbortController();
    this.names = h('div', { class: 'compare-names' });
    this.fields = h('div', {});
    this.renamed = h('input', { type: 'checkbox', onchange: () => this.#arrange() });
    this.renamedLabel = h('label', { class: 'choice', hidden: true }, this.renamed, h('span', {}));
    this.summary = h('span', { class: 'muted compare-summary' });
    this.steps = h('span', { class: 'compare-steps' },
      iconButton('back', 'Previous difference', () => this.step(-1), 'p'), iconButton('forward', 'Next difference', () => this.step(1), 'n'));
    this.bar = h('div', { class: 'compare-bar' }, this.summary, this.renamedLabel, h('span', { class: 'grow' }), this.steps);
    this.over = h('div', { class: 'over' });
    this.box = new RowBox({
      label: 'Differences',
      className: 'compare-rows mono',
      touchHeight: 28,
      create: () => h('div', { class: 'compare-row' }, ...[0, 1].map(() => h('span', { class: 'half' }, h('span', { class: 'gutter' }), h('span', { class: 'sign' }), h('span', { class: 'code' })))),
      render: (row, index) => this.#render(row, index),
      onkey: (event) => this.#key(event),
      onview: () => this.#marker(),
    });
    /** Columns by which both sides are moved to the left. */
    this.shift = 0;
    this.box.element.addEventListener('wheel', (event) => {
      if (this.unified || Math.abs(event.deltaX) <= Math.abs(event.deltaY)) return;
      event.preventDefault();
      this.#shiftTo(this.shift + event.deltaX / 8);
    }, { passive: false });
    this.ruler = h('div', { class: 'ruler', 'aria-hidden': 'true' });
    this.ruler.addEventListener('pointerdown', (event) => {
      const box = this.ruler.getBoundingClientRect();
      this.box.setActive(Math.min(this.rows.length - 1, Math.floor(((event.clientY - box.top) / box.height) * this.rows.length)), 'center');
    });
    this.list = new ChangeList({ api, say, onpair });
    this.lines = h('div', { class: 'compare-lines' }, this.box.element, this.ruler, this.over);
    this.element = h('div', { class: 'compare' }, h('div', { class: 'compare-head' }, this.names, this.fields, this.bar), this.list.element, this.lines);
    new ResizeObserver(() => this.#resized()).observe(this.element);
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
    this.hunks = [];
    this.rows = [];
    this.box.reset(0);
    fill(this.names, h('span', {}, names[0]), h('span', {}, names[1]));
    this.fields.replaceChildren();
    this.summary.textContent = '';
    this.ruler.replaceChildren();
    this.over.replaceChildren();
    const ofPrograms = left.item === undefined && right.item === undefined;
    this.list.element.hidden = !ofPrograms;
    this.bar.hidden = ofPrograms;
    this.lines.hidden = ofPrograms;
    if (ofPrograms) this.list.message.replaceChildren();
    this.list.stop();
    try {
      if (ofPrograms) await this.list.load(left, right, controller.signal);
      if (this.controller !== controller) return;
      const asked = this.api.call({ query: 'compare', left, right }, controller.signal);
      /** @type {Answer} */
      const answer = await (ofPrograms ? asked : waiting(this.over, 'Comparing…', controller, asked));
      if (this.controller !== controller) return;
      this.#show(answer, ofPrograms);
    } catch (error) {
      if (this.controller !== controller) return;
      this.key = '';
      (ofPrograms ? this.list.message : this.over).replaceChildren(aborted(error) ? nothing('Stopped.') : problem(error));
    }
  }

  /**
   * @param {Answer} answer
   * @param {boolean} ofPrograms
   */
  #show(answer, ofPrograms) {
    const { hunks, more, renamed = 0 } = answer;
    // The list shows functions; what remains are the fields of the program as a whole.
    const changes = ofPrograms ? answer.changes.filter(({ kind }) => kind === 'field') : answer.changes;
    fill(this.fields,
      changes.length > 0 && h('details', { class: 'changes', open: changes.length <= 12 }, h('summary', {}, plural(changes.length, 'changed field')),
        h('div', { class: 'table-scroll', tabIndex: 0, role: 'region', 'aria-label': 'Changed fields' }, h('table', {},
          h('thead', {}, h('tr', {}, ...['change', 'of', 'left', 'right'].map((label) => h('th', { scope: 'col' }, label)))),
          h('tbody', {}, ...changes.map((change) => h('tr', {}, h('td', {}, change.kind), h('td', {}, change.name), h('td', {}, change.before ?? '–'), h('td', {}, change.after ?? '–'))))))),
      more > 0 && !ofPrograms && h('p', { class: 'muted' }, `${count(more)} more differences. unshade diff shows all of them.`));
    if (ofPrograms) return;
    this.hunks = hunks;
    this.renamedLabel.hidden = renamed === 0;
    fill(/** @type {HTMLElement} */ (this.renamedLabel.lastChild), `show ${plural(renamed, 'renamed line')}`);
    this.#arrange();
    if (answer.same) this.over.replaceChildren(nothing('No differences.'));
    else if (hunks.length === 0 && changes.length === 0) this.over.replaceChildren(nothing('There is nothing to compare.'));
    this.say(answer.same ? 'No differences' : this.summary.textContent || 'No differences');
  }

  /** Chooses the rows that are shown. */
  #arrange() {
    this.rows = rowsOf(this.hunks, this.renamed.checked, this.unified);
    this.box.reset(this.rows.length);
    this.differences = [];
    /** @type {Record<string, number>} */
    const counts = {};
    let wasChange = false;
    this.rows.forEach((row, index) => {
      const isChange = typeof row !== 'string' && row.kind !== 'same' && (row.kind !== 'renamed' || this.renamed.checked);
      if (isChange && !wasChange) this.differences.push(index);
      wasChange = isChange;
    });
    for (const row of rowsOf(this.hunks, true, false)) if (typeof row !== 'string') counts[row.kind] = (counts[row.kind] ?? 0) + 1;
    const parts = ['changed', 'added', 'removed'].filter((kind) => counts[kind]).map((kind) => `${count(counts[kind])} ${kind}`);
    if (counts.renamed) parts.push(`${count(counts.renamed)} only renamed`);
    this.summary.textContent = parts.join(' · ');
    this.over.replaceChildren(...(this.rows.length === 0 && counts.renamed ? [nothing('Only the names of registers or values differ.')] : []));
    this.steps.hidden = this.differences.length === 0;
    this.#drawRuler();
  }

  #drawRuler() {
    const total = Math.max(1, this.rows.length);
    /** @type {HTMLElement[]} */
    const marks = [];
    let start = -1;
    let kind = '';
    const close = (/** @type {number} */ end) => {
      if (start < 0 || marks.length > 2_000) return;
      const mark = h('span', { class: `ruler-mark ${kind}` });
      mark.style.top = `${(start / total) * 100}%`;
      mark.style.height = `max(2px, ${((end - start) / total) * 100}%)`;
      marks.push(mark);
    };
    this.rows.forEach((row, index) => {
      const own = typeof row === 'string' || row.kind === 'same' || row.kind === 'renamed' && !this.renamed.checked ? '' : row.kind;
      if (own === kind) return;
      close(index);
      kind = own;
      start = own ? index : -1;
    });
    close(this.rows.length);
    this.view = h('span', { class: 'ruler-view' });
    this.ruler.replaceChildren(...marks, this.view);
    this.#marker();
  }

  /** Shows on the ruler what is in view. */
  #marker() {
    if (!this.view) return;
    const { top, total } = this.box.virtual;
    this.view.style.top = `${(top / Math.max(1, total)) * 100}%`;
    this.view.style.height = `${Math.min(1, this.box.virtual.height / 20 / Math.max(1, total)) * 100}%`;
  }

  #resized() {
    const unified = this.element.clientWidth > 0 && this.element.clientWidth < WIDE;
    if (unified === this.unified) return;
    this.unified = unified;
    this.element.classList.toggle('unified', unified);
    if (this.hunks.length > 0) this.#arrange();
  }

  /** @param {KeyboardEvent} event */
  #key(event) {
    if (event.key !== 'ArrowLeft' && event.key !== 'ArrowRight') return false;
    this.#shiftTo(this.shift + (event.key === 'ArrowRight' ? 8 : -8));
    return true;
  }

  /**
   * Moves both sides together, to read long lines.
   * @param {number} columns
   */
  #shiftTo(columns) {
    this.shift = Math.max(0, Math.min(2_000, columns));
    this.box.element.style.setProperty('--shift', `${-this.shift}ch`);
  }

  /**
   * Goes to the next or previous difference.
   * @param {number} by
   */
  step(by) {
    const { differences } = this;
    if (!this.list.element.hidden) return this.list.box.move(by);
    if (differences.length === 0) return this.say('There are no differences.');
    const from = this.box.active >= 0 ? this.box.active : by > 0 ? -1 : this.rows.length;
    const next = by > 0 ? differences.find((at) => at > from) : differences.findLast((at) => at < from);
    if (next === undefined) return this.say(by > 0 ? 'That was the last difference.' : 'That was the first difference.');
    this.box.setActive(next, 'center');
    this.say(`Difference ${count(differences.indexOf(next) + 1)} of ${count(differences.length)}`);
  }

  /**
   * @param {HTMLElement} row
   * @param {number} index
   */
  #render(row, index) {
    const data = this.rows[index];
    row.classList.toggle('between', typeof data === 'string');
    const kind = typeof data === 'string' ? 'same' : data.kind;
    row.classList.toggle('renamed', kind === 'renamed');
    const alone = this.unified && typeof data !== 'string' ? (data.right ?? data.left) : null;
    [...row.children].forEach((half, side) => {
      const [gutter, sign, code] = /** @type {[HTMLElement, HTMLElement, HTMLElement]} */ (/** @type {unknown} */ (half.children));
      /** @type {HTMLElement} */ (half).hidden = this.unified && side === 1;
      const line = typeof data === 'string' ? null : alone && side === 0 ? alone : side === 0 ? data.left : data.right;
      const isLeft = typeof data !== 'string' && (this.unified ? data.right === null : side === 0);
      gutter.textContent = line ? String(line.number + 1) : '';
      sign.textContent = line ? SIGNS[kind][isLeft ? 0 : 1] : '';
      code.replaceChildren(...(line ? markedNodes(narrow(line.tokens), line.marks) : typeof data === 'string' ? [data] : []));
      half.classList.toggle('changed', line?.changed === true);
      half.classList.toggle('left', isLeft);
      half.classList.toggle('absent', !line && typeof data !== 'string');
    });
  }
}

/**
 * Shortens the wide gaps of machine code, so that more of a line fits beside the other.
 * @param {Token[]} tokens
 * @returns {Token[]}
 */
function narrow(tokens) {
  return tokens.map((token, at) => (token[0] === 'space' && token[1].length > 8 && at > 0 ? ['space', '        '] : token[0] === 'space' && at === 0 && token[1].length > 4 ? ['space', '  '] : token));
}

/**
 * Returns the nodes of a line, with what differs in `mark` elements.
 * @param {Token[]} tokens
 * @param {number[]} marks indices of tokens
 */
function markedNodes(tokens, marks) {
  if (marks.length === 0) return tokenNodes(tokens);
  const marked = new Set(marks);
  /** @type {(HTMLElement | string)[]} */
  const nodes = [];
  for (let at = 0; at < tokens.length;) {
    const is = marked.has(at);
    let end = at + 1;
    // Spaces between marked tokens are marked, too.
    while (end < tokens.length && (marked.has(end) === is || is && !tokens[end][1].trim() && marked.has(end + 1))) end++;
    const part = tokenNodes(tokens.slice(at, end));
    if (is) nodes.push(h('mark', { class: 'differs' }, ...part));
    else nodes.push(...part);
    at = end;
  }
  return nodes;
}
