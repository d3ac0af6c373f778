/** What a launch left: buffers as numbers, bytes or a picture, and tables of what a shader wrote. */

import { count, fill, h, plural, size } from './dom.js';
import { nothing } from './rows.js';
import { bytesOf, numberAt, pixels, PICTURES, shown, sizeOf, TYPES } from './runvalues.js';
import { VirtualRows } from './virtual.js';

/** @typedef {import('./protocol.js').RunBuffer} RunBuffer */
/** @typedef {import('./protocol.js').RunResult} RunResult */

export class RunOutput {
  constructor() {
    /** @type {RunBuffer[]} */
    this.buffers = [];
    this.bytes = new Uint8Array();
    this.index = 0;
    this.choice = h('select', { 'aria-label': 'Buffer', onchange: () => this.#choose(Number(this.choice.value)) });
    this.type = h('select', { 'aria-label': 'Type of the numbers', onchange: () => this.#draw() }, ...TYPES.map((type) => h('option', { value: type }, type)));
    this.views = h('select', { 'aria-label': 'Show as', onchange: () => this.#draw() },
      ...['numbers', 'hex', 'picture'].map((view) => h('option', { value: view }, view)));
    this.width = h('input', { class: 'field run-width', type: 'text', inputMode: 'numeric', 'aria-label': 'Width in pixels', title: 'Width in pixels', value: '16', oninput: () => this.#draw() });
    this.format = h('select', { 'aria-label': 'Pixels', onchange: () => this.#draw() }, ...PICTURES.map(({ name }, index) => h('option', { value: String(index) }, name)));
    this.summary = h('span', { class: 'muted' });
    this.rows = h('div', { class: 'run-numbers mono', tabIndex: 0, role: 'region', 'aria-label': 'Contents of the buffer' });
    this.virtual = new VirtualRows(this.rows, {
      rowHeight: 20,
      create: () => h('div', { class: 'run-line' }),
      render: (row, index) => this.#render(row, index),
    });
    this.canvas = h('canvas', { class: 'run-picture', role: 'img' });
    this.pictureHost = h('div', { class: 'run-picture-host', tabIndex: 0, role: 'region', 'aria-label': 'Picture of the buffer' }, this.canvas);
    this.bar = h('div', { class: 'run-bar' }, this.choice, this.type, this.views, this.width, this.format, this.summary);
    this.tables = h('div', {});
    this.host = h('div', { class: 'run-buffers' }, this.bar, this.rows, this.pictureHost);
    this.element = h('section', { class: 'run-output', hidden: true }, h('h3', {}, 'Output'), this.host, this.tables);
  }

  /**
   * @param {RunResult} result
   * @param {Record<string, number>} widths the last sizes of shapes, as widths of pictures
   */
  show({ buffers, tables, printed }, widths) {
    const before = this.buffers[this.index]?.id;
    this.buffers = buffers;
    this.widths = widths;
    this.element.hidden = false;
    this.host.hidden = buffers.length === 0;
    fill(this.choice, ...buffers.map(({ name }, index) => h('option', { value: String(index) }, name)));
    this.choice.hidden = buffers.length < 2;
    fill(this.tables,
      printed && h('pre', { class: 'run-printed mono', tabIndex: 0, role: 'region', 'aria-label': 'Printed text' }, printed),
      ...tables.map((table) => h('section', { class: 'table' }, h('h3', {}, table.title),
        h('div', { class: 'table-scroll', tabIndex: 0, role: 'region', 'aria-label': table.title }, h('table', {},
          h('thead', {}, h('tr', {}, ...table.columns.map((column) => h(column ? 'th' : 'td', column ? { scope: 'col' } : {}, column)))),
          h('tbody', {}, ...table.rows.map((row) => h('tr', {}, ...row.cells.map((cell) => h('td', { class: 'mono' }, cell))))))),
        table.more > 0 && h('p', { class: 'muted' }, `… ${count(table.more)} more rows`))),
      buffers.length + tables.length === 0 && !printed && nothing('It left nothing that is shown here.'));
    const last = buffers.findIndex(({ id }) => id === before);
    if (buffers.length) this.#choose(last >= 0 ? last : 0);
  }

  clear() {
    this.element.hidden = true;
    this.buffers = [];
  }

  /** @param {number} index */
  #choose(index) {
    const { bytes, ty, id } = this.buffers[index];
    this.index = index;
    this.choice.value = String(index);
    this.bytes = bytesOf(bytes);
    this.type.value = ty;
    const width = this.widths?.[id];
    if (width) this.width.value = String(width);
    this.#draw();
  }

  #draw() {
    const { size: all, ty } = this.buffers[this.index];
    const view = this.views.value;
    const isPicture = view === 'picture';
    this.type.hidden = view === 'hex';
    this.width.hidden = !isPicture;
    this.format.hidden = !isPicture;
    this.rows.hidden = isPicture;
    this.pictureHost.hidden = !isPicture;
    const elements = Math.floor(all / sizeOf(ty));
    const missing = this.bytes.length < all ? `; the first ${size(this.bytes.length)} are shown` : '';
    this.summary.textContent = `${plural(elements, 'element')}, ${size(all)}${missing}`;
    if (isPicture) return this.#paint();
    const room = (this.rows.clientWidth - 80) / 94;
    this.perLine = view === 'hex' ? 16 : room >= 8 ? 8 : room >= 4 ? 4 : 2;
    this.step = view === 'hex' ? 1 : sizeOf(this.type.value);
    this.virtual.reset(Math.ceil(this.bytes.length / (this.perLine * this.step)));
  }

  #paint() {
    const picture = pixels(/** @type {Uint8Array<ArrayBuffer>} */ (this.bytes), this.type.value, Number(this.format.value), Number(this.width.value));
    this.canvas.hidden = picture === null;
    if (!picture) {
      this.summary.textContent = 'A picture has a width from 1 to 4096, and at least one pixel.';
      return;
    }
    const { width, height, data } = picture;
    [this.canvas.width, this.canvas.height] = [width, height];
    this.canvas.setAttribute('aria-label', `${width} by ${height} pixels`);
    this.canvas.style.width = `${width * Math.max(1, Math.min(12, Math.floor(256 / Math.max(width, height))))}px`;
    this.canvas.getContext('2d')?.putImageData(new ImageData(data, width, height), 0, 0);
  }

  /**
   * @param {HTMLElement} row
   * @param {number} index
   */
  #render(row, index) {
    const { perLine = 8, step = 1 } = this;
    const start = index * perLine * step;
    const end = Math.min(this.bytes.length, start + perLine * step);
    const isHex = this.views.value === 'hex';
    const type = isHex ? 'u8' : this.type.value;
    const view = new DataView(this.bytes.buffer, this.bytes.byteOffset, this.bytes.byteLength);
    /** @type {string[]} */
    const numbers = [];
    for (let at = start; at + step <= end; at += step) {
      const number = numberAt(view, type, at);
      numbers.push(isHex ? Number(number).toString(16).padStart(2, '0') : shown(number, type).padStart(12));
    }
    fill(row, h('span', { class: 'run-at' }, String(index * perLine).padStart(7)), `  ${numbers.join(' ')}`);
  }
}
