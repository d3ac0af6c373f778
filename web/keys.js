/**
 * The keyboard shortcuts. One table defines both the handlers and the help dialog.
 *
 * Single letters are ignored while the user types into a field. Combinations with Ctrl, Alt or ⌘ are left to the
 * browser.
 */

import { h, icon } from './dom.js';

/**
 * @typedef {object} Key
 * @property {string} group
 * @property {string} keys as shown, alternatives separated by spaces; `1…6` means a digit
 * @property {string} does
 * @property {((event: KeyboardEvent) => void)} [run] absent if a widget handles the key itself
 */

/**
 * @param {Key[]} table
 */
export function listen(table) {
  /** @type {Map<string, Key>} */
  const byKey = new Map();
  for (const key of table) {
    for (const name of key.keys.split(' ')) {
      if (name === '1…6') for (const digit of '123456') byKey.set(digit, key);
      else byKey.set(name, key);
    }
  }
  document.addEventListener('keydown', (event) => {
    if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey) return;
    if (isTextInput(event.target) || document.querySelector('dialog[open]')) return;
    const key = byKey.get(event.key);
    if (!key?.run) return;
    event.preventDefault();
    key.run(event);
  });
}

/** @param {EventTarget | null} target */
function isTextInput(target) {
  return target instanceof HTMLInputElement && !['checkbox', 'radio', 'button'].includes(target.type)
    || target instanceof HTMLSelectElement || target instanceof HTMLTextAreaElement;
}

/**
 * Shows the help dialog.
 * @param {Key[]} table
 */
export function showKeys(table) {
  /** @type {Map<string, HTMLElement>} */
  const groups = new Map();
  for (const key of table) {
    let list = groups.get(key.group);
    if (!list) {
      list = h('dl', { class: 'keys' });
      groups.set(key.group, list);
    }
    list.append(
      h('dt', {}, ...key.keys.split(' ').map((name) => h('kbd', {}, name))),
      h('dd', {}, key.does),
    );
  }
  const dialog = modal('Keyboard shortcuts', h('div', { class: 'key-groups' },
    ...[...groups].map(([name, list]) => h('section', {}, h('h3', {}, name), list))));
  dialog.classList.add('wide');
  dialog.showModal();
}

/**
 * Creates a modal dialog, which Esc or a click outside closes, and which removes itself when closed.
 * @param {string} title
 * @param {...import('./dom.js').Child} children
 * @returns {HTMLDialogElement}
 */
export function modal(title, ...children) {
  const close = h('button', { type: 'button', class: 'icon', 'aria-label': 'Close', onclick: () => dialog.close() }, icon('close'));
  const dialog = h('dialog', { 'aria-label': title },
    h('header', { class: 'dialog-head' }, h('h2', {}, title), close), ...children);
  dialog.addEventListener('close', () => dialog.remove());
  dialog.addEventListener('click', (event) => {
    if (event.target === dialog) dialog.close();
  });
  document.body.append(dialog);
  return dialog;
}
