/**
 * The control-flow graph of a function: blocks with their lines, labelled edges, and loops in frames. Of a graph with
 * too many blocks, the part around a block is shown.
 */

import { Diagram } from './diagram.js';
import { count, fill, h, plural } from './dom.js';
import { exportTools } from './graphbar.js';
import { pause } from './layered.js';
import { entity } from './listing.js';
import { CHARACTER_WIDTH, LINE_HEIGHT, PADDING } from './picture.js';
import { aborted, nothing, problem, waiting } from './rows.js';

/** @typedef {import('./protocol.js').Graph} Graph */
/** @typedef {import('./protocol.js').Line} Line */
/** @typedef {import('./protocol.js').Range} Range */
/** @typedef {import('./protocol.js').Token} Token */
/** @typedef {import('./diagram.js').DiagramNode} DiagramNode */
/** @typedef {{file: number, program: number, item?: number}} Subject */

/** Columns after which a line continues in the next row. */
const COLUMNS = 92;
/** The indentation of these rows. */
const INDENT = '      ';
/** Width of blocks whose lines are not loaded. */
const UNLOADED = 64;
/** Milliseconds of work between two breaks. */
const SLICE = 12;
/** Maximum number of blocks whose lines are loaded at once. */
const LOADS = 24;

/**
 * Removes leading white space and the address comment of a line, which the block's label already shows.
 * @param {Token[]} tokens
 */
function withoutAddress(tokens) {
  const first = tokens.findIndex(([kind, text]) => text.trim() !== '' && !(kind === 'comment' && text.startsWith('/*')));
  return first < 0 ? tokens : tokens.slice(first);
}

/**
 * Returns the rows of a line, none of which is longer than the maximum.
 * @param {Token[]} tokens
 * @param {number} [columns]
 * @returns {Token[][]}
 */
export function wrap(tokens, columns = COLUMNS) {
  /** @type {Token[][]} */
  const rows = [];
  /** @type {Token[]} */
  let row = [];
  let used = 0;
  const next = () => {
    rows.push(row);
    row = [['space', INDENT]];
    used = INDENT.length;
  };
  for (const [kind, text, link] of tokens) {
    let rest = text;
    const token = (/** @type {string} */ part) => /** @type {Token} */ (link === undefined ? [kind, part] : [kind, part, link]);
    // A word goes to the next row as a whole, if it fits there.
    if (used + rest.length > columns && used > INDENT.length && rest.trim()) next();
    while (used + rest.length > columns) {
      const part = rest.slice(0, columns - used);
      row.push(token(part));
      rest = rest.slice(part.length);
      next();
    }
    if (!rest) continue;
    row.push(token(rest));
    used += rest.length;
  }
  rows.push(row);
  return rows;
}

/**
 * Returns the size of a block with these rows.
 * @param {string} label
 * @param {Token[][]} rows
 */
export function sizeOf(label, rows) {
  let longest = label.length + 2;
  for (const row of rows) longest = Math.max(longest, row.reduce((sum, token) => sum + token[1].length, 0));
  return { width: Math.ceil(longest * CHARACTER_WIDTH) + 2 * PADDING, height: (rows.length + 1) * LINE_HEIGHT + 10 };
}

/** @param {string} cause @returns {import('./diagram.js').EdgeKind} */
function kindOf(cause) {
  return /^(true|taken|yes)/.test(cause) ? 'yes' : /^(false|not|no|fall)/.test(cause) ? 'no' : 'plain';
}

export class GraphView {
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
    /** @type {Graph | null} */
    this.graph = null;
    /** @type {Range | null} */
    this.range = null;
    this.controller = new AbortController();
    /** Blocks whose lines are to be loaded. @type {Set<number>} */
    this.needed = new Set();
    this.loading = false;
    this.diagram = new Diagram({
      label: 'Control-flow graph', say,
      onchoose: (block, link) => this.#choose(block, link),
      onneed: (block) => this.#need(block),
    });
    this.functions = h('select', { 'aria-label': 'Function of the module', hidden: true, onchange: () => this.#load({ function: Number(this.functions.value) }) });
    this.inner = h('select', { 'aria-label': 'Go to a function inside', hidden: true, onchange: () => this.#go(Number(this.inner.value)) });
    this.summary = h('span', { class: 'muted graph-summary' });
    this.rest = h('span', { class: 'graph-rest' });
    this.over = h('div', { class: 'over' });
    this.element = h('div', { class: 'graph' },
      h('div', { class: 'graph-bar' }, this.functions, this.inner, this.summary, this.rest, h('span', { class: 'grow' }), ...this.diagram.tools,
        ...exportTools(this.diagram, say, () => this.graph?.functions[this.graph.function] ?? 'graph')),
      this.diagram.element, this.over);
  }

  /** @param {Subject} subject */
  async show(subject) {
    const key = JSON.stringify(subject);
    if (key === this.key) return;
    this.key = key;
    this.subject = subject;
    await this.#load({});
  }

  /** @param {{function?: number, around?: number}} request */
  async #load(request) {
    this.controller.abort();
    const controller = new AbortController();
    this.controller = controller;
    this.diagram.clear();
    this.needed.clear();
    this.over.replaceChildren();
    this.summary.textContent = '';
    this.rest.replaceChildren();
    this.graph = null;
    try {
      const show = async () => {
        /** @type {Graph} */
        const graph = await this.api.call({ query: 'graph', ...this.subject, ...request }, controller.signal);
        if (this.controller !== controller) return;
        this.functions.hidden = graph.functions.length < 2;
        fill(this.functions, ...graph.functions.map((name, k) => h('option', { value: String(k), selected: k === graph.function }, name)));
        const inner = graph.inner ?? [];
        this.inner.hidden = inner.length === 0;
        fill(this.inner, h('option', { value: '0' }, graph.functions[graph.function] ?? 'entry'), ...inner.map(({ block, name }) => h('option', { value: String(block) }, name)));
        await this.#draw(graph, controller.signal);
      };
      await waiting(this.over, 'Drawing the blocks…', controller, show());
    } catch (error) {
      if (this.controller !== controller) return;
      this.key = '';
      this.over.replaceChildren(aborted(error) ? nothing('Stopped.') : problem(error));
    }
  }

  /**
   * @param {Graph} graph
   * @param {AbortSignal} signal
   */
  async #draw(graph, signal) {
    const { blocks, edges, loops } = graph;
    const { left_out: leftOut = 0 } = graph;
    this.summary.textContent = [plural(blocks.length, 'block'), plural(edges.length, 'edge'), plural(loops.length, 'loop')].join(' · ');
    if (blocks.length === 0) return this.over.replaceChildren(nothing('There is no code.'));
    if (leftOut > 0) {
      fill(this.rest, `${count(leftOut)} more blocks are not drawn `, h('button', {
        type: 'button', class: 'quiet', title: 'Draw the blocks around the selected one',
        onclick: () => this.#load({ function: graph.function, around: blocks[Math.max(0, this.diagram.active)].number }),
      }, 'Around the selection'));
    }
    const inner = new Set((graph.inner ?? []).map(({ block }) => block));
    /** @type {DiagramNode[]} */
    const nodes = [];
    let end = performance.now() + SLICE;
    for (const [index, block] of blocks.entries()) {
      // Measuring thousands of lines takes a while.
      if (performance.now() > end) {
        await pause();
        if (signal.aborted) throw signal.reason;
        end = performance.now() + SLICE;
      }
      const { label, count: total, reached, loop_depth: depth } = block;
      const note = reached ? '' : ' (unreachable)';
      const lines = block.lines.flatMap(({ tokens }) => wrap(withoutAddress(tokens)));
      const size = sizeOf(label + note, lines);
      if (lines.length === 0 && total > 0) {
        size.width = Math.max(size.width, UNLOADED * CHARACTER_WIDTH);
        size.height += total * LINE_HEIGHT;
      }
      nodes.push({ label, note, lines, count: total, shade: Math.min(3, depth), dashed: !reached, look: inner.has(index) ? 'inner' : '', ...size });
    }
    const links = edges.map(({ from, to, cause, value }) => ({
      from, to, kind: kindOf(cause), said: cause, label: value ?? (['true', 'false'].includes(cause) ? cause : ''),
    }));
    await this.diagram.show({ nodes, edges: links, groups: groupsOf(graph) }, signal);
    if (signal.aborted) return;
    this.graph = graph;
    this.light(this.range);
    this.diagram.canvas.setAttribute('aria-label', `Control-flow graph, ${this.summary.textContent}; use the arrow keys to move between blocks, + and - to zoom, 0 to show all`);
  }

  /** @param {number} block */
  #go(block) {
    this.diagram.goTo(block);
    this.diagram.canvas.focus();
  }

  /**
   * @param {number} block
   * @param {number | null} link
   */
  #choose(block, link) {
    if (link !== null && this.#toDefinition(link)) return true;
    const range = this.graph?.blocks[block].range;
    if (range) this.onrange(range);
    return false;
  }

  /**
   * Goes to the block that a label names, or that defines a value.
   * @param {number} link
   * @returns {boolean} whether the definition is in this function
   */
  #toDefinition(link) {
    const defines = (/** @type {Line} */ line) => line.tokens.some((token) => token[2] !== undefined && token[2] < 0 && entity(token[2]) === link);
    const blocks = this.graph?.blocks ?? [];
    const index = blocks.findIndex((block) => block.link !== undefined && entity(block.link) === link || block.lines.some(defines));
    if (index < 0) return false;
    this.diagram.activate(index);
    this.diagram.reveal(index);
    const range = blocks[index].lines.find(defines)?.range ?? blocks[index].range;
    if (range) this.onrange(range);
    return true;
  }

  /**
   * Highlights the blocks that contain these bytes.
   * @param {Range | null} range
   */
  light(range) {
    this.range = range;
    const blocks = this.graph?.blocks ?? [];
    this.diagram.light((block) => {
      const own = blocks[block]?.range;
      return range !== null && own !== undefined && own[0] < range[1] && range[0] < own[1];
    });
  }

  /**
   * Loads the lines of a block from the listing.
   * @param {number} block
   */
  #need(block) {
    if (this.graph?.blocks[block].line === undefined) return;
    this.needed.add(block);
    if (!this.loading) queueMicrotask(() => this.#loadLines());
  }

  async #loadLines() {
    if (this.loading) return;
    this.loading = true;
    const { graph, controller } = this;
    try {
      while (this.needed.size > 0 && graph && this.controller === controller) {
        // The last ones that came into view are what is looked at.
        const blocks = [...this.needed].slice(-LOADS);
        await Promise.all(blocks.map(async (index) => {
          const { line = 0, count: total } = graph.blocks[index];
          const { lines } = await this.api.call({ query: 'listing', ...this.subject, from: line, count: Math.min(5_000, total) }, controller.signal);
          this.needed.delete(index);
          if (this.controller !== controller) return;
          graph.blocks[index].lines = lines;
          const node = this.diagram.nodes[index];
          if (node) node.lines = lines.map((/** @type {Line} */ one) => withoutAddress(one.tokens));
          this.diagram.refresh(index);
        }));
      }
    } catch (error) {
      this.needed.clear();
      if (this.controller === controller && !aborted(error)) this.over.replaceChildren(problem(error));
    } finally {
      this.loading = false;
    }
    if (this.needed.size > 0) this.#loadLines();
  }
}

/**
 * Returns the loops with all their blocks, the outer ones first.
 * @param {Graph} graph
 * @returns {import('./diagram.js').DiagramGroup[]}
 */
function groupsOf({ blocks, loops }) {
  const all = loops.map(({ blocks: own }) => [...own]);
  // Loops come after those around them, so the blocks of inner loops are complete. Very deep ones stay by themselves.
  for (let k = loops.length - 1; k >= 0; k--) {
    const { parent, depth } = loops[k];
    if (parent !== undefined && depth <= 12) for (const block of all[k]) all[parent].push(block);
  }
  return loops.map(({ header, depth }, k) => ({ label: `loop ${blocks[header].label}`, depth, nodes: all[k] })).filter(({ nodes }) => nodes.length > 0);
}
