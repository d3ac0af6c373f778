/** The list of functions: filtered, sorted, in families, of any length. */

import { count, fill, h, icon, plural, size } from './dom.js';
import { FamilyRows } from './families.js';
import { Headings } from './headings.js';
import { showName, textNodes } from './names.js';
import { Pages } from './pages.js';
import { aborted, nothing, problem, RowBox } from './rows.js';
import { keep, kept } from './theme.js';

/** @typedef {import('./protocol.js').Row} Row */
/** @typedef {import('./protocol.js').Program} Program */

const PAGE = 200;
/** Milliseconds after the last key press before the list is filtered. */
const FILTER_DELAY = 40;
/** Milliseconds between two functions that are shown while a key is held down. */
const SHOW_DELAY = 90;
/** Pixels of a row that are not for its name: padding, the badge, gaps. */
const BESIDE = 58;
/** How much narrower a name must be in bold. */
const BOLD = 0.93;
/** How many names before and after a name it is compared with. */
const AROUND = 12;
/** The longest tooltip and full name. */
const MAX_NAME = 4_000;

/** What a filter can say, shown below the field on demand. */
const EXAMPLES = [
  ['gemv f32', 'names with both'], ['!half', 'without'], ['"a b"', 'as it is'], ['~gmvf', 'these letters in order'], ['/^gemv.*4$/', 'a regular expression'],
  ['size>4k', 'any column: < <= = >= >'], ['kind:kernel', ''], ['has:source', ''], ['calls:atomic', 'calls such a function'],
];

export class FunctionList {
  /**
   * @param {object} options
   * @param {import('./transport.js').Transport} options.api
   * @param {(row: Row, replace: boolean) => void} options.onchoose
   * @param {(text: string) => void} options.say
   */
  constructor({ api, onchoose, say }) {
    this.api = api;
    this.onchoose = onchoose;
    this.say = say;
    /** @type {{file: number, program: Program} | null} */
    this.at = null;
    /** @type {import('./protocol.js').Column[]} */
    this.columns = [];
    /** @type {string[]} */
    this.kinds = [];
    this.withSource = false;
    this.matched = 0;
    /** @type {number | null} */
    this.item = null;
    /** The texts of the filter, which are highlighted. @type {string[]} */
    this.texts = [];
    /** The file that is being opened. @type {number | undefined} */
    this.awaited = undefined;
    // A report has only the rows.
    this.grouped = api.name !== 'inline' && kept('unshade.families') === 'yes';
    this.families = new FamilyRows();
    /** Room for a name in pixels. */
    this.room = 200;
    /** The row that was active before, and the direction of the last move. */
    this.before = -1;
    this.direction = 1;
    /** @type {ReturnType<typeof setTimeout> | undefined} */
    this.typing = undefined;
    /** @type {ReturnType<typeof setTimeout> | undefined} */
    this.resting = undefined;

    this.input = h('input', {
      type: 'search', id: 'filter', class: 'field', placeholder: 'Filter', 'aria-label': 'Filter functions', 'aria-describedby': 'filter-note',
      'aria-keyshortcuts': '/', autocomplete: 'off', spellcheck: false, autocapitalize: 'off',
      oninput: () => {
        clearTimeout(this.typing);
        this.typing = setTimeout(() => this.#load(), FILTER_DELAY);
      },
      onkeydown: (/** @type {KeyboardEvent} */ event) => {
        if (event.key === 'ArrowDown' || event.key === 'Enter') {
          event.preventDefault();
          this.box.element.focus();
          if (this.box.active < 0) this.box.move(1);
          if (event.key === 'Enter') this.#choose(this.box.active, false);
        } else if (event.key === 'Escape') {
          if (this.input.value === '') this.box.element.focus();
          this.input.value = '';
          this.#load();
        }
      },
    });
    this.note = h('div', { class: 'filter-note', id: 'filter-note', role: 'status' });
    this.help = h('button', {
      type: 'button', class: 'icon filter-help', 'aria-label': 'What a filter can say', 'aria-expanded': 'false', 'aria-controls': 'filter-hint', title: 'What a filter can say',
      onclick: () => {
        this.hint.hidden = !this.hint.hidden;
        this.help.setAttribute('aria-expanded', String(!this.hint.hidden));
      },
    }, icon('help'));
    this.hint = h('div', { class: 'filter-hint muted', id: 'filter-hint', hidden: true }, ...EXAMPLES.map(([example, meaning]) =>
      h('span', {}, h('code', {}, example), meaning && ` ${meaning}`)));
    this.sort = h('select', { class: 'sort', 'aria-label': 'Sort order of functions', onchange: () => this.#load() });
    this.chips = h('div', { class: 'chips', role: 'group', 'aria-label': 'Kinds of functions' });
    this.counted = h('span', { class: 'muted counted' });
    this.group = h('button', {
      type: 'button', class: 'chip group', hidden: api.name === 'inline', 'aria-pressed': String(this.grouped), title: 'Group the instances of a template: functions whose names differ only in types and numbers',
      onclick: () => this.#toggleFamilies(),
    }, 'Families');
    this.headings = new Headings({ onsort: (column) => this.#sortBy(column) });
    this.box = new RowBox({
      label: 'Functions',
      role: 'tree',
      className: 'functions',
      create: () => h('div', { class: 'row item-row' }, h('span', { class: 'badge' }), h('span', { class: 'item-name' }), h('span', { class: 'item-cells' })),
      render: (row, index) => this.#render(row, index),
      onchoose: (index) => this.#choose(index, false),
      onkey: (event, index) => this.#key(event, index),
      onview: (first, last) => this.#ahead(first, last),
      onmove: (index, event) => {
        this.direction = index < this.before ? -1 : 1;
        this.before = index;
        clearTimeout(this.resting);
        this.#showFullName();
        // A single press shows the function at once; a key that is held down passes over functions.
        if (event?.repeat) this.resting = setTimeout(() => this.#choose(index, true), SHOW_DELAY);
        else this.#choose(index, true);
      },
    });
    this.fullName = h('div', { class: 'full-name mono' });
    this.message = h('div', { class: 'list-message' });
    this.element = h('div', { class: 'function-list' },
      h('div', { class: 'filter' }, h('span', { class: 'filter-field' }, icon('search'), this.input, this.help), this.note, this.hint, this.chips,
        h('div', { class: 'list-head' }, this.counted, this.group, this.sort)),
      this.message, this.headings.element, this.box.element, this.fullName);
    new ResizeObserver(() => this.#arrange()).observe(this.box.element);

    /** @type {Pages<Row>} */
    this.pages = new Pages({
      size: PAGE,
      load: async (from, count, signal) => {
        const { rows } = /** @type {import('./protocol.js').Rows} */ (await this.api.call(this.#request(from, count), signal));
        this.headings.measure(rows);
        return rows;
      },
      onload: (from, to) => {
        this.#arrange();
        if (this.grouped) this.box.virtual.refresh();
        else this.box.virtual.refreshRange(from - 1, to + 1);
      },
      onerror: (error) => this.#fail(error),
    });
  }

  /**
   * A file is being opened: clears the list. What is typed from now on is kept.
   * @param {number} file
   */
  opening(file) {
    if (!this.at && this.awaited === file) return;
    this.awaited = file;
    this.at = null;
    this.input.value = '';
    clearTimeout(this.typing);
    this.#load();
  }

  /**
   * @param {number} file
   * @param {Program | null} program
   */
  async show(file, program) {
    if (this.at && program && this.at.file === file && this.at.program.program === program.program) return;
    if (this.at) this.input.value = '';
    this.at = program && { file, program };
    this.kinds = [];
    this.withSource = false;
    this.columns = [];
    this.sort.replaceChildren();
    this.#showChips();
    await this.#load(this.input.value !== '');
  }

  /**
   * Highlights the function that is shown.
   * @param {number | null} item
   */
  mark(item) {
    this.item = item;
    const row = this.#row(this.box.active);
    if (item === null) return this.box.setActive(-1);
    if (row?.item === item) return this.#refreshShown();
    for (const [page, rows] of this.pages.pages) {
      const at = rows.findIndex((row) => row.item === item);
      if (at >= 0) return this.#activate(page * PAGE + at, 'nearest');
    }
    this.box.setActive(-1);
    this.box.refresh();
    if (this.at) this.#find(item);
  }

  /** Marks the row of the shown function, and no other. */
  #refreshShown() {
    for (const node of this.box.element.querySelectorAll('.item-row.shown')) node.classList.remove('shown');
    this.box.virtual.refreshRow(this.box.active);
    this.#showFullName();
  }

  /**
   * Makes the row of a function active.
   * @param {number} index among all that match
   * @param {'nearest' | 'center'} where
   */
  #activate(index, where) {
    const before = this.#total;
    const at = this.grouped ? this.families.show(index) : index;
    if (this.#total !== before) this.box.reset(this.#total, true);
    this.box.setActive(at, where);
    this.box.refresh();
    this.#showFullName();
  }

  /**
   * Looks up the position of a function in the filtered list, and makes it active.
   * @param {number} item
   */
  async #find(item) {
    const { signal } = this.pages.controller;
    try {
      /** @type {import('./protocol.js').Rows} */
      const { at } = await this.api.call({ ...this.#request(0, 1), find: item, from: undefined }, signal);
      if (at !== undefined && this.item === item && !signal.aborted) this.#activate(at, 'center');
    } catch (error) {
      if (!aborted(error)) this.#fail(error);
    }
  }

  /** The number of visible rows. */
  get #total() {
    return this.grouped ? this.families.total : this.matched;
  }

  /**
   * Returns what a visible row is.
   * @param {number} index
   * @returns {import('./families.js').Place | undefined}
   */
  #place(index) {
    return this.grouped ? this.families.at(index) : { index };
  }

  /**
   * Returns the function in a visible row, if it is loaded.
   * @param {number} index
   * @returns {Row | undefined}
   */
  #row(index) {
    const place = index >= 0 ? this.#place(index) : undefined;
    return place?.index === undefined ? undefined : this.pages.peek(place.index);
  }

  /**
   * Returns the row of a function, if it is loaded.
   * @param {number} item
   * @returns {Row | undefined}
   */
  rowOf(item) {
    for (const page of this.pages.pages.values()) {
      const row = page.find((row) => row.item === item);
      if (row) return row;
    }
    return undefined;
  }

  /**
   * Returns the function after the active one in the direction of the last move, if it is loaded.
   * @returns {Row | undefined}
   */
  next() {
    return this.#row(this.box.active + this.direction);
  }

  focus() {
    this.input.focus();
    this.input.select();
  }

  /**
   * Filters the list.
   * @param {string} terms
   */
  filter(terms) {
    this.input.value = terms;
    this.#load();
  }

  /**
   * @param {number} from
   * @param {number} count
   */
  #request(from, count) {
    /** @type {import('./protocol.js').Filter} */
    const filter = {};
    const terms = this.input.value.trim();
    if (terms) filter.terms = terms;
    if (this.kinds.length) filter.kinds = this.kinds;
    if (this.withSource) filter.has_source = true;
    const [column, order] = this.sort.value.split(' ');
    return {
      query: 'rows', file: this.at?.file, program: this.at?.program.program, filter,
      ...(column ? { sort: { column, descending: order === 'down' } } : {}), ...(this.grouped ? { families: true } : {}), from, count,
    };
  }

  /** @param {boolean} [announces] whether the user filtered or sorted, and wants to hear the result */
  async #load(announces = true) {
    this.pages.clear();
    const { at } = this;
    this.message.replaceChildren();
    if (!at) {
      this.counted.textContent = '';
      this.note.textContent = '';
      this.matched = 0;
      this.families.set([]);
      return this.box.reset(0);
    }
    const { signal } = this.pages.controller;
    try {
      for (let isFirst = true; ; isFirst = false) {
        /** @type {import('./protocol.js').Rows} */
        const answer = await this.api.call(this.#request(0, PAGE), signal);
        if (signal.aborted) return;
        this.#showAnswer(at.program, answer, isFirst);
        if (!answer.pending) break;
      }
      if (announces) this.say(this.counted.textContent);
    } catch (error) {
      if (!aborted(error)) this.#fail(error);
    }
  }

  /**
   * @param {Program} program
   * @param {import('./protocol.js').Rows} answer
   * @param {boolean} isFirst whether this is no further part of the same answer
   */
  #showAnswer(program, answer, isFirst) {
    const { total, matched, rows, pending, fuzzy, families = [], texts = [] } = answer;
    const noun = program.item_name;
    this.#showColumns(answer.columns);
    this.headings.measure(rows);
    this.matched = matched;
    this.texts = texts;
    this.families.set(families);
    this.pages.put(0, rows);
    const groups = this.grouped && families.length !== matched ? ` · ${count(families.length)} families` : '';
    this.counted.textContent = `${matched === total ? plural(total, noun) : `${count(matched)} of ${plural(total, noun)}`}${groups}`;
    this.counted.title = this.counted.textContent;
    this.box.label = this.counted.textContent;
    this.input.removeAttribute('aria-invalid');
    this.note.className = 'filter-note';
    fill(this.note, pending && `Reading code: ${count(pending.done)} of ${plural(pending.total, noun)}…`,
      fuzzy && 'No name contains this. Similar names, the closest first:');
    this.message.replaceChildren();
    this.box.reset(this.#total, !isFirst);
    this.#arrange();
    performance.mark('unshade:list');
    if (pending) return;
    if (matched === 0) {
      fill(this.message, nothing(total === 0 ? `There are no ${noun}s.` : 'No matches.', total > 0 && h('button', {
        type: 'button', class: 'quiet', onclick: () => {
          this.input.value = '';
          this.kinds = [];
          this.withSource = false;
          this.#showChips();
          this.#load();
        },
      }, 'Show all')));
    }
    this.mark(this.item);
  }

  /** @param {unknown} error */
  #fail(error) {
    const shape = /** @type {import('./protocol.js').ErrorShape | undefined} */ (/** @type {any} */ (error)?.shape);
    if (shape && this.input.value.trim() && shape.offset === undefined) {
      // The filter can't be understood, or not yet: the list stays.
      this.input.setAttribute('aria-invalid', 'true');
      this.note.className = 'filter-note fault';
      fill(this.note, `${shape.message}.`, shape.expected && ` Expected: ${shape.expected}.`, shape.hint && ` ${shape.hint}.`);
      return;
    }
    fill(this.message, problem(error));
    this.matched = 0;
    this.families.set([]);
    this.box.reset(0);
  }

  #showChips() {
    const kinds = Object.entries(this.at?.program.kinds ?? {}).sort((a, b) => b[1] - a[1]);
    const chip = (/** @type {string} */ text, /** @type {boolean} */ pressed, /** @type {() => void} */ toggle) => h('button', {
      type: 'button', class: 'chip', 'aria-pressed': String(pressed),
      onclick: () => {
        toggle();
        this.#showChips();
        this.#load();
      },
    }, text);
    fill(this.chips,
      ...(kinds.length > 1 ? kinds : []).slice(0, 12).map(([kind, number]) => chip(`${kind} ${count(number)}`, this.kinds.includes(kind), () => {
        this.kinds = this.kinds.includes(kind) ? this.kinds.filter((other) => other !== kind) : [...this.kinds, kind];
      })),
      this.at?.program.has_sources && this.at.program.items > 1 && chip('has source', this.withSource, () => {
        this.withSource = !this.withSource;
      }));
  }

  #toggleFamilies() {
    this.grouped = !this.grouped;
    keep('unshade.families', this.grouped ? 'yes' : 'no');
    this.group.setAttribute('aria-pressed', String(this.grouped));
    this.#load();
  }

  // Columns.

  /** @param {import('./protocol.js').Column[]} columns */
  #showColumns(columns) {
    if (this.columns.map((column) => column.key).join() === columns.map((column) => column.key).join()) return;
    this.columns = columns;
    this.headings.set(columns);
    const offered = [{ key: 'name', label: 'name' }, { key: 'kind', label: 'kind' }, ...columns];
    fill(this.sort, h('option', { value: '' }, 'in file order'),
      ...offered.flatMap(({ key, label }) => [h('option', { value: `${key} up` }, `${label} ↑`), h('option', { value: `${key} down` }, `${label} ↓`)]));
  }

  #arrange() {
    const [sorted, order] = this.sort.value.split(' ');
    if (!this.columns.length) return;
    const width = this.box.element.clientWidth;
    const isNew = this.headings.arrange(width, sorted, order === 'down');
    const room = width - BESIDE - this.headings.taken;
    if (!isNew && room === this.room) return;
    this.room = room;
    this.element.style.setProperty('--columns', this.headings.template ?? '');
    this.box.refresh();
  }

  /**
   * Sorts by a column: numbers from the largest on, texts from the first on; then in reverse, then as in the file.
   * @param {string} column
   */
  #sortBy(column) {
    const isNumber = this.columns.find(({ key }) => key === column)?.align === 'right';
    const orders = isNumber ? ['down', 'up'] : ['up', 'down'];
    const [sorted, order] = this.sort.value.split(' ');
    const next = sorted !== column ? orders[0] : order === orders[0] ? orders[1] : undefined;
    this.sort.value = next ? `${column} ${next}` : '';
    this.#arrange();
    this.#load();
  }

  // Rows.

  /**
   * Fetches the rows after those in view, so that scrolling finds them.
   * @param {number} first
   * @param {number} last
   */
  #ahead(first, last) {
    for (const row of [first - PAGE / 2, last + PAGE / 2, last + PAGE]) {
      const index = row >= 0 && row < this.#total ? this.#place(row)?.index : undefined;
      if (index !== undefined) this.pages.get(index);
    }
  }

  /**
   * @param {HTMLElement} row
   * @param {number} index
   */
  #render(row, index) {
    const [badge, name, cells] = /** @type {[HTMLElement, HTMLElement, HTMLElement]} */ (/** @type {unknown} */ (row.children));
    const place = this.#place(index);
    const isHead = place?.family !== undefined && place.index === undefined;
    row.classList.toggle('family', isHead);
    row.classList.toggle('inside', !isHead && place?.family !== undefined);
    row.setAttribute('aria-level', !isHead && place?.family ? '2' : '1');
    if (isHead && place?.family) return this.#renderFamily(row, place.family, this.families.open.has(place.number ?? -1));
    row.removeAttribute('aria-expanded');
    row.removeAttribute('aria-description');
    const data = place?.index === undefined ? undefined : this.pages.get(place.index);
    row.classList.toggle('shown', data !== undefined && data.item === this.item);
    this.headings.show(cells, data);
    if (!data) {
      badge.textContent = '';
      name.textContent = '…';
      return;
    }
    badge.textContent = letter(data.kind);
    badge.title = data.kind;
    badge.dataset.kind = data.kind;
    badge.className = 'badge';
    row.title = tooltip(data);
    if (place?.family && data.arguments?.length) {
      this.#renderArguments(name, place.family, data.arguments);
      row.setAttribute('aria-description', data.name.slice(0, MAX_NAME));
    } else {
      name.className = 'item-name';
      const at = place?.index ?? 0;
      const nameOf = (/** @type {number} */ other) => this.pages.peek(other)?.name;
      const around = Array.from({ length: 2 * AROUND }, (_, k) => nameOf(at - AROUND + k));
      const room = this.room * (data.item === this.item ? BOLD : 1);
      showName(name, data.name, room, [nameOf(at - 1), nameOf(at + 1)], around, this.texts);
    }
  }

  /**
   * @param {HTMLElement} row
   * @param {import('./protocol.js').Family} family
   * @param {boolean} isOpen
   */
  #renderFamily(row, family, isOpen) {
    const [badge, name, cells] = /** @type {[HTMLElement, HTMLElement, HTMLElement]} */ (/** @type {unknown} */ (row.children));
    row.classList.remove('shown');
    row.setAttribute('aria-expanded', String(isOpen));
    row.title = family.name.slice(0, MAX_NAME);
    row.removeAttribute('aria-description');
    badge.textContent = '';
    badge.className = 'badge twist has';
    badge.removeAttribute('data-kind');
    badge.title = '';
    name.className = 'item-name';
    const total = `${count(family.count)} · ${size(family.size)}`;
    showName(name, family.name, this.room - total.length * 7 - 8, [], [], this.texts);
    this.headings.show(cells, undefined);
    name.append(h('span', { class: 'family-count' }, count(family.count), h('span', { class: 'visually-hidden' }, ' functions'), ` · ${size(family.size)}`));
  }

  /**
   * Shows what is different in this member of a family, as columns.
   * @param {HTMLElement} host
   * @param {import('./protocol.js').Family} family
   * @param {string[]} values
   */
  #renderArguments(host, family, values) {
    host.className = 'item-name arguments';
    host.replaceChildren(...values.map((value, k) => {
      const { name, width } = family.parameters[k] ?? { name: '', width: value.length };
      const label = name === 'type' ? '' : name;
      const cell = h('span', { class: 'argument' }, label && h('span', { class: 'muted' }, label), ...textNodes(value, this.texts));
      cell.style.minWidth = `${Math.min(label.length + width, 18)}ch`;
      return cell;
    }));
  }

  /** Shows the name of the active row below the list, if the row may not have room for it. */
  #showFullName() {
    const place = this.#place(this.box.active);
    const row = this.#row(this.box.active);
    const name = this.box.active < 0 ? '' : row?.name ?? (place?.index === undefined ? place?.family?.name : '') ?? '';
    const fits = name.length * 6.5 < this.room && !row?.mangled && !(row && place?.family);
    this.fullName.hidden = !name || fits;
    if (this.fullName.hidden) return;
    const shown = (/** @type {string} */ text) => (text.length > MAX_NAME ? `${text.slice(0, MAX_NAME)}… (cut after ${count(MAX_NAME)} characters)` : text);
    fill(this.fullName, h('div', {}, ...textNodes(shown(name))), row?.mangled && h('div', { class: 'muted' }, ...textNodes(shown(row.mangled))));
    this.box.virtual.show(this.box.active);
  }

  /**
   * Opens and closes families.
   * @param {KeyboardEvent} event
   * @param {number} index
   * @returns {boolean}
   */
  #key(event, index) {
    const place = index >= 0 ? this.#place(index) : undefined;
    if (!this.grouped || !place?.family || place.number === undefined) return false;
    const isOpen = this.families.open.has(place.number);
    const isHead = place.index === undefined;
    if (event.key === 'ArrowRight' && isHead) {
      if (isOpen) this.box.move(1, event);
      else this.#toggle(place.number);
    } else if (event.key === 'ArrowLeft' && isOpen) {
      if (isHead) this.#toggle(place.number);
      else this.box.moveTo(this.families.starts[place.number], event);
    } else {
      return false;
    }
    return true;
  }

  /** @param {number} number */
  #toggle(number) {
    this.families.toggle(number);
    this.box.reset(this.#total, true);
    this.box.setActive(this.families.starts[number]);
    this.box.refresh();
  }

  /**
   * @param {number} index
   * @param {boolean} replace
   */
  async #choose(index, replace) {
    const place = this.#place(index);
    if (!place) return;
    if (place.index === undefined) {
      if (!replace) this.#toggle(place.number);
      return;
    }
    const row = await this.pages.fetch(place.index);
    if (row && (replace ? this.box.active === index : true)) this.onchoose(row, replace);
  }
}

/** @param {Row} row */
function tooltip({ name, mangled }) {
  const text = mangled && mangled !== name ? `${name.slice(0, MAX_NAME)}\n${mangled.slice(0, MAX_NAME)}` : name.slice(0, MAX_NAME);
  return text;
}

/**
 * Returns the letter of a kind's badge; the tooltip has the whole name.
 * @param {string} kind
 */
export function letter(kind) {
  return kind.charAt(0).toUpperCase();
}
