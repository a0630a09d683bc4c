// Texts, numbers and dates in the reader's language. The texts come from the server's catalogues, before the first script.
(() => {
  'use strict';

  const { language, texts } = window.asclepiusTexts;
  const tag = language.replace('_', '-');
  const plurals = new Intl.PluralRules(tag);
  const numbers = new Intl.NumberFormat(tag);
  document.documentElement.lang = tag;

  // Where the server publishes the page, such as `/asclepius`, and the path of the current address below that.
  const root = document.querySelector('meta[property="og:root_path"]').content;
  window.asclepiusRoot = root;
  window.asclepiusPlace = () => location.pathname.slice(root.length) || '/';

  const shown = (value) => (typeof value === 'number' ? numbers.format(value) : value);

  // Say the text `key` with its placeholders filled; `count` selects the plural form.
  window.asclepiusSay = (key, values = {}) => {
    const text = texts[key];
    const form = typeof text === 'string' ? text : text[plurals.select(values.count)] || text.other;
    return form.replace(/\{(\w+)\}/g, (place, name) => (name in values ? shown(values[name]) : place));
  };

  // Write a year, a month, a day or a time as readers of the language do; other text stays as it is.
  window.asclepiusDate = (text) => {
    const [, year, month, day] = /^(\d{4})(?:-(\d{2})(?:-(\d{2})(?:T.*)?)?)?$/.exec(text) || [];
    if (!year || !month) return text;
    const options = { year: 'numeric', month: 'long', ...(day ? { day: 'numeric' } : {}) };
    const at = text.includes('T') ? new Date(text) : new Date(Number(year), Number(month) - 1, Number(day || 1));
    return new Intl.DateTimeFormat(tag, options).format(at);
  };
})();
