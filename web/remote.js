/**
 * Opens the file that a link names: `?url=ADDRESS`. Only the static page does; the local server's policy forbids it.
 *
 * A file of the page's own origin is fetched at once, one of another origin after the user agreed to a dialog that names
 * the origin. Requests carry neither credentials nor a referrer, and do not follow redirects, which could lead elsewhere.
 */

import { h, size } from './dom.js';
import { modal } from './keys.js';
import { QueryError } from './transport.js';

/** Maximum size of a file in bytes. */
const MAX_SIZE = 512 * 1024 * 1024;
/** Milliseconds until the progress is shown. */
const DELAY = 180;
const BY_HAND = 'Download the file and drop it on this page.';

/**
 * Returns the address in the page's own address.
 * @returns {string | null}
 */
export function linkedAddress() {
  return new URLSearchParams(location.search).get('url');
}

/**
 * Fetches the file of an address.
 * @param {string} text
 * @param {HTMLElement} host the element that shows the progress
 * @returns {Promise<import('./drop.js').Opened | null>} null if the user declined or cancelled
 */
export async function fetchLinked(text, host) {
  const address = parse(text);
  if (address.origin !== location.origin && !await agreed(address)) return null;
  const controller = new AbortController();
  const progress = new Progress(host, nameOf(address), () => controller.abort());
  try {
    return { name: nameOf(address), file: await load(address, controller.signal, progress) };
  } catch (error) {
    if (controller.signal.aborted) return null;
    throw error;
  } finally {
    progress.end();
  }
}

/**
 * @param {string} text
 * @returns {URL}
 */
function parse(text) {
  let address;
  try {
    address = new URL(text, location.href);
  } catch {
    throw fault('The link names no valid address of a file.', '?url= needs the address of a file, percent-encoded.');
  }
  if (address.origin !== location.origin && address.protocol !== 'https:') throw fault(`The link names a file at ${address.protocol}, which this page does not fetch.`, `Other servers must use https. ${BY_HAND}`);
  if (address.username || address.password) throw fault('The link contains a user name or a password, which this page does not send.', BY_HAND);
  address.hash = '';
  return address;
}

/** @param {URL} address */
function nameOf(address) {
  const last = address.pathname.split('/').pop() || address.hostname;
  try {
    return decodeURIComponent(last);
  } catch {
    return last;
  }
}

/**
 * Asks whether a file of another origin may be fetched.
 * @param {URL} address
 * @returns {Promise<boolean>}
 */
function agreed(address) {
  return new Promise((resolve) => {
    let answer = false;
    const fetchIt = h('button', { type: 'button', class: 'primary', onclick: () => {
      answer = true;
      dialog.close();
    } }, 'Fetch the file');
    const dialog = modal('Fetch a file from another server?',
      h('p', {}, 'The link that you followed asks this page to fetch a file from'),
      h('p', { class: 'linked-origin mono' }, address.origin),
      h('p', { class: 'muted linked-address' }, address.href),
      h('p', {}, 'That server sees your network address, but neither cookies nor this page\'s address. The file is read on this computer and sent nowhere.'),
      h('div', { class: 'open-buttons' }, fetchIt, h('button', { type: 'button', class: 'quiet', onclick: () => dialog.close() }, 'Do not fetch')));
    dialog.addEventListener('close', () => resolve(answer));
    dialog.showModal();
    fetchIt.focus();
  });
}

/**
 * @param {URL} address
 * @param {AbortSignal} signal
 * @param {Progress} progress
 * @returns {Promise<File>}
 */
async function load(address, signal, progress) {
  const name = nameOf(address);
  let response;
  try {
    response = await fetch(address, { signal, mode: 'cors', credentials: 'omit', referrerPolicy: 'no-referrer', redirect: 'manual' });
  } catch (error) {
    if (signal.aborted) throw error;
    throw address.origin === location.origin ? fault(`${name} can't be fetched: the server does not respond.`)
      : fault(`${name} can't be fetched from ${address.origin}.`, `The server does not respond, or does not allow other pages to read the file (CORS). ${BY_HAND}`);
  }
  if (response.type === 'opaqueredirect') throw fault(`${address.href} redirects to another address.`, 'Link to the final address of the file.');
  if (!response.ok) throw fault(`${address.href} can't be fetched: status ${response.status} ${response.statusText}`.trim() + '.', response.status === 404 ? 'The server has no such file.' : undefined);
  if (/^text\/html\b/i.test(response.headers.get('Content-Type') ?? '')) throw fault(`${address.href} is a web page, not a file with a GPU program.`, 'Link to the file itself.');
  const announced = Number(response.headers.get('Content-Length')) || 0;
  if (announced > MAX_SIZE) throw tooLarge(name, announced);
  /** @type {BlobPart[]} */
  const parts = [];
  let received = 0;
  const reader = response.body?.getReader();
  for (;;) {
    const { value, done } = await read(reader, name, signal);
    if (done || !value) break;
    received += value.byteLength;
    if (received > MAX_SIZE) {
      reader?.cancel();
      throw tooLarge(name, received);
    }
    parts.push(/** @type {Uint8Array<ArrayBuffer>} */ (value));
    progress.update(received, announced);
  }
  if (received === 0) throw fault(`${address.href} is empty.`);
  return new File(parts, name);
}

/**
 * @param {ReadableStreamDefaultReader<Uint8Array> | undefined} reader
 * @param {string} name
 * @param {AbortSignal} signal
 * @returns {Promise<{value?: Uint8Array, done: boolean}>}
 */
async function read(reader, name, signal) {
  try {
    return await reader?.read() ?? { done: true };
  } catch (error) {
    if (signal.aborted) throw error;
    throw fault(`The connection ended before all of ${name} arrived.`, 'Reload the page to try again.');
  }
}

/** The progress of a request, with a button that cancels it. */
class Progress {
  /**
   * @param {HTMLElement} host
   * @param {string} name
   * @param {() => void} oncancel
   */
  constructor(host, name, oncancel) {
    this.text = h('span', {}, '');
    this.bar = h('progress', { class: 'running', 'aria-label': `Fetching ${name}` });
    this.element = h('div', { class: 'waiting' }, h('span', { role: 'status' }, `Fetching ${name}…`), this.bar, this.text,
      h('button', { type: 'button', class: 'quiet', onclick: oncancel }, 'Cancel'));
    this.timer = setTimeout(() => host.append(this.element), DELAY);
  }

  /**
   * @param {number} received
   * @param {number} announced 0 if unknown
   */
  update(received, announced) {
    if (announced > 0) this.bar.value = Math.min(1, received / announced);
    this.text.textContent = announced > 0 ? `${size(received)} of ${size(announced)}` : size(received);
  }

  end() {
    clearTimeout(this.timer);
    this.element.remove();
  }
}

/**
 * @param {string} name
 * @param {number} bytes
 */
function tooLarge(name, bytes) {
  return fault(`${name} has ${size(bytes)} or more; a link opens files of at most ${size(MAX_SIZE)}.`, 'Download the file and open it with unshade explore.');
}

/**
 * @param {string} message
 * @param {string} [hint]
 */
function fault(message, hint) {
  return new QueryError({ message, hint });
}
