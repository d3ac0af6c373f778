/** Rows in collapsible families: which family or function a visible row is. */

/** @typedef {import('./protocol.js').Family} Family */

/**
 * A visible row: a family's heading, or the function with this index among all that match.
 * @typedef {{family: Family, number: number, index?: undefined} | {index: number, family?: Family, number?: number}} Place
 */

export class FamilyRows {
  constructor() {
    /** @type {Family[]} */
    this.all = [];
    /** The numbers of open families. @type {Set<number>} */
    this.open = new Set();
    /** The visible row at which each family begins, and the number of rows. */
    this.starts = new Uint32Array(1);
  }

  /** @param {Family[]} all */
  set(all) {
    const open = new Set(this.all.filter((_, number) => this.open.has(number)).map(({ name }) => name));
    this.all = all;
    this.open = new Set(all.flatMap(({ name }, number) => (open.has(name) ? [number] : [])));
    this.#count();
  }

  #count() {
    this.starts = new Uint32Array(this.all.length + 1);
    let row = 0;
    this.all.forEach(({ count }, number) => {
      this.starts[number] = row;
      row += count === 1 ? 1 : 1 + (this.open.has(number) ? count : 0);
    });
    this.starts[this.all.length] = row;
  }

  /** The number of visible rows. */
  get total() {
    return this.starts[this.all.length];
  }

  /**
   * @param {number} row
   * @returns {Place | undefined}
   */
  at(row) {
    if (row < 0 || row >= this.total) return undefined;
    const number = lastNotAbove(this.starts, this.all.length, row);
    const family = this.all[number];
    const inside = row - this.starts[number];
    if (family.count === 1) return { index: family.from };
    return inside === 0 ? { family, number } : { index: family.from + inside - 1, family, number };
  }

  /**
   * Returns the visible row of a function; opens its family if necessary.
   * @param {number} index
   * @returns {number}
   */
  show(index) {
    const number = lastNotAbove({ length: this.all.length, at: (k) => this.all[k].from }, this.all.length, index);
    const family = this.all[number];
    if (!family || index >= family.from + family.count) return -1;
    if (family.count === 1) return this.starts[number];
    if (!this.open.has(number)) this.toggle(number);
    return this.starts[number] + 1 + index - family.from;
  }

  /** @param {number} number */
  toggle(number) {
    if (!this.open.delete(number)) this.open.add(number);
    this.#count();
  }
}

/**
 * Returns the index of the last number that is not above another one.
 * @param {{at(k: number): number | undefined, length: number}} numbers in ascending order
 * @param {number} count how many of them are searched
 * @param {number} limit
 */
function lastNotAbove(numbers, count, limit) {
  let [low, high] = [0, count - 1];
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (/** @type {number} */ (numbers.at(middle)) <= limit) low = middle;
    else high = middle - 1;
  }
  return low;
}

/**
 * Returns the filter that selects a family: the fixed parts of its name.
 * @param {string} name
 */
export function filterOf(name) {
  const escaped = name.split('*').map((part) => part.replace(/[.+?^${}()|[\]\\/]/g, '\\$&')).join('.*');
  return `/^${escaped}$/`;
}
