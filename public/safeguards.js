// Says what an edit removes before it is confirmed, keeps a thumb whose comment is closed, and makes addresses in
// answers plain text: nobody has checked where they lead.
(() => {
  'use strict';

  const t = window.asclepiusSay;
  const QUESTION = '[data-step-type="user_message"]';

  function warn() {
    const field = document.getElementById('edit-chat-input');
    if (!field || field.parentElement.querySelector('.asc-edit-warning')) return;
    const questions = [...document.querySelectorAll(QUESTION)];
    const count = questions.length - 1 - questions.indexOf(field.closest(QUESTION));
    if (count) field.after(window.asclepiusMake('p', { class: 'asc-edit-warning', role: 'alert' }, t('editRemoves', { count })));
  }
  const unlink = () => document.querySelectorAll('.prose a[href]:not([href^="#"])').forEach((link) => link.removeAttribute('href'));

  new MutationObserver(() => {
    warn();
    unlink();
  }).observe(document.documentElement, { childList: true, subtree: true, attributeFilter: ['href'] });

  // -- thumbs -------------------------------------------------------------------------------------------------------

  let pressed = false;
  const sender = () => document.getElementById('submit-feedback');
  const isInside = ({ target }) => Boolean(sender()?.closest('[role="dialog"]').contains(target));

  // Send the thumb without its comment when the dialog is closed by `event`.
  function keepThumb(event) {
    const send = sender();
    if (!send || !pressed) return;
    pressed = false;
    event.preventDefault();
    event.stopImmediatePropagation();
    window.asclepiusDraft.fill(send.closest('[role="dialog"]').querySelector('textarea'), '');
    setTimeout(() => send.click());
  }

  document.addEventListener('keydown', (event) => event.key === 'Escape' && keepThumb(event), true);
  document.addEventListener('pointerdown', (event) => isInside(event) || keepThumb(event), true);
  document.addEventListener('click', (event) => {
    const button = event.target.closest && event.target.closest('button');
    if (!button || button === sender()) return;
    if (isInside(event)) keepThumb(event);
    else pressed = button.matches('.positive-feedback-off, .negative-feedback-off');
  }, true);
})();
