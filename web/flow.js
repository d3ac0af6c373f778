/**
 * The data flow of a value: the lines that its operands come from above it, the lines that use it below, some steps far.
 */

import { Diagram } from './diagram.js';
import { count, h, plural } from './dom.js';
import { sizeOf, wrap } from './graph.js';
import { exportTools } from './graphbar.js';
import { textOf } from './listing.js';
import { aborted, nothing, problem, waiting } from './rows.js';

/** @typedef {import('./protocol.js').Flow} Flow */
/** @typedef {import('./protocol.js').Range} Range */
/** @typedef {{file: number, program: number, item?: number}} Subject */
/** @typedef {{line: number, link: number | null}} Value */

const STEPS = [1, 2, 3, 5, 8, 30];

export class FlowView {
  /**
   * @param {object} options
   * @param {import('./transport.js').Transport} options.api
   * @param {(text: string) => void} options.say
   * @param {(range: Range) => void} options.onrange
   */
  constructor({ api, say, onrange }) {
    this.api = api;
    this.say = say;
    this.onrange = onrange;
    this.key = '';
    /** The value that was asked for last. @type {Value | null} */
    this.value = null;
    /** @type {Flow | null} */
    this.flow = null;
    this.controller = new AbortController();
    this.diagram = new Diagram({
      label: 'Data flow', say,
      onchoose: (node) => this.#choose(node),
      onopen: (node) => {
        const flow = this.flow?.nodes[node];
        if (flow && this.subject) this.show(this.subject, { line: flow.line, link: null });
      },
      describe: (node) => `line ${count((this.flow?.nodes[node].line ?? 0) + 1)}`,
    });
    this.steps = h('select', { 'aria-label': 'How many steps away', onchange: () => this.#load() },
      ...STEPS.map((steps) => h('option', { value: String(steps), selected: steps === 3 }, plural(steps, 'step'))));
    this.summary = h('span', { class: 'muted graph-summary' });
    this.over = h('div', { class: 'over' });
    this.element = h('div', { class: 'graph' },
      h('div', { class: 'graph-bar' }, this.steps, this.summary, h('span', { class: 'grow' }), ...this.diagram.tools, ...exportTools(this.diagram, say, () => 'data_flow')),
      this.diagram.element, this.over);
  }

  /**
   * @param {Subject} subject
   * @param {Value | null} value
   */
  async show(subject, value) {
    const key = JSON.stringify([subject, value]);
    if (key === this.key) return;
    this.key = key;
    this.subject = subject;
    this.value = value;
    await this.#load();
  }

  async #load() {
    this.controller.abort();
    const controller = new AbortController();
    this.controller = controller;
    const { value } = this;
    this.diagram.clear();
    this.over.replaceChildren();
    this.summary.textContent = '';
    this.flow = null;
    if (!value) return this.over.replaceChildren(nothing('Select a line of the assembly, or a name in it, and press w.'));
    try {
      const request = { query: 'flow', ...this.subject, line: value.line, ...(value.link === null ? {} : { link: value.link }), steps: Number(this.steps.value) };
      /** @type {Flow} */
      const flow = await waiting(this.over, 'Following the value…', controller, this.api.call(request, controller.signal));
      if (this.controller !== controller) return;
      await this.#draw(flow, controller.signal);
    } catch (error) {
      if (this.controller !== controller) return;
      this.key = '';
      this.over.replaceChildren(aborted(error) ? nothing('Stopped.') : problem(error));
    }
  }

  /**
   * @param {Flow} flow
   * @param {AbortSignal} signal
   */
  async #draw(flow, signal) {
    const { nodes, edges, more } = flow;
    const sources = nodes.filter(({ step }) => step < 0).length;
    this.summary.textContent = [`from ${plural(sources, 'line')}`, `to ${plural(nodes.length - sources - 1, 'line')}`, ...(more > 0 ? [`${count(more)} more are further away`] : [])].join(' · ');
    const boxes = nodes.map(({ line, step, tokens }) => {
      const first = tokens.findIndex(([kind, text]) => text.trim() !== '' && !(kind === 'comment' && text.startsWith('/*')));
      const own = first < 0 ? tokens : tokens.slice(first);
      const lines = wrap(textOf({ tokens: own }).length > 400 ? own.slice(0, 60) : own, 72);
      const label = `line ${count(line + 1)}`;
      return { label, lines, count: lines.length, shade: step === 0 ? 2 : 0, ...sizeOf(label, lines) };
    });
    const links = edges.map(({ from, to, name }) => ({ from, to, kind: /** @type {const} */ ('plain'), label: name, said: name }));
    await this.diagram.show({ nodes: boxes, edges: links }, signal, 0);
    this.flow = flow;
    this.diagram.activate(0);
    this.diagram.reveal(0);
    this.diagram.canvas.setAttribute('aria-label', `Data flow, ${this.summary.textContent}; use the arrow keys to follow it`);
    this.say(`Data flow ${this.summary.textContent}`);
  }

  /** @param {number} node */
  #choose(node) {
    const range = this.flow?.nodes[node].range;
    if (range) this.onrange(range);
    return false;
  }
}
