// The line above a long conversation: how many earlier questions are not shown, and a button that shows some of them.
(() => {
  'use strict';

  const t = window.asclepiusSay;
  let count = 0;
  let line = null;
  let asked = null;

  const scroller = () => line.closest('.overflow-y-auto');

  function ask() {
    asked = { first: document.querySelector('.step'), below: scroller().scrollHeight - scroller().scrollTop };
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
    if (!count) {
      if (line) line.remove();
    } else if (!first || (asked && asked.first === first)) {
      requestAnimationFrame(place);
      return;
    } else {
      line = line || build();
      line.firstChild.textContent = t('earlier', { count });
      if (first.previousSibling !== line) first.before(line);
    }
    if (asked && first !== asked.first) settle();
  }

  // Leave what the reader was looking at in its place.
  function settle() {
    const box = document.querySelector('.step').closest('.overflow-y-auto');
    box.scrollTop = box.scrollHeight - asked.below;
    asked = null;
    window.asclepius.announce(t('earlierShown'));
  }

  window.addEventListener('message', (event) => {
    const given = event.source === window && event.data ? event.data.asclepius_earlier : undefined;
    if (typeof given !== 'number') return;
    count = given;
    place();
  });
})();
