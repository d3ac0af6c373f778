/** Steps of a thread: buttons and keys, the list of steps, registers with what changed, the memory around an access. */

import { count, fill, h, plural } from './dom.js';
import { RowBox } from './rows.js';
import { isIn } from './runtrace.js';
import { bytesOf, readings } from './runvalues.js';

/** @typedef {import('./protocol.js').Range} Range */
/** @typedef {import('./runtrace.js').Trace} Trace */

/** The maximum number of values that are shown. */
const MAX_VALUES = 600;

/** Moves: a label, a key, what it does. */
const MOVES = /** @type {const} */ ([
  ['first', '⇤', '', 'First step'],
  ['breakBack', '◀●', 'M', 'Back to a breakpoint'],
  ['lineBack', '⇞', '<', 'Back by a source line'],
  ['back', '←', ',', 'Step back'],
  ['step', '→', '.', 'Step'],
  ['line', '⇟', '>', 'Step over a source line'],
  ['break', '●▶', 'm', 'Run to a breakpoint'],
  ['last', '⇥', '', 'Last step'],
]);

export class Steps {
  /**
   * @param {object} options
   * @param {(range: Range) => void} options.onrange
   * @param {(index: number) => Promise<void>} options.fetch gets the window around a step
   * @param {(text: string) => void} options.say
   * @param {() => Range[][]} options.breaks the bytes of lines with breakpoints
   */
  constructor({ onrange, fetch, say, breaks }) {
    this.onrange = onrange;
    this.fetch = fetch;
    this.say = say;
    this.breaks = breaks;
    /** @type {Trace | null} */
    this.trace = null;
    this.at = -1;
    /** Returns the source line of an instruction. @type {(range: Range | undefined) => number} */
    this.lineOf = () => -1;
    this.position = h('span', { class: 'run-position', role: 'status' });
    this.buttons = MOVES.map(([move, sign, key, label]) => h('button', {
      type: 'button', class: 'quiet run-move', 'data-move': move, 'aria-label': label, title: key ? `${label} (${key})` : label,
      'aria-keyshortcuts': key || null, onclick: () => this.move(move),
    }, sign));
    this.box = new RowBox({
      label: 'Steps', className: 'run-steps mono',
      create: () => h('div', { class: 'row run-step' }, h('span', { class: 'run-at' }), h('span', { class: 'run-text' }), h('span', { class: 'run-wrote' })),
      render: (row, index) => this.#render(row, index),
      onchoose: (index) => this.go(this.first + index),
      onmove: (index) => this.go(this.first + index),
    });
    this.text = h('p', { class: 'run-current mono' });
    this.registers = h('div', { class: 'run-registers mono', tabIndex: 0, role: 'region', 'aria-label': 'Values after the step' });
    this.memory = h('div', { class: 'run-memory mono', tabIndex: 0, role: 'region', 'aria-label': 'Memory around the access' });
    this.element = h('div', { class: 'run-trace', hidden: true },
      h('div', { class: 'run-bar', role: 'toolbar', 'aria-label': 'Step' }, ...this.buttons, this.position),
      this.text, this.box.element,
      h('div', { class: 'run-state' },
        h('section', {}, h('h4', {}, 'Values'), this.registers), h('section', {}, h('h4', {}, 'Memory'), this.memory)));
  }

  /** The first step of the window. */
  get first() {
    return this.trace?.from ?? 0;
  }

  /**
   * @param {Trace | null} trace
   * @param {number} at the step to show; −1 for none
   */
  show(trace, at) {
    this.trace = trace;
    this.element.hidden = !trace || trace.total === 0;
    this.box.reset(trace?.steps.length ?? 0);
    if (this.element.hidden) return;
    this.#place(Math.min(Math.max(at, trace?.from ?? 0), (trace?.end ?? 1) - 1), at >= 0);
  }

  /**
   * Goes to a step, and gets the window around it if it is in another one.
   * @param {number} index
   */
  async go(index) {
    const { trace } = this;
    if (!trace || trace.total === 0) return;
    const wanted = Math.max(0, Math.min(trace.total - 1, index));
    if (!trace.has(wanted)) return this.fetch(wanted);
    this.#place(wanted, true);
  }

  /** @param {typeof MOVES[number][0]} move */
  async move(move) {
    const { trace, at } = this;
    if (!trace || trace.total === 0) return this.say('Run it first: the Run tab has the form.');
    switch (move) {
      case 'first': return this.go(0);
      case 'last': return this.go(trace.total - 1);
      case 'step': return at + 1 < trace.total ? this.go(at + 1) : this.say('This is the last step of the thread.');
      case 'back': return at > 0 ? this.go(at - 1) : this.say('This is the first step of the thread.');
      case 'line': case 'lineBack': {
        const line = this.lineOf(trace.step(at)?.range);
        return this.#search(move === 'line' ? 1 : -1, ({ range }) => {
          const next = this.lineOf(range);
          return next >= 0 && next !== line;
        }, 'No other source line follows in this direction.');
      }
      default: {
        const breaks = this.breaks();
        if (breaks.length === 0) return this.say('There is no breakpoint: click the margin of a line, or press B.');
        return this.#search(move === 'break' ? 1 : -1, ({ range }) => breaks.some((ranges) => isIn(range, ranges)), 'No breakpoint is reached in this direction.');
      }
    }
  }

  /**
   * Moves as a key says.
   * @param {string} key
   */
  press(key) {
    const move = MOVES.find((move) => move[2] === key);
    if (move) return this.move(move[0]);
  }

  /**
   * Goes to the next step that is accepted, through all windows.
   * @param {1 | -1} by
   * @param {(step: import('./runtrace.js').Step) => boolean} accept
   * @param {string} none what to say if there is none
   */
  async #search(by, accept, none) {
    let from = this.at;
    for (let windows = 0; windows < 64; windows++) {
      const { trace } = this;
      if (!trace) return;
      const found = trace.find(from, by, accept);
      if (found !== null) return this.go(found);
      const next = by > 0 ? trace.end : trace.from - 1;
      if (next < 0 || next >= trace.total) return this.say(none);
      await this.fetch(next);
      if (this.trace === trace) return;
      const arrived = this.trace?.step(next);
      if (arrived && accept(arrived)) return this.go(next);
      from = next;
    }
    this.say(`Nothing was found in ${count(64)} parts of the trace; go on from here.`);
  }

  /**
   * @param {number} index
   * @param {boolean} reveal whether the listing follows
   */
  #place(index, reveal) {
    const { trace } = this;
    const step = trace?.step(index);
    if (!trace || !step) return;
    this.at = index;
    this.position.textContent = `Step ${count(index + 1)} of ${count(trace.total)}`;
    this.text.textContent = step.text.trim() || (step.range ? `0x${step.range[0].toString(16)}` : '');
    this.text.classList.toggle('fault', step.fault !== undefined);
    if (step.fault) this.text.textContent = `${this.text.textContent} — ${step.fault}`;
    if (this.box.active !== index - trace.from) this.box.setActive(index - trace.from);
    this.#values(index);
    this.#access(step);
    if (reveal && step.range) this.onrange(step.range);
  }

  /** @param {number} index */
  #values(index) {
    const { trace } = this;
    if (!trace) return;
    const state = trace.stateAt(index);
    const changed = new Set(trace.step(index)?.written.map(({ name }) => name));
    const names = [...state.keys()].sort(byRegister);
    const first = names.filter((name) => changed.has(name));
    const shown = [...first, ...names.filter((name) => !changed.has(name))].slice(0, MAX_VALUES);
    const isMachine = names.some((name) => /^[RP]\d+$/.test(name));
    const rows = (isMachine ? names.slice(0, MAX_VALUES) : shown).map((name) => {
      const value = state.get(name) ?? '';
      return h('div', { class: changed.has(name) ? 'run-value changed' : 'run-value' }, h('span', { class: 'run-register' }, name),
        h('span', {}, value), h('span', { class: 'muted' }, readings(value)), changed.has(name) && h('span', { class: 'visually-hidden' }, 'changed'));
    });
    fill(this.registers, ...(rows.length ? rows : [h('p', { class: 'muted' }, 'Nothing is written yet.')]),
      names.length > MAX_VALUES && h('p', { class: 'muted' }, `… ${plural(names.length - MAX_VALUES, 'more value')}`));
    const mark = this.registers.querySelector('.changed');
    if (mark instanceof HTMLElement) this.registers.scrollTop = Math.max(0, mark.offsetTop - this.registers.offsetTop - 40);
  }

  /** @param {import('./runtrace.js').Step} step */
  #access(step) {
    if (step.accesses.length === 0) return fill(this.memory, h('p', { class: 'muted' }, 'This step accesses no memory.'));
    fill(this.memory, ...step.accesses.flatMap(({ writes, memory, offset, size, start, bytes: digits }) => {
      const bytes = bytesOf(digits);
      const lines = [];
      for (let at = 0; at < bytes.length; at += 8) {
        const cells = [...bytes.subarray(at, at + 8)].map((byte, index) => {
          const place = start + at + index;
          const text = byte.toString(16).padStart(2, '0');
          return place >= offset && place < offset + size ? h('mark', { class: writes ? 'written' : '' }, text) : text;
        });
        lines.push(h('div', { class: 'run-line' }, h('span', { class: 'run-at' }, (start + at).toString(16).padStart(4, '0')),
          ...cells.flatMap((cell) => [' ', cell])));
      }
      return [h('p', { class: 'run-access' }, `${writes ? 'writes' : 'reads'} ${plural(size, 'byte')} at ${offset} of ${memory}`), ...lines];
    }));
    const mark = this.memory.querySelector('mark');
    this.memory.scrollTop = mark ? Math.max(0, mark.offsetTop - 80) : 0;
  }

  /**
   * @param {HTMLElement} row
   * @param {number} index
   */
  #render(row, index) {
    const step = this.trace?.step(this.first + index);
    const [at, text, wrote] = row.children;
    at.textContent = String(this.first + index + 1);
    text.textContent = step?.text.trim() ?? '';
    row.classList.toggle('broken', step !== undefined && this.breaks().some((ranges) => isIn(step.range, ranges)));
    row.classList.toggle('fault', step?.fault !== undefined);
    wrote.textContent = step?.fault ?? step?.written.map(({ name, value }) => `${name} = ${value}`).join(', ') ?? '';
  }
}

/**
 * Orders registers by their number, and other values as they came.
 * @param {string} a
 * @param {string} b
 */
function byRegister(a, b) {
  const [left, right] = [a, b].map((name) => /^([RP])(\d+)$/.exec(name));
  if (!left || !right) return 0;
  return left[1] === right[1] ? Number(left[2]) - Number(right[2]) : left[1] < right[1] ? -1 : 1;
}
