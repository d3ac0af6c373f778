/**
 * The service worker of the static page: keeps all files of one version, and answers from them, online and offline.
 *
 * `cargo xtask web` fills in the version and the files with their SHA-256. Only files with these hashes are stored or
 * returned, so a page never gets files of two versions, not even while a host is being updated. A new version is stored
 * beside the old one, waits until the user wants it, and takes over only if no other window shows the old one.
 */

const VERSION = '';
/** @type {[string, string][]} */
const FILES = [];

const PREFIX = `unshade ${registration.scope} `;
const CACHE = PREFIX + VERSION;
/** The hash of each file, by address. */
const HASHES = new Map(FILES.map(([name, hash]) => [new URL(name, registration.scope).href, hash]));

/**
 * Returns the request of a file that fails if the file is not that of this version.
 *
 * @param {string} address
 */
function exactly(address) {
  return new Request(address, { cache: 'no-cache', integrity: `sha256-${HASHES.get(address)}` });
}

addEventListener('install', (event) => {
  event.waitUntil(caches.open(CACHE).then((cache) => cache.addAll([...HASHES.keys()].map(exactly))));
});

addEventListener('activate', (event) => {
  event.waitUntil(caches.keys().then((names) => Promise.all(names.filter((name) => name.startsWith(PREFIX) && name !== CACHE).map((name) => caches.delete(name)))));
});

addEventListener('message', (event) => {
  if (event.data !== 'take over') return;
  event.waitUntil(clients.matchAll({ type: 'window', includeUncontrolled: true }).then((windows) => {
    const here = windows.filter(({ url }) => url.startsWith(registration.scope));
    if (here.length > 1) event.ports[0]?.postMessage('in use');
    else return skipWaiting();
  }));
});

addEventListener('fetch', (event) => {
  const { request } = event;
  if (request.method !== 'GET') return;
  const address = new URL(request.url);
  address.hash = '';
  // The page's own parameters do not change its files.
  if (request.mode === 'navigate') address.search = '';
  if (address.href.endsWith('/index.html')) address.pathname = address.pathname.slice(0, -'index.html'.length);
  if (!HASHES.has(address.href)) return;
  event.respondWith(caches.open(CACHE).then((cache) => cache.match(address.href)).then((found) => found ?? fetch(exactly(address.href))));
});
