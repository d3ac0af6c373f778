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
 * @param {'start' | 'end'} options.from whether the size is that of the part before or after the splitter
 * @returns {HTMLElement}
 */
export function splitter({ label, axis, name, key, min, from }) {
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
  const part = () => /** @type {HTMLElement | null} */ (from === 'start' ? bar.previousElementSibling : bar.nextElementSibling);
  const currentSize = () => {
    const box = part()?.getBoundingClientRect();
    return box ? (axis === 'x' ? box.width : box.height) : min;
  };
  bar.setAttribute('aria-valuenow', String(min));
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
    const step = event.key === more ? 16 : event.key === less ? -16 : 0;
    if (!step) return;
    event.preventDefault();
    keep(key, String(set(currentSize() + (from === 'start' ? step : -step))));
  });
  return bar;
}
