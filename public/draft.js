// Keeps drafts of questions. Chainlit replaces its question box by an empty one when a conversation opens and when the
// box moves below the first answer. The draft moves to the new box with its caret. Each conversation has its own draft, in
// memory only, because it may be about a patient.
(() => {
  'use strict';

  const BOX = 'chat-input';
  const ASKED = 'asclepius-asked';
  const LONGEST = 4000;
  const drafts = new Map();
  let box = null;
  let draft = null;
  let typing = false;

  const place = window.asclepiusPlace;

  function keep(text, start, end) {
    draft = text ? { text, start, end } : null;
    if (draft) drafts.set(place(), draft);
    else drafts.delete(place());
  }

  function fill(area, text, start = text.length, end = start) {
    // Bypass React's setter, or the page would not notice the change.
    Object.getOwnPropertyDescriptor(HTMLTextAreaElement.prototype, 'value').set.call(area, text);
    area.dispatchEvent(new Event('input', { bubbles: true }));
    area.setSelectionRange(start, end);
  }

  function look() {
    if (box && !box.isConnected) {
      if (draft) Object.assign(draft, { start: box.selectionStart, end: box.selectionEnd });
      box = null;
    }
    const found = document.getElementById(BOX);
    if (!found || found === box) return;
    box = found;
    if (typing && document.activeElement === document.body) box.focus();
    draft = drafts.get(place()) || null;
    if (draft && !box.value) fill(box, draft.text, draft.start, draft.end);
  }

  // A link to the page may carry a question (`#ask=...`), which is filled in and not sent. A fragment reaches no server
  // and no log. The tab keeps it while its user signs in, until it is changed or sent.
  function arrive() {
    const given = new URLSearchParams(location.hash.slice(1)).get('ask');
    if (given) {
      sessionStorage.setItem(ASKED, given.slice(0, LONGEST));
      history.replaceState(history.state, '', location.pathname + location.search);
    }
    const text = sessionStorage.getItem(ASKED);
    if (!text) return;
    drafts.set('/', { text, start: text.length, end: text.length });
    box = null;
    look();
  }

  arrive();
  addEventListener('hashchange', arrive);
  new MutationObserver(look).observe(document.documentElement, { childList: true, subtree: true });

  document.addEventListener('input', ({ target, isTrusted }) => {
    if (target.id !== BOX) return;
    if (isTrusted) sessionStorage.removeItem(ASKED);
    keep(target.value, target.selectionStart, target.selectionEnd);
  });

  document.addEventListener('focusin', ({ target }) => (typing = target.id === BOX));
  document.addEventListener('focusout', ({ target }) => {
    // A removed box loses the focus, too; typing continues in its replacement.
    if (target.id === BOX) queueMicrotask(() => (typing = typing && (!target.isConnected || document.activeElement === target)));
  });

  // -- sending ------------------------------------------------------------------------------------------------------

  const forget = () => {
    sessionStorage.removeItem(ASKED);
    typing = false;
    keep('');
  };
  const canSend = () => document.querySelector('#chat-submit:not([disabled])') !== null;

  document.addEventListener('click', ({ target }) => {
    if (target.closest && target.closest('#chat-submit')) forget();
  }, true);

  document.addEventListener('keydown', (event) => {
    if (event.target.id === BOX && event.key === 'Enter' && !event.shiftKey && !event.isComposing && canSend()) forget();
  }, true);

  window.asclepiusDraft = {
    fill,
    // A new conversation got its address: move its draft there.
    moveTo(address) {
      const typed = drafts.get('/');
      drafts.delete('/');
      if (typed) drafts.set(address, typed);
    }
  };
})();
