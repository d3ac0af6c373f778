/**
 * Answers queries in a report. The page contains the answers to all plain queries, compressed (`unshade html` writes
 * it); filtering and searching happen here. Queries that need the program itself are refused.
 */

import { fuzzyTerms, parseTerms, selects } from './terms.js';

/** @typedef {import('./protocol.js').Line} Line */
/** @typedef {import('./protocol.js').OutlineNode & {inside?: Nested[]}} Nested */
/** @typedef {import('./protocol.js').ErrorShape} ErrorShape */

/** The downloads that a report supports. */
const EXTRACTS = ['program', 'module', 'listing', 'source'];
/** Maximum number of matches per search step. */
const MAX_MATCHES = 200;

/** @param {string} message @param {string} [hint] */
function refuse(message, hint = 'Open the file with: unshade explore FILE') {
  return { error: { message, hint } };
}

/** Maximum length of a line in search results. */
const MAX_TEXT = 400;

export class Answers {
  /** @param {{answers: Record<string, any>, files: any[]}} recorded */
  constructor({ answers, files }) {
    this.answers = answers;
    this.files = files;
    /** @type {Map<string, Uint8Array>} */
    this.bytesOf = new Map();
  }

  /**
   * Answers a query as `unshade` does.
   * @param {any} request
   * @returns {any}
   */
  answer(request) {
    const { query, file = 0, program = 0, item } = request;
    const at = `${file} ${program}`;
    const place = `${at} ${item ?? '-'}`;
    switch (query) {
      case 'files': return { files: this.files };
      case 'overview': return this.#withSupportedExtracts(this.#recorded(`overview ${file}`), 'programs');
      case 'facts': return this.#withSupportedExtracts(this.#recorded(`facts ${place}`));
      case 'verify': return this.#recorded(`verify ${at}`);
      case 'graph': return this.#graph(place, request.function ?? 0);
      case 'rows': return this.#rows(at, request);
      case 'listing': return this.#part(this.#listing(request), request);
      case 'links': return this.#links(this.#listing(request), request.link);
      case 'line_at': return this.#lineAt(this.#listing(request), request.offset);
      case 'item_at': return this.#itemAt(this.#recorded(`rows ${at}`), request.offset);
      case 'hex': return this.#hex(at, request);
      case 'outline': return this.#outline(this.#recorded(`outline ${at}`), request);
      case 'search': return this.#search(request);
      case 'sizes': return this.#recorded(`sizes ${at}`);
      case 'bits': return this.#bits(`bits ${place}`, request.offset);
      case 'extract': return this.extract(request).answer;
      default: return refuse('Comparing is not available in reports.');
    }
  }

  /**
   * Returns bytes for a download.
   * @param {any} request
   * @returns {{answer: any, bytes: Uint8Array}}
   */
  extract(request) {
    const { file = 0, program = 0, item, what = 'program' } = request;
    const none = { answer: refuse(`This is not in the report: ${what}.`), bytes: new Uint8Array() };
    const name = this.#name(file, program);
    /** @param {string} name @param {Uint8Array} bytes */
    const download = (name, bytes) => ({ answer: { name, size: bytes.length }, bytes });
    if (what === 'program') return download(name, this.#bytes(`${file} ${program}`));
    if (what === 'module') {
      const module = this.#recorded(`extract ${file} ${program} ${item ?? '-'} module`);
      if (module.error) return { ...none, answer: module };
      const base = this.#space(file, program)[0];
      return download(module.name, this.#bytes(`${file} ${program}`).slice(module.range[0] - base, module.range[1] - base));
    }
    const pane = what === 'source' ? `source:${request.name}` : request.pane ?? 'assembly';
    const listing = this.#listing({ ...request, pane });
    if (listing.error) return { ...none, answer: listing };
    const text = listing.lines.map((/** @type {Line} */ line) => `${textOf(line)}\n`).join('');
    return download(what === 'source' ? `${request.name}`.split(/[\\/]/).pop() || 'source' : `${name}.${item ?? pane}.txt`, new TextEncoder().encode(text));
  }

  /** @param {string} key */
  #recorded(key) {
    return Object.hasOwn(this.answers, key) ? this.answers[key] : refuse('This is not in the report.');
  }

  /**
   * Removes the downloads that a report does not support.
   * @param {any} answer
   * @param {string} [inside]
   */
  #withSupportedExtracts(answer, inside) {
    const filtered = (/** @type {any} */ one) => (one.extracts ? { ...one, extracts: one.extracts.filter((/** @type {string} */ name) => EXTRACTS.includes(name)) } : one);
    return inside && answer[inside] ? { ...answer, [inside]: answer[inside].map(filtered) } : filtered(answer);
  }

  /** @param {number} file @param {number} program */
  #name(file, program) {
    const path = this.#recorded(`overview ${file}`).programs?.[program]?.path ?? 'program';
    return path.split(/[\\/!]/).pop() || 'program';
  }

  /** @param {number} file @param {number} program @returns {[number, number]} */
  #space(file, program) {
    return this.#recorded(`overview ${file}`).programs?.[program]?.space ?? [0, 0];
  }

  /** @param {string} at */
  #bytes(at) {
    let bytes = this.bytesOf.get(at);
    if (!bytes) {
      const digits = this.answers[`hex ${at}`] ?? '';
      bytes = Uint8Array.from({ length: digits.length / 2 }, (_, k) => parseInt(digits.substr(k * 2, 2), 16));
      this.bytesOf.set(at, bytes);
    }
    return bytes;
  }

  /** @param {string} place @param {number} [index] */
  #graph(place, index) {
    const graph = this.#recorded(`graph ${place}`);
    return index === undefined || index === graph.function || graph.error ? graph : refuse('Reports have only the graph of one function of a module.');
  }

  /** @param {string} at @param {any} request */
  #rows(at, { filter = {}, sort, from = 0, count = 200, find }) {
    const table = this.#recorded(`rows ${at}`);
    if (table.error) return table;
    const finds = matcher(filter.text ?? '', filter.regex, false);
    if (typeof finds !== 'function') return finds;
    const withSource = this.#recorded(`sources ${at}`);
    const sources = new Set(Array.isArray(withSource) ? withSource : []);
    const parsed = parseTerms(filter.terms ?? '', table.columns, table.rows, sources);
    if ('error' in parsed) return parsed;
    let { terms } = parsed;
    const select = () => table.rows.filter((/** @type {any} */ row) => (!filter.kinds?.length || filter.kinds.includes(row.kind))
      && (!filter.has_source || sources.has(row.item)) && (!filter.text || finds(row.name) || finds(row.mangled ?? '')) && selects(terms, row));
    let rows = select();
    const texts = terms.flatMap(({ text, negative }) => (text !== undefined && !negative ? [text] : []));
    const fuzzy = rows.length === 0 ? fuzzyTerms(terms) : null;
    if (fuzzy) {
      terms = fuzzy;
      const spreadOf = (/** @type {any} */ row) => fuzzy.reduce((sum, { spread }) => sum + (spread?.(row) ?? 0), 0);
      rows = select().sort((/** @type {any} */ one, /** @type {any} */ other) => spreadOf(one) - spreadOf(other));
    }
    if (sort) {
      const value = (/** @type {any} */ row) => (['name', 'kind'].includes(sort.column) ? row[sort.column] : sort.column === 'item' ? String(row.item) : (row.cells[sort.column] ?? '').replace(/(\d),(?=\d{3})/g, '$1'));
      const order = new Intl.Collator('en', { numeric: true }).compare;
      rows = [...rows].sort((one, other) => {
        const [a, b] = [value(one), value(other)];
        const [x, y] = [Number(a), Number(b)];
        const less = a !== '' && b !== '' && !Number.isNaN(x) && !Number.isNaN(y) ? x - y : order(a, b);
        return sort.descending ? -less : less;
      });
    }
    const place = find === undefined ? -1 : rows.findIndex((/** @type {any} */ row) => row.item === find);
    const first = find === undefined ? Math.min(from, rows.length) : Math.max(0, place - (count >> 1));
    return {
      total: table.total, matched: rows.length, from: first, ...(place >= 0 ? { at: place } : {}),
      columns: table.columns, rows: rows.slice(first, first + count),
      ...(texts.length ? { texts } : {}), ...(fuzzy && rows.length ? { fuzzy: true } : {}),
    };
  }

  /** @param {any} request */
  #listing({ file = 0, program = 0, item, pane = 'assembly' }) {
    return this.#recorded(`listing ${file} ${program} ${item ?? '-'} ${pane}`);
  }

  /** @param {any} listing @param {any} request */
  #part(listing, { from = 0, count = 500 }) {
    return listing.error ? listing : { ...listing, from: Math.min(from, listing.total), lines: listing.lines.slice(from, from + count) };
  }

  /** @param {any} listing @param {number} link */
  #links(listing, link) {
    if (listing.error) return listing;
    const entity = link < 0 ? -link - 1 : link;
    /** @type {import('./protocol.js').Links} */
    const links = { uses: [], more: 0 };
    listing.lines.forEach((/** @type {Line} */ { tokens }, /** @type {number} */ line) => {
      let column = 0;
      for (const [, text, own] of tokens) {
        const place = { line, column, length: text.length };
        if (own === -entity - 1 && !links.definition) links.definition = place;
        else if (own === entity || own === -entity - 1) links.uses.push(place);
        column += text.length;
      }
    });
    return links;
  }

  /** @param {any} listing @param {number} offset */
  #lineAt(listing, offset) {
    if (listing.error) return listing;
    let best = Infinity;
    /** @type {any} */
    let found = {};
    listing.lines.forEach((/** @type {Line} */ { range, also = [] }, /** @type {number} */ line) => {
      for (const [start, end] of range ? [range, ...also] : []) {
        if (start <= offset && offset < end && end - start < best) {
          best = end - start;
          found = { line, range };
        }
      }
    });
    return found;
  }

  /** @param {any} table @param {number} offset */
  #itemAt(table, offset) {
    const row = table.rows?.find((/** @type {any} */ { range }) => range && range[0] <= offset && offset < range[1]);
    return row ? { item: row.item } : {};
  }

  /** @param {string} at @param {any} request */
  #hex(at, { file = 0, program = 0, from, count }) {
    const space = this.#space(file, program);
    const place = (/** @type {number} */ offset) => Math.max(space[0], Math.min(space[1], offset));
    const [start, end] = [place(from), place(from + Math.min(count, 65536))];
    const digits = this.answers[`hex ${at}`] ?? '';
    return { from: start, bytes: digits.slice((start - space[0]) * 2, (end - space[0]) * 2), space };
  }

  /** @param {any} root @param {any} request */
  #outline(root, { node = [], from = 0, count = 200, at }) {
    if (root.error) return root;
    const plain = (/** @type {Nested} */ { inside, ...rest }, /** @type {number} */ index) => ({ ...rest, index });
    if (at !== undefined) {
      const path = [];
      for (let here = root; ;) {
        const index = (here.inside ?? []).findIndex((/** @type {Nested} */ { range }) => range[0] <= at && at < range[1]);
        if (index < 0) return { path };
        here = here.inside[index];
        path.push(plain(here, index));
      }
    }
    let here = root;
    for (const index of node) {
      here = here.inside?.[index];
      if (!here) return refuse('no such node');
    }
    const children = (here.inside ?? []).map(plain).slice(from, from + count);
    const { inside: _, ...whole } = here;
    return { node: node.length ? plain(here, node.at(-1)) : whole, children, from };
  }

  /** @param {string} key @param {number} offset */
  #bits(key, offset) {
    const found = this.answers[key]?.find?.((/** @type {any} */ { range }) => range[0] <= offset && offset < range[1]);
    return found ?? refuse('The report does not explain these bits.');
  }

  /** @param {any} request */
  #search({ file = 0, program, scope = 'names', text, regex, case: exact, pane = 'assembly', cursor, limit = MAX_MATCHES }) {
    const programs = (this.#recorded(`overview ${file}`).programs ?? []).filter((/** @type {any} */ one) => program === undefined || one.program === program);
    const finds = scope === 'bytes' ? bytePattern(text) : matcher(text, regex, exact);
    if (typeof finds !== 'function') return finds;
    /** @type {import('./protocol.js').Match[]} */
    const matches = [];
    for (const { program, space } of programs) {
      const at = `${file} ${program}`;
      if (scope === 'bytes') {
        const digits = this.answers[`hex ${at}`] ?? '';
        for (const [start, length] of /** @type {any} */ (finds)(digits)) {
          matches.push({ program, text: digits.substr(start * 2, Math.min(length, 32) * 2), range: [space[0] + start, space[0] + start + length] });
        }
        continue;
      }
      for (const row of this.#recorded(`rows ${at}`).rows ?? []) {
        if (scope === 'names') {
          if (finds(row.name) || row.mangled && finds(row.mangled)) matches.push({ program, item: row.item, text: row.name, ...(row.range ? { range: row.range } : {}) });
          continue;
        }
        const place = `${at} ${row.item}`;
        const panes = scope === 'sources' ? (this.answers[`facts ${place}`]?.panes ?? []).filter((/** @type {string} */ name) => name.startsWith('source:')) : [pane];
        for (const pane of panes) {
          (this.answers[`listing ${place} ${pane}`]?.lines ?? []).forEach((/** @type {Line} */ line, /** @type {number} */ number) => {
            const whole = textOf(line);
            const found = /** @type {[number, number] | null} */ (finds(whole));
            if (found) matches.push({ program, item: row.item, pane, line: number, column: found[0], length: found[1], text: whole.slice(0, MAX_TEXT), ...(line.range ? { range: line.range } : {}) });
          });
        }
      }
    }
    const from = Number(cursor) || 0;
    const next = from + limit;
    return { matches: matches.slice(from, next), searched: Math.min(next, matches.length), total: matches.length, cursor: next < matches.length ? String(next) : null };
  }
}

/** @param {Line} line */
function textOf(line) {
  return line.tokens.map((token) => token[1]).join('');
}

/**
 * Returns a function that finds a text or a regular expression in a line: start and length, or null.
 * @param {string} text
 * @param {boolean | undefined} regex
 * @param {boolean | undefined} exact
 * @returns {((line: string) => [number, number] | null) | {error: ErrorShape}}
 */
function matcher(text, regex, exact) {
  let expression;
  try {
    expression = new RegExp(regex ? text : text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&'), exact ? 'u' : 'iu');
  } catch (error) {
    return { error: { message: `invalid regular expression: ${/** @type {any} */ (error).message}` } };
  }
  return (line) => {
    const found = expression.exec(line);
    return found && [found.index, found[0].length];
  };
}

/**
 * Returns a function that finds bytes in a string of hex digits. A pattern has hex digits with `??` for any byte, or
 * quoted text.
 * @param {string} text
 * @returns {((digits: string) => [number, number][]) | {error: ErrorShape}}
 */
function bytePattern(text) {
  const quoted = /^"(.*?)"?$/s.exec(text);
  const hex = quoted ? [...new TextEncoder().encode(quoted[1])].map((byte) => byte.toString(16).padStart(2, '0')).join('') : text.replace(/\s/g, '').toLowerCase();
  if (!/^([0-9a-f]{2}|\?\?)+$/.test(hex) || /^\?+$/.test(hex)) {
    return { error: { message: 'not a byte pattern', expected: 'hex digits such as `de c0 17 0b`, or "text" in quotes' } };
  }
  return (digits) => {
    /** @type {[number, number][]} */
    const found = [];
    const expression = new RegExp(hex.replaceAll('??', '..'), 'g');
    for (let match = expression.exec(digits); match; match = expression.exec(digits)) {
      if (match.index % 2 === 0) found.push([match.index / 2, hex.length / 2]);
      expression.lastIndex = match.index + 1;
    }
    return found;
  };
}

/**
 * Decompresses the answers contained in this page.
 * @returns {Promise<Answers>}
 */
export async function unpack() {
  const packed = document.getElementById('report')?.textContent ?? '';
  const bytes = Uint8Array.from(atob(packed.trim()), (character) => character.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream('gzip'));
  return new Answers(JSON.parse(await new Response(stream).text()));
}
