import { useEffect, useState } from 'react';

const page = () => window.asclepius;
const t = (key, ...values) => page().t(key, ...values);

function words(outcome) {
  if (outcome.kind === 'failed') return t('noAnswer');
  if (outcome.kind === 'refused') return t('refused');
  return outcome.reason === 'stopped' ? t('stopped') : t('incomplete');
}

const CONTINUE = 'Continue your last answer from where it broke off.';

function goesOn(outcome) {
  return outcome.kind === 'incomplete' && ['truncated', 'max_output_tokens', 'stalled', 'step_limit'].includes(outcome.reason);
}

function Outcome({ outcome, question, extracts }) {
  if (outcome.kind === 'completed') return null;
  return (
    <div className={`asc-outcome asc-${outcome.kind}`} role="status" data-outcome={outcome.kind} data-reason={outcome.reason || ''}>
      <strong>{words(outcome)}.</strong> {outcome.message}
      {outcome.retryable && question ? (
        <button type="button" className="asc-action" onClick={() => sendUserMessage(question)}>
          {t('askAgain')}
        </button>
      ) : null}
      {goesOn(outcome) && !extracts ? (
        <button type="button" className="asc-action" onClick={() => sendUserMessage(CONTINUE)}>
          {t('continue')}
        </button>
      ) : null}
    </div>
  );
}

function Reference({ message, reference }) {
  const about = [reference.issuer, reference.version].filter(Boolean).join(', ');
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
          {reference.quotes.length ? <q className="asc-quote">{reference.quotes[0]}</q> : null}
        </span>
      </button>
    </li>
  );
}

// What to try when nothing answers, or when a name was perhaps another one.
function Tries({ tries, abstained, question, thread }) {
  const [failed, setFailed] = useState(false);
  const go = async (entry) => {
    if (!entry.question) return page().rephrase(question);
    const taken = !entry.settings || (await page().change(thread, entry.settings));
    setFailed(!taken);
    if (taken) sendUserMessage(entry.question);
  };
  return (
    <div className="asc-tries" role="group" aria-label={t('tryThis')}>
      {abstained ? <p className="asc-tries-heading">{t('tryThis')}</p> : null}
      <div className="asc-follow-ups">
        {tries.map((entry) => (
          <button type="button" className="asc-action" key={entry.label} onClick={() => go(entry)}>
            {entry.label}
          </button>
        ))}
      </div>
      {failed ? <p className="asc-notice" role="alert">{t('notChanged')}</p> : null}
    </div>
  );
}

// Leaves a file to its conversation, or adds it to the library. Why it did not work, or null.
async function share(thread, file, whom) {
  const request = {
    method: 'POST',
    credentials: 'same-origin',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ for: whom })
  };
  try {
    const answer = await fetch(`/api/v1/threads/${encodeURIComponent(thread)}/files/${encodeURIComponent(file)}`, request);
    return answer.ok ? null : (await answer.json()).detail;
  } catch {
    return t('notShared');
  }
}

// For whom a file is that was dropped into the chat: for this conversation, unless its owner says otherwise.
function OwnFile({ thread, file }) {
  const [state, setState] = useState(file.state);
  const [failed, setFailed] = useState('');
  useEffect(() => setState(file.state), [file.state]);

  const decide = async (whom, then) => {
    setState('busy');
    const problem = await share(thread, file.document, whom);
    setFailed(problem || '');
    setState(problem ? 'asked' : then);
  };

  if (state === 'own' || state === 'library') {
    return <p className="asc-notice" role="status">{t(state === 'own' ? 'staysHere' : 'isShared', file.title)}</p>;
  }
  return (
    <div className="asc-own-file" role="group" aria-label={t('whoSearches', file.title)} data-state={state}>
      <p>{t('whoSearches', file.title)}</p>
      <div className="asc-follow-ups">
        <button type="button" className="asc-action asc-chosen" disabled={state === 'busy'} onClick={() => decide('conversation', 'own')}>
          {t('onlyHere')}
        </button>
        <button type="button" className="asc-action" disabled={state === 'busy'} onClick={() => decide('library', 'library')}>
          {t('forEveryone')}
        </button>
      </div>
      {state === 'busy' ? <p className="asc-notice" role="status">{t('sharing')}</p> : null}
      {failed ? <p className="asc-notice" role="alert">{failed}</p> : null}
    </div>
  );
}

export default function References() {
  const { message, thread, references, outcome, notices, dropped, plain, extracts, question } = props;
  const followUps = props.follow_ups || [];
  const tries = props.tries || [];
  const [copied, setCopied] = useState('');

  useEffect(() => {
    page().register(message, references);
    page().announce(outcome.kind === 'completed' ? t('complete', references.length) : outcome.message);
  }, [message]);

  const copy = async () => {
    await page().copy(plain);
    setCopied(t('copied'));
    setTimeout(() => setCopied(''), 2000);
  };

  return (
    <section className="asc-answer-end" data-message={message} aria-label={t('endOfAnswer')}>
      <Outcome outcome={outcome} question={question} extracts={extracts} />
      {notices.map((notice) => (
        <p className="asc-notice" key={notice}>{notice}</p>
      ))}
      {dropped ? (
        <p className="asc-notice">
          {t('dropped', dropped)}
        </p>
      ) : null}
      {(props.files || []).map((file) => (
        <OwnFile key={file.document} thread={thread} file={file} />
      ))}
      {references.length ? (
        <div className="asc-references">
          <h3>{t('references')}</h3>
          <ol>
            {references.map((reference) => (
              <Reference key={reference.number} message={message} reference={reference} />
            ))}
          </ol>
        </div>
      ) : null}
      {tries.length ? <Tries tries={tries} abstained={props.abstained} question={question} thread={thread} /> : null}
      {followUps.length ? (
        <div className="asc-follow-ups" role="group" aria-label={t('goOn')}>
          {followUps.map((followUp) => (
            <button type="button" className="asc-action" key={followUp.question} onClick={() => sendUserMessage(followUp.question)}>
              {followUp.label}
            </button>
          ))}
        </div>
      ) : null}
      <p className="asc-foot">
        {extracts && references.length ? <span className="asc-extracts">{t('extracts')}</span> : null}
        {plain ? (
          <button type="button" className="asc-action" onClick={copy} aria-live="polite">
            {copied || (references.length ? t('copyAll') : t('copy'))}
          </button>
        ) : null}
        {thread ? (
          <a className="asc-action" href={`/api/v1/threads/${thread}/export.md`} download="conversation.md">
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
