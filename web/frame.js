/** The page frame: layout of the parts, sections that can be collapsed, the status line. */

import { append, byId, fill, h, icon, iconButton, plural } from './dom.js';
import { showFindings } from './facts.js';
import { nothing } from './rows.js';
import { splitter } from './splitter.js';
import { NARROW } from './theme.js';

/** @typedef {import('./protocol.js').Finding} Finding */
/** @typedef {{name: Parameters<typeof iconButton>[0], label: string, key: string, run: () => void}} Tool */

/** Milliseconds until a message disappears. Errors stay, and so does what ends with `…` until it is done. */
const STATUS_TIME = 8000;

export class Frame {
  /**
   * @param {object} parts
   * @param {HTMLElement} parts.files
   * @param {HTMLElement} parts.list
   * @param {HTMLElement} parts.outline
   * @param {HTMLElement[]} parts.columns
   * @param {HTMLElement} parts.banner
   * @param {HTMLElement} parts.hex
   * @param {Tool[]} parts.tools tools for the whole page
   * @param {Tool[]} parts.views tools for the reading pane
   * @param {(offset: number) => void} parts.onoffset the offset of a diagnostic was chosen
   * @param {() => void} parts.onverify
   */
  constructor({ files, list, outline, columns, banner, hex, tools, views, onoffset, onverify }) {
    this.onoffset = onoffset;
    this.onverify = onverify;
    /** @type {ReturnType<typeof setTimeout> | undefined} */
    this.fading = undefined;
    /** @type {Finding[]} */
    this.findings = [];
    this.list = list;
    this.status = byId('status');
    this.toggle = byId('diagnostics-toggle');
    const drawerButton = byId('drawer');
    drawerButton.append(icon('menu'));
    drawerButton.addEventListener('click', () => this.drawer());
    append(byId('tools'), tools.map(button));

    this.files = new Section('files-body', 'Files', files, true);
    this.outline = new Section('outline-body', 'Structure', outline, false);
    append(byId('side'), [this.files.element, list, this.outline.element]);
    byId('side').append(splitter({ label: 'Width of the sidebar', axis: 'x', name: '--side-width', key: 'unshade.side-width', min: 200, from: 'start', part: byId('side') }));

    this.title = h('h2', { class: 'title' });
    this.subtitle = h('p', { class: 'subtitle muted' });
    /** @type {Map<string, HTMLElement>} */
    this.views = new Map(views.map((view) => [view.name, button(view)]));
    const head = h('div', { class: 'reader-head' }, h('div', { class: 'titles' }, this.title, this.subtitle),
      h('div', { class: 'actions', role: 'toolbar', 'aria-label': 'View' }, ...this.views.values()));
    this.columns = h('div', { class: 'columns' }, ...columns);
    this.place = h('span', { class: 'bytes-where' });
    this.numbers = h('span', { class: 'muted bytes-numbers' });
    this.bytes = h('section', { class: 'bytes', 'aria-label': 'Bytes of the program' },
      h('div', { class: 'bytes-head' }, this.place, this.numbers), hex);
    this.bytesSplitter = splitter({ label: 'Height of the bytes', axis: 'y', name: '--bytes-height', key: 'unshade.bytes-height', min: 80, from: 'end', part: this.bytes });
    append(byId('reader'), [head, banner, this.columns, this.bytesSplitter, this.bytes]);

    this.diagnostics = h('section', { id: 'diagnostics', class: 'diagnostics', 'aria-label': 'Diagnostics', hidden: true });
    byId('body').after(this.diagnostics);
    this.toggle.addEventListener('click', () => this.toggleDiagnostics());
    this.showDiagnostics([]);
    NARROW.addEventListener('change', () => this.drawer(false));
    document.addEventListener('keydown', (event) => {
      if (event.key === 'Escape') this.drawer(false);
    });
  }

  /**
   * @param {string} title
   * @param {string} subtitle
   */
  head(title, subtitle) {
    this.title.textContent = title;
    this.title.title = title;
    this.subtitle.textContent = subtitle;
    document.title = title ? `${title} · unshade` : 'unshade';
  }

  /** @param {...import('./dom.js').Child} words */
  where(...words) {
    fill(byId('where'), ...words);
  }

  /** @param {boolean} [open] */
  drawer(open = !document.body.classList.contains('drawer-open')) {
    if (open === document.body.classList.contains('drawer-open')) return;
    document.body.classList.toggle('drawer-open', open);
    byId('drawer').setAttribute('aria-expanded', String(open));
    const target = open ? this.list.querySelector('input') : byId('drawer');
    target?.focus();
  }

  /** @param {Finding[]} findings */
  showDiagnostics(findings) {
    this.findings = findings;
    const has = (/** @type {string} */ severity) => findings.some((finding) => finding.severity === severity);
    this.toggle.dataset.severity = has('error') ? 'error' : has('warning') ? 'warning' : 'none';
    this.toggle.textContent = plural(findings.length, 'diagnostic');
    if (!this.diagnostics.hidden) this.toggleDiagnostics(true);
  }

  /** @param {boolean} [open] */
  toggleDiagnostics(open = this.diagnostics.hidden === true) {
    this.diagnostics.hidden = !open;
    this.toggle.setAttribute('aria-expanded', String(open));
    if (!open) return;
    fill(this.diagnostics, this.findings.length > 0 ? showFindings(this.findings, this.onoffset) : nothing('Nothing to report.'),
      h('div', { class: 'diagnostics-foot' }, h('button', { type: 'button', class: 'quiet', onclick: this.onverify }, 'Verify everything'),
        h('span', { class: 'muted' }, 'Checks structure, sizes and all hashes, like unshade verify.')));
  }

  /**
   * Shows a message in the status line, and announces it to screen readers.
   * @param {string} text
   * @param {boolean} [isError]
   */
  say(text, isError = false) {
    clearTimeout(this.fading);
    // The same text again would not be announced, and need not be.
    if (this.status.textContent !== text) this.status.textContent = text;
    this.status.classList.toggle('fault', isError);
    if (!isError && !text.endsWith('…')) this.fading = setTimeout(() => this.say(''), STATUS_TIME);
  }

  /** Ends a message about something in progress, which has no result to report. */
  sayNoMore() {
    if (this.status.textContent?.endsWith('…')) this.say('');
  }
}

/** A collapsible section of the sidebar. */
class Section {
  /**
   * @param {string} id
   * @param {string} title
   * @param {HTMLElement} body
   * @param {boolean} open
   */
  constructor(id, title, body, open) {
    this.counted = h('span', { class: 'muted counted' });
    this.button = h('button', { type: 'button', class: 'section-head', 'aria-controls': id, onclick: () => this.toggle() },
      h('span', { class: 'twist has', 'aria-hidden': 'true' }), title, this.counted);
    this.body = h('div', { id, class: 'section-body' }, body);
    this.element = h('section', { class: `side-section ${id}` }, h('h2', {}, this.button), this.body);
    /** @type {() => void} */
    this.onopen = () => {};
    this.open = !open;
    this.toggle(open);
  }

  /** @param {boolean} [open] */
  toggle(open = !this.open) {
    this.open = open;
    this.button.setAttribute('aria-expanded', String(open));
    this.body.hidden = !open;
    this.element.classList.toggle('open', open);
    if (open) this.onopen();
  }
}

/** @param {Tool} tool */
function button({ name, label, run, key }) {
  return iconButton(name, label, run, key);
}
