/**
 * Installs the static page: the service worker (`service.js`) keeps all its files, so that it works offline, and offers
 * new versions. An installed page also opens files that the system hands over.
 */

import { notice } from './notice.js';

/**
 * Installs the service worker where the page has one: the static page, from a server.
 * @param {(files: import('./drop.js').Opened[]) => void} onfiles receives files that the system opens with the page
 */
export async function keepOffline(onfiles) {
  const isStatic = document.querySelector('link[rel="manifest"]') !== null;
  if (!isStatic || !('serviceWorker' in navigator) || window.top !== window) return;
  receiveFiles(onfiles);
  // Load the page first.
  if (document.readyState !== 'complete') await new Promise((resolve) => addEventListener('load', resolve, { once: true }));
  try {
    const registration = await navigator.serviceWorker.register('service.js');
    if (registration.waiting) offer(registration.waiting);
    registration.addEventListener('updatefound', () => {
      const { installing } = registration;
      installing?.addEventListener('statechange', () => {
        // Without an active one, this is the first visit, and nothing is replaced.
        if (installing.state === 'installed' && registration.active) offer(installing);
      });
    });
  } catch {
    // Without it the page works as long as its server can be reached.
  }
}

/**
 * Offers to replace this version by a new one, which is completely stored.
 * @param {ServiceWorker} next
 */
function offer(next) {
  notice('version', 'A new version of this page is ready.', [{ label: 'Load it', run: () => {
    const { port1, port2 } = new MessageChannel();
    port1.onmessage = ({ data }) => {
      if (data === 'in use') notice('version', 'Close the other windows of this page to load its new version.', [{ label: 'Try again', run: () => offer(next) }]);
    };
    navigator.serviceWorker.addEventListener('controllerchange', () => location.reload(), { once: true });
    next.postMessage('take over', [port2]);
  } }]);
}

/** @param {(files: import('./drop.js').Opened[]) => void} onfiles */
function receiveFiles(onfiles) {
  /** @type {any} */ (window).launchQueue?.setConsumer(async (/** @type {{files: FileSystemFileHandle[]}} */ { files }) => {
    if (files.length > 0) onfiles(await Promise.all(files.map(async (handle) => ({ file: await handle.getFile(), name: handle.name, handle }))));
  });
}
