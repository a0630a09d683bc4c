import { messagesState, updateMessageById } from '@chainlit/react-client';
import { MessageCircle, ThumbsDown, ThumbsUp } from 'lucide-react';
import { memo, useEffect, useState } from 'react';
import { useRecoilCallback } from 'recoil';

import { Button } from '@/components/ui/button';
import { Dialog, DialogContent, DialogFooter, DialogHeader, DialogTitle } from '@/components/ui/dialog';
import { Textarea } from '@/components/ui/textarea';

const page = () => window.asclepius;
const t = (key, values) => page().t(key, values);

function words(outcome) {
  if (outcome.kind === 'failed') return t('noAnswer');
  if (outcome.kind === 'refused') return t('refused');
  return outcome.reason === 'stopped' ? t('stopped') : t('incomplete');
}

function goesOn(outcome) {
  return outcome.kind === 'incomplete' && ['truncated', 'max_output_tokens', 'stalled', 'step_limit'].includes(outcome.reason);
}

function Outcome({ outcome, question, extracts }) {
  if (outcome.kind === 'completed') return null;
  return (
    <div className={`asc-outcome asc-${outcome.kind}`} role="status" data-outcome={outcome.kind} data-reason={outcome.reason || ''}>
      <strong>{words(outcome)}.</strong> {outcome.message}{' '}
      {outcome.retryable && question ? (
        <button type="button" className="asc-action" onClick={() => page().ask(question)}>
          {t('askAgain')}
        </button>
      ) : null}
      {goesOn(outcome) && !extracts ? (
        <button type="button" className="asc-action" onClick={() => page().ask(t('continueRequest'))}>
          {t('continue')}
        </button>
      ) : null}
    </div>
  );
}

function Reference({ message, reference }) {
  const about = window.asclepiusPassage.about(reference);
  return (
    <li className="asc-reference" id={`ref-${message}-${reference.number}`}>
      <button
        type="button"
        className="asc-reference-open"
        data-reference={reference.number}
        onClick={(event) => page().open(message, reference.number, event.currentTarget)}
      >
        <span className="asc-number">{reference.number}</span>
        <span className="asc-reference-text">
          <span className="asc-title">{reference.title}</span>
          {about ? <span className="asc-about"> {about}</span> : null}
          {reference.where ? <span className="asc-where">{reference.where}</span> : null}
          {reference.strength ? <span className="asc-where asc-strength">{reference.strength}</span> : null}
          {reference.quotes.length ? <q className="asc-quote">{reference.quotes[0]}</q> : null}
        </span>
      </button>
    </li>
  );
}

// Suggestions when no source answers, or when a name may be misspelt.
function Tries({ tries, abstained, extracts, question, thread }) {
  const [failed, setFailed] = useState(false);
  const go = async (entry) => {
    if (!entry.question) return page().rephrase(question);
    const taken = !entry.settings || (await page().change(thread, entry.settings));
    setFailed(!taken);
    if (taken) page().ask(entry.question);
  };
  return (
    <div className="asc-tries" role="group" aria-label={t(abstained ? 'tryThis' : 'orElse')}>
      {abstained ? <p className="asc-tries-heading">{t('tryThis')}</p> : null}
      <div className="asc-follow-ups">
        {tries.map((entry) => (
          <button type="button" className="asc-action" key={entry.label} onClick={() => go(entry)}>
            {entry.label}
          </button>
        ))}
      </div>
      {abstained && extracts ? <p className="asc-notice">{t('theirWords')}</p> : null}
      {failed ? <p className="asc-notice" role="alert">{t('notChanged')}</p> : null}
    </div>
  );
}

// Keep a file in its conversation, add it to the library, or remove it, for `nobody`; return the problem or null.
async function share(thread, file, whom) {
  const request = {
    method: whom === 'nobody' ? 'DELETE' : 'POST',
    credentials: 'same-origin',
    headers: { 'content-type': 'application/json' },
    body: whom === 'nobody' ? undefined : JSON.stringify({ for: whom })
  };
  try {
    const answer = await fetch(`${window.asclepiusRoot}/api/v1/threads/${encodeURIComponent(thread)}/files/${encodeURIComponent(file)}`, request);
    return answer.ok ? null : (await answer.json()).detail;
  } catch {
    return t('notShared');
  }
}

// Choice of who can use an uploaded file: this conversation, unless its owner decides otherwise.
function OwnFile({ thread, file }) {
  const [state, setState] = useState(file.state);
  const [failed, setFailed] = useState('');
  useEffect(() => setState(file.state), [file.state]);

  const decide = async (whom, then) => {
    const before = state;
    setState('busy');
    const problem = await share(thread, file.document, whom);
    setFailed(problem || '');
    setState(problem ? before : then);
  };

  if (state === 'library') return <p className="asc-notice" role="status">{t('isShared', { title: file.title })}</p>;
  if (state === 'removed') return <p className="asc-notice" role="status">{t('isRemoved', { title: file.title })}</p>;
  const remove = (
    <button type="button" className="asc-action" disabled={state === 'busy'} onClick={() => decide('nobody', 'removed')}>
      {t('removeFile')}
    </button>
  );
  if (state === 'own') {
    return (
      <div className="asc-notice asc-own" role="group" aria-label={file.title}>
        <span role="status">{t('staysHere', { title: file.title })}</span> {remove}
        {failed ? <span role="alert"> {failed}</span> : null}
      </div>
    );
  }
  return (
    <div className="asc-own-file" role="group" aria-label={t('whoSearches', { title: file.title })} data-state={state}>
      <p>{t('whoSearches', { title: file.title })}</p>
      <div className="asc-follow-ups">
        <button type="button" className="asc-action asc-chosen" disabled={state === 'busy'} onClick={() => decide('conversation', 'own')}>
          {t('onlyHere')}
        </button>
        <button type="button" className="asc-action" disabled={state === 'busy'} onClick={() => decide('library', 'library')}>
          {t('forEveryone')}
        </button>
        {remove}
      </div>
      {state === 'busy' ? <p className="asc-notice" role="status">{t('sharing')}</p> : null}
      {failed ? <p className="asc-notice" role="alert">{failed}</p> : null}
    </div>
  );
}

function stepOf(steps, id) {
  for (const step of steps) {
    const found = step.id === id ? step : stepOf(step.steps || [], id);
    if (found) return found;
  }
  return null;
}

// Feedback on one of several compared answers, stored with its column. Read once instead of with every token of another
// column.
function useFeedback(column) {
  const stored = useRecoilCallback(({ snapshot }) => () => stepOf(snapshot.getLoadable(messagesState).contents, column)?.feedback, [column]);
  const [feedback, setFeedback] = useState(stored);
  const keep = useRecoilCallback(({ set }) => (given) => {
    set(messagesState, (steps) => updateMessageById(steps, column, { feedback: given }));
    setFeedback(given);
  }, [column]);
  const rate = async (value, comment) => {
    const { feedbackId } = await page().client.setFeedback({ forId: column, value, comment }, '');
    keep({ id: feedbackId, forId: column, value, comment });
  };
  const takeBack = async () => {
    await page().client.deleteFeedback(feedback.id);
    keep(undefined);
  };
  return { feedback, rate, takeBack };
}

function Comment({ rating, given, onSend, onClose }) {
  const [comment, setComment] = useState(given);
  const Thumb = rating === 1 ? ThumbsUp : ThumbsDown;
  const write = (event) => setComment(event.target.value);
  return (
    <Dialog open onOpenChange={onClose}>
      <DialogContent aria-describedby={undefined}>
        <DialogHeader>
          <DialogTitle className="flex items-center gap-2">
            <Thumb aria-hidden="true" /> {t('rateTitle')}
          </DialogTitle>
        </DialogHeader>
        <Textarea className="min-h-[100px]" aria-label={t('rateComment')} placeholder={t('rateComment')} maxLength={4000} value={comment} onChange={write} />
        <DialogFooter>
          <Button id="submit-feedback" onClick={() => onSend(comment || null)}>{t('rateSend')}</Button>
        </DialogFooter>
      </DialogContent>
    </Dialog>
  );
}

const RATINGS = [
  { value: 1, name: 'good', sign: 'positive', Thumb: ThumbsUp, colour: 'text-green-600' },
  { value: 0, name: 'bad', sign: 'negative', Thumb: ThumbsDown, colour: 'text-red-600' }
];

function Rating({ column, model }) {
  const { feedback, rate, takeBack } = useFeedback(column);
  const [asked, setAsked] = useState(null);
  const [failed, setFailed] = useState(false);
  const attempt = (change) => change.then(() => setFailed(false), () => setFailed(true));
  const press = (value) => (feedback?.value === value ? attempt(takeBack()) : setAsked(value));
  const send = (comment) => {
    setAsked(null);
    attempt(rate(asked, comment));
  };
  return (
    <span className="asc-rating" role="group" aria-label={t('rate', { model })}>
      {RATINGS.map(({ value, name, sign, Thumb, colour }) => (
        <Button
          key={value}
          variant="ghost"
          size="icon"
          aria-label={t(name)}
          aria-pressed={feedback?.value === value}
          className={feedback?.value === value ? `${colour} ${sign}-feedback-on` : `text-muted-foreground ${sign}-feedback-off`}
          onClick={() => press(value)}
        >
          <Thumb />
        </Button>
      ))}
      {feedback?.comment ? (
        <Button variant="ghost" size="icon" aria-label={t('rateEdit')} onClick={() => setAsked(feedback.value)}>
          <MessageCircle />
        </Button>
      ) : null}
      {asked === null ? null : (
        <Comment rating={asked} given={feedback?.comment || ''} onSend={send} onClose={() => setAsked(null)} />
      )}
      {failed ? <span className="asc-notice" role="alert">{t('notRated')}</span> : null}
    </span>
  );
}

// Cited statements that were not found in the passages they cite; a number opens its passage.
function Unsupported({ message, statements }) {
  if (!statements?.length) return null;
  return (
    <div className="asc-notice asc-unsupported" role="note">
      <strong>{t('notInSource')}</strong>
      <ul>
        {statements.map((one) => (
          <li key={one.text}>
            <q>{one.text}</q>{' '}
            {one.numbers.map((number) => (
              <button type="button" className="asc-number" key={number} aria-label={t('source', { number })}
                onClick={(event) => page().open(message, number, event.currentTarget)}>
                {number}
              </button>
            ))}
            {one.details.length ? <span className="asc-about"> {one.details.join(', ')}</span> : null}
          </li>
        ))}
      </ul>
    </div>
  );
}

function References({ given: props }) {
  const { message, thread, references, outcome, notices, dropped, plain, extracts, question } = props;
  const followUps = props.follow_ups || [];
  const tries = props.tries || [];
  const [copied, setCopied] = useState('');

  useEffect(() => {
    page().register(props);
    window.asclepiusMarkStatements(message, props.unsupported || []);
  }, [props]);
  useEffect(() => {
    page().announce(outcome.kind === 'completed' ? t('complete', { count: references.length }) : outcome.message);
  }, [message]);

  const copy = async () => {
    await page().copy(props);
    setCopied(t('copied'));
    setTimeout(() => setCopied(''), 2000);
  };

  return (
    <section className="asc-answer-end" role="group" data-message={message} aria-label={t('endOfAnswer')}>
      <Outcome outcome={outcome} question={question} extracts={extracts} />
      {notices.map((notice) => (
        <p className="asc-notice" key={notice}>{notice}</p>
      ))}
      <Unsupported message={message} statements={props.unsupported} />
      {dropped ? <p className="asc-notice">{t('dropped', { count: dropped })}</p> : null}
      {(props.files || []).map((file) => (
        <OwnFile key={file.document} thread={thread} file={file} />
      ))}
      {references.length ? (
        <div className="asc-references">
          <h3 aria-level={2}>{t('references')}</h3>
          <ol>
            {references.map((reference) => (
              <Reference key={reference.number} message={message} reference={reference} />
            ))}
          </ol>
        </div>
      ) : null}
      {tries.length ? <Tries tries={tries} abstained={props.abstained} extracts={extracts} question={question} thread={thread} /> : null}
      {followUps.length ? (
        <div className="asc-tries" role="group" aria-label={t('goOn')}>
          <p className="asc-tries-heading">{t('goOn')}</p>
          <div className="asc-follow-ups">
            {followUps.map((followUp) => (
              <button type="button" className="asc-action" key={followUp.question} onClick={() => page().ask(followUp.question)}>
                {followUp.label}
              </button>
            ))}
          </div>
        </div>
      ) : null}
      <p className="asc-foot">
        {extracts && references.some(({ kind }) => kind !== 'calculation') ? <span className="asc-extracts">{t('extracts')}</span> : null}
        {props.compared ? <Rating column={message} model={props.model} /> : null}
        {plain ? (
          <button type="button" className="asc-action" onClick={copy} aria-live="polite">
            {copied || (references.length ? t('copyAll') : t('copy'))}
          </button>
        ) : null}
        {thread ? (
          <a className="asc-action" href={`${window.asclepiusRoot}/api/v1/threads/${thread}/export.md`} download>
            {t('export')}
          </a>
        ) : null}
        <button type="button" className="asc-action asc-print" onClick={() => window.print()}>
          {t('print')}
        </button>
      </p>
    </section>
  );
}

// Chainlit evaluates this file for each answer, and again when a question begins and ends. One component for all of them
// keeps what is on the page instead of rendering it again.
Object.assign(page(), { ask: sendUserMessage, client: apiClient });
page().References = page().References || memo(References);
const Stable = page().References;

export default <Stable given={props} />;
