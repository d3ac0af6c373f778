/** Small dialogs: go to an offset, uses of a name, downloads, opening files. */

import { h, hex, plural, size } from './dom.js';
import { modal } from './keys.js';
import { textOf } from './listing.js';
import { nothing, RowBox } from './rows.js';
import { openButtons, recentList } from './welcome.js';

/** @typedef {import('./protocol.js').Line} Line */
/** @typedef {import('./protocol.js').Range} Range */

/**
 * Parses an offset or a line number.
 * @param {string} text
 * @returns {{offset: number} | {line: number} | null}
 */
export function readPlace(text) {
  const line = /^(?:line|l|:)\s*(\d{1,9})$/i.exec(text);
  if (line) return { line: Number(line[1]) - 1 };
  if (/^0x[0-9a-f]{1,13}$/i.test(text) || /^\d{1,15}$/.test(text)) return { offset: Number(text) };
  return /^[0-9a-f]{1,13}h?$/i.test(text) ? { offset: parseInt(text, 16) } : null;
}

/**
 * @param {Range} space
 * @param {(place: {offset: number} | {line: number}) => void} onchoose
 */
export function goToPlace(space, onchoose) {
  const input = h('input', { class: 'field', 'aria-label': 'Offset or line', placeholder: '0x8f30, 36656 or line 12', autocomplete: 'off', spellcheck: false });
  const problem = h('p', { class: 'hint', role: 'status' });
  const form = h('form', { class: 'search-line', onsubmit: (/** @type {Event} */ event) => {
    event.preventDefault();
    const place = readPlace(input.value.trim());
    if (!place || 'offset' in place && (place.offset < space[0] || place.offset >= space[1])) {
      problem.textContent = `Enter an offset from ${hex(space[0])} to ${hex(space[1])}, or a line.`;
      return;
    }
    onchoose(place);
    dialog.close();
  } }, input, h('button', { type: 'submit', class: 'primary' }, 'Go'));
  const dialog = modal('Go to', form, problem);
  dialog.showModal();
  input.focus();
}

/**
 * @param {{links: import('./protocol.js').Links, lines: (Line | undefined)[], go: (line: number) => void}} found
 * @param {() => void} after
 */
export function showUses({ links, lines, go }, after) {
  const places = [...(links.definition ? [links.definition] : []), ...links.uses.slice(0, 200)];
  const box = new RowBox({
    label: 'Uses', className: 'results',
    create: () => h('div', { class: 'row result' }, h('span', { class: 'result-where' }), h('span', { class: 'result-text mono' })),
    render: (row, index) => {
      const line = lines[index];
      row.children[0].textContent = `${places[index].line + 1}${index === 0 && links.definition ? ' definition' : ''}`;
      row.children[1].textContent = line ? textOf(line).trim() : '';
    },
    onchoose: (index) => {
      dialog.close();
      go(places[index].line);
      after();
    },
  });
  const dialog = modal(plural(links.uses.length + links.more, 'use'), box.element);
  dialog.classList.add('wide', 'search');
  dialog.showModal();
  box.reset(places.length);
  box.setActive(0);
  box.element.focus();
}

/** The labels of downloads. */
const EXTRACTS = /** @type {Record<string, string>} */ ({
  program: 'The program, as in the file', module: 'The module (.air, .bc, .cubin)', listing: 'The listing',
  source: 'The source', yaml: 'YAML, which can be assembled again', zip: 'All modules, as a .zip',
});

/**
 * @param {{title: string, extracts: string[], choose: (what: string) => void}[]} groups
 */
export function showDownloads(groups) {
  const shown = groups.filter(({ extracts }) => extracts.length > 0);
  const dialog = modal('Download', ...shown.map(({ title, extracts, choose }) => h('div', { class: 'downloads' }, h('h3', {}, title),
    ...extracts.map((what) => h('button', { type: 'button', class: 'download', 'data-what': what, onclick: () => {
      dialog.close();
      choose(what);
    } }, EXTRACTS[what] ?? what)))), shown.length === 0 && nothing('There is nothing to download.'));
  dialog.showModal();
  /** @type {HTMLElement | null} */ (dialog.querySelector('.download'))?.focus();
}

/**
 * Downloads bytes as a file.
 * @param {string} name
 * @param {Blob} blob
 * @returns {string} name and size, for the status line
 */
export function save(name, blob) {
  const address = URL.createObjectURL(blob);
  h('a', { href: address, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(address), 60_000);
  return `${name}, ${size(blob.size)}`;
}

/**
 * @param {(files: import('./drop.js').Opened[]) => void} onfiles
 * @param {(error: unknown) => void} onerror
 */
export function showOpen(onfiles, onerror) {
  const dialog = modal('Open', openButtons(onfiles, () => dialog.close()),
    h('p', { class: 'muted' }, 'Files stay on this computer. You can also drop or paste them anywhere on the page.'), recentList((files) => {
      dialog.close();
      onfiles(files);
    }, onerror));
  dialog.showModal();
}
