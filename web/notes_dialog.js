/** The dialogs of notes: a new name, a comment, and all notes on a file. */

import { askName } from './edit_dialogs.js';
import { save } from './dialogs.js';
import { fill, h, plural } from './dom.js';
import { modal } from './keys.js';
import { whyNot } from './notes.js';
import { problem } from './rows.js';

/** @typedef {import('./notes.js').Notes} Notes */

/**
 * Asks for a name for what the decompiler has named.
 * @param {object} options
 * @param {Notes} options.notes
 * @param {string | null} options.name of the function
 * @param {string} options.shown the name as it is shown
 * @param {() => Promise<string>} options.text returns the listing as it is shown
 * @param {(text: string) => void} options.say
 */
export function askRename({ notes, name, shown, text, say }) {
  const names = notes.of(name)?.names ?? {};
  const old = Object.keys(names).find((old) => names[old] === shown) ?? shown;
  askName({ title: `Rename ${shown}`, label: 'New name', value: shown, button: 'Rename', apply: async (renamed) => {
    try {
      const reason = renamed === old ? '' : whyNot(shown, renamed, await text());
      if (reason) return h('p', { class: 'problem-message' }, reason);
      await notes.set(name, 'names', old, renamed === old ? '' : renamed);
      say(`${shown} is ${renamed} now`);
      return null;
    } catch (error) {
      return problem(error);
    }
  } });
}

/**
 * Asks for a comment on an instruction. An empty one removes it.
 * @param {object} options
 * @param {Notes} options.notes
 * @param {string | null} options.name of the function
 * @param {number} options.offset
 * @param {(text: string) => void} options.say
 */
export function askComment({ notes, name, offset, say }) {
  const key = `0x${offset.toString(16)}`;
  const input = h('input', { class: 'field', 'aria-label': 'Comment', value: notes.of(name)?.comments[key] ?? '', autocomplete: 'off' });
  const refusal = h('div', { role: 'alert' });
  const dialog = modal(`Comment at ${key}`, h('form', { class: 'search-line', onsubmit: async (/** @type {Event} */ event) => {
    event.preventDefault();
    try {
      await notes.set(name, 'comments', key, input.value);
      dialog.close();
      say(input.value.trim() ? 'Comment kept in this browser' : 'Comment removed');
    } catch (error) {
      fill(refusal, problem(error));
    }
  } }, input, h('button', { type: 'submit', class: 'primary' }, 'Keep')), refusal);
  dialog.showModal();
  input.select();
}

/**
 * Lists all notes on the program, with export and import.
 * @param {object} options
 * @param {Notes} options.notes
 * @param {string} options.fileName
 * @param {(text: string) => void} options.say
 */
export function showNotes({ notes, fileName, say }) {
  const status = h('div', { role: 'status' });
  const list = h('div', { class: 'notes-list', tabIndex: 0, role: 'region', 'aria-label': 'Notes' });
  const chooser = h('input', { type: 'file', accept: '.json', 'aria-label': 'File of notes', class: 'visually-hidden', tabIndex: -1, onchange: async () => {
    const file = chooser.files?.[0];
    chooser.value = '';
    if (!file) return;
    try {
      const { count, dropped } = await notes.import(await file.text());
      fill(status, `${plural(count, 'note')} imported${dropped ? `; ${plural(dropped, 'entry', 'entries')} left out: no names, offsets or texts` : ''}.`);
      show();
    } catch (error) {
      fill(status, problem(error));
    }
  } });
  function show() {
    const functions = Object.entries(notes.notes?.functions ?? {});
    fill(list, ...functions.map(([name, own]) => h('section', {}, h('h3', {}, name || fileName), h('dl', { class: 'notes-pairs' },
      ...Object.entries(own.names).flatMap(([old, renamed]) => [h('dt', { class: 'mono' }, old), h('dd', { class: 'mono' }, renamed)]),
      ...Object.entries(own.comments).flatMap(([offset, text]) => [h('dt', { class: 'mono' }, offset), h('dd', {}, text)])))),
    functions.length === 0 && h('p', { class: 'muted' }, 'None yet. Press n on a name of decompiled text, ; on a line.'));
    for (const button of [exporting, clearing]) button.disabled = notes.count === 0;
  }
  const exporting = h('button', { type: 'button', class: 'quiet', onclick: () => say(save(`${fileName}.notes.json`, new Blob([notes.text()], { type: 'application/json' }))) }, 'Export');
  const clearing = h('button', { type: 'button', class: 'quiet', onclick: () => {
    notes.clear();
    show();
  } }, 'Remove all');
  const dialog = modal('Notes', h('p', { class: 'hint' }, 'They stay in this browser, for this program under any name. unshade decompile --types reads the exported file.'),
    list, status, h('div', { class: 'search-line' }, exporting, h('button', { type: 'button', class: 'quiet', onclick: () => chooser.click() }, 'Import…'), clearing, chooser));
  show();
  dialog.showModal();
}
