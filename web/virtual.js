/**
 * Rows of one height, of which only those in sight exist.
 *
 * A spacer gives the scroll bar its length; the rows stand in a body that is moved to the first row in sight. When the
 * view moves by k rows, k nodes go from one end of the body to the other and only those are drawn anew; the nodes
 * stay in the order of the rows, so that text selected with the mouse is the text one sees.
 *
 * Browsers limit how tall an element may be (Firefox: 17.8 million pixels). Above [`TALLEST`] the scroll bar is a
 * scale: its position is a fraction of all rows, and wheel and keys move by rows, not by pixels of that scale.
 */

const TALLEST = 8_000_000;

/**
 * @typedef {object} Options
 * @property {number} rowHeight in CSS pixels
 * @property {() => HTMLElement} create an empty row
 * @property {(row: HTMLElement, index: number) => void} render draws row `index` into a node that may show another
 * @property {number} [overscan] rows drawn beyond each edge
 * @property {(first: number, last: number) => void} [onview] told of the rows in sight
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
    /** What each node shows. @type {WeakMap<HTMLElement, number>} */
    this.drawn = new WeakMap();
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
  }

  get rowHeight() {
    return this.options.rowHeight;
  }

  /** How many rows fit entirely. */
  get page() {
    return Math.max(1, Math.floor(this.height / this.rowHeight));
  }

  /** Whether the scroll bar is a scale. */
  get scaled() {
    return this.total * this.rowHeight > TALLEST;
  }

  /**
   * Shows other rows.
   * @param {number} total
   * @param {boolean} [keep] whether to stay where one is
   */
  reset(total, keep = false) {
    this.total = total;
    this.height = this.scroller.clientHeight;
    const pixels = Math.min(total * this.rowHeight, TALLEST);
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

  /** Draws all rows in sight anew. */
  refresh() {
    this.#place(true);
  }

  /**
   * Draws one row anew if it is in sight.
   * @param {number} index
   */
  refreshRow(index) {
    const row = this.rows[index - this.start];
    if (row && index < this.total) this.options.render(row, index);
  }

  /**
   * Draws those rows anew that are in sight.
   * @param {number} from
   * @param {number} to
   */
  refreshRange(from, to) {
    for (let index = Math.max(from, this.start); index < Math.min(to, this.start + this.rows.length); index++) {
      this.refreshRow(index);
    }
  }

  /**
   * Brings a row into sight.
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
   * The index of the row that a node stands in.
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
    const room = Math.max(0, Math.min(this.total * this.rowHeight, TALLEST) - this.height);
    const pixels = this.scaled ? (this.top / (this.#largestTop() || 1)) * room : this.top * this.rowHeight;
    this.scroller.scrollTop = pixels;
    this.ignored = this.scroller.scrollTop;
    this.#place(false);
  }

  #scrolled() {
    const pixels = this.scroller.scrollTop;
    if (this.scaled) {
      // Our own move, whose exact row is known better than the scale can say.
      if (Math.abs(pixels - this.ignored) < 1) return this.#place(false);
      const room = TALLEST - this.height;
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

  /** @param {boolean} anew */
  #place(anew) {
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
      if (!anew && this.drawn.get(row) === first + k) continue;
      this.drawn.set(row, first + k);
      render(row, first + k);
    }
    // In a scaled list the body stands where the scroll bar is, less the rows above the first in sight.
    const y = this.scaled
      ? this.scroller.scrollTop - (this.top - first) * this.rowHeight
      : first * this.rowHeight;
    this.body.style.transform = `translateY(${y}px)`;
    const last = Math.min(this.total, Math.floor(this.top) + fits);
    this.options.onview?.(Math.floor(this.top), last);
  }
}
