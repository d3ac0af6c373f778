/**
 * The hex view: 8, 16 or 32 bytes per row, as the width allows. Only visible rows exist in the DOM. Clicking selects
 * a byte; Shift extends the selection.
 */

import { h, hex } from './dom.js';
import { Pages } from './pages.js';
import { VirtualRows } from './virtual.js';

/** @typedef {import('./protocol.js').Range} Range */

/** Bytes per request. */
const PAGE = 4096;
/** Bytes per row, widest first. */
const ROW_WIDTHS = [32, 16, 8];
/** Horizontal margins of the rows including a scroll bar, in CSS pixels. */
const MARGINS = 44;

export class HexView {
  /**
   * @param {object} options
   * @param {import('./transport.js').Transport} options.api
   * @param {(range: Range) => void} options.onselect
   * @param {(error: unknown) => void} options.onerror
   */
  constructor({ api, onselect, onerror }) {
    this.api = api;
    this.onselect = onselect;
    /** @type {{file: number, program: number} | null} */
    this.at = null;
    this.start = 0;
    this.end = 0;
    this.width = 16;
    /** @type {Range | null} */
    this.range = null;
    /** The selected range, and further ranges highlighted with it. @type {Range[]} */
    this.lit = [];
    /** The bytes of the function shown in the reading pane. @type {Range | null} */
    this.extent = null;
    this.element = h('div', { class: 'hex mono', role: 'group', 'aria-label': 'Bytes', tabIndex: 0 });
    /** @type {Pages<number>} */
    this.pages = new Pages({
      size: PAGE,
      load: (from, count, signal) => this.#load(from, count, signal),
      onload: () => this.rows.refresh(),
      onerror,
    });
    this.rows = new VirtualRows(this.element, {
      rowHeight: 20,
      touchHeight: 28,
      create: () => h('div', { class: 'hex-row' }, h('span', { class: 'hex-offset' }), h('span', { class: 'hex-bytes' }), h('span', { class: 'hex-text', 'aria-hidden': 'true' })),
      render: (row, index) => this.#render(row, index),
    });
    this.element.addEventListener('click', (event) => this.#click(event));
    this.element.addEventListener('keydown', (event) => this.#key(event));
    new ResizeObserver(() => this.#fit()).observe(this.element);
  }

  /**
   * @param {number} file
   * @param {number} program
   * @param {Range} space
   */
  show(file, program, space) {
    if (this.at?.file === file && this.at.program === program) return;
    this.at = { file, program };
    // The first row starts at a multiple of 16; bytes before the program are blank.
    this.start = space[0] - (space[0] % 16);
    this.end = space[1];
    this.pages.clear();
    this.range = null;
    this.lit = [];
    this.extent = null;
    this.rows.reset(Math.ceil((this.end - this.start) / this.width));
  }

  /**
   * Highlights a range and further ranges.
   * @param {Range | null} range
   * @param {boolean} reveal
   * @param {Range[]} [also]
   */
  light(range, reveal, also = []) {
    this.range = range;
    this.lit = range ? [range, ...also] : [];
    if (range && reveal) this.reveal(range[0]);
    this.rows.refresh();
    const words = range ? `Bytes ${hex(range[0])} to ${hex(range[1])} selected` : 'Bytes';
    this.element.setAttribute('aria-label', words);
  }

  /**
   * Marks the bytes of the current function.
   * @param {Range | null} extent
   * @param {boolean} reveal
   */
  frame(extent, reveal) {
    this.extent = extent;
    this.element.classList.toggle('framed', extent !== null);
    if (extent && reveal) this.reveal(extent[0], 'start');
    this.rows.refresh();
  }

  /**
   * @param {number} offset
   * @param {'center' | 'start'} [where]
   */
  reveal(offset, where = 'center') {
    this.rows.show(Math.floor((offset - this.start) / this.width), where);
  }

  /**
   * Returns the loaded bytes from an offset on.
   * @param {number} offset
   * @param {number} count
   * @returns {number[]}
   */
  peek(offset, count) {
    const bytes = [];
    for (let k = 0; k < count && offset + k < this.end; k++) {
      const byte = this.pages.peek(offset + k - this.start);
      if (byte === undefined || byte < 0) break;
      bytes.push(byte);
    }
    return bytes;
  }

  #fit() {
    const room = (this.element.clientWidth - MARGINS) / this.#characterWidth();
    // Columns: hex digits with gaps, characters, offset, and separators.
    const width = ROW_WIDTHS.find((width) => width * 4 + width / 8 + 13 <= room) ?? 8;
    if (width === this.width || this.element.clientWidth === 0) return;
    const offset = this.start + Math.floor(this.rows.top) * this.width;
    this.width = width;
    this.rows.reset(Math.ceil((this.end - this.start) / width));
    this.reveal(offset, 'start');
  }

  /**
   * @param {number} from relative to the first row
   * @param {number} count
   * @param {AbortSignal} signal
   * @returns {Promise<number[]>} −1 for bytes outside the program
   */
  async #load(from, count, signal) {
    const first = this.start + from;
    const answer = await this.api.call({ query: 'hex', ...this.at, from: first, count }, signal);
    /** @type {number[]} */
    const bytes = new Array(count).fill(-1);
    for (let k = 0; k * 2 < answer.bytes.length; k++) {
      bytes[answer.from - first + k] = parseInt(answer.bytes.substr(k * 2, 2), 16);
    }
    return bytes;
  }

  /**
   * @param {HTMLElement} row
   * @param {number} index
   */
  #render(row, index) {
    const [offset, bytes, text] = /** @type {[HTMLElement, HTMLElement, HTMLElement]} */ (/** @type {unknown} */ (row.children));
    const first = this.start + index * this.width;
    offset.textContent = first.toString(16).padStart(8, '0');
    const count = Math.min(this.width, this.end - first);
    /** @type {(HTMLElement | string)[]} */
    const digits = [];
    /** @type {(HTMLElement | string)[]} */
    const characters = [];
    // One node per run of bytes with the same style; gaps between runs have no style.
    for (let k = 0; k < count;) {
      const style = this.#style(first + k);
      let words = '';
      let letters = '';
      const begin = k;
      do {
        const byte = this.pages.get(index * this.width + k);
        words += (k === begin ? '' : gap(k)) + (byte === undefined ? '··' : byte < 0 ? '  ' : byte.toString(16).padStart(2, '0'));
        letters += byte === undefined || byte < 0 ? ' ' : byte >= 0x20 && byte < 0x7f ? String.fromCharCode(byte) : '·';
        k++;
      } while (k < count && this.#style(first + k) === style);
      if (begin > 0) digits.push(gap(begin));
      digits.push(style ? h('span', { class: style }, words) : words);
      characters.push(style ? h('span', { class: style }, letters) : letters);
    }
    bytes.replaceChildren(...digits, ' '.repeat(Math.max(0, span(this.width) - span(count))));
    text.replaceChildren(...characters);
  }

  /** @param {number} offset */
  #style(offset) {
    if (this.lit.some((lit) => offset >= lit[0] && offset < lit[1])) return 'lit';
    if (this.extent && offset >= this.extent[0] && offset < this.extent[1]) return 'extent';
    return '';
  }

  /** @param {MouseEvent} event */
  #click(event) {
    const index = this.rows.indexOf(event.target);
    if (index < 0 || !(document.getSelection()?.isCollapsed ?? true)) return;
    const cell = event.target instanceof Element ? event.target.closest('.hex-bytes, .hex-text') : null;
    if (!cell) return;
    const box = cell.getBoundingClientRect();
    const column = Math.floor((event.clientX - box.left) / this.#characterWidth());
    // Three characters per byte, and one more before each group of eight.
    const k = cell.classList.contains('hex-text') ? column : Math.floor((column - Math.floor(column / 25)) / 3);
    if (k < 0 || k >= this.width) return;
    this.#select(this.start + index * this.width + k, event.shiftKey);
  }

  #characterWidth() {
    if (!this.ch) {
      const probe = h('span', { class: 'probe' }, '0'.repeat(50));
      this.element.append(probe);
      this.ch = probe.getBoundingClientRect().width / 50;
      probe.remove();
    }
    return this.ch;
  }

  /**
   * @param {number} offset
   * @param {boolean} extend
   */
  #select(offset, extend) {
    if (offset < this.start || offset >= this.end) return;
    const from = extend && this.range ? Math.min(this.range[0], offset) : offset;
    const to = extend && this.range ? Math.max(this.range[1], offset + 1) : offset + 1;
    this.onselect([from, to]);
  }

  /** @param {KeyboardEvent} event */
  #key(event) {
    if (event.altKey || event.ctrlKey || event.metaKey) return;
    const at = this.range?.[0] ?? this.start + Math.floor(this.rows.top) * this.width;
    const steps = /** @type {Record<string, number>} */ ({
      ArrowLeft: -1, ArrowRight: 1, ArrowUp: -this.width, ArrowDown: this.width,
      k: -this.width, j: this.width,
      PageUp: -this.width * this.rows.page, PageDown: this.width * this.rows.page,
      Home: this.start - at, End: this.end - 1 - at,
    });
    const step = steps[event.key];
    if (step === undefined) return;
    event.preventDefault();
    if (event.shiftKey && this.range) {
      const end = Math.max(this.range[0] + 1, Math.min(this.end, this.range[1] + step));
      this.onselect([this.range[0], end]);
    } else {
      this.#select(Math.max(this.start, Math.min(this.end - 1, this.range ? at + step : at)), false);
    }
    if (this.range) this.rows.show(Math.floor((this.range[0] - this.start) / this.width));
  }
}

/**
 * Returns the space before byte k of a row, wider between groups of eight.
 * @param {number} k
 */
function gap(k) {
  return k % 8 === 0 ? '  ' : ' ';
}

/**
 * Returns the number of characters that the hex digits of `count` bytes take.
 * @param {number} count
 */
function span(count) {
  return count === 0 ? 0 : count * 3 - 1 + Math.floor((count - 1) / 8);
}

/**
 * Formats bytes as little-endian numbers.
 * @param {number[]} bytes
 * @returns {string}
 */
export function asNumbers(bytes) {
  const view = new DataView(new Uint8Array(8).buffer);
  bytes.slice(0, 8).forEach((byte, k) => view.setUint8(k, byte));
  const words = [];
  if (bytes.length >= 1) words.push(`u8 ${view.getUint8(0)}`);
  if (bytes.length >= 2) words.push(`u16 ${view.getUint16(0, true)}`);
  if (bytes.length >= 4) words.push(`u32 ${view.getUint32(0, true)}`, `f32 ${Number(view.getFloat32(0, true).toPrecision(6))}`);
  if (bytes.length >= 8) words.push(`u64 ${view.getBigUint64(0, true)}`);
  return words.join(' · ');
}
