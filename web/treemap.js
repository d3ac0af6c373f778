/**
 * A treemap: areas in proportion to sizes, as SVG. Rectangles are laid out row by row so that they come out nearly
 * square (Bruls, Huizing, van Wijk: "Squarified treemaps").
 *
 * One rectangle has the focus; the arrow keys move it to the nearest one in their direction, Enter chooses it.
 */

import { count, h, plural, size, svg } from './dom.js';

/**
 * An area. What is `inside` of it fills it, beside a heading.
 * @typedef {object} Area
 * @property {string} name
 * @property {number} size
 * @property {string} [detail] what it is, after its size
 * @property {string} kind decides the colour
 * @property {Area[]} [inside]
 * @property {() => void} [choose]
 */

/** @typedef {{area: Area, x: number, y: number, width: number, height: number}} Tile */

/** Height of the heading of an area with others inside. */
const HEADING = 17;
/** The smallest area with a name, in pixels. */
const MIN_WIDTH = 34;
const MIN_HEIGHT = 15;
/** Pixels of a character. */
const CHARACTER = 6.2;
/** The number of families above which they are collected by their first words. */
const MANY = 40;
/** The smallest side of a tile that is drawn. */
const MIN_SIDE = 1.5;

/**
 * Lays out areas in a rectangle.
 * @param {Area[]} areas
 * @param {{x: number, y: number, width: number, height: number}} room
 * @returns {Tile[]}
 */
export function squarified(areas, room) {
  const sorted = areas.filter(({ size }) => size > 0).sort((one, other) => other.size - one.size);
  const total = sorted.reduce((sum, area) => sum + area.size, 0);
  let { x, y, width, height } = room;
  if (!total || width <= 0 || height <= 0) return [];
  const scale = (width * height) / total;
  /** @type {Tile[]} */
  const tiles = [];
  let from = 0;
  while (from < sorted.length) {
    const side = Math.max(Math.min(width, height), 1e-6);
    let [sum, worst, to] = [0, Infinity, from];
    while (to < sorted.length) {
      const next = sum + sorted[to].size * scale;
      const thick = next / side;
      const [most, least] = [sorted[from].size * scale, sorted[to].size * scale];
      const ratio = Math.max((thick * thick) / least, most / (thick * thick));
      if (ratio > worst && to > from) break;
      [sum, worst] = [next, ratio];
      to++;
    }
    const thick = sum / side;
    let at = 0;
    for (const area of sorted.slice(from, to)) {
      const long = (area.size * scale) / thick;
      tiles.push(width >= height ? { area, x, y: y + at, width: thick, height: long } : { area, x: x + at, y, width: long, height: thick });
      at += long;
    }
    if (width >= height) [x, width] = [x + thick, width - thick];
    else [y, height] = [y + thick, height - thick];
    from = to;
  }
  return tiles;
}

export class Treemap {
  /** @param {string} label accessible name */
  constructor(label) {
    /** @type {Area[]} */
    this.areas = [];
    /** What can be chosen, in drawing order. @type {(Tile & {node: SVGElement})[]} */
    this.tiles = [];
    this.current = 0;
    /** The width that it was drawn for. */
    this.width = 0;
    this.picture = svg('svg', { class: 'tree-map', role: 'listbox', 'aria-label': label, tabindex: 0 });
    this.text = h('div', { class: 'tree-map-text muted', role: 'status' });
    this.element = h('div', { class: 'tree-map-host' }, this.picture, this.text);
    this.picture.addEventListener('keydown', (event) => this.#key(/** @type {KeyboardEvent} */ (event)));
    this.picture.addEventListener('click', (event) => this.#chooseAt(event.target));
    this.picture.addEventListener('focus', () => this.#point(this.current));
    this.picture.addEventListener('pointermove', (event) => {
      const tile = this.#tileOf(event.target);
      if (tile) this.text.textContent = describe(tile.area);
    });
    new ResizeObserver(() => this.#draw()).observe(this.element);
  }

  /** @param {Area[]} areas */
  show(areas) {
    this.areas = areas;
    this.width = 0;
    this.#draw();
  }

  #draw() {
    const width = Math.floor(this.element.clientWidth);
    if (!width || width === this.width) return;
    this.width = width;
    const height = Math.round(Math.min(340, Math.max(180, width * 0.42)));
    this.picture.setAttribute('viewBox', `0 0 ${width} ${height}`);
    this.picture.setAttribute('height', String(height));
    this.tiles = [];
    this.current = 0;
    this.picture.replaceChildren();
    this.#drawAreas(this.areas, { x: 0, y: 0, width, height }, 0);
    this.text.textContent = this.tiles.length ? 'Arrow keys move, Enter opens.' : '';
  }

  /**
   * @param {Area[]} areas
   * @param {{x: number, y: number, width: number, height: number}} room
   * @param {number} depth
   */
  #drawAreas(areas, room, depth) {
    let [hidden, hiddenSize] = [0, 0];
    for (const tile of squarified(areas, room)) {
      const { area, x, y, width, height } = tile;
      if (Math.min(width, height) < MIN_SIDE) {
        hidden++;
        hiddenSize += area.size;
        continue;
      }
      const hasRoom = area.inside && area.inside.length > 0 && width > 24 && height > HEADING + 12;
      const node = svg('g', { class: `tile tile-${area.kind} depth-${depth}`, role: 'option', id: `tile-${this.tiles.length}`, 'aria-label': describe(area), 'aria-selected': 'false' },
        svg('rect', { x: x + 0.5, y: y + 0.5, width: Math.max(0.5, width - 1), height: Math.max(0.5, height - 1) }));
      this.tiles.push({ ...tile, node });
      this.picture.append(node);
      if (width >= MIN_WIDTH && height >= MIN_HEIGHT) {
        const room = Math.floor((width - 8) / CHARACTER);
        // Beside the tile, whose own name is longer.
        this.picture.append(svg('text', { x: x + 4, y: y + 12, 'aria-hidden': 'true' }, area.name.length <= room ? area.name : `${area.name.slice(0, Math.max(1, room - 1))}…`));
      }
      if (hasRoom) this.#drawAreas(area.inside ?? [], { x: x + 2, y: y + HEADING, width: width - 4, height: height - HEADING - 2 }, depth + 1);
    }
    // Too small to be seen: counted where they are.
    if (hidden) this.picture.append(svg('title', {}, `${count(hidden)} more, ${size(hiddenSize)}`));
  }

  /** @param {EventTarget | null} target */
  #tileOf(target) {
    const node = target instanceof Element ? target.closest('.tile') : null;
    return this.tiles.find((tile) => tile.node === node);
  }

  /** @param {EventTarget | null} target */
  #chooseAt(target) {
    this.#tileOf(target)?.area.choose?.();
  }

  /** @param {number} index */
  #point(index) {
    const tile = this.tiles[index];
    if (!tile) return;
    this.tiles[this.current]?.node.setAttribute('aria-selected', 'false');
    this.current = index;
    tile.node.setAttribute('aria-selected', 'true');
    this.picture.setAttribute('aria-activedescendant', tile.node.id);
    this.text.textContent = describe(tile.area);
  }

  /** @param {KeyboardEvent} event */
  #key(event) {
    const step = /** @type {Record<string, [number, number]>} */ ({ ArrowRight: [1, 0], ArrowLeft: [-1, 0], ArrowDown: [0, 1], ArrowUp: [0, -1] })[event.key];
    if (event.key === 'Home') this.#point(0);
    else if (event.key === 'End') this.#point(this.tiles.length - 1);
    else if (event.key === 'Enter' || event.key === ' ') this.tiles[this.current]?.area.choose?.();
    else if (step) this.#move(step);
    else return;
    event.preventDefault();
    event.stopPropagation();
  }

  /** @param {[number, number]} step */
  #move([right, down]) {
    const from = this.tiles[this.current];
    if (!from) return;
    const middle = (/** @type {Tile} */ tile) => [tile.x + tile.width / 2, tile.y + Math.min(tile.height / 2, HEADING / 2)];
    const [x, y] = middle(from);
    let [best, nearest] = [-1, Infinity];
    this.tiles.forEach((tile, index) => {
      const [a, b] = middle(tile);
      const along = right ? (a - x) * right : (b - y) * down;
      const across = Math.abs(right ? b - y : a - x);
      if (index === this.current || along < 1) return;
      const distance = along + across * 2;
      if (distance < nearest) [best, nearest] = [index, distance];
    });
    if (best >= 0) this.#point(best);
  }
}

/** @param {Area} area */
function describe(area) {
  return `${area.name.slice(0, 300)}: ${size(area.size)}${area.detail ? `, ${area.detail}` : ''}`;
}

/**
 * Returns the area of what is not named.
 * @param {number} number
 * @param {number} bytes
 * @param {string} noun
 * @param {(() => void)} [choose]
 * @returns {Area}
 */
export function restOf(number, bytes, noun, choose) {
  return { name: `${count(number)} more`, size: bytes, detail: plural(number, `further ${noun}`), kind: 'rest', choose };
}

/**
 * Collects areas whose names begin with the same word, if there are many.
 * @param {Area[]} areas
 * @param {string} noun
 * @returns {Area[]}
 */
export function byStem(areas, noun) {
  if (areas.length <= MANY) return areas;
  /** @type {Map<string, Area[]>} */
  const stems = new Map();
  for (const area of areas) {
    const stem = /^\W*(?:\w+ )?([A-Za-z]+)/.exec(area.name)?.[1] ?? area.name;
    stems.set(stem, [...stems.get(stem) ?? [], area]);
  }
  return [...stems].map(([stem, inside]) => (inside.length === 1 ? inside[0] : {
    name: `${stem}…`, size: inside.reduce((sum, area) => sum + area.size, 0), kind: 'stem', detail: plural(inside.length, `family of ${noun}s`, `families of ${noun}s`), inside,
  }));
}
