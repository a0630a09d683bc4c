// Which conversation the page is connected to, and its address.
(() => {
  'use strict';

  // A page that is loaded with a conversation's address connects twice: for a new one, and then for that one. Each time it
  // first asks for a cookie, and of two answers the one that comes last would win, so that what is asked next went into
  // the new conversation. Only the newest goes on; the cookies are asked for in order.
  const fetched = window.fetch.bind(window);
  let before = Promise.resolve();
  let newest = null;
  window.fetch = (...request) => {
    const address = new URL(request[0] instanceof Request ? request[0].url : request[0], location.href);
    if (address.pathname !== '/set-session-cookie') return fetched(...request);
    newest = request;
    const answer = before.then(() => fetched(...request));
    before = answer.then(() => {}, () => {});
    return new Promise((resolve, reject) => {
      answer.then((found) => newest === request && resolve(found), (error) => newest === request && reject(error));
    });
  };

  // Chainlit's page gives a new conversation its address only where the list of conversations is shown; without one a
  // reload would lose it.
  window.addEventListener('message', (event) => {
    const thread = event.source === window && event.data && event.data.asclepius_thread;
    const address = `/thread/${thread}`;
    if (typeof thread !== 'string' || !['/', address].includes(location.pathname)) return;
    window.asclepiusDraft.moveTo(address);
    if (location.pathname === '/') history.replaceState({}, '', address);
  });
})();
