/** A bar between two parts that can be moved, with the mouse or the arrow keys; where it stands is kept. */

import { h } from './dom.js';
import { keep, kept } from './theme.js';

/**
 * @param {object} options
 * @param {string} options.label
 * @param {'x' | 'y'} options.axis along which it moves
 * @param {string} options.name of the CSS property that holds the size
 * @param {string} options.key under which the size is kept
 * @param {number} options.least
 * @param {'start' | 'end'} options.from whose size it is: the part before or behind the bar
 * @returns {HTMLElement}
 */
export function splitter({ label, axis, name, key, least, from }) {
  const root = document.documentElement;
  const bar = h('div', {
    class: `splitter splitter-${axis}`, role: 'separator', tabIndex: 0, 'aria-label': label,
    'aria-orientation': axis === 'x' ? 'vertical' : 'horizontal', 'aria-valuemin': String(least),
  });
  const most = () => Math.max(least, (axis === 'x' ? window.innerWidth : window.innerHeight) * 0.7);
  /** @param {number} size */
  const set = (size) => {
    const kept = Math.round(Math.max(least, Math.min(most(), size)));
    root.style.setProperty(name, `${kept}px`);
    bar.setAttribute('aria-valuenow', String(kept));
    bar.setAttribute('aria-valuemax', String(Math.round(most())));
    return kept;
  };
  const part = () => /** @type {HTMLElement | null} */ (from === 'start' ? bar.previousElementSibling : bar.nextElementSibling);
  const present = () => {
    const box = part()?.getBoundingClientRect();
    return box ? (axis === 'x' ? box.width : box.height) : least;
  };
  bar.setAttribute('aria-valuenow', String(least));
  const before = Number(kept(key));
  if (before) set(before);

  bar.addEventListener('pointerdown', (event) => {
    event.preventDefault();
    bar.setPointerCapture(event.pointerId);
    const start = axis === 'x' ? event.clientX : event.clientY;
    const size = present();
    const move = (/** @type {PointerEvent} */ moved) => {
      const by = (axis === 'x' ? moved.clientX : moved.clientY) - start;
      set(from === 'start' ? size + by : size - by);
    };
    bar.addEventListener('pointermove', move);
    bar.addEventListener('lostpointercapture', () => {
      bar.removeEventListener('pointermove', move);
      keep(key, String(Math.round(present())));
    }, { once: true });
  });
  bar.addEventListener('keydown', (event) => {
    const [less, more] = axis === 'x' ? ['ArrowLeft', 'ArrowRight'] : ['ArrowUp', 'ArrowDown'];
    const step = event.key === more ? 16 : event.key === less ? -16 : 0;
    if (!step) return;
    event.preventDefault();
    keep(key, String(set(present() + (from === 'start' ? step : -step))));
  });
  return bar;
}
