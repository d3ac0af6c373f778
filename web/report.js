/**
 * Answers queries in a report. The page contains the answers to all plain queries, compressed (`archive.js`, written by
 * `unshade html`); filtering and searching happen here. Queries that need the program itself are refused.
 */

import { Archive } from './archive.js';
import { fuzzyTerms, parseTerms, selects } from './terms.js';

/** @typedef {import('./protocol.js').Line} Line */
/** @typedef {import('./protocol.js').OutlineNode & {inside?: Nested[]}} Nested */
/** @typedef {import('./protocol.js').ErrorShape} ErrorShape */

/** The downloads that a report supports. */
const EXTRACTS = ['program', 'module', 'listing', 'source'];
/** Maximum number of matches, and milliseconds, of a search step. */
const MAX_MATCHES = 200;
const BUDGET = 100;
/** Number of bytes of a program in one entry. */
const BYTES = 65536;

/** @param {string} message @param {string} [hint] */
function refuse(message, hint = 'Open the file with: unshade explore FILE') {
  return { error: { message, hint } };
}

/** Maximum length of a line in search results. */
const MAX_TEXT = 400;

export class Answers {
  /** @param {Archive} archive */
  constructor(archive) {
    this.archive = archive;
  }

  /**
   * Answers a query as `unshade` does.
   * @param {any} request
   * @returns {Promise<any>}
   */
  async answer(request) {
    const { query, file = 0, program = 0, item } = request;
    const at = `${file} ${program}`;
    const place = `${at} ${item ?? '-'}`;
    switch (query) {
      case 'files': return { files: this.archive.index.files };
      case 'overview': return withSupportedExtracts(await this.#overview(request), 'programs');
      case 'facts': return withSupportedExtracts(await this.#recorded(`facts ${place}`));
      case 'verify': return this.#recorded(`verify ${at}`);
      case 'graph': return this.#graph(place, request.function);
      case 'rows': return this.#rows(at, request);
      case 'listing': return part(await this.#listing(request), request);
      case 'links': return linksOf(await this.#listing(request), request.link);
      case 'line_at': return lineAt(await this.#listing(request), request.offset);
      case 'item_at': return itemAt(await this.#recorded(`rows ${at}`), request.offset);
      case 'hex': return this.#hex(request);
      case 'outline': return outlineOf(await this.#recorded(`outline ${at}`), request);
      case 'search': return this.#search(request);
      case 'sizes': return this.#recorded(`sizes ${at}`);
      case 'bits': return this.#bits(`bits ${place}`, request.offset);
      case 'extract': return (await this.extract(request)).answer;
      default: return refuse('Comparing is not available in reports.');
    }
  }

  /**
   * Returns bytes for a download.
   * @param {any} request
   * @returns {Promise<{answer: any, bytes: Uint8Array}>}
   */
  async extract(request) {
    const { file = 0, program = 0, item, what = 'program' } = request;
    const none = { answer: refuse(`This is not in the report: ${what}.`), bytes: new Uint8Array() };
    const name = await this.#name(file, program);
    /** @param {string} name @param {Uint8Array | undefined} bytes */
    const download = (name, bytes) => (bytes ? { answer: { name, size: bytes.length }, bytes } : none);
    const space = await this.#space(file, program);
    if (what === 'program') return download(name, await this.#bytes(file, program, space, space));
    if (what === 'module') {
      const module = await this.#recorded(`extract ${file} ${program} ${item ?? '-'} module`);
      if (module.error) return { ...none, answer: module };
      return download(module.name, await this.#bytes(file, program, module.range, space));
    }
    const pane = what === 'source' ? `source:${request.name}` : request.pane ?? 'assembly';
    const listing = await this.#listing({ ...request, pane });
    if (listing.error) return { ...none, answer: listing };
    const text = listing.lines.map((/** @type {Line} */ line) => `${textOf(line)}\n`).join('');
    return download(what === 'source' ? `${request.name}`.split(/[\\/]/).pop() || 'source' : `${name}.${item ?? pane}.txt`, new TextEncoder().encode(text));
  }

  /** @param {string} key */
  async #recorded(key) {
    return await this.archive.answer(key) ?? this.#missing();
  }

  /** Says that something is not in the report, and how to get it. */
  #missing() {
    return this.archive.index.findings.length > 0
      ? refuse('This is not in the report, which has a maximum size.', 'Make a report of some functions with: unshade html FILE FUNCTION… -o REPORT')
      : refuse('This is not in the report.');
  }

  /** @param {any} request */
  async #overview({ file = 0, program }) {
    const overview = await this.#recorded(`overview ${file}`);
    if (overview.error) return overview;
    const programs = overview.programs.filter((/** @type {any} */ one) => program === undefined || one.program === program);
    return programs.length || program === undefined ? { ...overview, programs, findings: [...this.archive.index.findings, ...overview.findings] } : refuse('no such program');
  }

  /** @param {number} file @param {number} program */
  async #name(file, program) {
    const path = (await this.#recorded(`overview ${file}`)).programs?.[program]?.path ?? 'program';
    return path.split(/[\\/!]/).pop() || 'program';
  }

  /** @param {number} file @param {number} program @returns {Promise<[number, number]>} */
  async #space(file, program) {
    return (await this.#recorded(`overview ${file}`)).programs?.[program]?.space ?? [0, 0];
  }

  /**
   * Returns bytes of a program, or `undefined` if some are not in the report.
   * @param {number} file
   * @param {number} program
   * @param {[number, number]} range
   * @param {[number, number]} space
   */
  async #bytes(file, program, [start, end], [base]) {
    const bytes = new Uint8Array(end - start);
    for (let number = Math.floor((start - base) / BYTES); base + number * BYTES < end; number++) {
      const block = await this.archive.bytes(`bytes ${file} ${program} ${number}`);
      if (!block) return undefined;
      const at = base + number * BYTES;
      bytes.set(block.subarray(Math.max(0, start - at), Math.min(block.length, end - at)), Math.max(0, at - start));
    }
    return bytes;
  }

  /** @param {string} place @param {number} [index] */
  async #graph(place, index) {
    const graph = await this.#recorded(`graph ${place}`);
    return index === undefined || index === graph.function || graph.error ? graph : refuse('Reports have only the graph of one function of a module.');
  }

  /** @param {string} at @param {any} request */
  async #rows(at, { filter = {}, sort, from = 0, count = 200, find }) {
    const table = await this.#recorded(`rows ${at}`);
    if (table.error) return table;
    const finds = matcher(filter.text ?? '', filter.regex, false);
    if (typeof finds !== 'function') return finds;
    const withSource = filter.has_source || filter.terms ? await this.#recorded(`sources ${at}`) : null;
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

  /** @param {any} request */
  async #hex({ file = 0, program = 0, from, count }) {
    const space = await this.#space(file, program);
    const place = (/** @type {number} */ offset) => Math.max(space[0], Math.min(space[1], offset));
    const [start, end] = [place(from), place(from + Math.min(count, BYTES))];
    const bytes = await this.#bytes(file, program, [start, end], space);
    return bytes ? { from: start, bytes: hexOf(bytes), space } : this.#missing();
  }

  /** @param {string} key @param {number} offset */
  async #bits(key, offset) {
    const all = await this.archive.answer(key);
    const found = all?.find?.((/** @type {any} */ { range }) => range[0] <= offset && offset < range[1]);
    return found ?? refuse('The report does not explain these bits.');
  }

  /**
   * Searches from the cursor on, until time or matches are enough. Names and bytes are searched at once.
   * @param {any} request
   */
  async #search({ file = 0, program, scope = 'names', text, regex, case: exact, pane, context = 0, span, cursor, limit = MAX_MATCHES, budget_ms = BUDGET }) {
    const programs = ((await this.#recorded(`overview ${file}`)).programs ?? []).filter((/** @type {any} */ one) => program === undefined || one.program === program);
    const finds = scope === 'bytes' ? bytePattern(text) : matcher(text, regex, exact);
    if (typeof finds !== 'function') return finds;
    const deadline = performance.now() + budget_ms;
    /** @type {{program: number, item: number, row?: any, range?: [number, number]}[]} */
    const places = [];
    for (const { program, space } of programs) {
      if (scope === 'bytes') places.push({ program, item: 0, range: space });
      else for (const row of (await this.#recorded(`rows ${file} ${program}`)).rows ?? []) places.push({ program, item: row.item, row });
    }
    /** @type {import('./protocol.js').Match[]} */
    const matches = [];
    /** @type {import('./protocol.js').FoundItem[]} */
    const items = [];
    const all = places.length;
    if (scope === 'listings') places.splice(0, all, ...places.filter(({ program, item }) => this.#paneOf(`${file} ${program} ${item}`, pane)));
    const missing = this.archive.index.findings.length > 0 && places.length < all ? 'listings that are not in the report were not searched' : undefined;
    // Bytes are searched at once, whatever the span.
    if (span && scope !== 'bytes') places.splice(0, places.length, ...places.slice(...span));
    let [at, skip] = (cursor ?? '0.0').split('.').map(Number);
    for (; at < places.length; at++, skip = 0) {
      if (at % 16 === 0 && performance.now() > deadline && matches.length + at > Number((cursor ?? '0').split('.')[0])) break;
      const { row } = places[at];
      const found = scope === 'bytes' ? await this.#matchingBytes(file, places[at], /** @type {any} */ (finds))
        : scope === 'names' ? matchingName(places[at], /** @type {any} */ (finds))
          : await this.#matchingLines(file, places[at], scope, pane, /** @type {any} */ (finds), context);
      const some = found.slice(skip, skip + limit - matches.length);
      matches.push(...some);
      if (some.length > 0 && ['listings', 'sources'].includes(scope)) items.push({ program: places[at].program, item: row.item, name: row.name, kind: row.kind });
      if (skip + some.length < found.length) {
        skip += some.length;
        break;
      }
    }
    return { matches, ...(items.length ? { items } : {}), ...(missing ? { missing } : {}), searched: at, total: places.length, cursor: at < places.length ? `${at}.${skip}` : null };
  }

  /**
   * Returns the listing of an item that is searched.
   * @param {string} place
   * @param {string | undefined} pane
   */
  #paneOf(place, pane) {
    return (pane ? [pane] : ['assembly', 'ptx']).find((name) => this.archive.has(`listing ${place} ${name}`));
  }

  /** @param {number} file @param {any} place @param {(digits: string) => [number, number][]} finds */
  async #matchingBytes(file, { program, range }, finds) {
    const bytes = await this.#bytes(file, program, range, range);
    const digits = bytes ? hexOf(bytes) : '';
    return finds(digits).map(([start, length]) => ({
      program, text: digits.substr(start * 2, Math.min(length, 32) * 2), range: /** @type {[number, number]} */ ([range[0] + start, range[0] + start + length]),
    }));
  }

  /**
   * @param {number} file
   * @param {any} place
   * @param {string} scope
   * @param {string | undefined} pane
   * @param {(line: string) => [number, number] | null} finds
   * @param {number} context
   */
  async #matchingLines(file, { program, item }, scope, pane, finds, context) {
    const place = `${file} ${program} ${item}`;
    const code = this.#paneOf(place, pane);
    const panes = scope === 'sources' ? ((await this.archive.answer(`facts ${place}`))?.panes ?? []).filter((/** @type {string} */ name) => name.startsWith('source:')) : code ? [code] : [];
    /** @type {import('./protocol.js').Match[]} */
    const matches = [];
    for (const pane of panes) {
      /** @type {Line[]} */
      const lines = (await this.archive.answer(`listing ${place} ${pane}`))?.lines ?? [];
      const texts = lines.map(textOf);
      texts.forEach((whole, number) => {
        const found = finds(whole);
        if (!found) return;
        const { text, at } = clipped(whole, found[0]);
        const around = (/** @type {number} */ from, /** @type {number} */ to) => texts.slice(Math.max(0, from), to).map((line) => clipped(line, 0).text);
        const [before, after] = [around(number - context, number), around(number + 1, number + 1 + context)];
        const { range } = lines[number];
        matches.push({
          program, item, pane, line: number, column: found[0], length: found[1], text, ...(at === found[0] ? {} : { at }),
          ...(before.length ? { before } : {}), ...(after.length ? { after } : {}), ...(range ? { range } : {}),
        });
      });
    }
    return matches;
  }
}

/**
 * Removes the downloads that a report does not support.
 * @param {any} answer
 * @param {string} [inside]
 */
function withSupportedExtracts(answer, inside) {
  const filtered = (/** @type {any} */ one) => (one.extracts ? { ...one, extracts: one.extracts.filter((/** @type {string} */ name) => EXTRACTS.includes(name)) } : one);
  return inside && answer[inside] ? { ...answer, [inside]: answer[inside].map(filtered) } : filtered(answer);
}

/** @param {Uint8Array} bytes */
function hexOf(bytes) {
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
}

/** @param {any} place @param {(line: string) => [number, number] | null} finds */
function matchingName({ program, row }, finds) {
  if (!finds(row.name) && !(row.mangled && finds(row.mangled))) return [];
  return [{ program, item: row.item, text: row.name, ...(row.range ? { range: row.range } : {}) }];
}

/**
 * Returns a line that is not too long to be shown, around a column, and the column in it.
 * @param {string} line
 * @param {number} column
 */
function clipped(line, column) {
  const start = line.length <= MAX_TEXT ? 0 : Math.max(0, column - MAX_TEXT / 4);
  const shown = (/** @type {string} */ part) => part.replaceAll('\t', '    ');
  const [before, after] = [start > 0 ? '…' : '', start + MAX_TEXT < line.length ? '…' : ''];
  return { text: before + shown(line.slice(start, start + MAX_TEXT)) + after, at: before.length + shown(line.slice(start, column)).length };
}

/** @param {any} listing @param {any} request */
function part(listing, { from = 0, count = 500 }) {
  return listing.error ? listing : { ...listing, from: Math.min(from, listing.total), lines: listing.lines.slice(from, from + count) };
}

/** @param {any} listing @param {number} link */
function linksOf(listing, link) {
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
function lineAt(listing, offset) {
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
function itemAt(table, offset) {
  const row = table.rows?.find((/** @type {any} */ { range }) => range && range[0] <= offset && offset < range[1]);
  return row ? { item: row.item } : {};
}

/** @param {any} root @param {any} request */
function outlineOf(root, { node = [], from = 0, count = 200, at }) {
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
 * Opens the answers contained in this page.
 * @returns {Promise<Answers>}
 */
export async function unpack() {
  return new Answers(await Archive.open(document.getElementById('report')?.textContent ?? ''));
}
