// Marks the statements of an answer that were not found in their source: underlined, with a label at their number.
(() => {
  'use strict';

  const unsupported = new Map();
  const ranges = 'highlights' in CSS ? new Highlight() : null;
  if (ranges) CSS.highlights.set('asc-unsupported', ranges);

  // Statements come as Markdown and the page shows them formatted: only letters and digits are compared.
  const letters = (text) => text.replace(/[^\p{L}\p{N}]+/gu, '');

  // Return the range that ends at `link` and holds `statement`, without the numbers of citations; null if it is not there.
  function rangeBefore(link, statement) {
    const block = link.closest('li, td, th, p, div');
    const walker = document.createTreeWalker(block, NodeFilter.SHOW_TEXT);
    walker.currentNode = link;
    const wanted = letters(statement);
    const range = document.createRange();
    range.setEndBefore(link);
    let text = '';
    while (text.length < wanted.length && walker.previousNode()) {
      if (!walker.currentNode.parentElement.closest('a[href^="#cite-"]')) {
        text = letters(walker.currentNode.data) + text;
        range.setStart(walker.currentNode, Math.max(0, startOf(walker.currentNode.data, text.length - wanted.length)));
      }
    }
    return wanted && text.endsWith(wanted) ? range : null;
  }

  // Return the place in `text` behind its first `count` letters and digits.
  function startOf(text, count) {
    let seen = 0;
    for (const { index } of text.matchAll(/[\p{L}\p{N}]/gu)) if (seen++ >= count) return index;
    return 0;
  }

  function mark() {
    for (const link of document.querySelectorAll('a[href^="#cite-"]:not([data-checked])')) {
      const [, message, cited] = /^#cite-(.+)-(\d+)$/.exec(link.getAttribute('href')) || [];
      const statements = unsupported.get(message);
      if (!statements) continue;
      link.dataset.checked = '';
      const number = Number(cited);
      for (const one of statements.filter((each) => each.numbers.includes(number))) {
        const range = rangeBefore(link, one.text);
        if (!range) continue;
        if (number === one.numbers[0]) link.dataset.unsupported = window.asclepiusSay('notInSourceHere');
        if (ranges) ranges.add(range);
      }
    }
  }

  const observer = new MutationObserver(mark);

  // Mark `statements` in the text of `message`, now and whenever the page shows it again.
  window.asclepiusMarkStatements = (message, statements) => {
    if (!statements.length) return;
    unsupported.set(message, statements);
    observer.observe(document.documentElement, { childList: true, subtree: true });
    mark();
  };
})();
