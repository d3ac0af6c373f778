/**
 * Pictures of graphs to save: the whole graph, with all lines, as SVG or PNG. Both are painted by the same code. Colours
 * are those of the page when the picture is made, written into it, so that it looks the same everywhere.
 */

/** @typedef {import('./diagram.js').DiagramNode} DiagramNode */
/** @typedef {import('./diagram.js').DiagramEdge} DiagramEdge */
/** @typedef {import('./diagram.js').DiagramGroup} DiagramGroup */
/** @typedef {{fill?: string, stroke?: string, width?: number, dash?: string}} Style */
/** @typedef {{fill: string, bold?: boolean, italic?: boolean, end?: boolean}} TextStyle */

/**
 * @typedef {object} Surface what a picture is painted on
 * @property {(d: string, style: Style) => void} path
 * @property {(x: number, y: number, text: string, style: TextStyle) => void} text
 */

export const CHARACTER_WIDTH = 6.65;
export const LINE_HEIGHT = 15;
export const PADDING = 9;
const FONT_SIZE = 11;
const FONT = 'ui-monospace, "SF Mono", "Cascadia Mono", Menlo, Consolas, "DejaVu Sans Mono", monospace';

/** The largest side and area of a picture of pixels, which browsers can draw. */
const MAX_SIDE = 16_000;
const MAX_AREA = 100_000_000;
/** Maximum number of lines in a picture. */
const MAX_LINES = 200_000;

/** The colours of tokens. */
const TOKENS = /** @type {Record<string, string>} */ ({
  keyword: '--keyword', type: '--type', function: '--function', label: '--function', number: '--number', string: '--string', comment: '--comment',
  attribute: '--muted', address: '--muted',
});

/** @type {HTMLElement | undefined} */
let probe;

/**
 * Returns a colour of the page's theme.
 * @param {string} name of the custom property
 */
export function colour(name) {
  if (!probe) {
    probe = document.createElement('span');
    probe.hidden = true;
    document.body.append(probe);
  }
  probe.style.color = `var(${name})`;
  return getComputedStyle(probe).color;
}

/** Returns the colour of a block in so many loops. @param {number} depth */
export function shadeOf(depth) {
  return ['--raised', '--block-1', '--block-2', '--block-3'][Math.min(3, depth)];
}

/**
 * Paints a graph.
 * @param {Surface} surface
 * @param {object} graph
 * @param {DiagramNode[]} graph.nodes
 * @param {DiagramEdge[]} graph.edges
 * @param {DiagramGroup[]} graph.groups
 * @param {{x: number, y: number, d: string}[]} graph.outlines of the groups
 * @param {import('./layered.js').Placed} graph.placed
 * @param {(route: import('./layered.js').Route) => string} graph.curve
 */
export function paint(surface, { nodes, edges, groups, outlines, placed, curve }) {
  /** @type {Map<string, string>} */
  const known = new Map();
  const ink = (/** @type {string} */ name) => {
    const found = known.get(name) ?? colour(name);
    known.set(name, found);
    return found;
  };
  outlines.forEach(({ x, y, d }, k) => {
    surface.path(d, { fill: ink(`--loop-${Math.min(3, groups[k].depth)}`), stroke: ink('--muted'), width: 1, dash: '5 4' });
    surface.text(x + 5, y - 3, groups[k].label, { fill: ink('--muted') });
  });
  const kinds = { yes: '--accent', no: '--number', plain: '--rule-strong' };
  for (const route of placed.routes) {
    const { kind, label } = edges[route.edge];
    const stroke = ink(kinds[kind]);
    surface.path(curve(route), { stroke, width: route.back ? 2 : 1.3, dash: kind === 'no' ? '6 3' : undefined });
    const [x, y] = route.points[route.points.length - 1];
    surface.path(`M${x - 3.5} ${y - 7}L${x + 3.5} ${y - 7}L${x} ${y}Z`, { fill: stroke });
    if (!label) continue;
    const [[x0, y0], [x1]] = route.points;
    surface.text(x0 + (x1 < x0 ? -5 : 5), y0 + 12, label, { fill: ink('--muted'), end: x1 < x0 });
  }
  nodes.forEach((node, k) => {
    const { label, note = '', lines, count, shade = 0, dashed, width, height } = node;
    const [x, y] = [placed.x[k], placed.y[k]];
    surface.path(`M${x} ${y}h${width}v${height}h${-width}Z`, { fill: ink(shadeOf(shade)), stroke: ink('--rule-strong'), width: 1, dash: dashed ? '4 3' : undefined });
    surface.text(x + PADDING, y + LINE_HEIGHT, label + note, { fill: ink('--ink'), bold: true });
    lines.forEach((tokens, line) => {
      let at = x + PADDING;
      for (const [kind, text] of tokens) {
        if (text.trim()) surface.text(at, y + (line + 2) * LINE_HEIGHT, text, { fill: ink(TOKENS[kind] ?? '--ink'), bold: kind === 'label', italic: kind === 'comment' });
        at += text.length * CHARACTER_WIDTH;
      }
    });
    if (count > lines.length) surface.text(x + PADDING, y + 2 * LINE_HEIGHT, `${count} lines`, { fill: ink('--muted') });
  });
}

/**
 * Returns why a graph can't be saved, or null.
 * @param {DiagramNode[]} nodes
 */
export function tooLarge(nodes) {
  const lines = nodes.reduce((sum, { lines }) => sum + lines.length + 1, 0);
  return lines > MAX_LINES ? `The graph has ${lines} lines, too many for a picture. unshade dis FILE FUNCTION --cfg dot writes it for Graphviz.` : null;
}

/** @param {string} text */
function escaped(text) {
  return text.replace(/[&<>"]/g, (c) => ({ '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' })[c] ?? c);
}

/**
 * Returns a graph as an SVG file that needs nothing else.
 * @param {(surface: Surface) => void} painter
 * @param {{width: number, height: number}} size
 * @param {string} title
 */
export function svgFile(painter, { width, height }, title) {
  const round = (/** @type {number} */ number) => Math.round(number * 10) / 10;
  const parts = [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${Math.ceil(width)}" height="${Math.ceil(height)}" viewBox="0 0 ${Math.ceil(width)} ${Math.ceil(height)}" font-family="${escaped(FONT)}" font-size="${FONT_SIZE}">`,
    `<title>${escaped(title)}</title>`, `<rect width="100%" height="100%" fill="${colour('--page')}"/>`,
  ];
  painter({
    path(d, { fill = 'none', stroke, width = 1, dash }) {
      parts.push(`<path d="${d}" fill="${fill}"${stroke ? ` stroke="${stroke}" stroke-width="${width}"` : ''}${dash ? ` stroke-dasharray="${dash}"` : ''}/>`);
    },
    text(x, y, text, { fill, bold, italic, end }) {
      // The length keeps columns in place whatever font there is.
      parts.push(`<text x="${round(x)}" y="${round(y)}" fill="${fill}" xml:space="preserve"${bold ? ' font-weight="600"' : ''}${italic ? ' font-style="italic"' : ''}${end ? ' text-anchor="end"' : ''}>${escaped(text)}</text>`);
    },
  });
  parts.push('</svg>\n');
  return new Blob([parts.join('\n')], { type: 'image/svg+xml' });
}

/**
 * Returns a graph as a PNG file, and how much it was reduced: browsers limit the size of such pictures.
 * @param {(surface: Surface) => void} painter
 * @param {{width: number, height: number}} size
 * @returns {Promise<{blob: Blob, scale: number}>}
 */
export async function pngFile(painter, { width, height }) {
  const scale = Math.min(2, MAX_SIDE / width, MAX_SIDE / height, Math.sqrt(MAX_AREA / (width * height)));
  const canvas = document.createElement('canvas');
  canvas.width = Math.max(1, Math.round(width * scale));
  canvas.height = Math.max(1, Math.round(height * scale));
  const context = canvas.getContext('2d');
  if (!context) throw new Error('The browser can\'t draw the picture.');
  context.fillStyle = colour('--page');
  context.fillRect(0, 0, canvas.width, canvas.height);
  context.scale(scale, scale);
  painter({
    path(d, { fill, stroke, width = 1, dash }) {
      const path = new Path2D(d);
      if (fill) {
        context.fillStyle = fill;
        context.fill(path);
      }
      if (!stroke) return;
      context.strokeStyle = stroke;
      context.lineWidth = width;
      context.setLineDash(dash ? dash.split(' ').map(Number) : []);
      context.stroke(path);
    },
    text(x, y, text, { fill, bold, italic, end }) {
      context.fillStyle = fill;
      context.font = `${italic ? 'italic ' : ''}${bold ? '600 ' : ''}${FONT_SIZE}px ${FONT}`;
      context.textAlign = end ? 'right' : 'left';
      context.fillText(text, x, y);
    },
  });
  /** @type {Blob | null} */
  const blob = await new Promise((resolve) => canvas.toBlob(resolve, 'image/png'));
  if (!blob) throw new Error('The browser can\'t draw a picture of this size.');
  return { blob, scale };
}
