/**
 * A column of the reading pane: tabs, and the contents of the selected one. Wide windows show two columns.
 */

import { CallsView } from './calls.js';
import { Comparison } from './compare.js';
import { fill, h } from './dom.js';
import { showFacts } from './facts.js';
import { FlowView } from './flow.js';
import { GraphView } from './graph.js';
import { Listing } from './listing.js';
import { ProgramOverview } from './overview.js';
import { nothing } from './rows.js';

/** @typedef {import('./protocol.js').Facts} Facts */
/** @typedef {import('./protocol.js').Range} Range */
/** @typedef {{file: number, program: number, item?: number}} Subject */

/** The labels of panes. */
const LABELS = /** @type {Record<string, string>} */ ({
  facts: 'Facts', assembly: 'Assembly', raw: 'Raw', c: 'C', hlsl: 'HLSL', metal: 'Metal', ptx: 'PTX', tags: 'Tags', graph: 'Graph', calls: 'Calls', flow: 'Data flow', compare: 'Compare', run: 'Run',
});

/** Panes that are no listings. */
const VIEWS = ['facts', 'graph', 'calls', 'flow', 'compare', 'run'];

/** @param {string} pane */
export function paneLabel(pane) {
  return LABELS[pane] ?? (pane.startsWith('source:') ? pane.slice(7).split(/[\\/]/).pop() || 'Source' : pane);
}

/**
 * Returns the tabs for a subject, in order.
 * @param {Facts} facts
 * @param {boolean} compared whether a comparison was started
 * @param {boolean} drawn whether it has a control-flow graph
 * @param {{calls?: boolean, flow?: boolean}} [further] whether functions in it call others, and a value is followed
 */
export function panesOf(facts, compared, drawn, { calls = false, flow = false } = {}) {
  const hasCode = facts.panes.includes('assembly');
  const graph = [...(drawn && hasCode ? ['graph'] : []), ...(calls ? ['calls'] : []), ...(flow && hasCode ? ['flow'] : [])];
  const sources = facts.panes.filter((pane) => pane.startsWith('source:'));
  const others = facts.panes.filter((pane) => !pane.startsWith('source:'));
  const run = facts.runs && document.documentElement.dataset.transport !== 'inline' ? ['run'] : [];
  return [...(compared ? ['compare'] : []), 'facts', ...others, ...sources, ...graph, ...run];
}

/** Returns whether a pane is a listing. @param {string} pane */
export function isListing(pane) {
  return !VIEWS.includes(pane);
}

export class Column {
  /**
   * @param {object} options
   * @param {string} options.name
   * @param {import('./transport.js').Transport} options.api
   * @param {import('./run.js').RunView} options.run the Run tab, which both columns share
   * @param {(pane: string) => void} options.onpane
   * @param {(column: Column, line: number, ranges: Range[], jump: boolean) => void} options.onselect
   * @param {(column: Column, range: Range) => void} options.onrange
   * @param {(text: string) => void} options.say
   * @param {(item: number) => void} options.onitem
   * @param {(left: number | undefined, right: number | undefined) => void} options.onpair
   * @param {(line: import('./protocol.js').Line, row: () => HTMLElement | undefined) => void} options.onhover
   * @param {() => void} options.onleave
   * @param {() => import('./notes.js').FunctionNotes | null} options.notes
   * @param {import('./overview.js').Actions} options.actions of the first screen of a program
   */
  constructor({ name, api, run, onpane, onselect, onrange, say, onitem, onpair, onhover, onleave, notes, actions }) {
    this.name = name;
    this.run = run;
    this.onpane = onpane;
    this.onrange = onrange;
    this.onleave = onleave;
    this.pane = '';
    /** @type {string[]} */
    this.panes = [];
    /** The name that was selected last. @type {{subject: string, line: number, link: number | null} | null} */
    this.selected = null;
    /** The facts currently shown. @type {Facts | null} */
    this.facts = null;
    this.listing = new Listing({ api, say, onhover, onleave, notes, onselect: (line, ranges, jump) => onselect(this, line, ranges, jump) });
    this.listing.margin = { isMarked: (line) => run.isBreak(line), onmark: (line) => run.toggleBreak(line), isOffered: () => this.panes.includes('run') };
    this.graph = new GraphView({ api, say, onrange: (range) => onrange(this, range) });
    this.calls = new CallsView({ api, say, onitem });
    this.flow = new FlowView({ api, say, onrange: (range) => onrange(this, range) });
    this.comparison = new Comparison({ api, say, onpair });
    this.overview = new ProgramOverview({ api, actions });
    /** The program that is shown, and those of its file. @type {{program: import('./protocol.js').Program, programs: import('./protocol.js').Program[]} | null} */
    this.of = null;
    this.factsView = h('div', { class: 'facts-view' });
    this.message = h('div', { class: 'message-view' });
    this.tabs = h('div', { class: 'tabs', role: 'tablist', 'aria-label': name });
    this.tabs.addEventListener('keydown', (event) => this.#key(event));
    this.panel = h('div', { class: 'panel', role: 'tabpanel', id: `panel-${name}` }, this.listing.element);
    this.element = h('section', { class: `column column-${name}` }, h('div', { class: 'tab-bar' }, this.tabs), this.panel);
  }

  /**
   * Shows these tabs.
   * @param {string[]} panes
   * @param {string} pane the selected one
   */
  offer(panes, pane) {
    if (panes.join('\n') !== this.panes.join('\n') || pane !== this.pane) {
      this.panes = panes;
      fill(this.tabs, ...panes.map((name, index) => h('button', {
        type: 'button', class: 'tab', role: 'tab', id: `tab-${this.name}-${index}`, title: name.startsWith('source:') ? name.slice(7) : null,
        'aria-selected': String(name === pane), 'aria-controls': this.panel.id, tabIndex: name === pane ? 0 : -1,
        onclick: () => this.onpane(name),
      }, paneLabel(name))));
      const chosen = panes.indexOf(pane);
      if (chosen >= 0) {
        this.panel.setAttribute('aria-labelledby', `tab-${this.name}-${chosen}`);
        /** @type {HTMLElement} */ (this.tabs.children[chosen]).scrollIntoView({ block: 'nearest', inline: 'nearest' });
      }
    }
    this.pane = pane;
  }

  /**
   * @param {Subject} subject
   * @param {Facts | null} facts
   * @param {number | null} line
   * @param {{left: Subject, names: [string, string]} | null} against
   * @returns {Promise<import('./protocol.js').ListingPart | null>}
   */
  async show(subject, facts, line, against) {
    /** @type {Record<string, HTMLElement>} */
    const views = { facts: this.factsView, graph: this.graph.element, calls: this.calls.element, flow: this.flow.element, compare: this.comparison.element, run: this.run.element };
    const view = Object.hasOwn(views, this.pane) ? views[this.pane] : this.listing.element;
    if (this.panel.firstChild !== view) {
      this.onleave();
      this.panel.replaceChildren(view);
    }
    if (this.pane !== 'calls') this.calls.leave();
    if (this.pane === 'facts') {
      this.listing.clear();
      if (facts && facts !== this.facts) {
        this.facts = facts;
        showFacts(this.factsView, facts, (range) => this.onrange(this, range));
        if (subject.item === undefined && this.of) {
          this.factsView.prepend(this.overview.above);
          this.factsView.append(this.overview.below);
          this.overview.show(subject.file, this.of.program, this.of.programs);
        }
        this.factsView.scrollTop = 0;
      }
    } else if (this.pane === 'graph') {
      await this.graph.show(subject);
    } else if (this.pane === 'calls') {
      // Calls are read in many steps; what else is shown does not wait for them.
      this.calls.show(subject);
    } else if (this.pane === 'flow') {
      await this.flow.show(subject, this.valueOf(subject, line));
    } else if (this.pane === 'run') {
      this.listing.clear();
      await this.run.show(subject, facts);
    } else if (this.pane === 'compare') {
      if (against) await this.comparison.show(against.left, subject, against.names);
    } else {
      return this.listing.show({ ...subject, pane: this.pane }, line);
    }
    return null;
  }

  /**
   * Returns the value whose data flow is shown: the name that was selected last, if it is in this line.
   * @param {Subject} subject
   * @param {number | null} line
   */
  valueOf(subject, line) {
    const { selected } = this;
    if (line === null) return null;
    return { line, link: selected?.line === line && selected.subject === JSON.stringify(subject) ? selected.link : null };
  }

  /**
   * Highlights what was decoded from these bytes.
   * @param {Range | null} range
   * @param {boolean} reveal
   * @param {Range[]} also
   * @param {string} what what was selected
   * @returns {Promise<number | undefined>} the line of the first byte
   */
  light(range, reveal, also, what) {
    this.graph.light(range);
    return this.listing.light(range, reveal, also, what);
  }

  /** @param {string} text */
  empty(text) {
    this.offer([], '');
    this.listing.clear();
    fill(this.message, nothing(text));
    this.panel.replaceChildren(this.message);
  }

  /** Focuses the contents. */
  focus() {
    const target = this.panel.querySelector('[tabindex="0"]');
    if (target instanceof HTMLElement) target.focus();
  }

  /** @param {KeyboardEvent} event */
  #key(event) {
    const step = event.key === 'ArrowRight' ? 1 : event.key === 'ArrowLeft' ? -1 : 0;
    if (!step || this.panes.length === 0) return;
    event.preventDefault();
    const next = (this.panes.indexOf(this.pane) + step + this.panes.length) % this.panes.length;
    this.onpane(this.panes[next]);
    requestAnimationFrame(() => /** @type {HTMLElement | undefined} */ (this.tabs.children[next])?.focus());
  }
}
