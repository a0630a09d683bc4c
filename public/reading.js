// Keeps the reader's place: a conversation opens at its last question, an answer grows below its question, the list of
// conversations stays open and tells equal titles apart, and the tab names the conversation.
(() => {
  'use strict';

  const QUESTION = '[data-step-type="user_message"]';
  const MARGIN = 20;
  const app = document.title;
  const known = new WeakSet();
  let listIsOpen = false;
  let held = false;

  // -- the place in a conversation ----------------------------------------------------------------------------------

  // Hold the last question at the top while what is above and below it is laid out, until the reader does something.
  function holdLastQuestion(box) {
    const content = box.firstElementChild;
    let last = null;
    const end = () => box.toggleAttribute('data-at-end', content.lastElementChild.getBoundingClientRect().bottom - MARGIN <= box.getBoundingClientRect().bottom);
    box.addEventListener('scroll', end, { passive: true });
    new ResizeObserver(() => {
      const newest = [...content.querySelectorAll(QUESTION)].pop();
      held = held || newest !== last;
      last = newest;
      if (held && last) box.scrollTop = last.offsetTop - MARGIN;
      // Chainlit offers to scroll to the end only after a scroll event.
      box.dispatchEvent(new Event('scroll'));
    }).observe(content);
  }
  for (const name of ['wheel', 'pointerdown', 'keydown', 'touchstart']) addEventListener(name, () => (held = false), { capture: true, passive: true });

  // -- the list and the tab -----------------------------------------------------------------------------------------

  // Chainlit builds the page anew for each conversation, with a closed list.
  function keepListOpen() {
    const list = document.querySelector('.peer[data-state][data-side]');
    if (!list) return;
    const isNew = !known.has(list);
    known.add(list);
    if (!isNew) listIsOpen = list.dataset.state === 'expanded';
    else if (listIsOpen && list.dataset.state === 'collapsed') document.querySelector('#header #sidebar-trigger-button')?.click();
  }

  function nameTab() {
    const place = window.asclepiusPlace();
    const listed = place === '/' ? null : document.querySelector(`#thread-history a[href$="${CSS.escape(place.split('/').pop())}"]`);
    const question = document.querySelector(`${QUESTION} .message-content`);
    const name = (listed || question)?.textContent.trim().replace(/\s+/g, ' ');
    const title = name ? `${name.slice(0, 60)} · ${app}` : app;
    if (document.title !== title) document.title = title;
  }

  // Of conversations with the same title, say when each began: the time, and the day of one that began before today.
  function tellApart() {
    const entries = [...document.querySelectorAll('#thread-history a')].map((entry) => [entry, entry.textContent.trim()]);
    for (const [entry, title] of entries) {
      const time = window.asclepiusBegun.get(entry.href.split('/').pop());
      const isTwin = time && entries.some(([other, same]) => other !== entry && same === title);
      const day = time && time.toDateString() === new Date().toDateString() ? {} : { day: 'numeric', month: 'short' };
      const label = isTwin ? time.toLocaleString(navigator.language, { ...day, hour: 'numeric', minute: '2-digit' }) : '';
      const line = entry.querySelector('button > span');
      if (line && label !== (line.dataset.begun || '')) line.dataset.begun = label;
    }
  }

  function look() {
    const question = document.querySelector(QUESTION);
    const box = question?.closest('.overflow-y-auto');
    if (box && !known.has(box)) {
      known.add(box);
      holdLastQuestion(box);
    }
    keepListOpen();
  }

  new MutationObserver(look).observe(document.documentElement, { childList: true, subtree: true, attributeFilter: ['data-state'] });
  let due = 0;
  new MutationObserver(() => {
    clearTimeout(due);
    due = setTimeout(() => {
      nameTab();
      tellApart();
    }, 300);
  }).observe(document.documentElement, { childList: true, subtree: true });
})();
