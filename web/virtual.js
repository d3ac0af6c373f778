/**
 * Rows of equal height, of which only the visible ones exist in the DOM.
 *
 * A spacer gives the scroll bar its length; the rows are in a body that is moved to the first visible row. When the
 * view scrolls by k rows, k nodes move from one end of the body to the other, and only those are rendered again.
 * Nodes stay in row order, so that text selection works.
 *
 * Browsers limit the height of elements (Firefox: 17.8 million pixels). Above `MAX_HEIGHT` the scroll bar is scaled:
 * its position is a fraction of all rows, and wheel and keys move by rows.
 */

const MAX_HEIGHT = 8_000_000;

/** Whether the pointer is a finger, which needs higher rows. */
const TOUCH = window.matchMedia('(pointer: coarse)');
// To ask it would compute all styles anew.
let isTouch = TOUCH.matches;
TOUCH.addEventListener('change', () => {
  isTouch = TOUCH.matches;
});

/**
 * @typedef {object} Options
 * @property {number} rowHeight in CSS pixels
 * @property {number} [touchHeight] the same for fingers
 * @property {() => HTMLElement} create an empty row
 * @property {(row: HTMLElement, index: number) => void} render renders row `index` into a node that may show another row
 * @property {number} [overscan] rows rendered beyond each edge
 * @property {(first: number, last: number) => void} [onview] called with the visible rows
 */

export class VirtualRows {
  /**
   * @param {HTMLElement} scroller
   * @param {Options} options
   */
  constructor(scroller, options) {
    this.scroller = scroller;
    this.options = options;
    this.total = 0;
    this.overscan = options.overscan ?? 6;
    /** @type {HTMLElement[]} */
    this.rows = [];
    /** The index of the row that each node shows. @type {WeakMap<HTMLElement, number>} */
    this.shown = new WeakMap();
    this.start = 0;
    this.top = 0;
    this.height = 0;
    this.ignored = -1;
    this.spacer = document.createElement('div');
    this.spacer.className = 'virtual-spacer';
    this.body = document.createElement('div');
    this.body.className = 'virtual-body';
    this.body.setAttribute('role', 'presentation');
    this.spacer.setAttribute('role', 'presentation');
    scroller.classList.add('virtual');
    scroller.append(this.spacer, this.body);
    scroller.addEventListener('scroll', () => this.#scrolled(), { passive: true });
    new ResizeObserver(() => this.#resized()).observe(scroller);
    TOUCH.addEventListener('change', () => this.#measure());
    this.#measure();
  }

  get rowHeight() {
    const { rowHeight, touchHeight = rowHeight } = this.options;
    return isTouch ? touchHeight : rowHeight;
  }

  /** Gives the style sheet the height of a row. */
  #measure() {
    this.scroller.style.setProperty('--row', `${this.rowHeight}px`);
    if (this.total > 0) this.reset(this.total, true);
  }

  /** Returns the number of rows that fit entirely. */
  get page() {
    return Math.max(1, Math.floor(this.height / this.rowHeight));
  }

  /** Returns whether the scroll bar is scaled. */
  get scaled() {
    return this.total * this.rowHeight > MAX_HEIGHT;
  }

  /**
   * Sets the number of rows.
   * @param {number} total
   * @param {boolean} [keep] whether to keep the scroll position
   */
  reset(total, keep = false) {
    this.total = total;
    this.height = this.scroller.clientHeight;
    const pixels = Math.min(total * this.rowHeight, MAX_HEIGHT);
    this.spacer.style.height = `${pixels}px`;
    if (this.scaled && !this.wheel) {
      this.wheel = (/** @type {WheelEvent} */ event) => {
        if (!this.scaled || event.ctrlKey || Math.abs(event.deltaX) > Math.abs(event.deltaY)) return;
        event.preventDefault();
        const unit = event.deltaMode === 1 ? this.rowHeight : event.deltaMode === 2 ? this.height : 1;
        this.#moveTo(this.top + (event.deltaY * unit) / this.rowHeight);
      };
      this.scroller.addEventListener('wheel', this.wheel, { passive: false });
    }
    if (!keep) {
      this.scroller.scrollLeft = 0;
      this.#moveTo(0);
    } else {
      this.#moveTo(this.top);
    }
    this.refresh();
  }

  /** Renders all visible rows again. */
  refresh() {
    this.#place(true);
  }

  /**
   * Renders a row again if it is visible.
   * @param {number} index
   */
  refreshRow(index) {
    const row = this.rows[index - this.start];
    if (row && index < this.total) this.options.render(row, index);
  }

  /**
   * Renders a range of rows again, as far as they are visible.
   * @param {number} from
   * @param {number} to
   */
  refreshRange(from, to) {
    for (let index = Math.max(from, this.start); index < Math.min(to, this.start + this.rows.length); index++) {
      this.refreshRow(index);
    }
  }

  /**
   * Scrolls a row into view.
   * @param {number} index
   * @param {'nearest' | 'center' | 'start'} [where] `nearest` moves no more than needed
   */
  show(index, where = 'nearest') {
    const fits = this.height / this.rowHeight;
    if (where === 'start') return this.#moveTo(index);
    const inside = index >= this.top && index + 1 <= this.top + fits;
    if (inside) return;
    if (where === 'center') return this.#moveTo(index - Math.floor(fits / 2));
    this.#moveTo(index < this.top ? index : index + 1 - fits);
  }

  /** @param {number} index */
  nodeOf(index) {
    return index < this.total ? this.rows[index - this.start] : undefined;
  }

  /**
   * Returns the index of the row that contains a node; −1 for none.
   * @param {EventTarget | null} target
   */
  indexOf(target) {
    if (!(target instanceof Node)) return -1;
    /** @type {Node | null} */
    let node = target;
    while (node && node.parentNode !== this.body) node = node.parentNode;
    const position = node ? this.rows.indexOf(/** @type {HTMLElement} */ (node)) : -1;
    return position < 0 || this.start + position >= this.total ? -1 : this.start + position;
  }

  #largestTop() {
    return Math.max(0, this.total - this.height / this.rowHeight);
  }

  /** @param {number} top */
  #moveTo(top) {
    this.top = Math.max(0, Math.min(top, this.#largestTop()));
    const room = Math.max(0, Math.min(this.total * this.rowHeight, MAX_HEIGHT) - this.height);
    const pixels = this.scaled ? (this.top / (this.#largestTop() || 1)) * room : this.top * this.rowHeight;
    this.scroller.scrollTop = pixels;
    this.ignored = this.scroller.scrollTop;
    this.#place(false);
  }

  #scrolled() {
    const pixels = this.scroller.scrollTop;
    if (this.scaled) {
      // Our own scrolling: keep the exact row, which the scaled position can't express.
      if (Math.abs(pixels - this.ignored) < 1) return this.#place(false);
      const room = MAX_HEIGHT - this.height;
      this.top = (pixels / room) * this.#largestTop();
    } else {
      this.top = pixels / this.rowHeight;
    }
    this.#place(false);
  }

  #resized() {
    if (this.scroller.clientHeight === this.height) return;
    this.height = this.scroller.clientHeight;
    this.#moveTo(this.top);
  }

  /** @param {boolean} all */
  #place(all) {
    const fits = Math.ceil(this.height / this.rowHeight) + 1;
    const wanted = this.height === 0 ? 0 : Math.min(this.total, fits + 2 * this.overscan);
    const first = Math.max(0, Math.min(Math.floor(this.top) - this.overscan, this.total - wanted));
    const { create, render } = this.options;
    while (this.rows.length > wanted) this.rows.pop()?.remove();
    while (this.rows.length < wanted) {
      const row = create();
      this.rows.push(row);
      this.body.append(row);
    }
    const shift = first - this.start;
    this.start = first;
    if (shift > 0 && shift < wanted) {
      this.rows.push(...this.rows.splice(0, shift));
      this.body.append(...this.rows.slice(wanted - shift));
    } else if (shift < 0 && -shift < wanted) {
      this.rows.unshift(...this.rows.splice(wanted + shift, -shift));
      this.body.prepend(...this.rows.slice(0, -shift));
    }
    for (let k = 0; k < wanted; k++) {
      const row = this.rows[k];
      if (!all && this.shown.get(row) === first + k) continue;
      this.shown.set(row, first + k);
      render(row, first + k);
    }
    // In a scaled list the body is at the scroll position, minus the rows above the first visible one.
    const y = this.scaled
      ? this.scroller.scrollTop - (this.top - first) * this.rowHeight
      : first * this.rowHeight;
    this.body.style.transform = `translateY(${y}px)`;
    const last = Math.min(this.total, Math.floor(this.top) + fits);
    this.options.onview?.(Math.floor(this.top), last);
  }
}
