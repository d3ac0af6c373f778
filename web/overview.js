/**
 * The first screen of a program, beside its facts: what to do next, a map of sizes, the largest and smallest functions,
 * what is the same, embedded sources, the result of verify, and the programs of the file.
 */

import { count, fill, h, plural, size } from './dom.js';
import { showFindings } from './facts.js';
import { aborted, problem } from './rows.js';
import { textNodes } from './names.js';
import { filterOf } from './families.js';
import { byStem, restOf, Treemap } from './treemap.js';

/** @typedef {import('./protocol.js').Program} Program */
/** @typedef {import('./protocol.js').Sizes} Sizes */
/** @typedef {import('./protocol.js').ItemSize} ItemSize */
/** @typedef {import('./treemap.js').Area} Area */

/** Programs up to this size are verified without being asked to. */
const MAX_VERIFIED = 4_000_000;
/** The maximum number of listings that are offered. */
const MAX_PANES = 5;
/** The maximum number of programs of a file that are listed. */
const MAX_PROGRAMS = 200;

/**
 * What the first screen asks the page to do.
 * @typedef {object} Actions
 * @property {(item: number) => void} item shows a function
 * @property {(range: import('./protocol.js').Range) => void} range shows bytes
 * @property {(terms: string) => void} filter
 * @property {(program: number) => void} program shows another program of the file
 * @property {(pane: string) => void} pane
 * @property {(pane: string) => string} label of a pane
 * @property {Record<string, {label: string, key: string, run: () => void} | undefined>} commands
 */

export class ProgramOverview {
  /**
   * @param {object} options
   * @param {import('./transport.js').Transport} options.api
   * @param {Actions} options.actions
   */
  constructor({ api, actions }) {
    this.api = api;
    this.actions = actions;
    this.controller = new AbortController();
    this.key = '';
    this.map = new Treemap('Sizes');
    this.next = h('div', { class: 'next', role: 'group', 'aria-label': 'What to do next' });
    this.mapSection = h('section', { class: 'overview-map' }, h('h3', {}, 'Sizes'), this.map.element);
    this.lists = h('div', { class: 'cards' });
    this.verdict = h('section', { class: 'card verdict' });
    this.programs = h('section', { class: 'table' });
    this.above = h('div', { class: 'overview' }, this.next);
    this.below = h('div', { class: 'overview' }, this.verdict, this.mapSection, this.lists, this.programs);
  }

  /**
   * @param {number} file
   * @param {Program} program
   * @param {Program[]} programs of the file
   */
  async show(file, program, programs) {
    const key = `${file} ${program.program}`;
    if (key === this.key) return;
    this.key = key;
    this.controller.abort();
    this.controller = new AbortController();
    const { signal } = this.controller;
    this.#showNext(program);
    this.#showPrograms(program, programs);
    this.lists.replaceChildren();
    this.mapSection.hidden = true;
    this.#offerVerify(file, program, signal);
    try {
      /** @type {Sizes} */
      const sizes = await this.api.call({ query: 'sizes', file, program: program.program }, signal);
      if (signal.aborted) return;
      this.#showSizes(program, sizes);
    } catch (error) {
      if (!aborted(error)) fill(this.lists, problem(error));
    }
  }

  /** @param {Program} program */
  #showNext(program) {
    const { commands } = this.actions;
    fill(this.next,
      ...program.panes.slice(0, MAX_PANES).map((pane) => h('button', { type: 'button', class: 'quiet', onclick: () => this.actions.pane(pane) }, this.actions.label(pane))),
      ...Object.values(commands).flatMap((command) => {
        return command ? [h('button', { type: 'button', class: 'quiet', 'aria-keyshortcuts': command.key, onclick: () => command.run() }, command.label, ' ', h('kbd', { 'aria-hidden': 'true' }, command.key))] : [];
      }));
  }

  /**
   * @param {Program} program
   * @param {Program[]} programs
   */
  #showPrograms(program, programs) {
    this.programs.hidden = programs.length < 2;
    if (this.programs.hidden) return;
    const shown = programs.slice(0, MAX_PROGRAMS);
    // All paths begin with the name of the file.
    const pathOf = (/** @type {Program} */ one) => (one.path.includes('!') ? one.path.slice(one.path.indexOf('!') + 1) : one.path);
    fill(this.programs, h('h3', {}, `${plural(programs.length, 'program')} in this file`),
      h('div', { class: 'table-scroll', tabIndex: 0, role: 'region', 'aria-label': 'Programs in this file' }, h('table', {},
        h('thead', {}, h('tr', {}, ...['program', 'format', 'functions', 'bytes'].map((text) => h('th', { scope: 'col' }, text)))),
        h('tbody', {}, ...shown.map((one) => h('tr', {},
          h('td', {}, one.program === program.program ? h('strong', {}, ...textNodes(pathOf(one)))
            : h('button', { type: 'button', class: 'value', onclick: () => this.actions.program(one.program) }, ...textNodes(pathOf(one)))),
          h('td', {}, one.format_name), h('td', {}, one.brief ? '' : count(one.items)), h('td', {}, count(one.size))))))),
      programs.length > shown.length && h('p', { class: 'muted' }, `… ${count(programs.length - shown.length)} more programs, in the list of files`));
  }

  /**
   * @param {Program} program
   * @param {Sizes} sizes
   */
  #showSizes(program, sizes) {
    this.mapSection.hidden = false;
    const functions = sizes.families.reduce((sum, family) => sum + family.size, 0) + (sizes.more?.size ?? 0);
    // The parts of the file that hold functions are one area, filled with the functions.
    const parts = sizes.sections.filter(({ items }) => items);
    const held = parts.reduce((sum, { range }) => sum + range[1] - range[0], 0);
    /** @type {Area[]} */
    const areas = sizes.sections.filter(({ items }) => !items).map(({ name, range }) => ({
      name, size: range[1] - range[0], kind: 'section', detail: 'a part of the file', choose: () => this.actions.range(range),
    }));
    if (functions > 0) {
      areas.push({
        name: parts.length === 1 ? parts[0].name : `${program.item_name}s`, size: Math.max(held, functions), kind: 'code', detail: plural(program.items, program.item_name),
        inside: this.#familyAreas(program, sizes, Math.max(0, held - functions)),
        ...(parts.length === 1 ? { choose: () => this.actions.range(parts[0].range) } : {}),
      });
    }
    this.map.show(areas);
    fill(this.lists, ...this.#sizeCards(program, sizes));
  }

  /**
   * @param {Program} program
   * @param {Sizes} sizes
   * @param {number} other bytes that belong to no function
   * @returns {Area[]}
   */
  #familyAreas(program, sizes, other) {
    const noun = program.item_name;
    const one = (/** @type {ItemSize} */ { item, name, kind, size }) => ({ name, size, detail: kind, kind: 'function', choose: () => this.actions.item(item) });
    const areas = sizes.families.map(/** @returns {Area} */ (family) => {
      if (family.count === 1) return one(family.items[0]);
      const named = family.items.reduce((sum, item) => sum + item.size, 0);
      const choose = () => this.actions.filter(filterOf(family.name));
      const rest = family.count - family.items.length;
      const inside = [...family.items.map(one), ...(rest > 0 ? [restOf(rest, family.size - named, noun, choose)] : [])];
      return { name: family.name, size: family.size, detail: plural(family.count, noun), kind: 'family', inside, choose };
    });
    const stems = byStem(areas, noun);
    if (sizes.more) stems.push({ ...restOf(sizes.more.count, sizes.more.size, noun), detail: `${plural(sizes.more.count, noun)} of ${plural(sizes.more.families, 'smaller family', 'smaller families')}`, inside: [] });
    if (other > 0) stems.push({ name: 'other', size: other, detail: `belongs to no ${noun}`, kind: 'rest', inside: [] });
    return stems;
  }

  /**
   * @param {Program} program
   * @param {Sizes} sizes
   */
  #sizeCards(program, sizes) {
    const noun = program.item_name;
    const button = (/** @type {ItemSize} */ { item, name }) => h('button', { type: 'button', class: 'value ellipsis', title: name, onclick: () => this.actions.item(item) }, ...textNodes(name || '(no name)'));
    const list = (/** @type {string} */ title, /** @type {ItemSize[]} */ items, /** @type {string} */ note = '') => items.length > 0 && h('section', { class: 'card' }, h('h3', {}, title),
      h('dl', { class: 'sized' }, ...items.flatMap((one) => [h('dt', {}, button(one)), h('dd', {}, count(one.size))])), note && h('p', { class: 'muted' }, note));
    const { duplicates, chips = [], sources } = sizes;
    const hasMany = sizes.largest.length > 1;
    return [
      hasMany && list(`Largest ${noun}s, bytes`, sizes.largest),
      hasMany && program.items > sizes.largest.length && list(`Smallest ${noun}s, bytes`, sizes.smallest),
      chips.length > 0 && h('section', { class: 'card' }, h('h3', {}, 'Chips'), h('dl', { class: 'sized' }, ...chips.flatMap((chip) => [
        h('dt', {}, h('button', { type: 'button', class: 'value', onclick: () => this.actions.filter(`chip=${chip.chip}`) }, chip.chip)),
        h('dd', {}, `${plural(chip.count, noun)}, ${size(chip.size)}`)]))),
      duplicates && duplicates.length > 0 && h('section', { class: 'card' }, h('h3', {}, 'The same bytes'), h('dl', { class: 'sized' }, ...duplicates.flatMap((group) => [
        h('dt', {}, button(group.items[0])), h('dd', {}, `${count(group.count)} × ${size(group.size)}`)]))),
      duplicates === undefined && program.items > 1 && h('p', { class: 'muted' }, 'Equal functions were not looked for: the code is larger than 64 MB, or not read yet.'),
      sources.count > 0 && list(`Embedded sources: ${plural(sources.count, noun)}`, sources.items.map((one) => one),
        sources.count > sources.items.length ? `… ${count(sources.count - sources.items.length)} more: filter by has:source` : ''),
    ].map((card) => card || null);
  }

  // Verify.

  /**
   * @param {number} file
   * @param {Program} program
   * @param {AbortSignal} signal
   */
  #offerVerify(file, program, signal) {
    const run = () => this.#verify(file, program, signal);
    if (program.size <= MAX_VERIFIED) {
      run();
      return;
    }
    fill(this.verdict, h('h3', {}, 'Verify'), h('p', {}, h('button', { type: 'button', class: 'quiet', onclick: run }, 'Check structure, sizes and hashes'),
      h('span', { class: 'muted' }, ` reads all ${size(program.size)}`)));
  }

  /**
   * @param {number} file
   * @param {Program} program
   * @param {AbortSignal} signal
   */
  async #verify(file, program, signal) {
    fill(this.verdict, h('h3', {}, 'Verify'), h('p', { class: 'muted' }, 'Checking structure, sizes and hashes…'));
    try {
      /** @type {import('./protocol.js').Verdict} */
      const { errors, warnings, findings } = await this.api.call({ query: 'verify', file, program: program.program }, signal);
      if (signal.aborted) return;
      const text = errors + warnings === 0 ? 'No problems found' : `${plural(errors, 'error')}, ${plural(warnings, 'warning')}`;
      fill(this.verdict, h('h3', {}, 'Verify'), h('p', { class: errors ? 'state-bad' : errors + warnings ? '' : 'state-good' }, text),
        findings.length > 0 && showFindings(findings, (offset) => this.actions.range([offset, offset + 1])));
    } catch (error) {
      if (!aborted(error)) fill(this.verdict, h('h3', {}, 'Verify'), problem(error));
    }
  }
}
