/** The control-flow graph of a function as SVG: blocks with their first lines, and labelled edges. */

import { count, fill, h, iconButton, plural, svg } from './dom.js';
import { layout } from './layered.js';
import { entity, textOf } from './listing.js';
import { aborted, nothing, problem, waiting } from './rows.js';

/** @typedef {import('./protocol.js').Graph} Graph */
/** @typedef {import('./protocol.js').Range} Range */
/** @typedef {{file: number, program: number, item?: number}} Subject */

/** Maximum number of blocks that are drawn. */
const MAX_BLOCKS = 700;
const MAX_LINES = 12;
const MAX_COLUMNS = 60;
const CHARACTER_WIDTH = 6.65;
const LINE_HEIGHT = 15;

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
    this.zoom = 1;
    this.active = -1;
    /** @type {Graph | null} */
    this.graph = null;
    /** @type {SVGElement[]} */
    this.blocks = [];
    /** @type {Range | null} */
    this.range = null;
    this.controller = new AbortController();
    this.functions = h('select', { 'aria-label': 'Function of the module', hidden: true, onchange: () => this.#load(Number(this.functions.value)) });
    this.summary = h('span', { class: 'muted' });
    this.canvas = h('div', { class: 'graph-canvas', tabIndex: 0, role: 'group', 'aria-label': 'Control-flow graph' });
    this.canvas.addEventListener('keydown', (event) => this.#key(event));
    this.over = h('div', { class: 'over' });
    this.element = h('div', { class: 'graph' },
      h('div', { class: 'graph-bar' }, this.functions, this.summary, h('span', { class: 'grow' }),
        iconButton('minus', 'Smaller', () => this.#scale(this.zoom / 1.25)),
        iconButton('plus', 'Larger', () => this.#scale(this.zoom * 1.25)),
        h('button', { type: 'button', class: 'quiet', onclick: () => this.#fit() }, 'Fit')),
      this.canvas, this.over);
  }

  /** @param {Subject} subject */
  async show(subject) {
    const key = JSON.stringify(subject);
    if (key === this.key) return;
    this.key = key;
    this.subject = subject;
    await this.#load(0);
  }

  /** @param {number} index */
  async #load(index) {
    this.controller.abort();
    const controller = new AbortController();
    this.controller = controller;
    this.canvas.replaceChildren();
    this.over.replaceChildren();
    this.summary.textContent = '';
    this.graph = null;
    this.blocks = [];
    try {
      /** @type {Graph} */
      const graph = await waiting(this.over, 'Finding the blocks…', controller, this.api.call({ query: 'graph', ...this.subject, function: index }, controller.signal));
      if (this.controller !== controller) return;
      this.functions.hidden = graph.functions.length < 2;
      fill(this.functions, ...graph.functions.map((name, k) => h('option', { value: String(k), selected: k === index }, name)));
      this.#draw(graph);
    } catch (error) {
      if (this.controller !== controller) return;
      this.key = '';
      this.over.replaceChildren(aborted(error) ? nothing('Stopped.') : problem(error));
    }
  }

  /** @param {Graph} graph */
  #draw(graph) {
    const { blocks, edges, loops } = graph;
    this.summary.textContent = [plural(blocks.length, 'block'), plural(edges.length, 'edge'), plural(loops.length, 'loop')].join(' · ');
    if (blocks.length === 0) return this.over.replaceChildren(nothing('There is no code.'));
    if (blocks.length > MAX_BLOCKS) {
      return this.over.replaceChildren(nothing(`${count(blocks.length)} blocks are too many to draw.`, h('p', {}, 'Export it for Graphviz instead: '), h('code', {}, 'unshade dis FILE FUNCTION --cfg dot')));
    }
    this.graph = graph;
    const shown = blocks.map((block) => {
      const lines = block.lines.slice(0, MAX_LINES).map((line) => {
        const tokens = withoutAddress(line.tokens);
        return { tokens, text: textOf({ tokens }) };
      });
      const more = block.lines.length - lines.length;
      const longest = Math.max(block.label.length + 2, ...lines.map(({ text }) => Math.min(text.length, MAX_COLUMNS)), more ? 12 : 0);
      return { lines, more, width: Math.ceil(longest * CHARACTER_WIDTH) + 18, height: (lines.length + 1 + (more ? 1 : 0)) * LINE_HEIGHT + 10 };
    });
    const placed = layout(shown, edges);
    this.size = { width: placed.width, height: placed.height };
    const arrow = (/** @type {string} */ id) => svg('marker', { id, viewBox: '0 0 8 8', refX: 7, refY: 4, markerWidth: 8, markerHeight: 8, markerUnits: 'userSpaceOnUse', orient: 'auto-start-reverse' }, svg('path', { d: 'M0 0 8 4 0 8z', class: id }));
    const lines = svg('g', { class: 'edges' });
    for (const { edge, points, back } of placed.routes) {
      const { cause, value } = edges[edge];
      const name = /^(true|taken|yes)/.test(cause) ? 'yes' : /^(false|not|no|fall)/.test(cause) ? 'no' : 'plain';
      lines.append(svg('path', { d: curve(points, back), class: `edge edge-${name}${back ? ' back' : ''}`, 'marker-end': `url(#arrow-${name})` }));
      const label = value ?? (['true', 'false'].includes(cause) ? cause : '');
      if (label) lines.append(svg('text', { x: points[0][0] + (points[1][0] < points[0][0] ? -5 : 5), y: points[0][1] + 12, class: `edge-label ${points[1][0] < points[0][0] ? 'left' : ''}` }, label));
    }
    const bodies = svg('g', { class: 'blocks' });
    this.blocks = shown.map((block, index) => {
      const { label, reached, loop_depth: depth, range } = blocks[index];
      const group = svg('g', { class: `block depth-${Math.min(depth, 3)}${reached ? '' : ' unreached'}`, transform: `translate(${placed.x[index]} ${placed.y[index]})` },
        svg('rect', { width: block.width, height: block.height, rx: 3 }),
        svg('text', { x: 9, y: LINE_HEIGHT, class: 'block-label' }, label + (reached ? '' : ' (unreachable)')),
        ...block.lines.map(({ tokens }, k) => drawLine(tokens, 9, (k + 2) * LINE_HEIGHT)));
      if (block.more) group.append(svg('text', { x: 9, y: (block.lines.length + 2) * LINE_HEIGHT, class: 'more' }, `… ${block.more} more`));
      group.addEventListener('click', (event) => {
        if (!(document.getSelection()?.isCollapsed ?? true)) return;
        const word = event.target instanceof Element ? event.target.closest('[data-link]') : null;
        this.#lightUses(word ? Number(word.getAttribute('data-link')) : null);
        if (word?.classList.contains('reference') && this.#toDefinition(Number(word.getAttribute('data-link')))) return;
        this.#activate(index);
        if (range) this.onrange(range);
      });
      bodies.append(group);
      return group;
    });
    this.picture = svg('svg', { viewBox: `0 0 ${placed.width} ${placed.height}`, class: 'graph-picture', role: 'presentation' },
      svg('defs', {}, arrow('arrow-yes'), arrow('arrow-no'), arrow('arrow-plain')), lines, bodies);
    this.canvas.replaceChildren(this.picture);
    this.active = -1;
    this.light(this.range);
    this.canvas.setAttribute('aria-label', `Control-flow graph, ${this.summary.textContent}; use the arrow keys to move between blocks`);
    this.#fit(1, 0.72);
    const entry = (placed.x[0] + shown[0].width / 2) * this.zoom;
    this.canvas.scrollTo(entry - this.canvas.clientWidth / 2, 0);
  }

  /**
   * Highlights all uses of a name.
   * @param {number | null} link
   */
  #lightUses(link) {
    for (const word of this.canvas.querySelectorAll('[data-link]')) word.classList.toggle('use', word.getAttribute('data-link') === String(link));
  }

  /**
   * Goes to the block that a label names, or that defines a value.
   * @param {number} link
   * @returns {boolean} whether the definition is in this function
   */
  #toDefinition(link) {
    const defines = (/** @type {import('./protocol.js').Line} */ line) => line.tokens.some((token) => token[2] !== undefined && token[2] < 0 && entity(token[2]) === link);
    const blocks = this.graph?.blocks ?? [];
    const index = blocks.findIndex((block) => block.link !== undefined && entity(block.link) === link || block.lines.some(defines));
    if (index < 0) return false;
    this.#activate(index);
    this.blocks[index].scrollIntoView({ block: 'nearest', inline: 'nearest' });
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
    this.blocks.forEach((block, index) => {
      const own = this.graph?.blocks[index].range;
      block.classList.toggle('lit', range !== null && own !== undefined && own[0] < range[1] && range[0] < own[1]);
    });
  }

  /**
   * @param {number} [max]
   * @param {number} [min]
   */
  #fit(max = 1.5, min = 0.1) {
    if (!this.size) return;
    const wide = (this.canvas.clientWidth - 4) / this.size.width;
    this.#scale(Math.max(min, Math.min(max, wide)));
  }

  /** @param {number} zoom */
  #scale(zoom) {
    if (!this.picture || !this.size) return;
    this.zoom = Math.max(0.1, Math.min(4, zoom));
    this.picture.style.width = `${this.size.width * this.zoom}px`;
    this.picture.style.height = `${this.size.height * this.zoom}px`;
  }

  /** @param {number} index */
  #activate(index) {
    this.blocks[this.active]?.classList.remove('active');
    this.active = index;
    this.blocks[index]?.classList.add('active');
  }

  /** @param {KeyboardEvent} event */
  #key(event) {
    const { graph } = this;
    if (!graph || event.ctrlKey || event.altKey || event.metaKey) return;
    const block = graph.blocks[this.active];
    let next = -1;
    if (event.key === '+' || event.key === '=') this.#scale(this.zoom * 1.25);
    else if (event.key === '-') this.#scale(this.zoom / 1.25);
    else if (event.key === 'Enter' && block?.range) this.onrange(block.range);
    else if (event.key === 'ArrowDown') next = this.active < 0 ? 0 : graph.edges.find((edge) => edge.from === this.active && !edge.back)?.to ?? this.active;
    else if (event.key === 'ArrowUp') next = graph.edges.find((edge) => edge.to === this.active && !edge.back)?.from ?? Math.max(0, this.active);
    else if (event.key === 'ArrowRight' || event.key === 'j') next = Math.min(graph.blocks.length - 1, this.active + 1);
    else if (event.key === 'ArrowLeft' || event.key === 'k') next = Math.max(0, this.active - 1);
    else return;
    event.preventDefault();
    if (next < 0) return;
    this.#activate(next);
    this.blocks[next].scrollIntoView({ block: 'nearest', inline: 'nearest' });
    const { label, lines } = graph.blocks[next];
    const to = graph.edges.filter((edge) => edge.from === next).map((edge) => `${edge.cause} to ${graph.blocks[edge.to].label}`);
    this.say([label, plural(lines.length, 'line'), ...to].join(', '));
  }
}

/**
 * Removes leading white space and the address comment of a line, which the block's label already shows.
 * @param {import('./protocol.js').Token[]} tokens
 */
function withoutAddress(tokens) {
  const first = tokens.findIndex(([kind, text]) => text.trim() !== '' && !(kind === 'comment' && text.startsWith('/*')));
  return first < 0 ? tokens : tokens.slice(first);
}

/**
 * @param {import('./protocol.js').Token[]} tokens
 * @param {number} x
 * @param {number} y
 */
function drawLine(tokens, x, y) {
  const text = svg('text', { x, y, class: 'block-line' });
  let left = MAX_COLUMNS;
  for (const [kind, word, link] of tokens) {
    if (left <= 0) break;
    const part = word.length > left ? `${word.slice(0, left - 1)}…` : word;
    left -= word.length;
    text.append(link === undefined ? svg('tspan', { class: `t-${kind}` }, part)
      : svg('tspan', { class: `t-${kind} ${link < 0 ? 'definition' : 'reference'}`, 'data-link': entity(link) }, part));
  }
  return text;
}

/**
 * Returns a smooth path through points that leaves and enters blocks vertically. A path of a back edge turns below
 * its first point and above its last one.
 * @param {[number, number][]} points
 * @param {boolean} back
 */
function curve(points, back) {
  let d = `M${points[0].map(round).join(' ')}`;
  for (let k = 1; k < points.length; k++) {
    const [x0, y0] = points[k - 1];
    const [x1, y1] = points[k];
    const bend = Math.max(16, Math.abs(y1 - y0) / 2);
    const up0 = back && k > 1 ? -1 : 1;
    const up1 = back && k < points.length - 1 ? -1 : 1;
    d += x0 === x1 && up0 === up1 ? `V${round(y1)}` : `C${[x0, y0 + up0 * bend, x1, y1 - up1 * bend, x1, y1].map(round).join(' ')}`;
  }
  return d;
}

/** @param {number} number */
function round(number) {
  return Math.round(number * 10) / 10;
}
