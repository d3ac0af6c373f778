/**
 * Edits: what can be changed in the current view, versions of a file, undo, and saving.
 *
 * Every edit makes a new file in memory beside the old one (`edit` in `docs/query.md`). Versions of one file form a line:
 * only the newest is in the list of files; undo and redo move along it, and an edit after an undo closes the later ones.
 */

import { save } from './dialogs.js';
import { baseName, fill, h, hex, plural } from './dom.js';
import { askBytes, askName, askText, chooseEdit, STRIPPED } from './edit_dialogs.js';
import { problem } from './rows.js';

/** @typedef {import('./protocol.js').FileEntry} FileEntry */
/** @typedef {import('./protocol.js').EditAnswer} EditAnswer */
/** @typedef {import('./protocol.js').Facts} Facts */
/** @typedef {import('./protocol.js').Program} Program */
/** @typedef {import('./protocol.js').Range} Range */
/** @typedef {{file: number, program: number, item?: number}} Subject */
/** @typedef {{kind: string, [field: string]: unknown}} Edit as in `crates/unshade/src/edit` */

/**
 * What the page shows.
 * @typedef {object} View
 * @property {FileEntry} entry
 * @property {Program} program
 * @property {Subject} subject
 * @property {Facts} facts
 * @property {number | null} line
 * @property {Range | null} range
 * @property {string[]} path names of the selected node of the structure
 */

/** @typedef {{entry: FileEntry, did: string, notes: string[]}} Version the first one is the file itself, to which nothing was done */

/** The largest listing that is edited in the page, in characters. */
const MAX_TEXT = 8_000_000;
/** The most bytes that are edited at once. */
const MAX_BYTES = 4096;

export class Editing {
  /**
   * @param {object} options
   * @param {import('./transport.js').Transport} options.api
   * @param {() => Promise<View | null>} options.view
   * @param {(entry: FileEntry, keepItem: boolean) => void} options.show shows a version
   * @param {(files: {add?: FileEntry, hide?: FileEntry[], remove?: FileEntry[]}) => void} options.list changes the list of files
   * @param {(entry: FileEntry) => void} options.compare compares the current version with another
   * @param {(text: string) => void} options.say
   * @param {(error: unknown) => void} options.fail
   */
  constructor({ api, view, show, list, compare, say, fail }) {
    this.api = api;
    this.view = view;
    this.show = show;
    this.list = list;
    this.compare = compare;
    this.say = say;
    this.fail = fail;
    /** The versions of files, by the number of each. @type {Map<number, {versions: Version[], at: number}>} */
    this.lines = new Map();
    this.banner = h('div', { class: 'edit-banner', role: 'region', 'aria-label': 'Edited file', hidden: true });
  }

  /** Opens the menu of edits. */
  async open() {
    const view = await this.view();
    if (!view) return;
    const choices = this.#choices(view);
    if (choices.length === 0) return this.say('Nothing can be edited here.');
    chooseEdit(choices);
  }

  /**
   * @param {View} view
   * @returns {{label: string, hint: string, run: () => void}[]}
   */
  #choices(view) {
    const { program, facts, subject, range, path } = view;
    const kinds = program.edits ?? [];
    const isItem = subject.item !== undefined;
    const can = (/** @type {string} */ kind) => kinds.includes(kind);
    /** @type {{label: string, hint: string, run: () => void}[]} */
    const choices = [];
    const add = (/** @type {boolean} */ offered, /** @type {string} */ label, /** @type {string} */ hint, /** @type {() => void} */ run) => {
      if (offered) choices.push({ label, hint, run });
    };
    add(can('text') && facts.panes.includes('assembly'), `Code of ${facts.title}…`, 'change its assembly', () => this.#text(view));
    add(can('rename'), isItem ? `Rename ${facts.title}…` : 'Rename a symbol…', 'and the symbol in its module', () => this.#rename(view));
    add(can('remove') && isItem, `Remove ${facts.title}`, `from the ${program.format_name}`, () => this.#remove(view));
    const where = range ? `${hex(range[0])}–${hex(range[1])}` : '';
    add(can('bytes') && range !== null, `${path.at(-1) ?? 'Bytes'} at ${where}…`, 'change the field or its bytes', () => this.#bytes(view));
    add(can('yaml'), 'The program as YAML…', 'change anything', () => this.#yaml(view));
    for (const [what, label] of can('strip') ? STRIPPED[program.format] ?? [] : []) {
      add(true, `Strip ${label}`, '', () => this.#apply(view, { kind: 'strip', what }, `stripped ${label}`));
    }
    add(can('target'), 'Set the OS…', 'that the program is for', () => askName({
      title: 'Set the OS', label: 'OS and version', value: '', placeholder: 'macos-14.0', button: 'Set',
      apply: (os) => this.#apply(view, { kind: 'target', os }, `set the OS to ${os}`),
    }));
    add(can('sign'), 'Sign', 'compute the digest', () => this.#apply(view, { kind: 'sign' }, 'signed'));
    return choices;
  }

  /** @param {View} view */
  async #text(view) {
    const { facts, program, subject, line } = view;
    await this.#edited(view, { title: `Code of ${facts.title}`, what: { what: 'listing', pane: 'assembly' }, line: line ?? 0 }, (text) => ({
      edit: { kind: 'text', text, ...(program.format === 'metallib' ? { function: `#${subject.item}` } : {}) }, did: `changed the code of ${facts.title}`,
    }));
  }

  /** @param {View} view */
  async #yaml(view) {
    const whole = { ...view, subject: { file: view.subject.file, program: view.subject.program } };
    await this.#edited(whole, { title: `${view.program.format_name} as YAML`, what: { what: 'yaml' }, line: 0 }, (text) => ({
      edit: { kind: 'yaml', text }, did: 'changed the YAML',
    }));
  }

  /**
   * Fetches a text, lets the reader change it, and applies it; faults are shown beside the text.
   * @param {View} view
   * @param {{title: string, what: Record<string, unknown>, line: number}} source
   * @param {(text: string) => {edit: Edit, did: string}} make
   */
  async #edited(view, { title, what, line }, make) {
    let text;
    try {
      const { blob } = await this.api.bytes({ query: 'extract', ...view.subject, ...what });
      if (blob.size > MAX_TEXT) return this.say('This text is too long to edit in the page: unshade asm and unshade from-yaml take files.');
      text = await blob.text();
    } catch (error) {
      return this.fail(error);
    }
    askText({ title, text, line, apply: async (changed) => {
      if (changed === text) return { faults: [], problem: h('p', {}, 'Nothing is changed yet.') };
      const { edit, did } = make(changed);
      try {
        const faults = await this.#make(view, edit, did);
        return faults.length ? { faults } : null;
      } catch (error) {
        return { faults: [], problem: problem(error) };
      }
    } });
  }

  /** @param {View} view */
  #rename(view) {
    const { facts, subject, program } = view;
    const ofItem = subject.item !== undefined && program.format === 'metallib';
    const old = ofItem ? `#${subject.item}` : null;
    askName({
      title: ofItem ? `Rename ${facts.title}` : 'Rename a symbol', label: 'New name', value: ofItem ? facts.title : '', button: 'Rename',
      old: ofItem ? undefined : { label: 'Symbol', value: subject.item === undefined ? '' : facts.title },
      apply: (name, symbol) => this.#apply(view, { kind: 'rename', old: old ?? symbol, new: name }, `renamed ${old ? facts.title : symbol} to ${name}`),
    });
  }

  /** @param {View} view */
  #remove(view) {
    const { facts, subject, program } = view;
    const name = program.format === 'metallib' ? `#${subject.item}` : facts.title.slice(0, 4);
    this.#apply(view, { kind: 'remove', names: [name] }, `removed ${facts.title}`, false);
  }

  /** @param {View} view */
  async #bytes(view) {
    const { subject, program, range, path } = view;
    if (!range) return;
    const count = Math.min(range[1] - range[0], MAX_BYTES);
    try {
      const { bytes } = await this.api.call({ query: 'hex', file: subject.file, program: program.program, from: range[0], count });
      askBytes({ title: path.length ? path.join(' › ') : 'Bytes', range: [range[0], range[0] + count], bytes, apply: (changed) =>
        this.#apply(view, { kind: 'bytes', offset: range[0], bytes: changed }, `changed ${path.at(-1) ?? plural(count, 'byte')} at ${hex(range[0])}`) });
    } catch (error) {
      this.fail(error);
    }
  }

  /**
   * Makes an edit without a text. Returns why it is refused.
   * @param {View} view
   * @param {Edit} edit
   * @param {string} did
   * @param {boolean} [keepItem]
   * @returns {Promise<Node | null>}
   */
  async #apply(view, edit, did, keepItem = true) {
    try {
      await this.#make(view, edit, did, keepItem);
      return null;
    } catch (error) {
      this.fail(error);
      return problem(error);
    }
  }

  /**
   * Makes an edit and shows the new version. Returns the faults of a text.
   * @param {View} view
   * @param {Edit} edit
   * @param {string} did
   * @param {boolean} [keepItem]
   */
  async #make({ entry, program }, edit, did, keepItem = true) {
    this.say('Editing…');
    /** @type {EditAnswer} */
    const { file, notes, faults } = await this.api.call({ query: 'edit', file: entry.file, program: program.program, edit });
    this.say(faults.length ? plural(faults.length, 'fault') : `Edited: ${did}`);
    if (!file) return faults;
    if (this.api.name === 'worker') await this.#adopt(file);
    const line = this.lines.get(entry.file) ?? { versions: [{ entry, did: '', notes: [] }], at: 0 };
    const later = line.versions.splice(line.at + 1);
    for (const { entry } of later) this.#close(entry);
    line.versions.push({ entry: file, did, notes });
    line.at = line.versions.length - 1;
    for (const version of line.versions) this.lines.set(version.entry.file, line);
    this.list({ add: file, hide: line.at > 1 ? [entry] : [], remove: later.map(({ entry }) => entry) });
    this.show(line.versions[line.at].entry, keepItem);
    return faults;
  }

  /**
   * Opens a new version as a file of the page, which the worker reads again if it has to be restarted.
   * @param {FileEntry} entry
   */
  async #adopt(entry) {
    const { blob } = await this.api.bytes({ query: 'extract', file: entry.file, program: 0, what: 'file' });
    const made = entry.file;
    entry.file = await this.api.open(new File([blob], entry.name), entry.name);
    await this.api.call({ query: 'close', file: made });
  }

  /** @param {FileEntry} entry */
  #close(entry) {
    this.lines.delete(entry.file);
    this.api.call({ query: 'close', file: entry.file }).catch(this.fail);
  }

  /**
   * Goes to the version before or after the current one.
   * @param {number} file
   * @param {-1 | 1} step
   */
  step(file, step) {
    const line = this.lines.get(file);
    const version = line?.versions[line.at + step];
    if (!line || !version) return this.say(step < 0 ? 'There is no edit to undo.' : 'There is no edit to redo.');
    const { did } = line.versions[step < 0 ? line.at : line.at + 1];
    line.at += step;
    this.list({ add: version.entry, hide: line.versions.slice(1).map(({ entry }) => entry) });
    this.show(version.entry, true);
    this.say(`${step < 0 ? 'Undone' : 'Redone'}: ${did}`);
  }

  /**
   * Shows above the reading pane what was done to a file, or nothing.
   * @param {number | null} file
   */
  showBanner(file) {
    const line = file === null ? undefined : this.lines.get(file);
    const at = line?.versions.findIndex(({ entry }) => entry.file === file) ?? -1;
    if (line && at >= 0) line.at = at;
    this.banner.hidden = !line;
    if (!line || at < 0) return;
    const { did, notes, entry } = line.versions[at];
    const button = (/** @type {string} */ text, /** @type {string} */ key, /** @type {() => void} */ run, disabled = false) =>
      h('button', { type: 'button', class: 'quiet', title: key ? `${text} (${key})` : text, disabled, onclick: run }, text);
    const isEdited = at > 0;
    fill(this.banner,
      h('span', { class: 'edit-did' }, isEdited ? `${plural(at, 'edit')}: ${did}.` : 'As it was before the edits.',
        h('span', { class: 'muted' }, notes.map((note) => ` ${note.charAt(0).toUpperCase()}${note.slice(1)}.`).join(''))),
      h('span', { class: 'edit-actions' },
        button('Undo', 'z', () => this.step(entry.file, -1), !isEdited), button('Redo', 'Z', () => this.step(entry.file, 1), at + 1 >= line.versions.length),
        isEdited && button('Differences', '', () => this.compare(line.versions[0].entry)),
        isEdited && button('Download', '', () => this.#download(entry)),
        isEdited && this.api.name === 'server' && button('Save…', '', () => this.#save(entry))));
  }

  /** @param {FileEntry} entry */
  async #download(entry) {
    try {
      const { name, blob } = await this.api.bytes({ query: 'extract', file: entry.file, program: 0, what: 'file' });
      this.say(save(name, blob));
    } catch (error) {
      this.fail(error);
    }
  }

  /** @param {FileEntry} entry */
  #save(entry) {
    askName({ title: 'Save beside the original', label: 'File name', value: baseName(entry.name), button: 'Save', apply: async (name) => {
      try {
        const { path } = await this.api.call({ query: 'save', file: entry.file, name });
        this.say(`Saved as ${path}`);
        return null;
      } catch (error) {
        return problem(error);
      }
    } });
  }
}
