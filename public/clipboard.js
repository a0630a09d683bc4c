// Copies an answer, or one sentence of it, as formatted text for a document and as plain text for everything else.
(() => {
  'use strict';

  const make = window.asclepiusMake;
  const t = window.asclepiusSay;
  const KEPT = 'h1, h2, h3, h4, h5, h6, p, ul, ol, li, table, thead, tbody, tr, th, td, code, pre, blockquote, br';
  // Chainlit shows paragraphs and emphasis by other elements.
  const MEANT = { '[role="article"]': 'p', '.font-bold': 'strong', '.italic:not(blockquote)': 'em' };
  const TABLE = { border: '1', cellspacing: '0', cellpadding: '4' };

  // Return a copy of `node` with plain elements alone, citations as their numbers.
  function plain(node) {
    if (node.nodeType === Node.TEXT_NODE) return node.data.replace(/\u00a0/g, ' ');
    if (node.nodeType !== Node.ELEMENT_NODE || node.matches('button, svg')) return '';
    const children = [...node.childNodes].map(plain);
    if (node.matches('a[href^="http"]')) return make('a', { href: node.href }, children);
    const meant = Object.keys(MEANT).find((selector) => node.matches(selector));
    if (meant) return make(MEANT[meant], {}, children);
    if (node.matches(KEPT)) return make(node.tagName, { ...(node.tagName === 'TABLE' ? TABLE : {}), start: node.getAttribute('start') }, children);
    const rest = document.createDocumentFragment();
    rest.append(...children);
    return rest;
  }

  // Return the answer's text as the page shows it, without the notices above it.
  function answer(message, firstPart) {
    const box = make('div');
    for (const part of document.querySelectorAll(`[id="step-${message}"], [id^="step-${message}-part-"]`)) {
      const number = Number(part.id.split('-part-')[1] || 0);
      const prose = [...part.querySelectorAll('.message-content .prose')].filter((node) => !node.closest('[data-step-type="tool"], [data-step-type="undefined"]'));
      if (number >= firstPart) for (const node of prose) box.append(plain(node));
    }
    return box;
  }

  function listed(references) {
    return make('ol', {}, references.map((one) => make('li', { value: one.number }, one.citation.replace(/^\d+\. /, ''))));
  }

  const origin = (answered) => t('copiedFrom', { date: window.asclepiusDate(answered) });

  async function write(text, html) {
    const types = { 'text/plain': text, 'text/html': html };
    if (navigator.clipboard && window.ClipboardItem) {
      const blobs = Object.entries(types).map(([type, content]) => [type, new Blob([content], { type })]);
      await navigator.clipboard.write([new ClipboardItem(Object.fromEntries(blobs))]);
      return;
    }
    // The clipboard API is missing over plain HTTP on another host.
    const fill = (event) => {
      for (const [type, content] of Object.entries(types)) event.clipboardData.setData(type, content);
      event.preventDefault();
    };
    document.addEventListener('copy', fill, { once: true });
    document.execCommand('copy');
  }

  window.asclepiusClipboard = {
    // Copy the answer of `message` with its references, its origin and its date.
    answer({ message, first_part: firstPart, plain: text, answer_at: at, references, answered }) {
      const box = answer(message, firstPart);
      if (references.length) box.append(make('h3', {}, t('references')), listed(references));
      box.append(make('p', {}, origin(answered)));
      return write(`${text.slice(at)}\n\n${origin(answered)}`, box.innerHTML);
    },
    // Copy what a note needs to name a passage: its reference, without the number that it has in the answer, and `address`.
    link(reference, address) {
      const named = (reference.citation || reference.title).replace(/^\d+\. /, '');
      return write(`${named}\n${address}`, make('p', {}, make('a', { href: address }, named)).outerHTML);
    },
    sentence(statement, reference, answered) {
      const cited = `${statement} [${reference.number}]`;
      const box = make('div', {}, make('p', {}, cited), listed([reference]), make('p', {}, origin(answered)));
      return write(`${cited}\n\n${reference.citation}\n\n${origin(answered)}`, box.innerHTML);
    }
  };
})();
