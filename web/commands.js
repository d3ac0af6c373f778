/** The commands of the page: what keys, tools and menus do. The table of keys is also the help. */

import { isListing, paneLabel } from './column.js';
import { goToPlace, save, showDownloads, showUses } from './dialogs.js';
import { baseName, plural } from './dom.js';
import { showKeys } from './keys.js';
import { askComment, askRename, showNotes } from './notes_dialog.js';
import { openSearch } from './search.js';

/** @typedef {import('./app.js').App} App */
/** @typedef {{file: number, program: number, item?: number}} Subject */

export class Commands {
  /** @param {App} app */
  constructor(app) {
    this.app = app;
  }

  /** @returns {import('./keys.js').Key[]} */
  keyTable() {
    const pane = (/** @type {KeyboardEvent} */ event) => {
      const name = this.app.first.panes[Number(event.key) - 1];
      if (name) this.app.choosePane(name);
    };
    const step = (/** @type {KeyboardEvent} */ { key }) => this.app.run.press(key, this.app.subject);
    return [
      { group: 'Find', keys: '/', does: 'filter the functions', run: () => this.app.inSidebar(() => this.app.list.focus()) },
      { group: 'Find', keys: 'f', does: 'search names, listings, sources and bytes', run: () => this.search() },
      { group: 'Find', keys: 'g', does: 'go to an offset or a line', run: () => this.goToPlace() },
      { group: 'Find', keys: 'j k', does: 'next and previous row', run: (event) => this.app.list.box.move(event.key === 'j' ? 1 : -1, event) },
      { group: 'Read', keys: '1…6', does: 'first, second… tab', run: pane },
      { group: 'Read', keys: '← →', does: 'move through names in a line, bytes, a tree' },
      { group: 'Read', keys: 'Enter', does: 'go to the definition of the name; choose the row' },
      { group: 'Read', keys: 'x', does: 'show all uses of the name', run: () => this.uses() },
      { group: 'Read', keys: 'i', does: 'show the bits of the selected instruction', run: () => this.instruction() },
      { group: 'Read', keys: '[ ]', does: 'go back and forward', run: (event) => (event.key === '[' ? history.back() : history.forward()) },
      { group: 'Run', keys: '. ,', does: 'step, and step back', run: step },
      { group: 'Run', keys: '> <', does: 'the same by lines of the decompiled source', run: step },
      { group: 'Run', keys: 'm M', does: 'run to a breakpoint, and back to one', run: step },
      { group: 'Run', keys: 'B', does: 'set or remove a breakpoint at the line', run: () => this.toggleBreak() },
      { group: 'Read', keys: 'w', does: 'show where the value comes from and where it goes', run: () => this.dataFlow() },
      { group: 'Do', keys: 'c', does: 'compare: select this function, then another', run: () => this.compare() },
      { group: 'Do', keys: 'e', does: 'edit: code, names, fields', run: () => this.edit() },
      { group: 'Do', keys: 'n', does: 'rename the name in decompiled text' },
      // In a comparison, n goes on; the later row handles the key for both.
      { group: 'Read', keys: 'n p', does: 'in a comparison: next and previous difference', run: ({ key }) => (this.app.first.pane !== 'compare' && key === 'n' ? this.rename() : this.difference(key === 'n' ? 1 : -1)) },
      { group: 'Do', keys: ';', does: 'comment on the line', run: () => this.comment() },
      { group: 'Do', keys: 'N', does: 'all notes: export, import', run: () => this.showNotes() },
      { group: 'Do', keys: 'z Z', does: 'undo and redo an edit', run: (event) => this.app.editing.step(this.app.subject.file, event.key === 'z' ? -1 : 1) },
      { group: 'Do', keys: 'd', does: 'download', run: () => this.download() },
      { group: 'Do', keys: 'v', does: 'verify structure, sizes and all hashes', run: () => this.verify() },
      { group: 'Do', keys: 'y', does: 'copy a link to this view', run: () => this.copyLink() },
      { group: 'Do', keys: 'Y', does: 'copy the listing', run: () => this.copyListing() },
      { group: 'Do', keys: 'o', does: 'open files', run: () => this.app.openFiles() },
      { group: 'Page', keys: 'l', does: 'go to the list of functions', run: () => this.app.inSidebar(() => this.app.list.box.element.focus()) },
      { group: 'Page', keys: 'r', does: 'go to the reading pane', run: () => this.app.first.focus() },
      { group: 'Page', keys: 'h', does: 'go to the bytes', run: () => this.app.hex.element.focus() },
      { group: 'Page', keys: 'u', does: 'show or hide the structure', run: () => this.app.inSidebar(() => this.app.frame.outline.toggle()) },
      { group: 'Page', keys: 's', does: 'switch between one and two columns', run: () => this.app.toggleSplit() },
      { group: 'Page', keys: 'b', does: 'show or hide the bytes', run: () => this.app.toggleBytes() },
      { group: 'Page', keys: 't', does: 'switch between light, dark and system colours', run: () => this.app.theme() },
      { group: 'Page', keys: '?', does: 'show these keys', run: () => showKeys(this.app.keys) },
    ];
  }

  edit() {
    if (this.app.api.name === 'inline') this.app.frame.say('Editing is not available in reports. Use unshade explore.');
    else this.app.editing.open();
  }

  rename() {
    const listing = this.activeListing;
    const shown = listing.nameAtCursor();
    if (!['c', 'hlsl', 'metal'].includes(listing.subject?.pane ?? '') || shown === null) {
      return this.app.frame.say('Select a name in decompiled text first: click it, or use ← and → within a line.');
    }
    if (this.app.api.name === 'inline') return this.app.frame.say('Notes are not available in reports. Use unshade explore.');
    askRename({ notes: this.app.notes, name: this.app.functionName, shown, text: () => listing.text(), say: (text) => this.app.frame.say(text) });
  }

  comment() {
    const offset = this.activeListing.offsetAtCursor();
    if (offset === null) return this.app.frame.say('Select a line that was decoded from bytes first.');
    if (this.app.api.name === 'inline') return this.app.frame.say('Notes are not available in reports. Use unshade explore.');
    askComment({ notes: this.app.notes, name: this.app.functionName, offset, say: (text) => this.app.frame.say(text) });
  }

  showNotes() {
    if (this.app.file) showNotes({ notes: this.app.notes, fileName: baseName(this.app.file.name), say: (text) => this.app.frame.say(text) });
  }

  /** @returns {Promise<import('./editing.js').View | null>} */
  async editedView() {
    await this.app.settled();
    const { file: entry, program, facts, subject, state } = this.app;
    if (!entry || !program || !facts) return null;
    const path = state.range ? await this.app.outline.pathAt(state.range[0], new AbortController().signal).catch(() => []) : [];
    const isNode = (/** @type {import('./protocol.js').OutlineNode} */ node) => node.range[0] === state.range?.[0] && node.range[1] === state.range[1];
    return { entry, program, facts, subject, line: state.line, range: state.range, path: path.some(isNode) ? path.map(({ name }) => name) : [] };
  }

  search() {
    const { file } = this.app;
    if (!file) return;
    openSearch({ api: this.app.api, file: file.file, onchoose: (match) => {
      const range = match.range && match.range[1] > match.range[0] ? match.range : null;
      this.app.store.go({
        program: match.program, item: match.item ?? (range && match.program === this.app.state.program ? this.app.state.item : null),
        ...(match.pane ? { pane: match.pane } : {}), line: match.line ?? null, range,
      });
    } });
  }

  goToPlace() {
    const { program } = this.app;
    if (!program) return;
    goToPlace(program.space, (place) => {
      if ('line' in place) this.app.store.go({ line: place.line });
      else this.app.store.go({ range: [place.offset, place.offset + 1] });
    });
  }

  async uses() {
    const found = await this.app.first.listing.crossReferences();
    if (found) showUses(found, () => this.app.first.focus());
  }

  async download() {
    if (!this.app.facts) await this.app.settled();
    const { program, facts, subject, state } = this.app;
    if (!program || !facts) return;
    const whole = { file: subject.file, program: subject.program };
    const choose = (/** @type {Subject} */ of) => (/** @type {string} */ what) => this.extract(of, what);
    showDownloads([
      { title: facts.title, extracts: facts.extracts, choose: choose(subject) },
      ...(state.item === null ? [] : [{ title: 'Whole program', extracts: program.extracts, choose: choose(whole) }]),
    ]);
  }

  /**
   * @param {Subject} subject
   * @param {string} what
   */
  async extract(subject, what) {
    const { pane } = this.app.first;
    try {
      const { name, blob } = await this.app.api.bytes({
        query: 'extract', ...subject, what,
        ...(what === 'listing' && isListing(pane) ? { pane } : {}),
        ...(what === 'source' && pane.startsWith('source:') ? { name: pane.slice('source:'.length) } : {}),
      });
      this.app.frame.say(save(name, blob));
    } catch (error) {
      this.app.fail(error);
    }
  }

  async copyLink() {
    await this.copy(location.href, 'Link copied');
  }

  async copyListing() {
    if (!this.app.first.listing.subject) return this.app.frame.say('There is no listing to copy.');
    try {
      await this.copy(await this.app.first.listing.text(), `${paneLabel(this.app.first.pane)} copied`);
    } catch (error) {
      this.app.fail(error);
    }
  }

  /**
   * @param {string} text
   * @param {string} done
   */
  async copy(text, done) {
    try {
      await navigator.clipboard.writeText(text);
      this.app.frame.say(done);
    } catch {
      this.app.frame.say('The browser denied access to the clipboard.', true);
    }
  }

  instruction() {
    const { box, pages } = this.app.first.listing;
    const line = pages.peek(box.active);
    const { active } = box;
    if (line) this.app.showBits(line, () => (pages.peek(active) === line ? box.virtual.nodeOf(active) : undefined));
  }

  /** Verifies the whole program, as `unshade verify` does. */
  async verify() {
    const { program, subject } = this.app;
    if (!program) return;
    this.app.frame.say('Verifying…');
    try {
      /** @type {import('./protocol.js').Verdict} */
      const { errors, warnings, findings } = await this.app.api.call({ query: 'verify', file: subject.file, program: program.program });
      // Findings from opening the file are shown first; replace them with these.
      await this.app.settled();
      if (this.app.program !== program) return;
      this.app.frame.showDiagnostics(findings);
      this.app.frame.toggleDiagnostics(true);
      this.app.frame.say(errors + warnings === 0 ? 'Verified: no problems found' : `Verified: ${plural(errors, 'error')}, ${plural(warnings, 'warning')}`, errors > 0);
    } catch (error) {
      this.app.fail(error);
    } finally {
      this.app.frame.sayNoMore();
    }
  }

  /** @param {number} by */
  difference(by) {
    if (this.app.first.pane === 'compare') this.app.first.comparison.step(by);
    else this.app.frame.say('n and p go to the differences of a comparison.');
  }

  /** Shows the data flow of the selected name, or of the selected line. */
  dataFlow() {
    const { listing, pane } = this.app.first;
    if (this.app.api.name === 'inline') return this.app.frame.say('Reports do not follow values. Use unshade explore.');
    const line = pane === 'assembly' ? listing.box.active : this.app.state.line ?? -1;
    if (line < 0 || this.app.state.item === null && !this.app.hasCode) return this.app.frame.say('Select a line of the assembly first.');
    this.app.first.selected = { subject: JSON.stringify(this.app.subject), line, link: pane === 'assembly' ? listing.entity : null };
    this.app.store.go({ pane: 'flow', line });
  }

  /** Selects the current view for comparison; when called again, compares the current view with it. */
  compare() {
    const { file, program, item, against, pane } = this.app.state;
    if (file === null) return;
    if (this.app.api.name === 'inline') return this.app.frame.say('Comparing is not available in reports. Use unshade explore.');
    const here = [file, program, item ?? ''].join('|');
    if (against === here || pane === 'compare') {
      this.app.store.go({ against: null, ...(pane === 'compare' ? { pane: 'auto' } : {}) });
      this.app.frame.say('Comparison ended');
    } else if (against === null) {
      this.app.store.go({ against: here }, { replace: true });
      this.app.frame.say('Now choose what to compare it with, and press c again');
    } else {
      this.app.store.go({ pane: 'compare', line: null });
    }
  }

  /**
   * Shows two items of the compared programs, or the one that only one program has.
   * @param {number | undefined} left
   * @param {number | undefined} right
   */
  comparePair(left, right) {
    const [file, program] = (this.app.state.against ?? '').split('|');
    if (left !== undefined && right !== undefined) return this.app.store.go({ item: right, against: [file, program, left].join('|'), pane: 'compare', line: null, range: null });
    if (right !== undefined) return this.app.store.go({ item: right, against: null, pane: 'auto', line: null, range: null });
    this.app.store.go({ file, program: Number(program) || 0, item: left ?? null, against: null, pane: 'auto', line: null, range: null });
  }

  /** Sets or removes a breakpoint at the active line. */
  toggleBreak() {
    const column = [this.app.first, this.app.second].find(({ element, listing }) => element.contains(document.activeElement) && listing.box.active >= 0)
      ?? [this.app.first, this.app.second].find(({ listing }) => listing.box.active >= 0);
    if (!column?.panes.includes('run')) return this.app.frame.say('Select a line of a function that can be run.');
    this.app.run.toggleBreak(column.listing.pages.peek(column.listing.box.active));
  }

  /** The column whose listing has the name that was chosen last, or the focus. */
  get activeListing() {
    const inSecond = this.app.second.element.contains(document.activeElement) || this.app.first.listing.nameAtCursor() === null && this.app.second.listing.nameAtCursor() !== null;
    return (this.app.twoColumns && inSecond ? this.app.second : this.app.first).listing;
  }

  /** @returns {{left: Subject, names: [string, string]} | null} */
  against() {
    const { against, file, item } = this.app.state;
    if (against === null) return null;
    const [name, program, other] = against.split('|');
    const number = this.app.files.files.find((entry) => entry.name === name)?.file;
    if (number === undefined) return null;
    return {
      left: { file: number, program: Number(program) || 0, ...(other ? { item: Number(other) } : {}) },
      names: [
        `${baseName(name)}${other ? ` #${other}` : ''}`,
        `${baseName(file ?? '')}${item !== null ? ` #${item} ${this.app.facts?.title ?? ''}` : ''}`,
      ],
    };
  }

  /** @returns {import('./overview.js').Actions} */
  overviewActions() {
    return {
      item: (item) => this.app.store.go({ item }),
      range: (range) => this.app.store.go({ range }, { replace: true }),
      program: (program) => this.app.store.go({ program, item: null }),
      pane: (pane) => this.app.store.go({ pane, line: null }),
      label: paneLabel,
      filter: (terms) => this.app.inSidebar(() => this.app.list.filter(terms)),
      commands: {
        filter: { label: 'Filter functions', key: '/', run: () => this.app.inSidebar(() => this.app.list.focus()) },
        search: { label: 'Search all', key: 'f', run: () => this.search() },
        verify: { label: 'Verify', key: 'v', run: () => this.verify() },
        ...(this.app.api.name === 'inline' ? {} : { compare: { label: 'Compare with another', key: 'c', run: () => this.compare() } }),
        download: { label: 'Download', key: 'd', run: () => this.download() },
      },
    };
  }
}
