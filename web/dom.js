/**
 * Creates DOM nodes. All text goes through `textContent` or text nodes, never through HTML: names and sources come
 * from untrusted files.
 */

/** @typedef {Node | string | null | undefined | false} Child */

/**
 * Creates an element. `class`, `aria-*`, `role`, `data-*` and `for` are attributes; `on*` are listeners; all others
 * are properties.
 * @template {keyof HTMLElementTagNameMap} K
 * @param {K} tag
 * @param {Record<string, any>} [properties]
 * @param {...Child} children
 * @returns {HTMLElementTagNameMap[K]}
 */
export function h(tag, properties = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (value === undefined || value === null) continue;
    if (name.startsWith('on')) element.addEventListener(name.slice(2), value);
    else if (name === 'class' || name === 'role' || name === 'for' || name.includes('-')) element.setAttribute(name, value);
    else /** @type {any} */ (element)[name] = value;
  }
  append(element, children);
  return element;
}

/**
 * @param {Element} parent
 * @param {Child[]} children
 */
export function append(parent, children) {
  for (const child of children) if (child || child === '') parent.append(child);
}

/**
 * Replaces the children of an element.
 * @param {Element} parent
 * @param {...Child} children
 */
export function fill(parent, ...children) {
  parent.replaceChildren();
  append(parent, children);
}

/**
 * Creates an SVG element with attributes.
 * @param {string} tag
 * @param {Record<string, string | number>} [attributes]
 * @param {...(Node | string)} children
 * @returns {SVGElement}
 */
export function svg(tag, attributes = {}, ...children) {
  const element = document.createElementNS('http://www.w3.org/2000/svg', tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, String(value));
  element.append(...children);
  return /** @type {SVGElement} */ (element);
}

/**
 * Returns an element of the static HTML by id.
 * @param {string} id
 * @returns {HTMLElement}
 */
export function byId(id) {
  const element = document.getElementById(id);
  if (!element) throw new Error(`no element #${id}`);
  return element;
}

/** Icon paths, stroked, on a 16 × 16 grid. */
const ICONS = {
  menu: 'M2.5 4h11M2.5 8h11M2.5 12h11',
  search: 'M7 12A5 5 0 1 0 7 2a5 5 0 0 0 0 10ZM10.7 10.7 14 14',
  compare: 'M2 5h10M9.5 2.5 12 5 9.5 7.5M14 11H4M6.5 8.5 4 11l2.5 2.5',
  download: 'M8 2v8M4.5 7 8 10.5 11.5 7M2.5 13.5h11',
  open: 'M1.5 12.5v-9h4.5l1.5 2h6.5v7z',
  back: 'M10 3 5 8l5 5',
  forward: 'M6 3l5 5-5 5',
  link: 'M6.5 9.5l3-3M7 4.5 8.6 3a3 3 0 0 1 4.3 4.3L11.4 8.8M9 11.5 7.4 13a3 3 0 0 1-4.3-4.3l1.5-1.5',
  help: 'M5.8 6a2.2 2.2 0 1 1 3.3 1.9c-.8.5-1.1.9-1.1 1.8M8 12.3v.2',
  theme: 'M8 2a6 6 0 1 0 0 12zM8 2a6 6 0 0 1 0 12',
  split: 'M2 3h12v10H2zM8 3v10',
  bytes: 'M2 4h3M7 4h3M12 4h2M2 8h2M6 8h3M11 8h3M2 12h3M7 12h3M12 12h2',
  close: 'M4 4l8 8M12 4l-8 8',
  copy: 'M5.5 5.5v-3h8v8h-3M2.5 5.5h8v8h-8z',
  edit: 'M2.5 13.5l1-3.5 7-7 2.5 2.5-7 7zM9 4.5 11.5 7',
  plus: 'M8 3v10M3 8h10',
  minus: 'M3 8h10',
};

/**
 * @param {keyof typeof ICONS} name
 * @returns {SVGElement}
 */
export function icon(name) {
  return svg('svg', { viewBox: '0 0 16 16', 'aria-hidden': 'true', class: 'glyph' }, svg('path', { d: ICONS[name] }));
}

/**
 * Creates an icon button. The label is its accessible name and, with the key, its tooltip.
 * @param {keyof typeof ICONS} name
 * @param {string} label
 * @param {(event: Event) => void} onclick
 * @param {string} [key]
 * @returns {HTMLButtonElement}
 */
export function iconButton(name, label, onclick, key) {
  return h('button', {
    type: 'button', class: 'icon', 'aria-label': label, title: key ? `${label} (${key})` : label,
    'aria-keyshortcuts': key, onclick,
  }, icon(name));
}

const GROUPED = new Intl.NumberFormat('en-US');

/** @param {number} number */
export function count(number) {
  return GROUPED.format(number);
}

/**
 * @param {number} number
 * @param {string} one
 * @param {string} [many]
 */
export function plural(number, one, many = `${one}s`) {
  return `${count(number)} ${number === 1 ? one : many}`;
}

/**
 * Formats a size as the command line does, with 1000 bytes per kB.
 * @param {number} bytes
 */
export function size(bytes) {
  if (bytes < 1000) return `${bytes} bytes`;
  for (const unit of ['kB', 'MB', 'GB']) {
    bytes /= 1000;
    if (bytes < 999.5 || unit === 'GB') return `${bytes < 9.95 ? bytes.toFixed(1) : bytes.toFixed(0)} ${unit}`;
  }
  return '';
}

/** @param {number} offset */
export function hex(offset) {
  return `0x${offset.toString(16)}`;
}

/**
 * Returns the last component of a path.
 * @param {string} path
 */
export function baseName(path) {
  return path.split(/[\\/]/).pop() || path;
}
