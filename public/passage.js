// What a citation refers to: the statement before its number, and the passage or drug record with the cited words marked.
(() => {
  'use strict';

  const make = window.asclepiusMake;
  const CITATIONS = 'a[href^="#cite-"]';
  const BLOCK = '[role="article"], li, p, blockquote, dd, div';
  const CLOSE_ENOUGH = 0.5;

  const squeezed = (text) => text.replace(/[\s\u00a0\u2060]+/g, ' ').trim();
  // Answers show Markdown formatted, and tables cut into cells: texts are compared by their letters and digits.
  const letters = (text) => text.replace(/[^\p{L}\p{N}]+/gu, '');
  const words = (text) => new Set(text.toLowerCase().match(/[\p{L}\p{N}]+(?:[.,]\p{N}+)*/gu));

  function textOf(node) {
    const copy = node.cloneNode(true);
    for (const link of copy.querySelectorAll(CITATIONS)) link.remove();
    return squeezed(copy.textContent);
  }

  function textBefore(link) {
    const range = document.createRange();
    range.setStart(link.closest(BLOCK), 0);
    range.setEndBefore(link);
    return textOf(range.cloneContents());
  }

  // Return the sentence that the number `link` ends, or its row of a table.
  function statementBefore(link) {
    const row = link.closest('tr');
    if (row) return [...row.cells].map(textOf).filter(Boolean).join('; ');
    const sentences = new Intl.Segmenter(document.documentElement.lang, { granularity: 'sentence' }).segment(textBefore(link));
    return [...sentences].map(({ segment }) => segment.trim()).filter(Boolean).pop() || '';
  }

  // Return the quote that the number `link` belongs to: the last one in the text before it. A record has many statements,
  // so that one without a quote is not shown by another one's.
  function quoteBefore(link, reference) {
    const before = letters(link.closest('tr') ? statementBefore(link) : textBefore(link));
    const places = reference.quotes.map((quote) => before.lastIndexOf(letters(quote)));
    const best = places.indexOf(Math.max(...places));
    if (places[best] >= 0) return reference.quotes[best];
    return reference.kind === 'guideline' ? reference.quotes[0] || '' : '';
  }

  // Join lines that were wrapped at the column edge of a printed page.
  function unwrapped(segments) {
    const text = segments.map(([part]) => part).join('');
    const goesOn = (at) => {
      const line = text.slice(text.lastIndexOf('\n', at - 1) + 1, at);
      const next = text.slice(at + 1, at + 8);
      return line.length > 50 && !/[|\t]|[.:;!?]$/.test(line) && /^[\p{L}\d(]/u.test(next) && !/^\d+[.)]\s/.test(next);
    };
    let start = 0;
    return segments.map(([part, marked]) => {
      const from = start;
      start += part.length;
      return [part.replace(/\n/g, (_, at) => (goesOn(from + at) ? ' ' : '\n')), marked];
    });
  }

  function linesOf(segments) {
    const lines = [[]];
    for (const [text, marked] of segments) {
      text.split('\n').forEach((part, at) => {
        if (at) lines.push([]);
        if (part) lines[lines.length - 1].push([part, marked]);
      });
    }
    return lines.filter((line) => line.length);
  }

  const textIn = (line) => line.map(([part]) => part).join('');

  // Return the lines that share most words with the statement, each word weighted by how few lines have it; none unless
  // they share most of them.
  function closest(statement, lines) {
    const wanted = words(statement);
    const sets = lines.map((line) => words(textIn(line)));
    const weight = (word) => 1 / sets.filter((set) => set.has(word)).length;
    const total = (list) => [...list].reduce((sum, word) => sum + weight(word), 0);
    const known = total([...wanted].filter((word) => sets.some((set) => set.has(word))));
    const scores = sets.map((set) => total([...set].filter((word) => wanted.has(word))) / Math.sqrt(total(set) * known || 1));
    const best = Math.max(...scores);
    return best < CLOSE_ENOUGH ? [] : lines.filter((_, at) => scores[at] === best);
  }

  function marker(quote) {
    const here = letters(quote);
    const isHere = (text) => here && (here.includes(letters(text)) || letters(text).includes(here));
    return ([text, marked]) => (marked ? make('mark', { class: isHere(text) ? 'asc-here' : null }, text) : text);
  }

  // A drug record or a calculation as names, fields and sentences under headings.
  function record(reference, quote, statement) {
    const lines = linesOf(reference.segments);
    const cited = !quote && statement ? closest(statement, lines) : [];
    const pieces = marker(quote);
    const shown = (line) => (cited.includes(line) ? make('mark', { class: 'asc-here' }, textIn(line)) : line.map(pieces));
    const whole = !reference.section.includes('›');
    const box = make('div', { class: 'asc-passage asc-record', tabindex: '0', role: 'group', 'aria-label': reference.title });
    let inLabel = !whole;
    let last = '';
    for (const line of lines) {
      const text = textIn(line);
      const [, name] = /^([^.:]{1,40}):(?: |$)/.exec(text) || [];
      const isField = name && (!inLabel || name === 'Source');
      if (whole && text === reference.section) box.append(make('h3', {}, shown(line)));
      else if (name && text === `${name}:`) {
        inLabel = true;
        box.append(make('h4', {}, name));
      } else if (isField) {
        const value = cited.includes(line) ? make('mark', { class: 'asc-here' }, text.slice(name.length + 2)) : without(line, name.length + 2).map(pieces);
        box.append(make('p', { class: 'asc-field' }, make('span', { class: 'asc-field-name' }, name === last ? '' : name), make('span', {}, value)));
      } else box.append(make('p', {}, shown(line)));
      last = isField ? name : '';
    }
    return box;
  }

  // Return the line without its first `count` characters.
  function without(line, count) {
    const rest = [];
    for (const [part, marked] of line) {
      rest.push([part.slice(count), marked]);
      count = Math.max(0, count - part.length);
    }
    return rest;
  }

  function passage(reference, quote, statement) {
    if (['drug_record', 'calculation'].includes(reference.kind)) return record(reference, quote, statement);
    const segments = reference.kind === 'guideline' ? unwrapped(reference.segments) : reference.segments;
    return make('blockquote', { class: 'asc-passage', tabindex: '0' }, segments.map(marker(quote)));
  }

  // Return the issuer and the edition; for a summary the edition is of the label, which `address` names.
  const about = ({ issuer, version, url, demo }) => [issuer, demo && url ? '' : window.asclepiusDate(version), demo].filter(Boolean).join(', ');

  // Return the link to the source, or to the label that a demonstration summarises.
  function address({ url, version, demo }) {
    if (!url) return null;
    const link = make('a', { href: url, target: '_blank', rel: 'noopener noreferrer' }, url);
    return demo ? make('p', {}, `${window.asclepiusSay('summarisedFrom')} `, link, ` (${window.asclepiusDate(version)})`) : make('p', {}, link);
  }

  window.asclepiusPassage = { show: passage, about, address, quoteBefore, statementBefore, letters };
})();
