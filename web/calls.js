/**
 * The call graph of a program, or the part of it around a function: functions as nodes, calls as edges. Calls arrive in
 * steps, and the part that is drawn is chosen from all that have come.
 */

import { Diagram } from './diagram.js';
import { count, h, plural } from './dom.js';
import { sizeOf } from './graph.js';
import { exportTools } from './graphbar.js';
import { aborted, nothing, problem, waiting } from './rows.js';

/** @typedef {import('./protocol.js').CallEntry} CallEntry */
/** @typedef {import('./protocol.js').CallsPart} CallsPart */
/** @typedef {{file: number, program: number, item?: number}} Subject */

/** Maximum number of functions that are drawn. */
const MAX_DRAWN = 1_500;
/** Maximum number of functions that are held. */
const MAX_HELD = 200_000;
/** Milliseconds that a step may take. */
const BUDGET = 400;
const DEPTHS = [1, 2, 3, 5, 100];
/** Functions that are instructions rather than calls. */
const INTRINSIC = /^(llvm|air|dx\.op|dx)\./;

/** All calls of a program. */
export class CallGraph {
  constructor() {
    /** @type {CallEntry[]} */
    this.functions = [];
    /** @type {Map<string, number>} */
    this.byKey = new Map();
    /** @type {Map<number, number>[]} the callees of each function, with the number of calls */
    this.callees = [];
    /** @type {Set<number>[]} */
    this.callers = [];
    this.unread = 0;
  }

  /** @param {CallsPart} part */
  add({ functions, calls, unread = 0 }) {
    this.unread += unread;
    const places = functions.map((entry) => {
      const known = this.byKey.get(entry.key);
      if (known === undefined) {
        this.byKey.set(entry.key, this.functions.length);
        this.callees.push(new Map());
        this.callers.push(new Set());
        return this.functions.push(entry) - 1;
      }
      // The module that defines a function knows most of it.
      if (this.functions[known].item === undefined || entry.kind === 'item') this.functions[known] = entry;
      return known;
    });
    for (const { from, to, count: number } of calls) {
      const [caller, callee] = [places[from], places[to]];
      this.callees[caller].set(callee, (this.callees[caller].get(callee) ?? 0) + number);
      this.callers[callee].add(caller);
    }
  }

  /**
   * Returns the functions that are at most so many calls away from one: those that it calls, directly or not, and those
   * that call it; without a start, all.
   * @param {number | null} start
   * @param {number} depth
   * @param {boolean} intrinsics
   * @param {number} most
   * @returns {{nodes: number[], more: number}}
   */
  around(start, depth, intrinsics, most = MAX_DRAWN) {
    const isShown = (/** @type {number} */ node) => intrinsics || !INTRINSIC.test(this.functions[node].key);
    if (start === null) {
      const all = this.functions.map((_, node) => node).filter(isShown);
      // Of many functions, those that call and are called come first.
      const isLinked = (/** @type {number} */ node) => [...this.callees[node].keys()].some(isShown) || this.callers[node].size > 0;
      const sorted = all.length > most ? [...all.filter(isLinked), ...all.filter((node) => !isLinked(node))] : all;
      return { nodes: sorted.slice(0, most), more: Math.max(0, all.length - most) };
    }
    const found = new Set([start]);
    let more = 0;
    for (const next of [(/** @type {number} */ node) => this.callees[node].keys(), (/** @type {number} */ node) => this.callers[node]]) {
      let last = [start];
      for (let step = 0; step < depth && last.length > 0; step++) {
        /** @type {number[]} */
        const reached = [];
        for (const node of last) {
          for (const other of next(node)) {
            if (found.has(other) || !isShown(other)) continue;
            if (found.size >= most) {
              more++;
              continue;
            }
            found.add(other);
            reached.push(other);
          }
        }
        last = reached;
      }
    }
    return { nodes: [...found], more };
  }
}

export class CallsView {
  /**
   * @param {object} options
   * @param {import('./transport.js').Transport} options.api
   * @param {(text: string) => void} options.say
   * @param {(item: number) => void} options.onitem a function was opened
   */
  constructor({ api, say, onitem }) {
    this.api = api;
    this.say = say;
    this.onitem = onitem;
    this.key = '';
    this.program = '';
    this.calls = new CallGraph();
    /** @type {number[]} */
    this.drawn = [];
    /** @type {Subject | null} */
    this.subject = null;
    this.controller = new AbortController();
    this.drawing = new AbortController();
    this.diagram = new Diagram({
      label: 'Call graph', say,
      onchoose: () => false,
      onopen: (node) => this.#open(node),
      describe: (node) => this.#describe(node),
    });
    this.depth = h('select', { 'aria-label': 'How many calls away', onchange: () => this.#draw() },
      ...DEPTHS.map((depth) => h('option', { value: String(depth), selected: depth === 2 }, depth === 100 ? 'all calls' : plural(depth, 'call'))));
    this.intrinsics = h('input', { type: 'checkbox', onchange: () => this.#draw() });
    this.summary = h('span', { class: 'muted graph-summary', role: 'status' });
    this.stop = h('button', { type: 'button', class: 'quiet', hidden: true, onclick: () => this.controller.abort() }, 'Stop');
    this.over = h('div', { class: 'over' });
    this.element = h('div', { class: 'graph' },
      h('div', { class: 'graph-bar' }, this.depth, h('label', { class: 'choice' }, this.intrinsics, 'built-in functions'), this.summary, this.stop, h('span', { class: 'grow' }),
        ...this.diagram.tools, ...exportTools(this.diagram, say, () => 'calls')),
      this.diagram.element, this.over);
  }

  /** Stops reading calls when another view is shown. */
  leave() {
    if (!this.stop.hidden) this.controller.abort();
  }

  /** @param {Subject} subject */
  async show(subject) {
    const key = JSON.stringify(subject);
    if (key === this.key) return;
    this.key = key;
    this.subject = subject;
    const program = `${subject.file} ${subject.program}`;
    this.depth.hidden = subject.item === undefined;
    if (program === this.program) return this.#draw();
    this.program = program;
    await this.#load(subject);
  }

  /** @param {Subject} subject */
  async #load({ file, program, item }) {
    this.controller.abort();
    const controller = new AbortController();
    this.controller = controller;
    this.calls = new CallGraph();
    this.diagram.clear();
    this.over.replaceChildren();
    this.state = '';
    this.stop.hidden = false;
    try {
      // The calls of the function itself first: they are what is looked at.
      const ask = (/** @type {Record<string, unknown>} */ more) => this.api.call({ query: 'calls', file, program, ...more }, controller.signal);
      if (item !== undefined) {
        // Its module comes again with the whole program, so this graph is only shown until then.
        const first = new CallGraph();
        first.add(await waiting(this.over, 'Reading the calls…', controller, ask({ item, budget_ms: BUDGET })));
        this.calls = first;
        await this.#draw();
      }
      const all = new CallGraph();
      let drawn = performance.now();
      for (let cursor = /** @type {string | null | undefined} */ (undefined); cursor !== null;) {
        /** @type {CallsPart} */
        const part = await ask({ budget_ms: BUDGET, ...(cursor ? { cursor } : {}) });
        if (this.controller !== controller) return;
        all.add(part);
        cursor = part.cursor;
        this.state = cursor === null ? '' : `${count(part.searched)} of ${count(part.total)} read`;
        if (all.functions.length > MAX_HELD) {
          this.state = `only the first ${count(part.searched)} of ${count(part.total)} were read: the graph is too large`;
          cursor = null;
        }
        this.#summarise();
        if (item === undefined && performance.now() - drawn > 1_500 && all.functions.length < MAX_DRAWN) {
          this.calls = all;
          await this.#draw();
          drawn = performance.now();
        }
      }
      this.calls = all;
      this.stop.hidden = true;
      await this.#draw();
    } catch (error) {
      if (this.controller !== controller) return;
      this.stop.hidden = true;
      this.program = '';
      this.key = '';
      if (aborted(error)) {
        this.state = 'stopped, calls are missing';
        return this.#summarise();
      }
      this.over.replaceChildren(problem(error));
    }
  }

  async #draw() {
    const { calls, subject } = this;
    this.drawing.abort();
    const drawing = new AbortController();
    this.drawing = drawing;
    this.over.replaceChildren();
    const start = subject?.item === undefined ? null : calls.functions.findIndex(({ item, kind }) => item === subject.item && kind === 'item');
    const inner = start === -1 ? calls.functions.findIndex(({ item }) => item === subject?.item) : start;
    if (inner === -1 || calls.functions.length === 0) {
      this.diagram.clear();
      this.drawn = [];
      this.#summarise();
      return this.over.replaceChildren(nothing(this.stop.hidden ? 'There are no calls here.' : 'No calls yet.'));
    }
    const { nodes, more } = calls.around(inner, Number(this.depth.value), this.intrinsics.checked);
    this.drawn = nodes;
    this.more = more;
    const places = new Map(nodes.map((node, place) => [node, place]));
    const edges = nodes.flatMap((node, from) => [...calls.callees[node]].flatMap(([callee, number]) => {
      const to = places.get(callee);
      return to === undefined ? [] : [{ from, to, kind: /** @type {const} */ ('plain'), label: number > 1 ? `${count(number)}×` : '', said: 'calls' }];
    }));
    const boxes = nodes.map((node) => {
      const { name, kind } = calls.functions[node];
      const label = name.length > 60 ? `${name.slice(0, 42)}…${name.slice(-16)}` : name;
      /** @type {import('./protocol.js').Token[][]} */
      const lines = kind === 'item' ? [] : [[['comment', kind === 'inner' ? 'inner function' : kind === 'external' ? 'defined elsewhere' : 'a pointer']]];
      return { label, lines, count: 0, shade: node === inner ? 2 : 0, dashed: kind === 'external' || kind === 'unknown', look: kind, ...sizeOf(label, lines) };
    });
    this.#summarise();
    try {
      await this.diagram.show({ nodes: boxes, edges }, drawing.signal, inner === null ? 0 : places.get(inner) ?? 0);
      if (inner !== null) this.diagram.activate(places.get(inner) ?? 0);
    } catch (error) {
      if (!aborted(error)) throw error;
    }
  }

  #summarise() {
    const { calls, drawn, more = 0 } = this;
    const parts = [`${plural(drawn.length, 'function')}`];
    if (more > 0) parts.push(`${count(more)} more are not drawn`);
    if (this.state) parts.push(this.state);
    if (calls.unread > 0) parts.push(`${plural(calls.unread, 'function')} can't be read`);
    this.summary.textContent = parts.join(' · ');
  }

  /** @param {number} node */
  #describe(node) {
    const own = this.drawn[node];
    return `calls ${count(this.calls.callees[own].size)}, called by ${count(this.calls.callers[own].size)}`;
  }

  /** @param {number} node */
  #open(node) {
    const { item } = this.calls.functions[this.drawn[node]];
    if (item !== undefined) this.onitem(item);
    else this.say('This function is defined elsewhere.');
  }
}
