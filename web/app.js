/** The page: its parts, and what each tells the others. A selection in one place lights its bytes in the others. */

import { Column, paneLabel, panesOf } from './column.js';
import { append, baseName, byId, count, fill, h, hex, icon, iconButton, plural, size } from './dom.js';
import { chooseFiles, listenForFiles, recentFiles, remember } from './drop.js';
import { showFindings } from './facts.js';
import { asNumbers, HexView } from './hex.js';
import { listen, modal, showKeys } from './keys.js';
import { FunctionList } from './list.js';
import { textOf } from './listing.js';
import { Outline } from './outline.js';
import { aborted, nothing, problem, RowBox } from './rows.js';
import { openSearch } from './search.js';
import { splitter } from './splitter.js';
import { Store } from './store.js';
import { keep, kept, nextTheme, restoreTheme } from './theme.js';
import { connect } from './transport.js';
import { Tree } from './tree.js';

/** @typedef {import('./protocol.js').FileEntry} FileEntry */
/** @typedef {import('./protocol.js').Facts} Facts */
/** @typedef {import('./protocol.js').Finding} Finding */
/** @typedef {import('./protocol.js').Overview} Overview */
/** @typedef {import('./protocol.js').Program} Program */
/** @typedef {import('./protocol.js').Range} Range */
/** @typedef {import('./store.js').State} State */
/** @typedef {{entry: FileEntry, program?: Program}} FileNode */

/** From this width on two columns stand side by side. */
const WIDE = window.matchMedia('(min-width: 1200px)');
/** Below it the list is a drawer. */
const NARROW = window.matchMedia('(max-width: 759px)');

class App {
  constructor() {
    restoreTheme();
    this.api = connect();
    this.store = new Store();
    /** @type {FileEntry[]} */
    this.files = [];
    /** @type {Map<number, Promise<Overview>>} */
    this.overviews = new Map();
    /** @type {Overview | null} */
    this.overview = null;
    /** @type {Facts | null} */
    this.facts = null;
    this.factsKey = '';
    this.controller = new AbortController();
    this.split = kept('unshade.split') !== 'no';
    this.bytesShown = kept('unshade.bytes') !== 'no';

    const say = (/** @type {string} */ text) => this.say(text);
    const onerror = (/** @type {unknown} */ error) => this.fail(error);
    const columnOptions = {
      api: this.api, say,
      onselect: (/** @type {Column} */ column, /** @type {number} */ line, /** @type {Range | null} */ range, /** @type {boolean} */ jump) =>
        this.store.go({ ...(column === this.first ? { line } : {}), range: range && range[1] > range[0] ? range : null }, { replace: !jump, origin: column }),
      onrange: (/** @type {Column} */ column, /** @type {Range} */ range) => this.store.go({ range }, { replace: true, origin: column }),
      onhover: (/** @type {import('./protocol.js').Line} */ line, /** @type {HTMLElement} */ row) => this.showBits(line, row),
      onleave: () => this.hideBits(),
    };
    this.first = new Column({ ...columnOptions, name: 'first', onpane: (pane) => this.store.go({ pane, line: null }) });
    this.second = new Column({ ...columnOptions, name: 'second', onpane: (side) => this.store.go({ side }, { replace: true }) });
    this.list = new FunctionList({ api: this.api, say, onchoose: (row, replace) => this.chooseRow(row, replace) });
    this.outline = new Outline({ api: this.api, onerror, onselect: (range) => this.store.go({ range }, { replace: true, origin: this.outline }) });
    this.hex = new HexView({ api: this.api, onerror, onselect: (range) => this.store.go({ range }, { replace: true, origin: this.hex }) });
    /** @type {Tree<FileNode>} */
    this.fileTree = new Tree({
      label: 'Files and programs',
      count: ({ program }) => program ? 0 : 1,
      load: async () => [],
      render: (row, node) => this.renderFile(row, node),
      onchoose: ({ entry, program }) => this.store.go({ file: entry.name, program: program?.program ?? 0, item: null }),
      onerror,
    });
    this.keys = this.keyTable();
    this.build();
    this.store.subscribe((state, before, origin) => this.follow(state, before, origin));
    WIDE.addEventListener('change', () => this.arrange());
    listenForFiles((files) => this.open(files));
    listen(this.keys);
  }

  /** @returns {State} */
  get state() {
    return this.store.state;
  }

  get file() {
    return this.files.find(({ name }) => name === this.state.file) ?? null;
  }

  get program() {
    return this.overview?.programs.find(({ program }) => program === this.state.program) ?? null;
  }

  get subject() {
    const { item, program } = this.state;
    return { file: this.file?.file ?? 0, program, ...(item === null ? {} : { item }) };
  }

  async start() {
    try {
      if (this.api.name === 'server') this.files = (await this.api.call({ query: 'files' })).files;
    } catch (error) {
      this.welcome(error);
      return;
    }
    this.showFiles();
    document.body.classList.remove('starting');
    this.store.start();
    if (this.state.file === null && this.files.length > 0) this.store.go({ file: this.files[0].name }, { replace: true });
  }

  // What the page is made of.

  build() {
    byId('drawer').append(icon('menu'));
    byId('drawer').addEventListener('click', () => this.drawer());
    append(byId('tools'), [
      iconButton('search', 'Find in all', () => this.search(), 'f'),
      iconButton('compare', 'Compare with another function', () => this.compare(), 'c'),
      this.downloadButton = iconButton('download', 'Download', () => this.download(), 'd'),
      this.api.opens && iconButton('open', 'Open files', () => this.openDialog(), 'o'),
      iconButton('theme', 'Light or dark', () => this.say(`Colours: ${nextTheme()}`), 't'),
      iconButton('help', 'Keys', () => showKeys(this.keys), '?'),
    ]);
    const section = (/** @type {string} */ id, /** @type {string} */ title, /** @type {HTMLElement} */ body, /** @type {boolean} */ open, /** @type {(open: boolean) => void} */ ontoggle = () => {}) => {
      const counted = h('span', { class: 'muted counted' });
      const button = h('button', { type: 'button', class: 'section-head', 'aria-expanded': String(open), 'aria-controls': id, onclick: () => toggle() },
        h('span', { class: 'twist has', 'aria-hidden': 'true' }), title, counted);
      const element = h('section', { class: `side-section ${id}` }, h('h2', {}, button), h('div', { id, class: 'section-body', hidden: !open }, body));
      const toggle = (/** @type {boolean} */ to = button.getAttribute('aria-expanded') !== 'true') => {
        button.setAttribute('aria-expanded', String(to));
        /** @type {HTMLElement} */ (element.lastChild).hidden = !to;
        element.classList.toggle('open', to);
        ontoggle(to);
      };
      element.classList.toggle('open', open);
      return { element, toggle, counted, get open() { return button.getAttribute('aria-expanded') === 'true'; } };
    };
    this.fileSection = section('files-body', 'Files', this.fileTree.element, true);
    this.outlineSection = section('outline-body', 'Structure', this.outline.element, false, (open) => {
      if (open) this.outline.load().then(() => this.followOutline());
    });
    append(byId('side'), [this.fileSection.element, this.list.element, this.outlineSection.element]);

    this.title = h('h2', { class: 'title' });
    this.subtitle = h('p', { class: 'subtitle muted' });
    this.splitButton = iconButton('split', 'Two columns', () => this.toggleSplit(), 's');
    this.bytesButton = iconButton('bytes', 'Bytes', () => this.toggleBytes(), 'b');
    const head = h('div', { class: 'reader-head' },
      h('div', { class: 'titles' }, this.title, this.subtitle),
      h('div', { class: 'actions', role: 'toolbar', 'aria-label': 'View' },
        iconButton('back', 'Back', () => history.back(), '['), iconButton('forward', 'Forward', () => history.forward(), ']'),
        iconButton('link', 'Copy a link to this view', () => this.copyLink(), 'y'),
        iconButton('copy', 'Copy the listing', () => this.copyListing(), 'Y'),
        this.splitButton, this.bytesButton));
    this.columns = h('div', { class: 'columns' }, this.first.element, this.second.element);
    this.where = h('span', { class: 'bytes-where' });
    this.numbers = h('span', { class: 'muted bytes-numbers' });
    this.bytes = h('section', { class: 'bytes', 'aria-label': 'Bytes' },
      h('div', { class: 'bytes-head' }, this.where, this.numbers), this.hex.element);
    this.bytesSplitter = splitter({ label: 'Height of the bytes', axis: 'y', name: '--bytes-height', key: 'unshade.bytes-height', least: 80, from: 'end' });
    append(byId('reader'), [head, this.columns, this.bytesSplitter, this.bytes]);
    byId('side').after(splitter({ label: 'Width of the list', axis: 'x', name: '--side-width', key: 'unshade.side-width', least: 200, from: 'start' }));
    this.diagnostics = h('section', { id: 'diagnostics', class: 'diagnostics', 'aria-label': 'Diagnostics', hidden: true });
    byId('body').after(this.diagnostics);
    byId('diagnostics-toggle').addEventListener('click', () => this.toggleDiagnostics());
    this.bits = h('div', { class: 'bits', role: 'tooltip', id: 'bits', hidden: true });
    document.body.append(this.bits);
    this.arrange();
    NARROW.addEventListener('change', () => this.drawer(false));
    document.addEventListener('keydown', (event) => {
      if (event.key === 'Escape') {
        this.hideBits();
        this.drawer(false);
      }
    });
  }

  /** @returns {import('./keys.js').Key[]} */
  keyTable() {
    const pane = (/** @type {KeyboardEvent} */ event) => {
      const name = this.first.panes[Number(event.key) - 1];
      if (name) this.store.go({ pane: name, line: null });
    };
    return [
      { group: 'Find', keys: '/', does: 'filter the functions', run: () => this.focusFilter() },
      { group: 'Find', keys: 'f', does: 'find in all names, listings, sources, bytes', run: () => this.search() },
      { group: 'Find', keys: 'g', does: 'go to an offset or a line', run: () => this.goToOffset() },
      { group: 'Find', keys: 'j k ↓ ↑', does: 'next and previous row', run: (event) => this.list.box.move(event.key === 'j' ? 1 : -1) },
      { group: 'Read', keys: '1…6', does: 'the first, second… tab', run: pane },
      { group: 'Read', keys: '← →', does: 'walk the names of a line, the bytes, a tree' },
      { group: 'Read', keys: 'Enter', does: 'to the definition of the name; choose the row' },
      { group: 'Read', keys: 'x', does: 'all uses of the name', run: () => this.crossReferences() },
      { group: 'Read', keys: 'i', does: 'the bits of the selected instruction', run: () => this.instruction() },
      { group: 'Read', keys: '[', does: 'back', run: () => history.back() },
      { group: 'Read', keys: ']', does: 'forward', run: () => history.forward() },
      { group: 'Do', keys: 'c', does: 'compare: first this function, then another', run: () => this.compare() },
      { group: 'Do', keys: 'd', does: 'download', run: () => this.download() },
      { group: 'Do', keys: 'y', does: 'copy a link to this view', run: () => this.copyLink() },
      { group: 'Do', keys: 'Y', does: 'copy the listing', run: () => this.copyListing() },
      { group: 'Do', keys: 'o', does: 'open files', run: () => this.openDialog() },
      { group: 'Page', keys: 's', does: 'one or two columns', run: () => this.toggleSplit() },
      { group: 'Page', keys: 'b', does: 'show or hide the bytes', run: () => this.toggleBytes() },
      { group: 'Page', keys: 'l', does: 'to the list of functions', run: () => this.focusList() },
      { group: 'Page', keys: 'r', does: 'to the reading pane', run: () => this.first.focus() },
      { group: 'Page', keys: 'h', does: 'to the bytes', run: () => this.hex.element.focus() },
      { group: 'Page', keys: 'u', does: 'show or hide the structure', run: () => this.outlineSection?.toggle() },
      { group: 'Page', keys: 't', does: 'light, dark, as the system', run: () => this.say(`Colours: ${nextTheme()}`) },
      { group: 'Page', keys: '?', does: 'these keys', run: () => showKeys(this.keys) },
    ];
  }

  // What follows from the state.

  /**
   * @param {State} state
   * @param {State} before
   * @param {unknown} origin
   */
  async follow(state, before, origin) {
    const entry = this.file;
    if (!entry) return this.welcome();
    document.body.classList.remove('welcome');
    const moved = state.file !== before.file || this.overview?.file.file !== entry.file;
    try {
      if (moved) {
        this.overview = null;
        this.fileMarked = '';
        const overview = await this.overviewOf(entry.file);
        if (this.file !== entry) return;
        this.overview = overview;
        remember(entry.name);
      }
      await this.showSubject(state, origin);
    } catch (error) {
      if (!aborted(error)) this.cannot(entry, error);
    }
  }

  /** @param {number} file */
  overviewOf(file) {
    let promise = this.overviews.get(file);
    if (!promise) {
      promise = this.api.call({ query: 'overview', file });
      promise.catch(() => this.overviews.delete(file));
      this.overviews.set(file, promise);
    }
    return promise;
  }

  /**
   * @param {State} state
   * @param {unknown} origin
   */
  async showSubject(state, origin) {
    const { program, overview, subject } = this;
    if (!overview) return;
    this.showWhere();
    this.markFile();
    this.showDiagnostics(overview.findings);
    if (!program) {
      this.list.show(subject.file, null);
      this.list.element.classList.add('none');
      this.first.empty(overview.programs.length === 0 ? 'No GPU program was found in this file.' : 'This file has no such program.');
      this.second.empty('');
      this.title.textContent = baseName(overview.file.name);
      this.subtitle.textContent = size(overview.file.size);
      return;
    }
    this.list.element.classList.toggle('none', program.items === 0);
    this.list.show(subject.file, program);
    this.list.mark(state.item);
    this.outline.show(subject.file, program.program);
    this.hex.show(subject.file, program.program, program.space);
    if (this.outlineSection.open) this.outline.load();

    const key = JSON.stringify(subject);
    const fresh = key !== this.factsKey;
    /** @type {Promise<Facts | null>} */
    let facts = Promise.resolve(this.facts);
    if (fresh) {
      this.controller.abort();
      this.controller = new AbortController();
      this.factsKey = key;
      this.facts = null;
      facts = this.api.call({ query: 'facts', ...subject }, this.controller.signal);
    }
    // The listing is asked for beside the facts, not after them: it is what one waits for.
    const early = fresh && this.first.panes.includes(state.pane) && !['facts', 'graph', 'compare'].includes(state.pane);
    const listing = early ? this.showFirst(state, null) : null;
    const known = await facts;
    if (this.factsKey !== key) return;
    if (fresh) {
      this.facts = known;
      if (known) {
        this.title.textContent = known.title;
        this.title.title = known.title;
        this.subtitle.textContent = known.subtitle;
        document.title = `${known.title} · unshade`;
        this.showDiagnostics([...overview.findings, ...known.findings]);
        const row = known.range ?? null;
        this.hex.frame(state.item === null ? null : row, !state.range);
      }
    }
    const part = await (listing ?? this.showFirst(state, known));
    if (early) this.showFirst(state, known);
    this.showSecond(state, known);
    if (part?.findings.length) this.showDiagnostics([...overview.findings, ...(known?.findings ?? []), ...part.findings]);
    this.light(origin, fresh);
  }

  /**
   * @param {State} state
   * @param {Facts | null} facts
   */
  showFirst(state, facts) {
    const panes = facts ? panesOf(facts, state.against !== null) : this.first.panes;
    const pane = panes.includes(state.pane) ? state.pane : panes.find((name) => !['facts', 'compare', 'graph'].includes(name)) ?? 'facts';
    this.first.offer(panes, pane);
    return this.first.show(this.subject, facts, state.line, this.against());
  }

  /**
   * @param {State} state
   * @param {Facts | null} facts
   */
  showSecond(state, facts) {
    const shown = this.twoColumns && this.first.pane !== 'compare';
    this.second.element.hidden = !shown;
    if (!shown || !facts) return;
    const panes = panesOf(facts, false);
    const fallback = this.first.pane === 'facts' ? panes.find((name) => name !== 'facts') ?? 'facts' : 'facts';
    const wanted = panes.includes(state.side) ? state.side : 'facts';
    const pane = wanted === this.first.pane ? fallback : wanted;
    this.second.offer(panes, pane);
    this.second.show(this.subject, facts, null, null);
  }

  get twoColumns() {
    return this.split && WIDE.matches;
  }

  /**
   * Lights the selected bytes everywhere but where they were selected.
   * @param {unknown} origin
   * @param {boolean} fresh
   */
  light(origin, fresh) {
    const { range, line } = this.state;
    this.hex.light(range, origin !== this.hex);
    const reveal = (/** @type {Column} */ column) => origin !== column && (column !== this.first || !fresh || line === null);
    this.first.listing.light(range, reveal(this.first)).then((found) => {
      if (found !== undefined && this.state.range === range && origin !== this.first) this.first.listing.box.setActive(found);
    });
    if (this.twoColumns) this.second.listing.light(range, reveal(this.second));
    this.showPlace(range);
    if (origin !== this.outline) this.followOutline();
  }

  /** @param {Range | null} range */
  async showPlace(range) {
    if (!range) {
      this.where.textContent = this.program ? `${hex(this.program.space[0])}–${hex(this.program.space[1])}` : '';
      this.numbers.textContent = '';
      return;
    }
    this.where.textContent = `${hex(range[0])}  ${plural(range[1] - range[0], 'byte')}`;
    const numbers = () => {
      this.numbers.textContent = asNumbers(this.hex.peek(range[0], range[1] - range[0] <= 1 ? 8 : range[1] - range[0]));
    };
    numbers();
    try {
      const path = await this.outline.pathAt(range[0]);
      if (this.state.range !== range) return;
      this.path = path;
      if (path.length) this.where.append(h('span', { class: 'muted' }, `  ${path.map(({ name }) => name).join(' › ')}`));
      numbers();
    } catch (error) {
      if (!aborted(error)) this.fail(error);
    }
  }

  async followOutline() {
    const { range } = this.state;
    if (!range || !this.outlineSection.open) return;
    const path = await this.outline.pathAt(range[0]).catch(() => []);
    if (this.state.range === range && path.length) await this.outline.reveal(/** @type {{index: number}[]} */ (path));
  }

  showWhere() {
    const { file, program, overview } = this;
    const several = (overview?.programs.length ?? 0) > 1;
    fill(byId('where'), file && h('span', { class: 'where-file', title: file.name }, baseName(file.name)),
      program && h('span', { class: 'muted where-format' }, `${several ? `${program.path} · ` : ''}${program.format_name} · ${size(program.size)}`));
  }

  // Files.

  showFiles() {
    this.fileTree.setRoots(this.files.map((entry) => ({ entry })));
    this.fileSection.counted.textContent = count(this.files.length);
    this.fileSection.element.hidden = this.files.length === 0;
    this.fileMarked = '';
  }

  /** Shows which file and program is chosen, and the programs of a file that has several. */
  markFile() {
    const { overview, state, files } = this;
    if (!overview) return;
    const key = `${overview.file.file}/${state.program}`;
    if (this.fileMarked === key) return;
    this.fileMarked = key;
    const at = files.findIndex(({ file }) => file === overview.file.file);
    const several = overview.programs.length > 1;
    const root = this.fileTree.roots[at];
    // One file with one program needs no list to choose from.
    this.fileSection.element.hidden = files.length < 2 && !several;
    if (!root) return;
    if (several && root.children.size === 0) {
      root.count = overview.programs.length;
      overview.programs.forEach((program, index) => root.children.set(index, {
        data: { entry: root.data.entry, program }, parent: root, index, depth: 1, count: 0, open: false, children: new Map(),
      }));
    } else if (!several) {
      root.count = 0;
    }
    this.fileSection.element.style.setProperty('--rows', String(Math.min(9, files.length + (several ? overview.programs.length : 0))));
    this.fileTree.reveal(several ? [at, overview.programs.findIndex(({ program }) => program === state.program)] : [at]);
  }

  /**
   * @param {HTMLElement} row
   * @param {FileNode} node
   */
  renderFile(row, { entry, program }) {
    const name = program ? program.path || program.format_name : entry.name;
    append(row, [
      h('span', { class: 'node-name', title: name }, program ? name.split('!').pop() ?? name : baseName(name)),
      h('span', { class: 'node-value' }, program ? `${program.format_name}${program.items > 1 ? ` · ${count(program.items)}` : ''}` : entry.error ? 'unreadable' : size(entry.size)),
    ]);
  }

  /** @param {import('./drop.js').Opened[]} files */
  async open(files) {
    if (files.length === 0) return;
    let first = '';
    for (const { file, name } of files) {
      try {
        this.say(`Opening ${name}…`);
        const number = await this.api.open(file, name);
        const unique = this.files.some((other) => other.name === name) ? `${name} (${number})` : name;
        this.files.push({ file: number, name: unique, size: file.size, opened: true });
        first ||= unique;
      } catch (error) {
        this.fail(error);
      }
    }
    if (!first) return;
    this.showFiles();
    this.say(`${plural(files.length, 'file')} opened`);
    const linked = this.state.file !== null && this.file !== null && files.some(({ name }) => name === this.state.file);
    // A link was followed before its file was there: show what it leads to.
    if (linked) this.follow(this.state, this.state, undefined);
    else this.store.go({ file: first });
  }

  openDialog() {
    if (!this.api.opens) return this.fail(new Error('This page shows the files that it was started with: run unshade explore FILE for others.'));
    const recent = recentFiles();
    const close = () => dialog.close();
    const dialog = modal('Open', h('div', { class: 'open-buttons' },
      h('button', { type: 'button', class: 'primary', onclick: () => { close(); chooseFiles(false, (files) => this.open(files)); } }, 'Files…'),
      h('button', { type: 'button', class: 'quiet', onclick: () => { close(); chooseFiles(true, (files) => this.open(files)); } }, 'A folder…')),
    h('p', { class: 'muted' }, 'Files stay on this machine. You can also drop or paste them anywhere on the page.'),
    recent.length > 0 && h('div', {}, h('h3', {}, 'Opened of late'), h('ul', { class: 'recent' }, ...recent.map((name) => h('li', {}, name)))));
    dialog.showModal();
  }

  /**
   * Nothing is open, or not what the address names.
   * @param {unknown} [error]
   */
  async welcome(error) {
    document.body.classList.remove('starting');
    document.body.classList.add('welcome');
    this.overview = null;
    this.showDiagnostics([]);
    fill(byId('where'));
    this.title.textContent = '';
    this.subtitle.textContent = '';
    const wanted = this.state.file;
    const examples = this.api.opens ? await this.examples() : [];
    if (this.file) return;
    const panel = h('div', { class: 'welcome-panel' },
      h('h2', {}, wanted !== null ? `This link leads into ${baseName(wanted)}` : 'Open a compiled GPU program'),
      h('p', { class: 'muted' }, wanted !== null ? (this.api.opens ? 'Open that file to see it.' : 'It is not among the files that this page was started with.')
        : 'Metal libraries, DirectX containers, CUDA fat binaries and cubins, and whatever has them inside.'),
      error !== undefined && problem(error),
      this.api.opens ? h('div', { class: 'open-buttons' },
        h('button', { type: 'button', class: 'primary', onclick: () => chooseFiles(false, (files) => this.open(files)) }, 'Open files…'),
        h('button', { type: 'button', class: 'quiet', onclick: () => chooseFiles(true, (files) => this.open(files)) }, 'A folder…'))
        : this.files.length > 0 && h('ul', { class: 'recent' }, ...this.files.slice(0, 50).map(({ name }) => h('li', {}, h('button', { type: 'button', class: 'link', onclick: () => this.store.go({ file: name }) }, name)))),
      this.api.opens && h('p', { class: 'muted' }, 'or drop or paste them here. They stay on this machine.'),
      !this.api.opens && this.files.length === 0 && error === undefined && nothing('No files here.', h('code', {}, 'unshade explore FILE')),
      examples.length > 0 && h('div', { class: 'examples' }, h('h3', {}, 'Or try'), ...examples.map(({ name, says }) =>
        h('button', { type: 'button', class: 'example', onclick: () => this.openExample(name) }, h('strong', {}, name), h('span', { class: 'muted' }, says)))));
    fill(this.first.message, panel);
    this.first.offer([], '');
    this.first.panel.replaceChildren(this.first.message);
    this.second.element.hidden = true;
  }

  /** @returns {Promise<{name: string, says: string}[]>} */
  async examples() {
    try {
      const response = await fetch('examples/index.json');
      return response.ok ? await response.json() : [];
    } catch {
      return [];
    }
  }

  /** @param {string} name */
  async openExample(name) {
    try {
      const response = await fetch(`examples/${encodeURIComponent(name)}`);
      if (!response.ok) throw new Error(`${name} could not be fetched`);
      await this.open([{ file: new File([await response.blob()], name), name }]);
    } catch (error) {
      this.fail(error);
    }
  }

  /**
   * @param {FileEntry} entry
   * @param {unknown} error
   */
  cannot(entry, error) {
    if (!this.overview) {
      this.title.textContent = baseName(entry.name);
      this.subtitle.textContent = size(entry.size);
      this.list.show(entry.file, null);
    }
    this.first.empty('');
    fill(this.first.message, problem(error));
    this.second.element.hidden = true;
    this.fail(error);
  }

  // What one does.

  /**
   * @param {import('./protocol.js').Row} row
   * @param {boolean} replace
   */
  chooseRow(row, replace) {
    this.hex.frame(row.range ?? null, true);
    this.store.go({ item: row.item }, { replace, origin: this.list });
    if (!replace) this.drawer(false);
  }

  /** @returns {{left: {file: number, program: number, item?: number}, names: [string, string]} | null} */
  against() {
    const { against } = this.state;
    if (against === null) return null;
    const [name, program, item] = against.split('|');
    const file = this.files.find((entry) => entry.name === name)?.file;
    if (file === undefined) return null;
    return {
      left: { file, program: Number(program) || 0, ...(item ? { item: Number(item) } : {}) },
      names: [`${baseName(name)}${item ? ` #${item}` : ''}`, `${baseName(this.state.file ?? '')}${this.state.item !== null ? ` #${this.state.item} ${this.facts?.title ?? ''}` : ''}`],
    };
  }

  /** First marks what is shown, then compares what is shown with it. */
  compare() {
    const { file, program, item, against, pane } = this.state;
    if (file === null) return;
    const here = [file, program, item ?? ''].join('|');
    if (against === here || pane === 'compare') {
      this.store.go({ against: null, pane: pane === 'compare' ? 'assembly' : pane });
      this.say('Comparison ended');
    } else if (against === null) {
      this.store.go({ against: here }, { replace: true });
      this.say('Now choose what to compare it with, and press c again');
    } else {
      this.store.go({ pane: 'compare', line: null });
    }
  }

  search() {
    const { file } = this;
    if (!file) return;
    openSearch({ api: this.api, file: file.file, onchoose: (match) => {
      const item = match.item ?? (match.range && !match.line ? this.state.item : null);
      this.store.go({
        program: match.program, item, ...(match.pane ? { pane: match.pane } : {}),
        line: match.line ?? null, range: match.range && match.range[1] > match.range[0] ? match.range : null,
      });
    } });
  }

  goToOffset() {
    const input = h('input', { class: 'field', 'aria-label': 'Offset or line', placeholder: '0x8f30, 36656 or line 12', autocomplete: 'off', spellcheck: false });
    const fault = h('p', { class: 'hint', role: 'status' });
    const dialog = modal('Go to', h('form', { class: 'search-line', onsubmit: (/** @type {Event} */ event) => {
      event.preventDefault();
      const text = input.value.trim();
      const line = /^(?:line|l|:)\s*(\d+)$/i.exec(text);
      const offset = /^0x[0-9a-f]+$/i.test(text) || /^\d+$/.test(text) ? Number(text) : /^[0-9a-f]+h?$/i.test(text) ? parseInt(text, 16) : NaN;
      const space = this.program?.space ?? [0, 0];
      if (line) {
        this.store.go({ line: Number(line[1]) - 1 });
      } else if (Number.isSafeInteger(offset) && offset >= space[0] && offset < space[1]) {
        this.store.go({ range: [offset, offset + 1] });
      } else {
        fault.textContent = `There is nothing there: the bytes go from ${hex(space[0])} to ${hex(space[1])}.`;
        return;
      }
      dialog.close();
    } }, input, h('button', { type: 'submit', class: 'primary' }, 'Go')), fault);
    dialog.showModal();
    input.focus();
  }

  async crossReferences() {
    const found = await this.first.listing.crossReferences();
    if (!found) return;
    const { links, lines, go } = found;
    const places = [...(links.definition ? [links.definition] : []), ...links.uses.slice(0, 200)];
    const box = new RowBox({
      label: 'Uses', className: 'results',
      create: () => h('div', { class: 'row result' }, h('span', { class: 'result-where' }), h('span', { class: 'result-text mono' })),
      render: (row, index) => {
        row.children[0].textContent = `${index === 0 && links.definition ? 'definition ' : ''}${places[index].line + 1}`;
        row.children[1].textContent = lines[index] ? textOf(/** @type {import('./protocol.js').Line} */ (lines[index])).trim() : '';
      },
      onchoose: (index) => {
        dialog.close();
        go(places[index].line);
        this.first.focus();
      },
    });
    const dialog = modal(`${plural(links.uses.length + links.more, 'use')}`, box.element);
    dialog.classList.add('wide', 'search');
    dialog.showModal();
    box.reset(places.length);
    box.setActive(0);
    box.element.focus();
  }

  async download() {
    const { program, state } = this;
    if (!program) return;
    const whole = state.item === null ? [] : program.extracts;
    const button = (/** @type {string} */ what, /** @type {boolean} */ ofItem) => h('button', {
      type: 'button', class: 'download', onclick: async () => {
        dialog.close();
        try {
          const { item: _, ...programOnly } = /** @type {{file: number, program: number, item?: number}} */ (this.subject);
          const pane = this.first.pane;
          const { name, blob } = await this.api.bytes({
            query: 'extract', ...(ofItem ? this.subject : programOnly), what,
            ...(what === 'listing' && this.first.listing.subject ? { pane } : {}),
            ...(what === 'source' && pane.startsWith('source:') ? { name: pane.slice(7) } : {}),
          });
          save(name, blob);
          this.say(`${name}, ${size(blob.size)}`);
        } catch (error) {
          this.fail(error);
        }
      },
    }, EXTRACTS[what] ?? what);
    const own = this.facts?.extracts ?? [];
    const dialog = modal('Download',
      own.length > 0 && h('div', { class: 'downloads' }, h('h3', {}, state.item === null ? 'The program' : this.title.textContent ?? ''), ...own.map((what) => button(what, true))),
      whole.length > 0 && h('div', { class: 'downloads' }, h('h3', {}, 'The whole program'), ...whole.map((what) => button(what, false))),
      own.length + whole.length === 0 && nothing('There is nothing to download.'));
    dialog.showModal();
  }

  async copyLink() {
    await this.copy(location.href, 'Link copied');
  }

  async copyListing() {
    if (!this.first.listing.subject) return this.say('There is no listing here to copy.');
    try {
      await this.copy(await this.first.listing.text(), `${paneLabel(this.first.pane)} copied`);
    } catch (error) {
      if (!aborted(error)) this.fail(error);
    }
  }

  /**
   * @param {string} text
   * @param {string} done
   */
  async copy(text, done) {
    try {
      await navigator.clipboard.writeText(text);
      this.say(done);
    } catch {
      this.say('The browser does not let this page write to the clipboard.');
    }
  }

  // The bits of a machine instruction.

  instruction() {
    const { box, pages } = this.first.listing;
    const line = pages.peek(box.active);
    const row = box.virtual.nodeOf(box.active);
    if (line && row) this.showBits(line, row);
  }

  /**
   * @param {import('./protocol.js').Line} line
   * @param {HTMLElement} row
   */
  async showBits(line, row) {
    if (!line.range || this.state.item === null || this.program?.format !== 'cubin') return;
    const { signal } = this.controller;
    this.bitsLine = line;
    try {
      /** @type {import('./protocol.js').Bits} */
      const answer = await this.api.call({ query: 'bits', ...this.subject, offset: line.range[0] }, signal);
      if (this.bitsLine !== line || !row.isConnected) return;
      fill(this.bits, h('p', { class: 'mono bits-word' }, answer.word), answer.meaning && h('p', {}, answer.meaning),
        h('table', {}, h('tbody', {}, ...answer.fields.map(({ bits, name, value, meaning }) =>
          h('tr', {}, h('td', { class: 'mono muted' }, bits), h('td', {}, name), h('td', { class: 'mono' }, value), h('td', { class: 'muted' }, meaning))))));
      this.bits.hidden = false;
      const at = row.getBoundingClientRect();
      const below = at.bottom + this.bits.offsetHeight + 8 < window.innerHeight;
      this.bits.style.left = `${Math.max(8, Math.min(at.left + 60, window.innerWidth - this.bits.offsetWidth - 8))}px`;
      this.bits.style.top = `${below ? at.bottom + 4 : Math.max(8, at.top - this.bits.offsetHeight - 4)}px`;
    } catch {
      // A line that is no instruction, or a machine whose words are not known: there is nothing to show.
    }
  }

  hideBits() {
    this.bitsLine = undefined;
    this.bits.hidden = true;
  }

  // The frame.

  arrange() {
    this.columns.classList.toggle('two', this.twoColumns);
    this.splitButton.setAttribute('aria-pressed', String(this.split));
    this.bytesButton.setAttribute('aria-pressed', String(this.bytesShown));
    this.bytes.hidden = !this.bytesShown;
    this.bytesSplitter.hidden = !this.bytesShown;
    this.second.element.hidden = !this.twoColumns;
    if (this.overview && this.facts) {
      this.showSecond(this.state, this.facts);
      this.light(undefined, false);
    }
  }

  toggleSplit() {
    this.split = !this.split;
    keep('unshade.split', this.split ? 'yes' : 'no');
    this.arrange();
    if (this.split && !WIDE.matches) this.say('Two columns need a wider window');
  }

  toggleBytes() {
    this.bytesShown = !this.bytesShown;
    keep('unshade.bytes', this.bytesShown ? 'yes' : 'no');
    this.arrange();
  }

  /** @param {boolean} [open] */
  drawer(open = !document.body.classList.contains('drawer-open')) {
    if (open === document.body.classList.contains('drawer-open')) return;
    document.body.classList.toggle('drawer-open', open);
    byId('drawer').setAttribute('aria-expanded', String(open));
    if (open) this.list.input.focus();
    else byId('drawer').focus();
  }

  focusFilter() {
    if (NARROW.matches) this.drawer(true);
    this.list.focus();
  }

  focusList() {
    if (NARROW.matches) this.drawer(true);
    this.list.box.element.focus();
  }

  /** @param {Finding[]} findings */
  showDiagnostics(findings) {
    const toggle = byId('diagnostics-toggle');
    const worst = findings.some(({ severity }) => severity === 'error') ? 'error' : findings.some(({ severity }) => severity === 'warning') ? 'warning' : 'none';
    toggle.dataset.severity = findings.length ? worst : 'none';
    toggle.textContent = plural(findings.length, 'diagnostic');
    this.findings = findings;
    if (!this.diagnostics.hidden) this.toggleDiagnostics(true);
  }

  /** @param {boolean} [open] */
  toggleDiagnostics(open = this.diagnostics.hidden) {
    this.diagnostics.hidden = !open;
    byId('diagnostics-toggle').setAttribute('aria-expanded', String(open));
    if (!open) return;
    fill(this.diagnostics, this.findings?.length
      ? showFindings(this.findings, (offset) => this.store.go({ range: [offset, offset + 1] }))
      : nothing('Nothing to report.'));
  }

  /** @param {string} text */
  say(text) {
    byId('status').textContent = text;
    byId('status').classList.remove('fault');
  }

  /** @param {unknown} error */
  fail(error) {
    if (aborted(error)) return;
    const shape = /** @type {any} */ (error)?.shape;
    byId('status').textContent = [shape?.message ?? String(/** @type {any} */ (error)?.message ?? error), shape?.hint].filter(Boolean).join(' ');
    byId('status').classList.add('fault');
  }
}

/** What can be extracted, as the window says it. */
const EXTRACTS = /** @type {Record<string, string>} */ ({
  program: 'The program as it stands in the file', module: 'The module (.air, .bc, .cubin)', listing: 'The listing that is shown',
  source: 'The source', yaml: 'YAML, from which it can be built again', zip: 'All modules, as a .zip',
});

/**
 * Hands bytes to the browser as a file.
 * @param {string} name
 * @param {Blob} blob
 */
function save(name, blob) {
  const address = URL.createObjectURL(blob);
  h('a', { href: address, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(address), 60_000);
}

const app = new App();
app.start();
