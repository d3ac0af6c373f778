/**
 * Says what to do where the page is opened from disk: browsers load neither modules nor workers from there. This script
 * is not a module, so that they run it.
 */

if (location.protocol === 'file:') {
  const element = (/** @type {string} */ tag, /** @type {(string | Node)[]} */ ...children) => {
    const node = document.createElement(tag);
    node.append(...children);
    return node;
  };
  const panel = element('div',
    element('h2', 'This page can\'t run from disk'),
    element('p', 'Browsers load its modules from a server only. Do one of these:'),
    element('ul',
      element('li', 'Serve this folder: ', element('code', 'python3 -m http.server -d FOLDER'), ', then open http://localhost:8000.'),
      element('li', 'Open files with the program: ', element('code', 'unshade explore FILE'), '.'),
      element('li', 'Build the page as one file, which runs from disk: ', element('code', 'cargo xtask web --single-file'), '.')));
  panel.className = 'from-disk';
  document.getElementById('reader')?.replaceChildren(panel);
  document.body.className = 'welcome';
}
