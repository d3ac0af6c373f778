/** A small map of a graph, with the part that is in view: a click or drag on it moves the view. */

import { h } from './dom.js';
import { colour } from './picture.js';

/** The size of the map. */
const WIDTH = 144;
const HEIGHT = 96;

export class MiniMap {
  /**
   * @param {object} options
   * @param {(x: number, y: number) => void} options.onmove a point of the graph was chosen
   */
  constructor({ onmove }) {
    this.onmove = onmove;
    this.canvas = h('canvas', { class: 'minimap-nodes', width: WIDTH * 2, height: HEIGHT * 2 });
    this.frame = h('div', { class: 'minimap-view' });
    // The keyboard has other ways to move, so screen readers skip the map.
    this.element = h('div', { class: 'minimap', hidden: true, 'aria-hidden': 'true' }, this.canvas, this.frame);
    const move = (/** @type {PointerEvent} */ event) => {
      const box = this.element.getBoundingClientRect();
      this.onmove((event.clientX - box.left - this.left) / this.scale, (event.clientY - box.top - this.top) / this.scale);
    };
    this.scale = 1;
    this.left = 0;
    this.top = 0;
    this.element.addEventListener('pointerdown', (event) => {
      this.element.setPointerCapture(event.pointerId);
      event.preventDefault();
      move(event);
    });
    this.element.addEventListener('pointermove', (event) => {
      if (event.buttons) move(event);
    });
  }

  hide() {
    this.element.hidden = true;
  }

  /**
   * Draws the nodes.
   * @param {{width: number, height: number, shade?: number}[]} nodes
   * @param {import('./layered.js').Placed} placed
   */
  draw(nodes, placed) {
    const context = this.canvas.getContext('2d');
    if (!context) return;
    this.scale = Math.min(WIDTH / placed.width, HEIGHT / placed.height);
    this.left = (WIDTH - placed.width * this.scale) / 2;
    this.top = (HEIGHT - placed.height * this.scale) / 2;
    context.setTransform(1, 0, 0, 1, 0, 0);
    context.clearRect(0, 0, this.canvas.width, this.canvas.height);
    context.setTransform(2 * this.scale, 0, 0, 2 * this.scale, 2 * this.left, 2 * this.top);
    context.fillStyle = colour('--rule-strong');
    // A node has at least a pixel.
    const least = 0.7 / this.scale;
    for (let node = 0; node < nodes.length; node++) {
      context.fillRect(placed.x[node], placed.y[node], Math.max(least, nodes[node].width), Math.max(least, nodes[node].height));
    }
  }

  /**
   * Shows which part is in view; the map is hidden if that is all.
   * @param {{x: number, y: number, width: number, height: number}} view
   * @param {import('./layered.js').Placed} placed
   */
  view(view, placed) {
    const whole = view.x <= 0 && view.y <= 0 && view.x + view.width >= placed.width && view.y + view.height >= placed.height;
    this.element.hidden = whole;
    if (whole) return;
    const clamp = (/** @type {number} */ at, /** @type {number} */ most) => Math.max(0, Math.min(most, at));
    const x = clamp(this.left + view.x * this.scale, WIDTH);
    const y = clamp(this.top + view.y * this.scale, HEIGHT);
    const right = clamp(this.left + (view.x + view.width) * this.scale, WIDTH);
    const bottom = clamp(this.top + (view.y + view.height) * this.scale, HEIGHT);
    const { style } = this.frame;
    style.left = `${x}px`;
    style.top = `${y}px`;
    style.width = `${Math.max(3, right - x)}px`;
    style.height = `${Math.max(3, bottom - y)}px`;
  }
}
