/**
 * The language of the filter for reports, which have no program to ask. `crates/unshade/src/query/filter.rs` defines the
 * language; one list of requests and answers tests both.
 */

/** @typedef {import('./protocol.js').Row} Row */
/** @typedef {import('./protocol.js').Column} Column */
/** @typedef {import('./protocol.js').ErrorShape} ErrorShape */

const UNITS = /** @type {Record<string, number>} */ ({ '': 1, k: 1e3, m: 1e6, g: 1e9, ki: 2 ** 10, mi: 2 ** 20, gi: 2 ** 30 });
const MAX_TERMS = 64;

/** A filter that can't be understood. */
class Refusal extends Error {
  /** @param {ErrorShape} shape */
  constructor(shape) {
    super(shape.message);
    this.shape = shape;
  }
}

/** @param {string} message @param {string} [expected] @param {string} [hint] */
function refuse(message, expected, hint) {
  return new Refusal({ message, ...(expected ? { expected } : {}), ...(hint ? { hint } : {}) });
}

/** @typedef {{negative: boolean, text?: string, is: (row: Row) => boolean}} Term */

/**
 * Parses a filter.
 * @param {string} text
 * @param {Column[]} columns
 * @param {Row[]} rows of the table
 * @param {Set<number>} sources the items with a source
 * @returns {{terms: Term[]} | {error: ErrorShape}}
 */
export function parseTerms(text, columns, rows, sources) {
  /** @type {Term[]} */
  const terms = [];
  const table = { columns, rows, sources };
  try {
    for (let rest = text.trimStart(); rest;) {
      if (terms.length === MAX_TERMS) throw refuse('the filter has too many terms', `at most ${MAX_TERMS}`);
      const signs = /^!*/.exec(rest)?.[0].length ?? 0;
      rest = rest.slice(signs);
      if (signs && /^(\s|$)/.test(rest)) throw nothingAfter('!');
      const { after, ...term } = condition(rest, table);
      terms.push({ negative: signs % 2 === 1, ...term });
      rest = after.trimStart();
    }
  } catch (error) {
    if (error instanceof Refusal) return { error: error.shape };
    throw error;
  }
  return { terms };
}

/**
 * @param {Term[]} terms
 * @param {Row} row
 */
export function selects(terms, row) {
  return terms.every((term) => term.is(row) !== term.negative);
}

/**
 * Returns the filter with its texts as letters that may have others between them; nothing if it has no texts.
 * @param {Term[]} terms
 * @returns {(Term & {spread?: (row: Row) => number})[] | null}
 */
export function fuzzyTerms(terms) {
  if (!terms.some(({ text, negative }) => text !== undefined && !negative)) return null;
  return terms.map((term) => (term.text === undefined || term.negative ? term : {
    negative: false, is: letters(term.text), spread: (row) => spread([.../** @type {string} */ (term.text)], row.name) ?? 0,
  }));
}

/** @param {string} sign */
function nothingAfter(sign) {
  return refuse(`nothing follows \`${sign}\` in the filter`, undefined, `write \`"${sign}"\` to look for the sign`);
}

/** @param {Row} row @param {(name: string) => boolean} is */
function inNames(row, is) {
  return is(row.name) || row.mangled !== undefined && is(row.mangled);
}

/** @param {string} wanted in lower case @returns {(row: Row) => boolean} */
function letters(wanted) {
  return (row) => inNames(row, (name) => spread([...wanted], name) !== null);
}

/**
 * Returns over how many characters of a name some letters spread, in this order; null if it lacks some.
 * @param {string[]} wanted
 * @param {string} name
 */
function spread(wanted, name) {
  let [next, start, end] = [0, 0, 0];
  for (const [at, letter] of [...name.toLowerCase()].entries()) {
    if (next === wanted.length) break;
    if (letter !== wanted[next]) continue;
    if (next === 0) start = at;
    end = at + 1;
    next++;
  }
  return next === wanted.length ? end - start : null;
}

/**
 * @param {string} from
 * @param {{columns: Column[], rows: Row[], sources: Set<number>}} table
 * @returns {{is: (row: Row) => boolean, text?: string, after: string}}
 */
function condition(from, table) {
  if (from.startsWith('/')) {
    const closed = /^\/((?:\\[^]|[^\\/])*)\/([^]*)$/.exec(from);
    if (!closed) throw refuse('the regular expression is not closed in the filter', '`/` after it', 'to look for a slash, put the text in quotes');
    let expression;
    try {
      expression = new RegExp(closed[1], 'iu');
    } catch (error) {
      throw refuse(`invalid regular expression: ${/** @type {Error} */ (error).message}`);
    }
    return { is: (row) => inNames(row, (name) => expression.test(name)), after: closed[2] };
  }
  if (from.startsWith('~')) {
    const [wanted, after] = split(from.slice(1));
    if (!wanted) throw nothingAfter('~');
    return { is: letters(wanted.toLowerCase()), after };
  }
  const comparison = /^([A-Za-z][A-Za-z0-9]*)(<=|>=|<|>|=|:)(?!:)([^]*)$/.exec(from);
  const found = comparison && compared(comparison[1], comparison[2], comparison[3], table);
  if (found) return found;
  const [text, after] = split(from);
  return { ...named(text), after };
}

/** @param {string} text */
function named(text) {
  const small = text.toLowerCase();
  return { text: small, is: (/** @type {Row} */ row) => inNames(row, (name) => name.toLowerCase().includes(small)) };
}

/** @param {string} from @returns {[string, string]} a text and what follows it */
function split(from) {
  if (!from.startsWith('"')) {
    const end = from.search(/\s/);
    return end < 0 ? [from, ''] : [from.slice(0, end), from.slice(end)];
  }
  const end = from.indexOf('"', 1);
  if (end < 0) throw refuse('a quotation mark is not closed in the filter', '`"` after the text');
  return [from.slice(1, end), from.slice(end + 1)];
}

/**
 * @param {string} word
 * @param {string} relation
 * @param {string} from
 * @param {{columns: Column[], rows: Row[], sources: Set<number>}} table
 */
function compared(word, relation, from, { columns, rows, sources }) {
  const [value, after] = split(from);
  const key = word.toLowerCase();
  const isPlain = relation === ':' || relation === '=';
  if (isPlain && ['calls', 'kind', 'name'].includes(key)) {
    if (!value) throw nothingAfter(`${word}${relation}`);
    if (key === 'calls') throw refuse('calls are not in the report', undefined, 'open the file with: unshade explore FILE');
    return key === 'name' ? { ...named(value), after } : { is: (/** @type {Row} */ row) => row.kind.toLowerCase().includes(value.toLowerCase()), after };
  }
  if (isPlain && key === 'has') {
    if (value.toLowerCase() !== 'source') throw refuse(`\`${value}\` can't be asked for with \`has:\``, '`has:source`');
    return { is: (/** @type {Row} */ row) => sources.has(row.item), after };
  }
  const column = columns.find((one) => one.key === key || one.label.toLowerCase() === key);
  if (!column) {
    if (relation !== ':' && !/^\d/.test(value)) return null;
    throw refuse(`the list has no column \`${word}\``, `${columns.map((one) => one.key).join(', ')}, or \`kind:\`, \`calls:\`, \`has:source\``,
      `write \`"${word}${relation}${value}"\` to look for the text`);
  }
  return { is: cellTest(column.key, relation, value, rows), after };
}

/**
 * @param {string} key
 * @param {string} relation
 * @param {string} value
 * @param {Row[]} rows
 * @returns {(row: Row) => boolean}
 */
function cellTest(key, relation, value, rows) {
  const first = rows.find((row) => row.cells[key])?.cells[key] ?? '';
  const isNumber = /^(\d[\d,]*|0x[0-9a-f]+)$/.test(first);
  if (!value) throw refuse(`nothing is compared with \`${key}\``, isNumber ? 'a number such as `4k`' : 'a text');
  const number = numberOf(value);
  if (isNumber && number === null) {
    throw refuse(`\`${value}\` is no number to compare \`${key}\` with`, 'digits, and k, M, Ki or Mi if wanted: `4k`, `1.5M`, `0x40`');
  }
  const holds = (/** @type {number} */ order) => ({ '<': order < 0, '<=': order <= 0, '>': order > 0, '>=': order >= 0 })[relation] ?? order === 0;
  const isVersion = /^\d+\.\d+$/.test(first);
  const versionOf = (/** @type {string} */ text) => (/^\d+(\.\d+)?$/.test(text) ? text.split('.').map(Number) : null);
  const collator = new Intl.Collator('en', { numeric: true, sensitivity: 'base' });
  return (row) => {
    const cell = row.cells[key];
    if (!cell) return false;
    if (isNumber) return holds((numberOf(cell.replaceAll(',', '')) ?? 0) - (number ?? 0));
    if (isVersion) {
      const [one, other] = [versionOf(cell), versionOf(value)];
      return one !== null && other !== null && holds(one[0] - other[0] || (one[1] ?? 0) - (other[1] ?? 0));
    }
    return relation === ':' ? cell.toLowerCase().includes(value.toLowerCase()) : holds(collator.compare(cell, value));
  };
}

/** @param {string} text @returns {number | null} */
function numberOf(text) {
  const small = text.toLowerCase();
  if (/^0x[0-9a-f]+$/.test(small)) return parseInt(small, 16);
  const parts = /^(\d+(?:\.\d{1,9})?)(k|m|g|ki|mi|gi)?b?$/.exec(small);
  if (!parts) return null;
  const number = Math.floor(Number(parts[1]) * UNITS[parts[2] ?? '']);
  return number < 2 ** 64 ? number : null;
}
