/** A splitter between two parts, moved with the mouse or the arrow keys. Its position is stored. */

import { h } from './dom.js';
import { keep, kept } from './theme.js';

/**
 * @param {object} options
 * @param {string} options.label
 * @param {'x' | 'y'} options.axis the axis along which it moves
 * @param {string} options.name the CSS property with the size
 * @param {string} options.key the storage key of the size
 * @param {number} options.min the minimum size
 * @param {'start' | 'end'} options.from whether the part is before or after the splitter
 * @param {HTMLElement} options.part the part
 * @returns {HTMLElement}
 */
export function splitter({ label, axis, name, key, min, from, part }) {
  const root = document.documentElement;
  const bar = h('div', {
    class: `splitter splitter-${axis}`, role: 'separator', tabIndex: 0, 'aria-label': label,
    'aria-orientation': axis === 'x' ? 'vertical' : 'horizontal', 'aria-valuemin': String(min),
  });
  const max = () => Math.max(min, (axis === 'x' ? window.innerWidth : window.innerHeight) * 0.7);
  /** @param {number} size */
  const set = (size) => {
    const rounded = Math.round(Math.max(min, Math.min(max(), size)));
    root.style.setProperty(name, `${rounded}px`);
    bar.setAttribute('aria-valuenow', String(rounded));
    bar.setAttribute('aria-valuemax', String(Math.round(max())));
    return rounded;
  };
  const currentSize = () => {
    const box = part.getBoundingClientRect();
    return axis === 'x' ? box.width : box.height;
  };
  /** Describes the actual size, which the window may limit. */
  const describe = () => {
    bar.setAttribute('aria-valuenow', String(Math.round(currentSize())));
    bar.setAttribute('aria-valuemax', String(Math.round(max())));
  };
  bar.setAttribute('aria-valuenow', String(min));
  bar.addEventListener('focus', describe);
  const stored = Number(kept(key));
  if (stored) set(stored);

  bar.addEventListener('pointerdown', (event) => {
    event.preventDefault();
    bar.setPointerCapture(event.pointerId);
    const start = axis === 'x' ? event.clientX : event.clientY;
    const size = currentSize();
    const move = (/** @type {PointerEvent} */ moved) => {
      const by = (axis === 'x' ? moved.clientX : moved.clientY) - start;
      set(from === 'start' ? size + by : size - by);
    };
    bar.addEventListener('pointermove', move);
    bar.addEventListener('lostpointercapture', () => {
      bar.removeEventListener('pointermove', move);
      keep(key, String(Math.round(currentSize())));
    }, { once: true });
  });
  bar.addEventListener('keydown', (event) => {
    const [less, more] = axis === 'x' ? ['ArrowLeft', 'ArrowRight'] : ['ArrowUp', 'ArrowDown'];
    const by = (/** @type {number} */ step) => currentSize() + (from === 'start' ? step : -step);
    const size = event.key === more ? by(16) : event.key === less ? by(-16) : event.key === 'Home' ? min : event.key === 'End' ? max() : undefined;
    if (size === undefined) return;
    event.preventDefault();
    keep(key, String(set(size)));
    // The style sheet may limit it further.
    describe();
  });
  return bar;
}
