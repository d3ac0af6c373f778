/** The page: creates its parts and connects them. Selecting bytes in one part highlights them in the others. */

import { withAhead } from './ahead.js';
import { BitsTip } from './bits.js';
import { Column, isListing, panesOf } from './column.js';
import { Commands } from './commands.js';
import { showOpen } from './dialogs.js';
import { baseName, count, h, hex, plural, size } from './dom.js';
import { listenForFiles } from './drop.js';
import { Editing } from './editing.js';
import { Embedding, isEmbedded } from './embed.js';
import { FileTree } from './files.js';
import { Frame } from './frame.js';
import { asNumbers, HexView } from './hex.js';
import { listen, showKeys } from './keys.js';
import { FunctionList } from './list.js';
import { firstPart } from './listing.js';
import { Notes } from './notes.js';
import { tellRestart } from './notice.js';
import { keepOffline } from './offline.js';
import { Outline } from './outline.js';
import { remember } from './recent.js';
import { fetchLinked, linkedAddress } from './remote.js';
import { aborted, nothing, problem, waiting } from './rows.js';
import { RunView } from './run.js';
import { Store } from './store.js';
import { keep, kept, NARROW, nextTheme, restoreTheme } from './theme.js';
import { connect } from './transport.js';
import { examples, welcomePanel } from './welcome.js';

/** @typedef {import('./protocol.js').Facts} Facts */
/** @typedef {import('./protocol.js').Line} Line */
/** @typedef {import('./protocol.js').Overview} Overview */
/** @typedef {import('./protocol.js').Range} Range */
/** @typedef {import('./store.js').State} State */
/** @typedef {{file: number, program: number, item?: number}} Subject */

/** From this width on, two columns are shown side by side. */
const WIDE = window.matchMedia('(min-width: 1200px)');

/** Milliseconds until the selected bytes are looked up in the structure. */
const DESCRIBE_DELAY = 120;

export class App {
  constructor() {
    restoreTheme();
    this.commands = new Commands(this);
    this.api = withAhead(connect((files) => tellRestart(files)));
    this.store = new Store();
    /** @type {Overview | null} */
    this.overview = null;
    /** @type {Facts | null} */
    this.facts = null;
    this.factsKey = '';
    /** Further ranges highlighted with the selected one, if a line was decoded from several. @type {{of: Range | null, ranges: Range[]}} */
    this.also = { of: null, ranges: [] };
    this.controller = new AbortController();
    this.described = new AbortController();
    /** Resolves when the current state is shown. */
    this.showing = Promise.resolve();
    this.split = kept('unshade.split') !== 'no';
    this.bytesShown = kept('unshade.bytes') !== 'no';

    const { api } = this;
    const say = (/** @type {string} */ text) => this.frame.say(text);
    const onerror = (/** @type {unknown} */ error) => this.fail(error);
    const select = (/** @type {unknown} */ origin) => (/** @type {Range} */ range) => this.store.go({ range }, { replace: true, origin });
    this.tip = new BitsTip(api);
    this.notes = new Notes({ api, onchange: () => [this.first, this.second].forEach(({ listing }) => listing.box.refresh()) });
    this.run = new RunView({
      api, say, onrange: (range) => select(this.run)(range),
      onbreaks: () => [this.first, this.second].forEach(({ listing }) => listing.box.refresh()),
    });
    const column = {
      api, say, run: this.run, notes: () => this.notes.of(this.functionName),
      onselect: (/** @type {Column} */ origin, /** @type {number} */ line, /** @type {Range[]} */ ranges, /** @type {boolean} */ jump) => {
        const [range, also] = [ranges[0] ?? null, ranges.slice(1)];
        this.also = { of: range, ranges: also };
        this.store.go({ ...(origin === this.first ? { line } : {}), range }, { replace: !jump, origin });
      },
      onrange: (/** @type {Column} */ origin, /** @type {Range} */ range) => select(origin)(range),
      onitem: (/** @type {number} */ item) => this.store.go({ item }),
      onpair: (/** @type {number | undefined} */ left, /** @type {number | undefined} */ right) => this.commands.comparePair(left, right),
      onhover: (/** @type {Line} */ line, /** @type {() => HTMLElement | undefined} */ row) => this.showBits(line, row),
      onleave: () => this.tip.hide(),
      actions: this.commands.overviewActions(),
    };
    this.first = new Column({ ...column, name: 'first', onpane: (pane) => this.choosePane(pane) });
    this.second = new Column({ ...column, name: 'second', onpane: (side) => this.store.go({ side }, { replace: true }) });
    this.files = new FileTree({ api, onchoose: (entry, program) => this.store.go({ file: entry.name, program, item: null }) });
    this.list = new FunctionList({ api, say, onchoose: (row, replace) => this.chooseRow(row, replace) });
    this.outline = new Outline({ api, onerror, onselect: (range) => select(this.outline)(range) });
    this.hex = new HexView({ api, onerror, onselect: (range) => select(this.hex)(range) });
    this.editing = new Editing({
      api, say, fail: onerror, view: () => this.commands.editedView(),
      show: ({ name }, keepItem) => this.store.go({ file: name, program: this.state.program, item: keepItem ? this.state.item : null, line: this.state.line }),
      list: (change) => this.files.change(change),
      compare: ({ name }) => this.store.go({ against: [name, this.state.program, this.state.item ?? ''].join('|'), pane: 'compare', line: null }),
    });
    this.keys = this.commands.keyTable();
    this.frame = new Frame({
      files: this.files.element, list: this.list.element, outline: this.outline.element, hex: this.hex.element,
      columns: [this.first.element, this.second.element], banner: this.editing.banner,
      tools: [
        { name: 'search', label: 'Search all', key: 'f', run: () => this.commands.search() },
        ...(api.name === 'inline' ? [] : [{ name: /** @type {const} */ ('compare'), label: 'Compare', key: 'c', run: () => this.commands.compare() }]),
        ...(api.name === 'inline' ? [] : [{ name: /** @type {const} */ ('edit'), label: 'Edit', key: 'e', run: () => this.commands.edit() }]),
        { name: 'download', label: 'Download', key: 'd', run: () => this.commands.download() },
        ...(api.opens ? [{ name: /** @type {const} */ ('open'), label: 'Open files', key: 'o', run: () => this.openFiles() }] : []),
        { name: 'theme', label: 'Light or dark', key: 't', run: () => this.theme() },
        { name: 'help', label: 'Keyboard shortcuts', key: '?', run: () => showKeys(this.keys) },
      ],
      views: [
        { name: 'back', label: 'Back', key: '[', run: () => history.back() },
        { name: 'forward', label: 'Forward', key: ']', run: () => history.forward() },
        { name: 'link', label: 'Copy a link to this view', key: 'y', run: () => this.commands.copyLink() },
        { name: 'copy', label: 'Copy the listing', key: 'Y', run: () => this.commands.copyListing() },
        { name: 'split', label: 'Two columns', key: 's', run: () => this.toggleSplit() },
        { name: 'bytes', label: 'Bytes', key: 'b', run: () => this.toggleBytes() },
      ],
      onoffset: (offset) => this.store.go({ range: [offset, offset + 1] }),
      onverify: () => this.commands.verify(),
    });
    this.frame.outline.onopen = () => this.outline.load().then(() => this.describe(this.state.range, true));
    this.store.subscribe((state, before, origin) => this.follow(state, before, origin));
    WIDE.addEventListener('change', () => this.arrange());
    document.addEventListener('keydown', (event) => {
      if (event.key === 'Escape') this.tip.hide();
    });
    listenForFiles((files) => this.open(files));
    listen(this.keys);
    if (api.name === 'worker') keepOffline((files) => this.open(files));
    this.isEmbedded = api.name === 'worker' && isEmbedded();
    this.arrange();
  }

  /** @returns {State} */
  get state() {
    return this.store.state;
  }

  get file() {
    return this.files.files.find(({ name }) => name === this.state.file) ?? null;
  }

  get program() {
    return this.overview?.programs.find(({ program }) => program === this.state.program) ?? null;
  }

  /** @returns {Subject} */
  get subject() {
    const { item, program } = this.state;
    return { file: this.file?.file ?? 0, program, ...(item === null ? {} : { item }) };
  }

  /** Whether the view shows code, rather than a container of functions. */
  get hasCode() {
    return this.state.item !== null || ['bitcode', 'dxcontainer', 'direct3d9', 'ptx'].includes(this.program?.format ?? '');
  }

  /** The name of the function in notes; null for a program without functions. */
  get functionName() {
    if (this.state.item === null) return null;
    const row = this.list.rowOf(this.state.item);
    return row?.mangled ?? row?.name ?? this.facts?.title ?? null;
  }

  get twoColumns() {
    return this.split && WIDE.matches;
  }

  async start() {
    try {
      this.files.set(this.api.keeps ? (await this.api.call({ query: 'files' })).files : []);
    } catch (error) {
      return this.welcome(error);
    }
    const [first] = this.files.files;
    document.body.classList.remove('starting');
    performance.mark('unshade:ready');
    this.store.start();
    if (this.state.file === null && first) this.store.go({ file: first.name }, { replace: true });
    if (this.isEmbedded) {
      new Embedding({ api: this.api, store: this.store, open: async (file, name) => {
        const [added] = await this.open([{ file, name }], (error) => {
          throw error;
        });
        return { name: added.name, number: added.file };
      } });
    }
    await this.openLinked();
  }

  /** Opens the file that the page's address names. */
  async openLinked() {
    const address = linkedAddress();
    if (address === null) return;
    if (this.api.name !== 'worker') return this.frame.say('Links to files are opened by the static page only. Download the file and open it here.', true);
    try {
      const linked = await fetchLinked(address, this.first.panel);
      if (linked) await this.open([linked]);
      else this.frame.say('The file of the link was not fetched');
    } catch (error) {
      this.fail(error);
      if (!this.file) await this.welcome(error);
    }
  }

  // Reactions to state changes.

  /**
   * @param {State} state
   * @param {State} before
   * @param {unknown} origin
   */
  async follow(state, before, origin) {
    const entry = this.file;
    if (!entry) return this.welcome();
    document.body.classList.remove('welcome');
    try {
      if (this.overview?.file.file !== entry.file) {
        this.overview = null;
        this.facts = null;
        this.factsKey = '';
        this.list.opening(entry.file);
        performance.mark('unshade:open');
        const { promise, controller } = this.files.overview(entry.file);
        const overview = await waiting(this.first.panel, `Opening ${baseName(entry.name)}…`, controller, promise);
        if (this.file !== entry) return;
        this.overview = overview;
        if (this.api.opens && !this.isEmbedded) remember(entry.name);
      }
      this.showing = this.show(origin);
      await this.showing;
      if (origin === this.list && this.state === state) this.askAhead();
    } catch (error) {
      if (!aborted(error)) this.showError(entry, error);
      else if (!this.overview && this.file === entry) this.stopped();
    }
  }

  /** Asks for what the next function of the list will show. */
  askAhead() {
    const next = this.list.next();
    if (!next || !this.first.listing.subject) return;
    const { pane } = this.first;
    const subject = { ...this.subject, item: next.item };
    this.api.ahead([firstPart({ ...subject, pane }), { query: 'facts', ...subject }]);
  }

  /** Waits until everything pending is shown, for commands typed before that. */
  async settled() {
    for (let waited; waited !== this.showing;) {
      waited = this.showing;
      await waited.catch(() => {});
    }
  }

  /** @param {unknown} origin */
  async show(origin) {
    const { overview, subject, state, frame } = this;
    if (!overview) return;
    const program = await this.files.program(overview, state.program);
    if (this.state !== state || this.overview !== overview) return;
    this.showPath(overview);
    this.editing.showBanner(subject.file);
    frame.files.element.hidden = !this.files.select(overview, state.program);
    frame.files.counted.textContent = count(this.files.files.length);
    frame.files.element.style.setProperty('--rows', String(this.files.rows));
    document.body.classList.toggle('no-program', !program);
    if (!program) return this.showNoProgram(overview);
    this.list.element.classList.toggle('none', program.items === 0);
    this.list.show(subject.file, program);
    this.list.mark(state.item);
    this.outline.show(subject.file, program.program);
    if (this.api.name !== 'inline') this.notes.open({ file: subject.file, program: program.program, name: baseName(overview.file.name), size: program.size });
    this.hex.show(subject.file, program.program, program.space);
    if (frame.outline.open) this.outline.load();

    this.first.of = this.second.of = { program, programs: overview.programs };
    const key = JSON.stringify(subject);
    const fresh = key !== this.factsKey;
    // Request the listing together with the facts, not after them: it is what the user waits for.
    const early = fresh && this.showsListing() ? this.showFirst(null) : null;
    if (fresh && !await this.loadFacts(key, subject)) return;
    const { facts } = this;
    const part = await early;
    const later = await this.showFirst(facts);
    this.showSecond(facts);
    if (fresh || part || later) {
      frame.showDiagnostics([...overview.findings, ...(facts?.findings ?? []), ...((part ?? later)?.findings ?? [])]);
    }
    this.light(origin, fresh);
    if (fresh && facts) await this.openAtLabel(facts);
  }

  /**
   * Scrolls to the label of a function inside of another, whose listing is that of both.
   * @param {Facts} facts
   */
  async openAtLabel({ subtitle, range }) {
    const { state, subject } = this;
    const { pane, listing } = this.first;
    if (!subtitle.startsWith('inner') || !range || state.line !== null || state.range || !isListing(pane)) return;
    /** @type {import('./protocol.js').LineAt} */
    const { line } = await this.api.call({ query: 'line_at', ...subject, pane, offset: range[0] });
    if (line !== undefined && this.state === state) listing.box.virtual.show(line, 'start');
  }

  /**
   * @param {string} key
   * @param {Subject} subject
   * @returns {Promise<boolean>} whether the subject is still the current one
   */
  async loadFacts(key, subject) {
    this.controller.abort();
    this.controller = new AbortController();
    this.factsKey = key;
    this.facts = null;
    let facts;
    try {
      facts = /** @type {Facts} */ (await this.api.call({ query: 'facts', ...subject }, this.controller.signal));
    } catch (error) {
      if (this.factsKey !== key) return false;
      this.factsKey = '';
      throw error;
    }
    if (this.factsKey !== key) return false;
    this.facts = facts;
    this.frame.head(facts.title, facts.subtitle);
    this.hex.frame(subject.item === undefined ? null : facts.range ?? null, !this.state.range);
    return true;
  }

  /** Whether the next tab is probably a listing, judged by the current tabs. */
  showsListing() {
    const { panes } = this.first;
    const { pane } = this.state;
    return panes.includes('assembly') && this.hasCode && (!panes.includes(pane) || isListing(pane));
  }

  /** @param {Facts | null} facts */
  showFirst(facts) {
    const { state } = this;
    const against = this.commands.against();
    const panes = facts ? panesOf(facts, against !== null, this.hasCode, this.further(facts)) : this.first.panes;
    const listing = panes.find(isListing);
    const pane = panes.includes(state.pane) ? state.pane : this.hasCode && listing || 'facts';
    this.first.offer(panes, pane);
    return this.first.show(this.subject, facts, state.line, against);
  }

  /** @param {Facts | null} facts */
  showSecond(facts) {
    const shown = this.twoColumns && this.first.pane !== 'compare';
    this.second.element.hidden = !shown;
    if (!shown || !facts) return;
    const panes = panesOf(facts, false, this.hasCode, { ...this.further(facts), flow: false });
    const wanted = panes.includes(this.state.side) ? this.state.side : 'facts';
    // The calls of a large program take a while to read: they are shown where they are asked for.
    const pane = wanted !== this.first.pane ? wanted : panes.find((name) => name !== this.first.pane && name !== 'calls');
    this.second.element.hidden = pane === undefined;
    if (pane === undefined) return;
    this.second.offer(panes, pane);
    this.second.show(this.subject, facts, null, null);
  }

  /**
   * Highlights the selected bytes everywhere except where they were selected.
   * @param {unknown} origin
   * @param {boolean} fresh
   */
  light(origin, fresh) {
    const { range, line } = this.state;
    const also = this.also.of === range ? this.also.ranges : [];
    const isCode = origin instanceof Column && (origin.pane === 'assembly' || origin.pane === 'raw');
    const what = isCode ? 'instruction' : 'bytes';
    this.hex.light(range, origin !== this.hex, also);
    this.first.light(range, origin !== this.first && !(fresh && line !== null), also, what).then((found) => {
      if (found !== undefined && this.state.range === range) this.first.listing.box.setActive(found);
    });
    if (this.twoColumns) this.second.light(range, origin !== this.second, also, what).then((found) => {
      if (found !== undefined && origin === this.run && this.state.range === range) this.second.listing.box.setActive(found, 'stay');
    });
    this.describe(range, origin !== this.outline);
  }

  /**
   * Describes the selected bytes above the hex view, and reveals them in the structure. Waits until the selection
   * rests, so that moving through a listing stays fast.
   * @param {Range | null} range
   * @param {boolean} follow whether the structure follows
   */
  async describe(range, follow) {
    const { place, numbers } = this.frame;
    numbers.textContent = '';
    this.described.abort();
    const controller = new AbortController();
    this.described = controller;
    if (!range) {
      const space = this.program?.space;
      place.textContent = space ? `${hex(space[0])}–${hex(space[1])}` : '';
      return;
    }
    const length = range[1] - range[0];
    place.textContent = `${hex(range[0])}  ${plural(length, 'byte')}`;
    await new Promise((resolve) => setTimeout(resolve, DESCRIBE_DELAY));
    if (controller.signal.aborted) return;
    numbers.textContent = asNumbers(this.hex.peek(range[0], length === 1 ? 8 : length));
    try {
      const path = await this.outline.pathAt(range[0], controller.signal);
      if (controller.signal.aborted) return;
      if (path.length) place.append(h('span', { class: 'muted' }, `  ${path.map(({ name }) => name).join(' › ')}`));
      if (follow && path.length && this.frame.outline.open) await this.outline.reveal(path);
      if (!controller.signal.aborted) await this.offerFunction(range);
    } catch (error) {
      this.fail(error);
    }
  }

  /**
   * Offers a link to the function that contains the selected bytes, if it is not the one shown.
   * @param {Range} range
   */
  async offerFunction(range) {
    const { program, facts, state } = this;
    const own = facts?.range;
    if (!program || program.items < 2 || state.item !== null && own && range[0] >= own[0] && range[0] < own[1]) return;
    const { item } = await this.api.call({ query: 'item_at', file: this.subject.file, program: program.program, offset: range[0] });
    if (item === undefined || item === state.item || this.state.range !== range) return;
    this.frame.place.append(h('button', { type: 'button', class: 'link', onclick: () => this.store.go({ item, range }) }, `Go to ${program.item_name} #${item}`));
  }

  /** @param {Overview} overview */
  showPath(overview) {
    const { program } = this;
    // The path begins with the file name, which is already shown.
    const path = overview.programs.length > 1 && program ? `${program.path.slice(program.path.indexOf('!') + 1)} · ` : '';
    this.frame.where(h('span', { class: 'where-file', title: overview.file.name }, baseName(overview.file.name)),
      program && h('span', { class: 'muted where-format' }, `${path}${program.format_name} · ${size(program.size)}`));
  }

  /** @param {Overview} overview */
  showNoProgram({ file, programs, findings }) {
    this.factsKey = '';
    this.list.show(file.file, null);
    this.frame.say('');
    this.frame.head(baseName(file.name), size(file.size));
    this.frame.showDiagnostics(findings);
    this.first.empty(programs.length === 0 ? 'No GPU program was found in this file.' : 'This file has no such program.');
    this.second.element.hidden = true;
  }

  /**
   * @param {import('./protocol.js').FileEntry} entry
   * @param {unknown} error
   */
  showError(entry, error) {
    if (!this.overview) {
      this.frame.head(baseName(entry.name), size(entry.size));
      this.list.show(entry.file, null);
      document.body.classList.add('no-program');
    }
    this.first.empty('');
    this.first.message.replaceChildren(problem(error));
    this.second.element.hidden = true;
    this.fail(error);
  }

  /** Opening the file was cancelled: offer to try again. */
  stopped() {
    this.first.empty('');
    this.first.message.replaceChildren(nothing('Stopped.', h('button', {
      type: 'button', class: 'quiet', onclick: () => this.follow(this.state, this.state, undefined),
    }, 'Try again')));
  }

  /**
   * No file is open, or not the one in the address.
   * @param {unknown} [error]
   */
  async welcome(error) {
    document.body.classList.remove('starting');
    document.body.classList.add('welcome');
    this.overview = null;
    this.factsKey = '';
    this.frame.showDiagnostics([]);
    this.frame.where();
    this.frame.head('', '');
    if (document.documentElement.dataset.waits !== undefined) return this.first.empty('Waiting for the editor to send the file.');
    const known = this.api.name === 'worker' ? await examples() : [];
    if (this.file) return;
    this.first.empty('');
    this.second.element.hidden = true;
    this.first.message.replaceChildren(welcomePanel({
      wanted: this.state.file, opens: this.api.opens, files: this.files.files, examples: known, error,
      onfiles: (files) => this.open(files), onchoose: (name) => this.store.go({ file: name }),
      onerror: (error) => this.fail(error),
    }));
  }

  // User actions.

  /**
   * @param {import('./drop.js').Opened[]} opened
   * @param {(error: unknown) => void} [onerror]
   * @returns {Promise<import('./protocol.js').FileEntry[]>} the files that could be opened
   */
  async open(opened, onerror = (error) => this.fail(error)) {
    /** @type {import('./protocol.js').FileEntry[]} */
    const added = [];
    for (const { file, name, handle } of opened) {
      try {
        this.frame.say(`Opening ${name}…`);
        const number = await this.api.open(file, name);
        const unique = [...this.files.files, ...added].some((other) => other.name === name) ? `${name} (${number})` : name;
        added.push({ file: number, name: unique, size: file.size, opened: true });
        if (!this.isEmbedded) remember(unique, handle);
      } catch (error) {
        this.frame.sayNoMore();
        onerror(error);
      }
    }
    if (added.length === 0) return [];
    const waited = this.state.file !== null && this.file === null;
    this.files.set([...this.files.files, ...added]);
    this.frame.say(`${plural(opened.length, 'file')} opened`);
    // A link was followed before its file was open: show its target.
    if (waited && this.file) this.follow(this.state, this.state, undefined);
    else this.store.go({ file: added[0].name });
    return added;
  }

  openFiles() {
    if (this.api.opens) showOpen((files) => this.open(files), (error) => this.fail(error));
    else this.frame.say('This report contains only the files that it was made from. Run unshade explore FILE to open others.');
  }

  /**
   * @param {import('./protocol.js').Row} row
   * @param {boolean} replace
   */
  chooseRow(row, replace) {
    this.store.go({ item: row.item }, { replace, origin: this.list });
    if (!replace) this.frame.drawer(false);
  }

  /**
   * Returns which graphs there are besides that of the control flow.
   * @param {Facts} facts
   */
  further(facts) {
    const format = this.program?.format ?? '';
    const calls = this.state.item === null ? ['metallib', 'cubin', 'fatbin', 'bitcode', 'dxcontainer', 'direct3d9'].includes(format) && (this.program?.items ?? 0) > 0 : facts.panes.includes('assembly');
    return { calls: calls && this.api.name !== 'inline', flow: this.state.pane === 'flow' };
  }

  /** @param {string} pane of the first column */
  choosePane(pane) {
    const listing = this.first.panes.find(isListing);
    // The code that runs is read beside the steps.
    const side = pane === 'run' && this.state.side === 'facts' && listing ? { side: listing } : {};
    this.store.go({ pane, line: null, ...side });
  }

  /**
   * @param {Line} line
   * @param {() => HTMLElement | undefined} row
   */
  showBits(line, row) {
    if (this.state.item !== null && ['cubin', 'fatbin'].includes(this.program?.format ?? '')) this.tip.show(this.subject, line, row);
  }

  // Layout.

  arrange() {
    const { views, columns, bytes, bytesSplitter } = this.frame;
    columns.classList.toggle('two', this.twoColumns);
    const split = views.get('split');
    split?.setAttribute('aria-pressed', String(this.split));
    if (split) split.hidden = !WIDE.matches;
    views.get('bytes')?.setAttribute('aria-pressed', String(this.bytesShown));
    bytes.hidden = !this.bytesShown;
    bytesSplitter.hidden = !this.bytesShown;
    this.second.element.hidden = !this.twoColumns;
    if (!this.facts) return;
    this.showSecond(this.facts);
    this.light(undefined, false);
  }

  toggleSplit() {
    this.split = !this.split;
    keep('unshade.split', this.split ? 'yes' : 'no');
    this.arrange();
    if (this.split && !WIDE.matches) this.frame.say('Two columns need a wider window');
  }

  toggleBytes() {
    this.bytesShown = !this.bytesShown;
    keep('unshade.bytes', this.bytesShown ? 'yes' : 'no');
    this.arrange();
  }

  theme() {
    this.frame.say(`Colours: ${nextTheme()}`);
  }

  /** @param {() => void} then */
  inSidebar(then) {
    if (NARROW.matches) this.frame.drawer(true);
    then();
  }

  /** @param {unknown} error */
  fail(error) {
    if (aborted(error)) return;
    const shape = /** @type {any} */ (error)?.shape;
    this.frame.say([shape?.message ?? String(/** @type {any} */ (error)?.message ?? error), shape?.hint].filter(Boolean).join(' '), true);
  }
}

new App().start();
