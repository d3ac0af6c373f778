/**
 * A drawing of nodes and edges that can be moved and zoomed: wheel and pinch zoom towards the pointer, dragging moves,
 * the arrow keys follow edges.
 *
 * Only what is in view is in the DOM, and how much of a node depends on the zoom: all its lines, its heading in
 * readable size, or its outline. The outlines, edges and arrow heads in view are a few paths. A margin around the view
 * is drawn as well, so that small movements only change the transform.
 */

import { h, iconButton, plural, svg } from './dom.js';
import { layoutInSteps } from './layered.js';
import { entity } from './listing.js';
import { MiniMap } from './minimap.js';
import { CHARACTER_WIDTH, LINE_HEIGHT, PADDING, paint, shadeOf } from './picture.js';

/** @typedef {import('./layered.js').Placed} Placed */
/** @typedef {import('./protocol.js').Token} Token */
/** @typedef {'yes' | 'no' | 'plain'} EdgeKind */

/**
 * @typedef {object} DiagramNode
 * @property {string} label
 * @property {Token[][]} lines
 * @property {number} count the number of lines, of which some may not be loaded
 * @property {string} [note] shown after the label
 * @property {number} [shade] 0 to 3, how dark
 * @property {string} [look] further classes
 * @property {boolean} [dashed]
 * @property {number} width
 * @property {number} height
 */

/**
 * @typedef {object} DiagramEdge
 * @property {number} from
 * @property {number} to
 * @property {EdgeKind} kind
 * @property {string} [label]
 * @property {string} [said] how screen readers name it
 */

/**
 * @typedef {object} DiagramGroup a group of nodes with a frame
 * @property {string} label
 * @property {number} depth from 1
 * @property {number[]} nodes with those of the groups inside
 */

/** From this zoom on, nodes have all their lines, and from that on a heading. */
const LINES_FROM = 0.5;
const HEADINGS_FROM = 0.1;
const MAX_ZOOM = 4;
const MIN_ZOOM = 0.004;
/** How much around the view is drawn, as a part of it. */
const MARGIN = 0.4;
/** Pixels of movement from which pressing is dragging. */
const DRAG = 4;
/** Maximum number of headings in the DOM: if more are in view, nodes are outlines. */
const MAX_HEADINGS = 1_200;
/** Maximum number of edge labels in the DOM. */
const MAX_LABELS = 600;

/**
 * Returns a smooth path through points that leaves and enters blocks vertically. A path of a back edge turns below
 * its first point and above its last one; one that passes beside the picture has corners.
 * @param {import('./layered.js').Route} route
 */
export function curve({ points, back, far }) {
  let d = `M${points[0].map(round).join(' ')}`;
  if (far) return d + points.slice(1).map((point) => `L${point.map(round).join(' ')}`).join('');
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

/**
 * Returns the outline of a group: a rectangle if no other node is in it, otherwise one that follows its layers.
 * @param {DiagramGroup} group
 * @param {DiagramNode[]} nodes
 * @param {Placed} placed
 * @param {number[][]} byLayer the nodes of each layer
 */
export function frameOf({ nodes: own, depth }, nodes, placed, byLayer) {
  const pad = Math.max(6, 18 - 3 * depth);
  const inside = new Set(own);
  /** @type {Map<number, {left: number, right: number, top: number, bottom: number}>} */
  const rows = new Map();
  for (const node of own) {
    const [x, y] = [placed.x[node], placed.y[node]];
    const row = rows.get(placed.layer[node]);
    const { width, height } = nodes[node];
    rows.set(placed.layer[node], {
      left: Math.min(row?.left ?? Infinity, x) - 0, right: Math.max(row?.right ?? -Infinity, x + width),
      top: y, bottom: Math.max(row?.bottom ?? 0, y + height),
    });
  }
  const layers = [...rows.keys()].sort((a, b) => a - b);
  const all = layers.map((layer) => /** @type {{left: number, right: number, top: number, bottom: number}} */ (rows.get(layer)));
  const left = Math.min(...all.map((row) => row.left)) - pad;
  const right = Math.max(...all.map((row) => row.right)) + pad;
  const top = all[0].top - pad;
  const bottom = all[all.length - 1].bottom + pad;
  const crosses = (/** @type {number} */ node) => !inside.has(node) && placed.x[node] < right && placed.x[node] + nodes[node].width > left;
  let free = true;
  for (let layer = layers[0]; free && layer <= layers[layers.length - 1]; layer++) free = !(byLayer[layer] ?? []).some(crosses);
  if (free) return { x: left, y: top, d: `M${[left, top].map(round).join(' ')}H${round(right)}V${round(bottom)}H${round(left)}Z` };
  let d = `M${round(all[0].left - pad)} ${round(all[0].top - pad)}H${round(all[0].right + pad)}`;
  for (const [k, row] of all.entries()) {
    const next = all[k + 1];
    d += `V${round(next ? (row.bottom + next.top) / 2 : row.bottom + pad)}H${round(next ? next.right + pad : row.left - pad)}`;
  }
  for (let k = all.length - 2; k >= 0; k--) d += `V${round((all[k].bottom + all[k + 1].top) / 2)}H${round(all[k].left - pad)}`;
  return { x: all[0].left - pad, y: top, d: `${d}Z` };
}

export class Diagram {
  /**
   * @param {object} options
   * @param {string} options.label
   * @param {(text: string) => void} options.say
   * @param {(node: number, link: number | null) => boolean | void} options.onchoose a node was clicked, or a name in it;
   *   returns whether that was all
   * @param {(node: number) => void} [options.onopen] called on Enter or a double click
   * @param {(node: number) => void} [options.onneed] the lines of a node in view are not loaded
   * @param {(node: number) => string} [options.describe]
   */
  constructor({ label, say, onchoose, onopen, onneed, describe }) {
    Object.assign(this, { label, say });
    this.say = say;
    this.label = label;
    this.onchoose = onchoose;
    this.onopen = onopen;
    this.onneed = onneed;
    this.describe = describe;
    /** @type {DiagramNode[]} */
    this.nodes = [];
    /** @type {DiagramEdge[]} */
    this.edges = [];
    /** @type {DiagramGroup[]} */
    this.groups = [];
    /** @type {Placed | null} */
    this.placed = null;
    this.zoom = 1;
    /** The corner of the picture in pixels of the canvas. */
    this.x = 0;
    this.y = 0;
    this.active = -1;
    /** @type {(node: number) => boolean} */
    this.isLit = () => false;
    /** @type {number | null} */
    this.entity = null;
    /** The nodes in the DOM, with what of each. @type {Map<number, {element: SVGElement, level: string}>} */
    this.shown = new Map();
    /** @type {Map<number, {x: number, y: number}>} */
    this.pointers = new Map();
    this.frame = 0;
    this.frames = svg('g', { class: 'frames' });
    this.lines = svg('g', { class: 'edges' });
    this.bodies = svg('g', { class: 'blocks' });
    this.world = svg('g', {}, this.frames, this.lines, this.bodies);
    this.picture = svg('svg', { class: 'graph-picture', role: 'presentation' }, this.world);
    this.map = new MiniMap({ onmove: (x, y) => this.centre(x, y) });
    this.canvas = h('div', { class: 'graph-canvas', tabIndex: 0, role: 'group', 'aria-label': label }, this.picture);
    this.element = h('div', { class: 'graph-host' }, this.canvas, this.map.element);
    this.zoomed = h('span', { class: 'muted graph-zoom' });
    this.tools = [
      iconButton('minus', 'Smaller', () => this.scale(this.zoom / 1.25), '-'),
      this.zoomed,
      iconButton('plus', 'Larger', () => this.scale(this.zoom * 1.25), '+'),
      h('button', { type: 'button', class: 'quiet', title: 'Show the whole graph (0)', onclick: () => this.fit() }, 'Fit'),
    ];
    this.#listen();
    new ResizeObserver(() => this.#resized()).observe(this.canvas);
  }

  get width() {
    return this.canvas.clientWidth;
  }

  get height() {
    return this.canvas.clientHeight;
  }

  clear() {
    this.nodes = [];
    this.edges = [];
    this.groups = [];
    this.placed = null;
    this.active = -1;
    this.entity = null;
    this.map.hide();
    this.#drop();
  }

  #drop() {
    this.shown.clear();
    this.drawn = null;
    for (const part of [this.frames, this.lines, this.bodies]) part.replaceChildren();
  }

  /**
   * Lays a graph out and draws it.
   * @param {object} graph
   * @param {DiagramNode[]} graph.nodes
   * @param {DiagramEdge[]} graph.edges
   * @param {DiagramGroup[]} [graph.groups]
   * @param {AbortSignal} signal
   * @param {number} [start] the node that is shown first
   */
  async show({ nodes, edges, groups = [] }, signal, start = 0) {
    /** The groups of each node; the deepest ones of a hostile graph do not matter. @type {number[][]} */
    const within = nodes.map(() => []);
    groups.forEach(({ nodes: own }, group) => {
      for (const node of own) if (within[node].length < 8) within[node].push(group);
    });
    const placed = await layoutInSteps(nodes, edges, within, signal);
    this.clear();
    Object.assign(this, { nodes, edges, groups, placed });
    this.nodes = nodes;
    this.edges = edges;
    this.groups = groups;
    this.placed = placed;
    /** @type {number[][]} */
    this.byLayer = [];
    placed.layer.forEach((layer, node) => (/** @type {number[][]} */ (this.byLayer)[layer] ??= []).push(node));
    for (let k = 0; k < this.byLayer.length; k++) this.byLayer[k] ??= [];
    this.bounds = groups.map((group) => this.#boundsOf(group));
    this.outlines = groups.map((group) => frameOf(group, nodes, placed, /** @type {number[][]} */ (this.byLayer)));
    this.boxes = placed.routes.map(({ points }) => {
      let [left, top, right, bottom] = [Infinity, Infinity, -Infinity, -Infinity];
      for (const [x, y] of points) {
        left = Math.min(left, x);
        right = Math.max(right, x);
        top = Math.min(top, y);
        bottom = Math.max(bottom, y);
      }
      return [left, top - 20, right, bottom + 20];
    });
    this.map.draw(nodes, placed);
    this.#start(start);
  }

  /**
   * Shows a node in readable size, at the top.
   * @param {number} node
   */
  #start(node) {
    const { placed } = this;
    if (!placed) return;
    const whole = Math.min((this.width - 8) / placed.width, (this.height - 8) / placed.height);
    this.zoom = Math.max(0.72, Math.min(1, (this.width - 8) / placed.width));
    if (whole >= this.zoom) {
      this.zoom = Math.min(1, whole);
      return this.#whole();
    }
    const middle = placed.x[node] + this.nodes[node].width / 2;
    this.x = this.width / 2 - middle * this.zoom;
    this.y = 10 - Math.max(0, placed.y[node] - 22) * this.zoom;
    this.#moved();
  }

  /** Shows the whole graph. */
  fit() {
    const { placed } = this;
    if (!placed) return;
    this.zoom = Math.max(MIN_ZOOM, Math.min(1.5, (this.width - 8) / placed.width, (this.height - 8) / placed.height));
    this.#whole();
  }

  #whole() {
    const { placed } = this;
    if (!placed) return;
    this.x = (this.width - placed.width * this.zoom) / 2;
    this.y = (this.height - placed.height * this.zoom) / 2;
    this.#moved();
  }

  /**
   * Changes the zoom; the point of the canvas stays where it is.
   * @param {number} zoom
   * @param {number} [x]
   * @param {number} [y]
   */
  scale(zoom, x = this.width / 2, y = this.height / 2) {
    const next = Math.max(MIN_ZOOM, Math.min(MAX_ZOOM, zoom));
    this.x = x - ((x - this.x) / this.zoom) * next;
    this.y = y - ((y - this.y) / this.zoom) * next;
    this.zoom = next;
    this.#moved();
  }

  /**
   * Moves a point of the picture to the middle.
   * @param {number} x
   * @param {number} y
   */
  centre(x, y) {
    this.x = this.width / 2 - x * this.zoom;
    this.y = this.height / 2 - y * this.zoom;
    this.#moved();
  }

  /**
   * Moves a node into view.
   * @param {number} node
   */
  reveal(node) {
    const { placed } = this;
    if (!placed) return;
    const { width, height } = this.nodes[node];
    const near = (/** @type {number} */ at, /** @type {number} */ start, /** @type {number} */ size, /** @type {number} */ view) => {
      const [from, to] = [at + start * this.zoom, at + (start + size) * this.zoom];
      if (from >= 8 && to <= view - 8) return at;
      if (to - from > view - 16 || from < 8) return at + 8 - from;
      return at + view - 8 - to;
    };
    this.x = near(this.x, placed.x[node], width, this.width);
    this.y = near(this.y, placed.y[node], height, this.height);
    this.#moved();
  }

  /** @param {number} node −1 for none */
  activate(node) {
    this.shown.get(this.active)?.element.classList.remove('active');
    this.active = node;
    this.shown.get(node)?.element.classList.add('active');
    if (this.level === 'outline') this.#redraw();
  }

  /**
   * Highlights all uses of a name.
   * @param {number | null} link
   */
  lightUses(link) {
    this.entity = link;
    for (const word of this.bodies.querySelectorAll('[data-link]')) word.classList.toggle('use', word.getAttribute('data-link') === String(link));
  }

  /**
   * Highlights nodes.
   * @param {(node: number) => boolean} isLit
   */
  light(isLit) {
    this.isLit = isLit;
    for (const [node, { element }] of this.shown) element.classList.toggle('lit', isLit(node));
    if (this.level === 'outline') this.#redraw();
  }

  /**
   * Draws a node again, whose lines have come.
   * @param {number} node
   */
  refresh(node) {
    this.shown.get(node)?.element.remove();
    this.shown.delete(node);
    this.#redraw();
  }

  /**
   * Paints the whole graph onto a surface.
   * @param {import('./picture.js').Surface} surface
   */
  paint(surface) {
    const { placed } = this;
    if (placed) paint(surface, { nodes: this.nodes, edges: this.edges, groups: this.groups, outlines: this.outlines ?? [], placed, curve });
  }

  // Drawing.

  #moved() {
    this.world.setAttribute('transform', `translate(${round(this.x)} ${round(this.y)}) scale(${this.zoom})`);
    this.zoomed.textContent = `${this.zoom < 0.1 ? (this.zoom * 100).toFixed(1) : Math.round(this.zoom * 100)} %`;
    const { placed } = this;
    if (placed) this.map.view({ x: -this.x / this.zoom, y: -this.y / this.zoom, width: this.width / this.zoom, height: this.height / this.zoom }, placed);
    if (!this.frame) {
      this.frame = requestAnimationFrame(() => {
        this.frame = 0;
        this.#draw();
      });
    }
  }

  #redraw() {
    this.drawn = null;
    this.#moved();
  }

  #resized() {
    if (this.placed && this.width > 0) this.#redraw();
  }

  /** Returns what is visible, in pixels of the picture. */
  #view(margin = 0) {
    const { zoom } = this;
    const [width, height] = [this.width / zoom, this.height / zoom];
    const [left, top] = [-this.x / zoom, -this.y / zoom];
    return [left - width * margin, top - height * margin, left + width * (1 + margin), top + height * (1 + margin)];
  }

  /** Returns the nodes that are at least partly in a rectangle. @param {number[]} view */
  #inside([left, top, right, bottom]) {
    const { placed, byLayer = [], nodes } = this;
    /** @type {number[]} */
    const found = [];
    if (!placed) return found;
    for (const layer of byLayer) {
      if (layer.length === 0 || placed.y[layer[0]] > bottom) continue;
      for (const node of layer) {
        const [x, y] = [placed.x[node], placed.y[node]];
        if (y + nodes[node].height >= top && x <= right && x + nodes[node].width >= left) found.push(node);
      }
    }
    return found;
  }

  #draw() {
    const { placed } = this;
    if (!placed || this.width === 0) return;
    const inner = this.#view();
    const { drawn } = this;
    if (drawn && drawn.zoom === this.zoom && inner.every((edge, k) => (k < 2 ? edge >= drawn.view[k] : edge <= drawn.view[k]))) return;
    const view = this.#view(MARGIN);
    const inside = this.#inside(view);
    this.drawn = { view, zoom: this.zoom };
    this.level = this.zoom >= LINES_FROM ? 'lines' : this.zoom >= HEADINGS_FROM && inside.length <= MAX_HEADINGS ? 'heading' : 'outline';
    this.canvas.dataset.level = this.level;
    this.#drawFrames(view);
    this.#drawEdges(view);
    this.#drawNodes(view, inside);
  }

  /** @param {number[]} view */
  #drawFrames(view) {
    const { groups, outlines = [], bounds: all = [], zoom } = this;
    const size = Math.max(11, 11 / zoom);
    this.frames.replaceChildren(...outlines.flatMap(({ x, y, d }, k) => {
      const { depth, label } = groups[k];
      const bounds = all[k];
      // Frames that are out of view, or too small to be seen.
      if (bounds.bottom < view[1] - 20 || bounds.top > view[3] + 20 || bounds.right < view[0] - 20 || bounds.left > view[2] + 20 || (bounds.bottom - bounds.top) * zoom < 3) return [];
      const frame = svg('path', { d, class: `loop loop-${Math.min(depth, 3)}` });
      // Labels of frames that are too small for them would cover others.
      if ((bounds.right - bounds.left) * zoom < label.length * 6) return [frame];
      return [frame, svg('text', { x: x + 5 / zoom, y: y - 3 / zoom, class: 'loop-label', 'font-size': Math.min(size, 60) }, label)];
    }));
  }

  /** @param {DiagramGroup} group */
  #boundsOf(group) {
    const placed = /** @type {Placed} */ (this.placed);
    const bounds = { left: Infinity, right: -Infinity, top: Infinity, bottom: -Infinity };
    for (const node of group.nodes) {
      bounds.left = Math.min(bounds.left, placed.x[node]);
      bounds.right = Math.max(bounds.right, placed.x[node] + this.nodes[node].width);
      bounds.top = Math.min(bounds.top, placed.y[node]);
      bounds.bottom = Math.max(bounds.bottom, placed.y[node] + this.nodes[node].height);
    }
    return bounds;
  }

  /** @param {number[]} view */
  #drawEdges([left, top, right, bottom]) {
    const { placed, boxes = [], edges, zoom } = this;
    if (!placed) return;
    /** @type {Record<string, string[]>} */
    const paths = {};
    /** @type {Record<string, string[]>} */
    const heads = {};
    /** @type {SVGElement[]} */
    const labels = [];
    const size = Math.max(1, Math.min(6, 0.7 / zoom));
    placed.routes.forEach((route, k) => {
      const box = boxes[k];
      if (box[0] > right || box[2] < left || box[1] > bottom || box[3] < top) return;
      const { edge, points, back } = route;
      const { kind, label } = edges[edge];
      const name = `edge-${kind}${back ? ' back' : ''}`;
      const line = this.level === 'outline' ? points.map((point, at) => `${at ? 'L' : 'M'}${Math.round(point[0])} ${Math.round(point[1])}`).join('') : curve(route);
      (paths[name] ??= []).push(line);
      if (this.level === 'outline') return;
      const [x, y] = points[points.length - 1];
      (heads[kind] ??= []).push(`M${round(x - 3.5 * size)} ${round(y - 7 * size)}L${round(x + 3.5 * size)} ${round(y - 7 * size)}L${round(x)} ${round(y)}Z`);
      if (label && this.level === 'lines' && labels.length < MAX_LABELS) {
        const toLeft = points[1][0] < points[0][0];
        labels.push(svg('text', { x: round(points[0][0] + (toLeft ? -5 : 5)), y: round(points[0][1] + 12), class: `edge-label${toLeft ? ' left' : ''}` }, label));
      }
    });
    const width = Math.max(1.3, 0.9 / zoom);
    this.lines.replaceChildren(
      ...Object.entries(paths).map(([name, parts]) => svg('path', { d: parts.join(''), class: `edge ${name}`, 'stroke-width': name.endsWith('back') ? width * 1.5 : width })),
      ...Object.entries(heads).map(([kind, parts]) => svg('path', { d: parts.join(''), class: `arrow-${kind}` })), ...labels);
  }

  /**
   * @param {number[]} view
   * @param {number[]} inside
   */
  #drawNodes(view, inside) {
    const { level = 'lines' } = this;
    if (level === 'outline') {
      this.shown.clear();
      this.bodies.replaceChildren(...this.#outlines(inside));
      return;
    }
    for (const outline of [...this.bodies.children]) if (outline.classList.contains('outlines')) outline.remove();
    const wanted = new Set(inside);
    for (const [node, { element, level: before }] of this.shown) {
      // Headings have a size of their own at each zoom, and long blocks only the lines in view.
      const stays = wanted.has(node) && before === level && level === 'lines' && !this.#isLong(node);
      if (stays) continue;
      element.remove();
      this.shown.delete(node);
    }
    for (const node of inside) {
      if (this.shown.has(node)) continue;
      const element = this.#node(node, level, view);
      this.shown.set(node, { element, level });
      this.bodies.append(element);
    }
  }

  /** Returns the outlines of nodes as a path for each look. @param {number[]} inside */
  #outlines(inside) {
    const placed = /** @type {Placed} */ (this.placed);
    /** @type {Map<string, string[]>} */
    const looks = new Map();
    for (const node of inside) {
      const { shade = 0, width, height, dashed } = this.nodes[node];
      const look = node === this.active ? 'active' : this.isLit(node) ? 'lit' : `depth-${shade}${dashed ? ' unreached' : ''}`;
      const part = `M${Math.round(placed.x[node])} ${Math.round(placed.y[node])}h${Math.round(width)}v${Math.round(height)}h${-Math.round(width)}z`;
      const parts = looks.get(look);
      if (parts) parts.push(part);
      else looks.set(look, [part]);
    }
    return [...looks].sort(([a], [b]) => (a < b ? 1 : -1)).map(([look, parts]) =>
      svg('path', { class: `outlines ${look}`, d: parts.join(''), 'stroke-width': this.zoom < 0.05 ? 0.3 : 1 }));
  }

  /** Whether a node is taller than what is drawn around a view. @param {number} node */
  #isLong(node) {
    return this.nodes[node].height > 3_000;
  }

  /**
   * @param {number} node
   * @param {string} level
   * @param {number[]} view
   */
  #node(node, level, view) {
    const placed = /** @type {Placed} */ (this.placed);
    const { label, note = '', lines, count, shade = 0, look = '', dashed, width, height } = this.nodes[node];
    const group = svg('g', {
      class: `block depth-${Math.min(shade, 3)} ${look}${dashed ? ' unreached' : ''}${node === this.active ? ' active' : ''}${this.isLit(node) ? ' lit' : ''}`,
      transform: `translate(${round(placed.x[node])} ${round(placed.y[node])})`, 'data-node': node,
    }, svg('rect', { width, height, rx: Math.min(3, 3 / this.zoom) }));
    const title = label + note;
    if (level === 'heading') {
      // As large as fits, and never smaller than is readable unless the block is.
      const size = Math.min(12 / this.zoom, height * 0.8, (width - 4) / Math.max(1, Math.min(title.length, 8) * 0.62));
      const fits = Math.max(1, Math.floor((width - size) / (size * 0.61)));
      const text = title.length > fits ? `${title.slice(0, Math.max(0, fits - 1))}…` : title;
      group.append(svg('text', { x: width / 2, y: Math.min(height / 2 + size * 0.35, size * 1.6 + height * 0.1), class: 'block-label heading', 'font-size': round(size) }, text));
      return group;
    }
    group.append(svg('text', { x: PADDING, y: LINE_HEIGHT, class: 'block-label' }, title));
    const first = Math.max(0, Math.floor((view[1] - placed.y[node]) / LINE_HEIGHT) - 2);
    const last = Math.min(lines.length, Math.ceil((view[3] - placed.y[node]) / LINE_HEIGHT) + 1);
    const columns = Math.floor((width - 2 * PADDING) / CHARACTER_WIDTH);
    const isLong = this.#isLong(node);
    for (let k = isLong ? first : 0; k < (isLong ? last : lines.length); k++) group.append(this.#line(lines[k], (k + 2) * LINE_HEIGHT, columns));
    if (count > 0 && lines.length === 0) {
      group.append(svg('text', { x: PADDING, y: 2 * LINE_HEIGHT, class: 'more' }, `${plural(count, 'line')}…`));
      this.onneed?.(node);
    }
    return group;
  }

  /**
   * @param {Token[]} tokens
   * @param {number} y
   * @param {number} columns
   */
  #line(tokens, y, columns) {
    const text = svg('text', { x: PADDING, y, class: 'block-line' });
    let left = columns + 1;
    for (const [kind, word, link] of tokens) {
      if (left <= 0) break;
      const part = word.length > left ? `${word.slice(0, left - 1)}…` : word;
      left -= word.length;
      if (link === undefined) {
        text.append(svg('tspan', { class: `t-${kind}` }, part));
        continue;
      }
      const own = entity(link);
      text.append(svg('tspan', { class: `t-${kind} ${link < 0 ? 'definition' : 'reference'}${own === this.entity ? ' use' : ''}`, 'data-link': own }, part));
    }
    if (left <= 0) text.append(svg('title', {}, tokens.map((token) => token[1]).join('')));
    return text;
  }

  // Input.

  #listen() {
    const { canvas } = this;
    canvas.addEventListener('keydown', (event) => this.#key(event));
    canvas.addEventListener('wheel', (event) => this.#wheel(event), { passive: false });
    canvas.addEventListener('pointerdown', (event) => this.#down(event));
    canvas.addEventListener('pointermove', (event) => this.#drag(event));
    for (const name of /** @type {const} */ (['pointerup', 'pointercancel'])) canvas.addEventListener(name, (event) => this.#up(event));
    canvas.addEventListener('click', (event) => this.#click(event));
    canvas.addEventListener('dblclick', (event) => {
      const node = this.#nodeAt(event);
      if (node >= 0) this.onopen?.(node);
    });
  }

  /** Returns the place of an event in the canvas. @param {MouseEvent} event */
  #at(event) {
    const box = this.canvas.getBoundingClientRect();
    return { x: event.clientX - box.left, y: event.clientY - box.top };
  }

  /** @param {WheelEvent} event */
  #wheel(event) {
    event.preventDefault();
    const unit = event.deltaMode === 1 ? 20 : event.deltaMode === 2 ? this.height : 1;
    // A touchpad scrolls in both directions; a wheel, or a pinch, zooms.
    if (event.shiftKey || !event.ctrlKey && Math.abs(event.deltaX) > Math.abs(event.deltaY)) {
      this.x -= (event.deltaX || event.deltaY) * unit;
      return this.#moved();
    }
    const { x, y } = this.#at(event);
    this.scale(this.zoom * Math.exp(-Math.max(-240, Math.min(240, event.deltaY * unit)) * (event.ctrlKey ? 0.01 : 0.0018)), x, y);
  }

  /** @param {PointerEvent} event */
  #down(event) {
    if (event.pointerType === 'mouse' && event.button !== 0) return;
    this.pointers.set(event.pointerId, this.#at(event));
    this.isDragged = this.pointers.size > 1;
    this.from = this.#at(event);
  }

  /** @param {PointerEvent} event */
  #drag(event) {
    const before = this.pointers.get(event.pointerId);
    if (!before) return;
    const now = this.#at(event);
    if (!this.isDragged && this.from && Math.hypot(now.x - this.from.x, now.y - this.from.y) < DRAG) return;
    if (!this.isDragged) {
      this.isDragged = true;
      this.canvas.classList.add('dragging');
    }
    this.canvas.setPointerCapture(event.pointerId);
    const other = [...this.pointers].find(([id]) => id !== event.pointerId)?.[1];
    this.pointers.set(event.pointerId, now);
    if (!other) {
      this.x += now.x - before.x;
      this.y += now.y - before.y;
      return this.#moved();
    }
    // Two fingers: the points under them stay under them.
    const [wide, was] = [Math.hypot(now.x - other.x, now.y - other.y), Math.hypot(before.x - other.x, before.y - other.y)];
    this.x += (now.x - before.x) / 2;
    this.y += (now.y - before.y) / 2;
    this.scale(this.zoom * (was > 0 ? wide / was : 1), (now.x + other.x) / 2, (now.y + other.y) / 2);
  }

  /** @param {PointerEvent} event */
  #up(event) {
    this.pointers.delete(event.pointerId);
    this.canvas.classList.remove('dragging');
  }

  /** Returns the node under the pointer, −1 for none. @param {MouseEvent} event */
  #nodeAt(event) {
    const { placed } = this;
    if (!placed) return -1;
    const { x, y } = this.#at(event);
    const [px, py] = [(x - this.x) / this.zoom, (y - this.y) / this.zoom];
    return this.#inside([px, py, px, py])[0] ?? -1;
  }

  /** @param {MouseEvent} event */
  #click(event) {
    const dragged = this.isDragged;
    this.isDragged = false;
    if (dragged) return;
    const node = this.#nodeAt(event);
    if (node < 0) return;
    const word = event.target instanceof Element ? event.target.closest('[data-link]') : null;
    this.lightUses(word ? Number(word.getAttribute('data-link')) : null);
    const link = word?.classList.contains('reference') ? Number(word.getAttribute('data-link')) : null;
    if (this.onchoose(node, link)) return;
    this.activate(node);
  }

  /** @param {KeyboardEvent} event */
  #key(event) {
    if (!this.placed || event.ctrlKey || event.altKey || event.metaKey) return;
    const step = 60;
    let next = -1;
    switch (event.key) {
      case '+': case '=': this.scale(this.zoom * 1.25); break;
      case '-': this.scale(this.zoom / 1.25); break;
      case '0': this.fit(); break;
      case 'PageDown': case 'PageUp':
        this.y += (event.key === 'PageDown' ? -1 : 1) * this.height * 0.8;
        this.#moved();
        break;
      case 'Enter':
        if (this.active >= 0) (this.onopen ?? this.onchoose)(this.active, null);
        break;
      case 'ArrowDown': case 'ArrowUp':
        if (event.shiftKey) {
          this.y += event.key === 'ArrowDown' ? -step : step;
          this.#moved();
        } else {
          next = this.#neighbour(event.key === 'ArrowDown');
        }
        break;
      case 'ArrowRight': case 'j': case 'ArrowLeft': case 'k': {
        const right = event.key === 'ArrowRight' || event.key === 'j';
        if (event.shiftKey) {
          this.x += right ? -step : step;
          this.#moved();
        } else {
          next = Math.max(0, Math.min(this.nodes.length - 1, this.active + (right ? 1 : -1)));
        }
        break;
      }
      default: return;
    }
    event.preventDefault();
    if (next >= 0) this.goTo(next);
  }

  /**
   * Makes a node active, shows it, and says what it is.
   * @param {number} node
   */
  goTo(node) {
    this.activate(node);
    this.reveal(node);
    const to = this.edges.filter((edge) => edge.from === node).slice(0, 20).map((edge) => `${edge.said ?? ''} to ${this.nodes[edge.to].label}`.trim());
    this.say([this.nodes[node].label, this.describe?.(node) ?? plural(this.nodes[node].count, 'line'), ...to].join(', '));
  }

  /** @param {boolean} down */
  #neighbour(down) {
    const placed = /** @type {Placed} */ (this.placed);
    if (this.active < 0) return 0;
    const route = placed.routes.find(({ edge, back }) => !back && (down ? this.edges[edge].from : this.edges[edge].to) === this.active);
    if (!route) return this.active;
    return down ? this.edges[route.edge].to : this.edges[route.edge].from;
  }
}

export { shadeOf };
