/** Notices above the status line, which stay until they are closed: a restart after a crash, a new version. */

import { byId, h, iconButton, plural } from './dom.js';

/** The notices that are shown, by topic: a later one of the same topic replaces the earlier one. @type {Map<string, HTMLElement>} */
const shown = new Map();

/**
 * Shows a notice and announces it.
 * @param {string} topic
 * @param {string} text
 * @param {{label: string, run: () => void}[]} [actions]
 */
export function notice(topic, text, actions = []) {
  shown.get(topic)?.remove();
  const close = () => {
    element.remove();
    shown.delete(topic);
  };
  const message = h('p', { class: 'notice-text', role: 'status' });
  const element = h('section', { class: 'notice', 'aria-label': 'Notice', 'data-topic': topic }, message,
    ...actions.map(({ label, run }) => h('button', { type: 'button', class: 'quiet', onclick: () => {
      close();
      run();
    } }, label)), iconButton('close', 'Close the notice', close));
  shown.set(topic, element);
  document.querySelector('.foot')?.before(element);
  // Screen readers announce what changes in a live region, not what it contains when it is added.
  message.textContent = text;
}

/**
 * Says that the worker crashed and was restarted.
 * @param {number} files the number of files that were opened again
 */
export function tellRestart(files) {
  byId('status').textContent = '';
  notice('restart', `unshade crashed because of a bug and was restarted. ${files === 0 ? 'No file was open.'
    : `${plural(files, 'file')} ${files === 1 ? 'was' : 'were'} opened again, and the view is as before.`} Please report the bug with the file that was open.`);
}
