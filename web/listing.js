/**
 * A listing: lines of coloured tokens. Only visible lines exist in the DOM. A line knows the bytes that it was
 * decoded from. A name links to its definition, and its uses are highlighted.
 */

import { count, h, plural } from './dom.js';
import { annotated } from './notes.js';
import { Pages } from './pages.js';
import { aborted, nothing, problem, RowBox, waiting } from './rows.js';
import { NARROW } from './theme.js';

/** @typedef {import('./protocol.js').Line} Line */
/** @typedef {import('./protocol.js').Token} Token */
/** @typedef {import('./protocol.js').Range} Range */
/** @typedef {{file: number, program: number, item?: number, pane: string}} Subject */

const PAGE = 250;
/** The longest token that is shown, in characters. */
const MAX_TOKEN = 20_000;
/** Milliseconds that the mouse must rest on a line before its bits are explained. */
const HOVER_DELAY = 500;
/** Token kinds with a colour of their own. */
const COLOURED = new Set(['keyword', 'type', 'function', 'variable', 'register', 'label', 'attribute', 'number', 'string', 'address', 'comment', 'punctuation']);

/** Listings that say so if nothing in them comes from what is selected. */
const DECOMPILED = new Set(['c', 'hlsl', 'metal']);

/**
 * Returns the nodes for a line's tokens.
 * @param {Token[]} tokens
 * @returns {(HTMLElement | string)[]}
 */
export function tokenNodes(tokens) {
  /** @type {(HTMLElement | string)[]} */
  const nodes = [];
  for (const [kind, text, link] of tokens) {
    if (link === undefined && (!COLOURED.has(kind) || kind === 'punctuation')) {
      const last = nodes.length - 1;
      if (typeof nodes[last] === 'string') nodes[last] += text;
      else nodes.push(text);
      continue;
    }
    const span = document.createElement('span');
    // Names of a megabyte would stop the browser; downloads have them whole.
    span.textContent = text.length > MAX_TOKEN ? `${text.slice(0, MAX_TOKEN)}… (cut)` : text;
    span.className = COLOURED.has(kind) ? `t-${kind}` : '';
    if (link !== undefined) {
      span.dataset.link = String(entity(link));
      span.classList.add(link < 0 ? 'definition' : 'reference');
    }
    nodes.push(span);
  }
  return nodes;
}

/**
 * Returns the tokens of a line of machine code without the blanks that align its columns, which take half of a narrow
 * screen. Other lines begin with text or an indentation, which stay.
 * @param {Token[]} tokens
 * @returns {Token[]}
 */
export function withoutPadding(tokens) {
  const first = tokens.findIndex(([, text]) => text.trim() !== '');
  if (first < 0 || tokens[first][0] !== 'comment' || !tokens[first][1].startsWith('/*')) return tokens;
  return tokens.slice(first).map((token) => (token[0] === 'space' && token[1].length > 2 ? ['space', '  '] : token));
}

/**
 * Returns the entity of a link.
 * @param {number} link
 */
export function entity(link) {
  return link < 0 ? -link - 1 : link;
}

/** @param {Line} line */
export function textOf(line) {
  return line.tokens.map((token) => token[1]).join('');
}

/**
 * Returns the request for the first part of a listing that is shown.
 * @param {Subject} subject
 * @param {number} [from]
 */
export function firstPart(subject, from = 0) {
  return { query: 'listing', ...subject, from, count: PAGE };
}

export class Listing {
  /**
   * @param {object} options
   * @param {import('./transport.js').Transport} options.api
   * @param {(line: number, ranges: Range[], jump: boolean) => void} options.onselect
   * @param {(text: string) => void} options.say
   * @param {(line: Line, row: () => HTMLElement | undefined) => void} [options.onhover] the mouse rests on a line;
   *   `row` returns its row while it is visible
   * @param {() => void} [options.onleave] the mouse left the line
   * @param {() => import('./notes.js').FunctionNotes | null} [options.notes] the reader's notes on the function
   */
  constructor({ api, onselect, say, onhover, onleave, notes = () => null }) {
    this.api = api;
    this.notes = notes;
    this.onselect = onselect;
    this.say = say;
    /** @type {Subject | null} */
    this.subject = null;
    /** @type {Range | null} */
    this.range = null;
    /** All highlighted ranges: the selected one, and further ones that a decompiled line came from. @type {Range[]} */
    this.lit = [];
    /** @type {number | null} the entity whose uses are highlighted */
    this.entity = null;
    /** The index of the active line's link that the keyboard is at; −1 for none. */
    this.cursor = -1;
    /**
     * The margin beside the lines, where lines are marked by a click.
     * @type {{isMarked: (line: Line) => boolean, onmark: (line: Line | undefined) => void, isOffered: () => boolean} | null}
     */
    this.margin = null;
    this.controller = new AbortController();
    this.box = new RowBox({
      label: 'Listing',
      className: 'listing mono',
      touchHeight: 28,
      create: () => h('div', { class: 'line' }, h('span', { class: 'gutter' }), h('span', { class: 'code' })),
      render: (row, index) => this.#render(row, index),
      onchoose: (index, event) => this.#choose(index, event),
      onmove: (index) => {
        this.cursor = -1;
        this.#select(index, false);
      },
      onkey: (event, index) => this.#key(event, index),
    });
    this.element = h('div', { class: 'listing-host' }, this.box.element);
    this.over = h('div', { class: 'over' });
    this.note = h('div', { class: 'listing-note', role: 'status' });
    this.element.append(this.over, this.note);
    /** @type {Pages<Line>} */
    this.pages = new Pages({
      size: PAGE,
      load: async (from, count, signal) => (await this.api.call({ query: 'listing', ...this.subject, from, count }, signal)).lines,
      onload: (from, to) => {
        this.box.virtual.refreshRange(from, to);
        this.hover?.changed();
      },
      onerror: (error) => this.over.replaceChildren(problem(error)),
    });
    // To ask it for every row would compute all styles anew.
    this.isNarrow = NARROW.matches;
    NARROW.addEventListener('change', () => {
      this.isNarrow = NARROW.matches;
      this.box.refresh();
    });
    this.hover = onhover && new Hover(this, onhover, onleave ?? (() => {}));
  }

  /**
   * @param {Subject} subject
   * @param {number | null} line the line to go to
   * @returns {Promise<import('./protocol.js').ListingPart | null>} the first part; null if superseded
   */
  async show(subject, line) {
    if (this.subject && same(this.subject, subject)) {
      if (line !== null && line !== this.box.active) this.goTo(line);
      return null;
    }
    this.controller.abort();
    const controller = new AbortController();
    this.controller = controller;
    this.subject = subject;
    this.entity = null;
    this.cursor = -1;
    this.pages.clear();
    this.over.replaceChildren();
    this.note.textContent = '';
    const from = line === null ? 0 : Math.floor(line / PAGE) * PAGE;
    try {
      /** @type {import('./protocol.js').ListingPart} */
      const part = await waiting(this.over, 'Reading the listing…', controller, this.api.call(firstPart(subject, from), controller.signal));
      if (this.controller !== controller) return null;
      this.pages.put(from, part.lines);
      this.box.label = `${subject.pane}, ${plural(part.total, 'line')}`;
      const digits = String(part.total).length;
      this.element.style.setProperty('--gutter', `${Math.max(3, digits) + 2}ch`);
      this.box.element.dataset.item = String(subject.item ?? '');
      this.box.reset(part.total);
      this.hover?.changed();
      if (line !== null) this.box.setActive(Math.min(line, part.total - 1), 'center');
      if (part.total === 0) this.over.replaceChildren(nothing('This listing is empty.'));
      if (part.cut) this.say(`Only the first ${count(part.total)} lines are shown. Use unshade dis for the whole listing.`);
      return part;
    } catch (error) {
      if (this.controller !== controller) return null;
      this.subject = null;
      this.box.reset(0);
      this.over.replaceChildren(aborted(error) ? nothing('Stopped.') : problem(error));
      return null;
    }
  }

  /** Shows nothing. */
  clear() {
    this.controller.abort();
    this.note.textContent = '';
    this.subject = null;
    this.pages.clear();
    this.box.reset(0);
    this.hover?.changed();
    this.over.replaceChildren();
  }

  /**
   * Highlights the lines of a range.
   * @param {Range | null} range
   * @param {boolean} reveal whether to scroll to them
   * @param {Range[]} [also]
   * @param {string} [what] what was selected
   */
  async light(range, reveal, also = [], what = 'bytes') {
    this.range = range;
    this.lit = range ? [range, ...also] : [];
    this.note.textContent = '';
    this.box.refresh();
    if (!range || !reveal || !this.subject) return;
    const subject = this.subject;
    try {
      // The first byte of a record of bitcode may be the last one of the record before.
      const offset = range[1] - range[0] > 2 ? range[0] + 1 : range[0];
      const { line } = await this.api.call({ query: 'line_at', ...subject, offset }, this.controller.signal);
      if (this.subject !== subject || this.range !== range) return undefined;
      if (line !== undefined) {
        this.box.virtual.show(line, 'center');
        return line;
      }
      if (DECOMPILED.has(subject.pane)) this.note.textContent = what === 'instruction'
        ? 'No line is from the selected instruction: it is part of others, or does nothing.' : 'No line is from the selected bytes.';
    } catch (error) {
      if (!aborted(error)) this.say(String(/** @type {any} */ (error).message));
    }
    return undefined;
  }

  /** @param {number} line */
  goTo(line) {
    this.cursor = -1;
    this.box.setActive(Math.max(0, Math.min(line, this.box.total - 1)), 'center');
  }

  /** Goes to the definition of the entity that the keyboard is at, or whose uses are highlighted. */
  async toDefinition() {
    const at = this.#entityAtCursor() ?? this.entity;
    if (at === null) return this.say('Select a name first: use ← and → within a line.');
    const links = await this.#links(at);
    if (!links) return;
    if (!links.definition) return this.say('There is no definition in this listing.');
    await this.#jump(links.definition.line);
  }

  /**
   * Returns the uses of the entity that the keyboard is at.
   * @returns {Promise<{links: import('./protocol.js').Links, lines: (Line | undefined)[], go: (line: number) => void} | null>}
   */
  async crossReferences() {
    const at = this.#entityAtCursor() ?? this.entity;
    if (at === null) {
      this.say('Select a name first: use ← and → within a line.');
      return null;
    }
    this.#lightEntity(at);
    const links = await this.#links(at);
    if (!links) return null;
    const places = [...(links.definition ? [links.definition] : []), ...links.uses.slice(0, 200)];
    const lines = await Promise.all(places.map(({ line }) => this.pages.fetch(line)));
    return { links, lines, go: (line) => this.#jump(line) };
  }

  /**
   * Returns the name that the keyboard is at, or whose uses are highlighted, as it is shown.
   * @returns {string | null}
   */
  nameAtCursor() {
    const at = this.#entityAtCursor() ?? this.entity;
    const line = this.pages.peek(this.box.active);
    const token = line && this.#annotated(line).find((token) => token[2] !== undefined && entity(token[2]) === at);
    return at === null || !token ? null : token[1];
  }

  /** Returns the offset of the active line's first byte, if it has one. */
  offsetAtCursor() {
    return rangesOf(this.pages.peek(this.box.active))[0]?.[0] ?? null;
  }

  /** @param {Line} line */
  #annotated(line) {
    return annotated(line, this.subject?.pane ?? '', this.notes());
  }

  /** Returns the whole text. */
  async text() {
    const lines = [];
    for (let from = 0; from < this.box.total; from += 5000) {
      const part = await this.api.call({ query: 'listing', ...this.subject, from, count: 5000 }, this.controller.signal);
      lines.push(...part.lines.map((/** @type {Line} */ line) => textOf({ tokens: this.#annotated(line) })));
      if (part.lines.length === 0) break;
    }
    return lines.join('\n') + '\n';
  }

  /** @param {number} link */
  async #links(link) {
    try {
      return /** @type {import('./protocol.js').Links} */ (await this.api.call({ query: 'links', ...this.subject, link }, this.controller.signal));
    } catch (error) {
      if (!aborted(error)) this.say(String(/** @type {any} */ (error).message));
      return null;
    }
  }

  /** @param {number} line */
  async #jump(line) {
    this.goTo(line);
    const data = await this.pages.fetch(line);
    this.onselect(line, rangesOf(data), true);
  }

  /**
   * @param {number} index
   * @param {boolean} jump
   */
  #select(index, jump) {
    this.onselect(index, rangesOf(this.pages.peek(index)), jump);
  }

  /**
   * @param {number} index
   * @param {Event} event
   */
  #choose(index, event) {
    if (event instanceof KeyboardEvent) {
      if (event.key === 'Enter') this.toDefinition();
      return;
    }
    if (this.margin?.isOffered() && event.target instanceof HTMLElement && event.target.classList.contains('gutter')) {
      this.margin.onmark(this.pages.peek(index));
      return;
    }
    const token = event.target instanceof HTMLElement ? event.target.closest('[data-link]') : null;
    this.cursor = -1;
    if (token instanceof HTMLElement) {
      const link = Number(token.dataset.link);
      this.#lightEntity(link);
      this.#select(index, false);
      if (token.classList.contains('reference') && event instanceof MouseEvent) {
        this.#links(link).then((links) => links?.definition && this.#jump(links.definition.line));
      }
      return;
    }
    this.#lightEntity(null);
    this.#select(index, false);
  }

  /** @param {number | null} link */
  #lightEntity(link) {
    this.entity = link;
    this.box.refresh();
  }

  #entityAtCursor() {
    const line = this.pages.peek(this.box.active);
    const links = (line?.tokens ?? []).filter((token) => token[2] !== undefined);
    const token = links[this.cursor];
    return token ? entity(/** @type {number} */ (token[2])) : null;
  }

  /**
   * @param {KeyboardEvent} event
   * @param {number} index
   */
  #key(event, index) {
    if (event.key !== 'ArrowLeft' && event.key !== 'ArrowRight') {
      if (event.key === 'Escape' && this.entity !== null) {
        this.cursor = -1;
        this.#lightEntity(null);
        return true;
      }
      return false;
    }
    const links = (this.pages.peek(index)?.tokens ?? []).filter((token) => token[2] !== undefined);
    if (links.length === 0) {
      this.element.scrollLeft += event.key === 'ArrowRight' ? 40 : -40;
      return true;
    }
    const step = event.key === 'ArrowRight' ? 1 : -1;
    this.cursor = (this.cursor + step + links.length + (this.cursor < 0 && step < 0 ? 1 : 0)) % links.length;
    this.#lightEntity(this.#entityAtCursor());
    this.say(links[this.cursor][1]);
    return true;
  }

  /**
   * @param {HTMLElement} row
   * @param {number} index
   */
  #render(row, index) {
    const [gutter, code] = /** @type {[HTMLElement, HTMLElement]} */ (/** @type {unknown} */ (row.children));
    const line = this.pages.get(index);
    gutter.textContent = String(index + 1);
    if (!line) {
      code.textContent = '';
      row.classList.remove('lit', 'has-bytes', 'marked');
      return;
    }
    const { range } = line;
    row.classList.toggle('has-bytes', range !== undefined && range[1] > range[0]);
    row.classList.toggle('lit', this.range !== null && rangesOf(line).some((own) => this.lit.some((lit) => overlaps(own, lit))));
    row.classList.toggle('marked', this.margin?.isMarked(line) ?? false);
    const tokens = this.#annotated(line);
    code.replaceChildren(...tokenNodes(this.isNarrow ? withoutPadding(tokens) : tokens));
    if (this.entity !== null) {
      for (const use of code.querySelectorAll(`[data-link="${this.entity}"]`)) use.classList.add('use');
    }
    if (index === this.box.active && this.cursor >= 0) code.querySelectorAll('[data-link]')[this.cursor]?.classList.add('cursor');
  }
}

/**
 * Tracks the line that the mouse rests on. It changes when the mouse moves, and also when the list scrolls or its
 * contents change under the mouse; it is determined once all of these have settled.
 */
class Hover {
  /**
   * @param {Listing} listing
   * @param {(line: Line, row: () => HTMLElement | undefined) => void} onhover
   * @param {() => void} onleave
   */
  constructor(listing, onhover, onleave) {
    this.listing = listing;
    this.onhover = onhover;
    this.onleave = onleave;
    /** The mouse position, while over the listing. @type {{x: number, y: number} | null} */
    this.mouse = null;
    /** The row under the mouse, and the line that it showed. */
    this.index = -1;
    /** @type {Line | undefined} */
    this.line = undefined;
    this.timer = 0;
    const { element } = listing.box;
    for (const type of /** @type {const} */ (['pointerenter', 'pointermove'])) element.addEventListener(type, (event) => this.#moved(event));
    element.addEventListener('pointerleave', () => {
      this.mouse = null;
      this.#leave();
    });
    element.addEventListener('scroll', () => this.#rest(), { passive: true });
  }

  /** The contents of lines changed. */
  changed() {
    if (this.listing.pages.peek(this.index) !== this.line) this.#rest();
  }

  /** @param {PointerEvent} event */
  #moved(event) {
    if (event.pointerType === 'touch') return;
    const before = this.mouse;
    this.mouse = { x: event.clientX, y: event.clientY };
    if (!before || this.listing.box.virtual.indexOf(event.target) !== this.index) this.#rest();
  }

  /** Forgets the current line, and looks up the new one after a delay. */
  #rest() {
    this.#leave();
    if (this.mouse) this.timer = window.setTimeout(() => this.#look(), HOVER_DELAY);
  }

  #leave() {
    clearTimeout(this.timer);
    this.index = -1;
    this.line = undefined;
    this.onleave();
  }

  #look() {
    const { pages, box: { virtual } } = this.listing;
    const { mouse } = this;
    const index = mouse ? virtual.indexOf(document.elementFromPoint(mouse.x, mouse.y)) : -1;
    const line = pages.peek(index);
    this.index = index;
    this.line = line;
    if (line?.range) this.onhover(line, () => (this.line === line ? virtual.nodeOf(index) : undefined));
  }
}

/**
 * Returns the bytes that a line was decoded from.
 * @param {Line | undefined} line
 * @returns {Range[]}
 */
export function rangesOf(line) {
  return line?.range && line.range[1] > line.range[0] ? [line.range, ...(line.also ?? [])] : [];
}

/**
 * Returns whether a line's bytes overlap the selection substantially. LLVM bitcode records start within bytes, so
 * neighbours can share one byte without belonging together.
 * @param {Range} line
 * @param {Range} selected
 */
function overlaps(line, selected) {
  const shared = Math.min(line[1], selected[1]) - Math.max(line[0], selected[0]);
  return shared > 0 && shared * 2 >= Math.min(line[1] - line[0], selected[1] - selected[0]);
}

/**
 * @param {Subject} a
 * @param {Subject} b
 */
function same(a, b) {
  return a.file === b.file && a.program === b.program && a.item === b.item && a.pane === b.pane;
}
