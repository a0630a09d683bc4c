// The line above a long conversation: how many earlier questions are not shown, and a button that shows some of them. A
// reader who scrolls up to it gets them, too.
(() => {
  'use strict';

  const t = window.asclepiusSay;
  const NEAR = 200;
  const PATIENCE = 10_000;
  let count = 0;
  let line = null;
  let asked = null;
  let seen = 0;

  const scroller = () => line.closest('.overflow-y-auto');

  function ask() {
    if (asked && performance.now() < asked.until) return;
    const box = scroller();
    asked = { first: document.querySelector('.step'), below: box.scrollHeight - box.scrollTop, until: performance.now() + PATIENCE };
    window.postMessage({ asclepius_show_earlier: true }, location.origin);
  }

  function build() {
    const box = document.createElement('div');
    box.className = 'asc-earlier';
    const button = document.createElement('button');
    button.type = 'button';
    button.className = 'asc-action';
    button.textContent = t('showEarlier');
    button.addEventListener('click', ask);
    box.append(document.createElement('span'), button);
    return box;
  }

  // Chainlit renders the messages some time after it has received them.
  function place() {
    const first = document.querySelector('.step');
    const comes = asked && asked.first === first && performance.now() < asked.until;
    if (comes || (count && !first)) {
      requestAnimationFrame(place);
      return;
    }
    if (count) {
      line = line || build();
      line.firstChild.textContent = t('earlier', { count });
      if (first.previousSibling !== line) first.before(line);
    } else if (line) line.remove();
    if (asked) settle();
  }

  // Leave what the reader was looking at in its place.
  function settle() {
    const { first, below } = asked;
    asked = null;
    if (!first.isConnected || first === document.querySelector('.step')) return;
    const box = first.closest('.overflow-y-auto');
    box.scrollTop = box.scrollHeight - below;
    window.asclepius.announce(t('earlierShown'));
  }

  // A conversation that has just been opened is scrolled down, from the top, by the page itself.
  document.addEventListener('scroll', ({ target, isTrusted }) => {
    if (!isTrusted || !line?.isConnected || target !== scroller()) return;
    const up = target.scrollTop < seen;
    seen = target.scrollTop;
    if (up && seen < NEAR) ask();
  }, { capture: true, passive: true });

  window.addEventListener('message', (event) => {
    const given = event.source === window && event.data ? event.data.asclepius_earlier : undefined;
    if (typeof given !== 'number') return;
    count = given;
    place();
  });
})();
