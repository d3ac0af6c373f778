/** The buttons that save a graph as a picture. */

import { save } from './dialogs.js';
import { h } from './dom.js';
import { pngFile, svgFile, tooLarge } from './picture.js';

/**
 * @param {import('./diagram.js').Diagram} diagram
 * @param {(text: string) => void} say
 * @param {() => string} title
 */
export function exportTools(diagram, say, title) {
  const name = () => title().replace(/[^\w.-]+/g, '_').replace(/^[_.]+/, '').slice(0, 80) || 'graph';
  const painter = (/** @type {import('./picture.js').Surface} */ surface) => diagram.paint(surface);
  /** @param {() => Promise<void>} run */
  const attempt = (run) => async () => {
    if (!diagram.placed) return say('There is no graph to save.');
    const reason = tooLarge(diagram.nodes);
    if (reason) return say(reason);
    const unloaded = diagram.nodes.filter(({ lines, count }) => count > 0 && lines.length === 0).length;
    try {
      await run();
      if (unloaded > 0) say(`Saved. ${unloaded} blocks that were not looked at have no lines in the picture.`);
    } catch (error) {
      say(error instanceof Error ? error.message : String(error));
    }
  };
  const size = () => diagram.placed ?? { width: 1, height: 1 };
  const svg = attempt(async () => say(save(`${name()}.svg`, svgFile(painter, size(), title()))));
  const png = attempt(async () => {
    const { blob, scale } = await pngFile(painter, size());
    const saved = save(`${name()}.png`, blob);
    say(scale < 1 ? `${saved}, at ${Math.round(scale * 100)} %: browsers draw no larger pictures` : saved);
  });
  return [
    h('button', { type: 'button', class: 'quiet', title: 'Save the graph as SVG', onclick: svg }, 'SVG'),
    h('button', { type: 'button', class: 'quiet', title: 'Save the graph as PNG', onclick: png }, 'PNG'),
  ];
}
