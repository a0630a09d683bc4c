// What is typed outlives the box it is typed into. Chainlit draws its box anew, and empty, once it knows its user, when a
// conversation is taken up again, and when the box moves under the first answer: the text goes on in the new box, with the
// caret where it was, and what is typed while there is none comes with it. Each conversation has its own. Kept in memory
// alone, for it may be about a patient.
(() => {
  'use strict';

  const BOX = 'chat-input';
  const drafts = new Map();
  let box = null;
  let draft = null;
  let typing = false;

  const place = () => location.pathname;

  function keep(text, start, end) {
    draft = text ? { text, start, end } : null;
    if (draft) drafts.set(place(), draft);
    else drafts.delete(place());
  }

  function fill(area, text, start = text.length, end = start) {
    // Around the page's own setter, or it would not notice the change.
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
    draft = drafts.get(place()) || null;
    if (!draft || box.value) return;
    if (typing && document.activeElement === document.body) box.focus();
    fill(box, draft.text, draft.start, draft.end);
  }

  new MutationObserver(look).observe(document.documentElement, { childList: true, subtree: true });

  document.addEventListener('input', ({ target }) => {
    if (target.id === BOX) keep(target.value, target.selectionStart, target.selectionEnd);
  });

  document.addEventListener('focusin', ({ target }) => (typing = target.id === BOX));
  document.addEventListener('focusout', ({ target }) => {
    // A box that is taken off the page loses the focus, too; whoever types in it goes on.
    if (target.id === BOX) queueMicrotask(() => (typing = typing && (!target.isConnected || document.activeElement === target)));
  });

  // -- sending ------------------------------------------------------------------------------------------------------

  const forget = () => keep('');
  const canSend = () => document.querySelector('#chat-submit:not([disabled])') !== null;

  document.addEventListener('click', ({ target }) => {
    if (target.closest && target.closest('#chat-submit')) forget();
  }, true);

  document.addEventListener('keydown', (event) => {
    if (event.target.id !== BOX) ahead(event);
    else if (event.key === 'Enter' && !event.shiftKey && !event.isComposing && canSend()) forget();
  }, true);

  // -- while there is no box ----------------------------------------------------------------------------------------

  function ahead(event) {
    if (box || !typing || document.activeElement !== document.body) return;
    const erases = event.key === 'Backspace';
    if (event.ctrlKey || event.metaKey || event.altKey || !(erases || event.key.length === 1)) return;
    const { text, start, end } = drafts.get(place()) || { text: '', start: 0, end: 0 };
    const from = erases && start === end ? Math.max(0, start - 1) : start;
    const typed = erases ? '' : event.key;
    event.preventDefault();
    keep(text.slice(0, from) + typed + text.slice(end), from + typed.length, from + typed.length);
  }

  window.asclepiusDraft = {
    fill,
    // A conversation got its address: what was typed since its first question belongs to it.
    moveTo(address) {
      const typed = drafts.get('/');
      drafts.delete('/');
      if (typed) drafts.set(address, typed);
    }
  };
})();
