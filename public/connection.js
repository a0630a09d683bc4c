// Keeps the page connected to the conversation of its address.
(() => {
  'use strict';

  // A reader who opens one conversation right after another connects for both. Each time the page requests a cookie
  // first, and the last response would win, so that the next question could go into the wrong conversation. Request the
  // cookies in order and resolve only the newest request.
  const fetched = window.fetch.bind(window);
  let before = Promise.resolve();
  let newest = null;
  window.fetch = (...request) => {
    const address = new URL(request[0] instanceof Request ? request[0].url : request[0], location.href);
    if (address.pathname !== `${window.asclepiusRoot}/set-session-cookie`) return fetched(...request);
    newest = request;
    const answer = before.then(() => fetched(...request));
    before = answer.then(() => {}, () => {});
    return new Promise((resolve, reject) => {
      answer.then((found) => newest === request && resolve(found), (error) => newest === request && reject(error));
    });
  };

  // Chainlit's page sets a new conversation's address only where the list of conversations is shown. Without the address
  // a reload would lose the conversation.
  window.addEventListener('message', (event) => {
    const thread = event.source === window && event.data && event.data.asclepius_thread;
    const address = `/thread/${thread}`;
    if (typeof thread !== 'string' || !['/', address].includes(window.asclepiusPlace())) return;
    window.asclepiusDraft.moveTo(address);
    if (window.asclepiusPlace() === '/') history.replaceState({}, '', window.asclepiusRoot + address);
  });

  // Absent over plain HTTP, except on this machine.
  navigator.serviceWorker?.register(`${window.asclepiusRoot}/service-worker.js`).catch(() => {});
})();
