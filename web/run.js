/**
 * The Run tab: a form for the arguments, the launch, its output, and the steps of one thread.
 *
 * The tab is one for both columns. What was entered and what came of it is kept while the same function is shown, so that
 * other tabs can be read in between. Breakpoints are the bytes of lines, so that they hold in every listing.
 */

import { fill, h, plural } from './dom.js';
import { rangesOf, textOf } from './listing.js';
import { aborted, problem, waiting } from './rows.js';
import { RunForm, threeOf } from './runform.js';
import { RunOutput } from './runoutput.js';
import { Steps } from './runsteps.js';
import { Trace, isIn } from './runtrace.js';
import { sizesOf } from './runvalues.js';

/** @typedef {import('./protocol.js').Facts} Facts */
/** @typedef {import('./protocol.js').Line} Line */
/** @typedef {import('./protocol.js').Range} Range */
/** @typedef {import('./protocol.js').RunResult} RunResult */
/** @typedef {{file: number, program: number, item?: number}} Subject */

/** The number of steps of a window, and how many of them are before the step that it was fetched for. */
const WINDOW = 2000;
const BEFORE = 500;

/** The number of lines of a listing that are read for texts and source lines. */
const MAX_LINES = 40_000;

export class RunView {
  /**
   * @param {object} options
   * @param {import('./transport.js').Transport} options.api
   * @param {(text: string) => void} options.say
   * @param {(range: Range) => void} options.onrange
   * @param {() => void} options.onbreaks the breakpoints changed
   */
  constructor({ api, say, onrange, onbreaks }) {
    this.api = api;
    this.say = say;
    this.onbreaks = onbreaks;
    this.key = '';
    /** @type {import('./protocol.js').Parameters['kind']} */
    this.kind = 'cubin';
    /** @type {Subject} */
    this.subject = { file: 0, program: 0 };
    /** The bytes of lines with breakpoints, by their text. @type {Map<string, Range[]>} */
    this.stops = new Map();
    this.controller = new AbortController();
    this.form = new RunForm({ api, onrun: () => this.run(), onkernel: (name) => this.#choose(name) });
    this.output = new RunOutput();
    this.steps = new Steps({
      onrange, say, breaks: () => [...this.stops.values()],
      fetch: (index) => this.#window(index),
    });
    this.outcome = h('div', { class: 'run-outcome', role: 'status' });
    this.block = h('input', { class: 'field', type: 'text', value: '0, 0, 0', 'aria-label': 'Block of the thread', title: 'The position of the block' });
    this.thread = h('input', { class: 'field', type: 'text', inputMode: 'numeric', value: '0', 'aria-label': 'Number of the thread in its block', title: 'The number of the thread, lane or pixel' });
    this.thread.addEventListener('keydown', (event) => this.#chosen(event));
    this.block.addEventListener('keydown', (event) => this.#chosen(event));
    this.thread.addEventListener('input', () => this.#lane());
    this.lane = h('span', { class: 'muted' });
    this.blockLabel = h('label', {}, h('span', { class: 'muted' }, 'Block'), this.block);
    this.choice = h('div', { class: 'run-bar' }, this.blockLabel,
      h('label', {}, h('span', { class: 'muted' }, 'Thread'), this.thread), this.lane,
      h('button', { type: 'button', class: 'quiet', onclick: () => this.run(true) }, 'Step this thread'));
    this.stepping = h('section', { class: 'run-stepping' }, h('h3', {}, 'Steps'), this.choice, this.steps.element);
    this.over = h('div', {});
    this.body = h('div', { class: 'run-body' }, this.form.element, this.outcome, this.output.element, this.stepping);
    this.element = h('div', { class: 'run-view' }, this.over, this.body);
  }

  /**
   * Shows the form of a function or shader.
   * @param {Subject} subject
   * @param {Facts | null} facts
   * @param {string} [name] which kernel of a module
   */
  async show(subject, facts, name) {
    const key = JSON.stringify(subject);
    this.panes = facts?.panes ?? this.panes ?? [];
    if (key === this.key) return;
    this.clear();
    this.key = key;
    this.subject = subject;
    this.name = name;
    const controller = this.controller;
    try {
      const request = { query: 'parameters', ...subject, ...(name === undefined ? {} : { name }) };
      const parameters = await waiting(this.over, 'Reading the parameters…', controller, this.api.call(request, controller.signal));
      if (this.key !== key) return;
      this.form.show(parameters);
      this.kind = parameters.kind;
      this.blockLabel.hidden = !parameters.grid;
      this.#lane();
      this.body.hidden = false;
    } catch (error) {
      if (this.key !== key || aborted(error)) return;
      this.key = '';
      fill(this.over, problem(error));
    }
  }

  /**
   * Shows another kernel of the module.
   * @param {string} name
   */
  #choose(name) {
    this.key = '';
    this.show(this.subject, null, name);
  }

  /**
   * Moves through the steps as a key says, if they are those of what is shown.
   * @param {string} key
   * @param {Subject} subject
   */
  press(key, subject) {
    if (JSON.stringify(subject) !== this.key) return this.say('Run it first: the Run tab has the form.');
    return this.steps.press(key);
  }

  /** Ends a launch, and forgets everything of the last function. */
  clear() {
    this.controller.abort();
    this.controller = new AbortController();
    this.key = '';
    this.launched = null;
    this.stops.clear();
    this.over.replaceChildren();
    this.outcome.replaceChildren();
    this.output.clear();
    this.form.running(null);
    this.steps.show(null, -1);
    this.body.hidden = true;
    this.texts = null;
    [this.block.value, this.thread.value] = ['0, 0, 0', '0'];
  }

  /** Says which lane the chosen thread is. */
  #lane() {
    const thread = Number(this.thread.value);
    const group = { cubin: 'warp', metal: 'simdgroup', shader: 'wave' }[this.kind];
    this.lane.textContent = Number.isSafeInteger(thread) && thread >= 0 ? `${group} ${Math.floor(thread / 32)}, lane ${thread % 32}` : '';
  }

  /** @param {KeyboardEvent} event */
  #chosen(event) {
    if (event.key === 'Enter') this.run(true);
  }

  /**
   * Launches with the values of the form.
   * @param {boolean} [steps] whether the steps are what is wanted
   */
  async run(steps = false) {
    const launch = this.form.read();
    if (!launch) return;
    const [block, thread] = [threeOf(this.block.value), Number(this.thread.value)];
    if (!block || !Number.isSafeInteger(thread) || thread < 0) return this.say('A thread has the position of its block, and a number.');
    this.launched = { launch, block, thread };
    await this.#launch(0, steps ? 'first' : 'end');
    if (steps) this.stepping.scrollIntoView({ block: 'start' });
  }

  /**
   * Gets the part of the trace around a step, by launching again: launches are deterministic.
   * @param {number} index
   */
  async #window(index) {
    await this.#launch(Math.max(0, index - BEFORE), index);
  }

  /**
   * @param {number} from the first step of the trace
   * @param {number | 'first' | 'end'} go the step to go to
   */
  async #launch(from, go) {
    const { launched, key, subject } = this;
    if (!launched) return;
    this.controller.abort();
    const controller = new AbortController();
    this.controller = controller;
    this.form.running(controller);
    if (typeof go !== 'number') this.outcome.replaceChildren();
    const { launch, block, thread } = launched;
    const request = { query: 'run', ...subject, ...(this.name === undefined ? {} : { name: this.name }), launch: { ...launch, trace: { block, thread, from, count: WINDOW } } };
    try {
      const [result] = await Promise.all([/** @type {Promise<RunResult>} */ (this.api.call(request, controller.signal)), this.#texts()]);
      if (this.controller !== controller || this.key !== key) return;
      this.form.running(null);
      this.#show(result, go);
    } catch (error) {
      if (this.controller !== controller) return;
      this.form.running(null);
      if (aborted(error)) return fill(this.outcome, h('p', {}, 'Stopped.'));
      const shape = /** @type {import('./protocol.js').ErrorShape | undefined} */ (/** @type {any} */ (error).shape);
      this.form.mark(shape?.path?.[0], shape?.message ?? String(/** @type {any} */ (error).message));
    }
  }

  /**
   * @param {RunResult} result
   * @param {number | 'first' | 'end'} go
   */
  #show(result, go) {
    const { launched } = this;
    if (!launched) return;
    const { fault, trace, notes, summary } = result;
    const { block, thread, launch } = launched;
    const isOwn = fault?.thread === thread && (fault.block ?? block).every((place, axis) => place === block[axis]);
    if (typeof go !== 'number') {
      fill(this.outcome, fault ? this.#fault(fault, isOwn) : h('p', { class: 'run-summary' }, summary), ...notes.map((note) => h('p', { class: 'muted' }, note)));
      /** @type {Record<string, number>} */
      const widths = {};
      for (const [id, text] of Object.entries(launch.values)) {
        const shape = this.form.rows.get(id)?.field.value ?? text;
        const sizes = sizesOf(shape);
        if (sizes && sizes.length > 1) widths[id] = sizes[0];
      }
      this.output.show(result, widths);
    }
    if (!trace) return;
    const shown = new Trace(trace, isOwn ? fault : undefined, (range) => this.texts?.get(range[0]) ?? '');
    const at = go === 'first' ? (isOwn ? shown.total - 1 : 0) : go === 'end' ? (isOwn && fault ? shown.total - 1 : -1) : go;
    this.steps.lineOf = this.lineOf ?? (() => -1);
    if (at >= 0 && !shown.has(at)) {
      this.#window(at);
      return;
    }
    this.steps.show(shown, at);
    if (trace.total === 0) this.say(`Thread ${thread} of block ${block.join(', ')} executed no instruction.`);
    else if (trace.total > WINDOW && go === 'end') this.say(`The thread has ${plural(trace.total, 'step')}; they are read in parts of ${WINDOW}.`);
  }

  /**
   * @param {import('./protocol.js').RunFault} fault
   * @param {boolean} isOwn whether it is of the thread that is shown
   */
  #fault(fault, isOwn) {
    const { range, block, thread } = fault;
    return h('div', { class: 'problem', role: 'alert' }, h('p', { class: 'problem-message' }, fault.message),
      h('div', { class: 'run-go' },
        range && h('button', { type: 'button', class: 'link', onclick: () => this.steps.onrange(range) }, 'Go to the instruction'),
        !isOwn && thread !== undefined && h('button', { type: 'button', class: 'link', onclick: () => {
          if (block) this.block.value = block.join(', ');
          this.thread.value = String(thread);
          this.#lane();
          this.run(true);
        } }, `Step thread ${thread}`)));
  }

  /** Reads the texts of instructions, and the source lines that come from them, once. */
  async #texts() {
    if (this.texts) return;
    const { panes = [], subject, key } = this;
    const source = ['c', 'metal', 'hlsl'].find((pane) => panes.includes(pane));
    const [assembly, lines] = await Promise.all([this.#lines('assembly'), source ? this.#lines(source).catch(() => []) : []]);
    if (this.key !== key || this.subject !== subject) return;
    this.texts = new Map(assembly.flatMap((line) => (line.range ? [/** @type {const} */ ([line.range[0], textOf(line)])] : [])));
    const ranges = lines.map(rangesOf);
    /** @type {Map<number, number>} */
    const known = new Map();
    this.lineOf = (/** @type {Range | undefined} */ range) => {
      if (!range) return -1;
      let line = known.get(range[0]);
      if (line === undefined) {
        line = ranges.findIndex((own) => isIn(range, own));
        known.set(range[0], line);
      }
      return line;
    };
  }

  /**
   * @param {string} pane
   * @returns {Promise<Line[]>}
   */
  async #lines(pane) {
    /** @type {Line[]} */
    const all = [];
    for (let from = 0; from < MAX_LINES;) {
      const part = await this.api.call({ query: 'listing', ...this.subject, pane, from, count: 5000 }, this.controller.signal);
      all.push(...part.lines);
      from += part.lines.length;
      if (part.lines.length === 0 || from >= part.total) break;
    }
    return all;
  }

  /**
   * Sets or removes a breakpoint at a line of a listing.
   * @param {Line | undefined} line
   */
  toggleBreak(line) {
    const ranges = rangesOf(line);
    if (ranges.length === 0) return this.say('No instruction is from this line.');
    const key = JSON.stringify(ranges);
    if (!this.stops.delete(key)) this.stops.set(key, ranges);
    this.steps.box.refresh();
    this.onbreaks();
    this.say(this.stops.has(key) ? 'Breakpoint set' : 'Breakpoint removed');
  }

  /**
   * Returns whether a line has a breakpoint.
   * @param {Line} line
   */
  isBreak(line) {
    // A label has the bytes of the instruction that follows it.
    return this.stops.size > 0 && this.stops.has(JSON.stringify(rangesOf(line))) && !textOf(line).endsWith(':');
  }
}
