import { useMutation } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { escapeControlCharacters, exactTime } from '@/lib/format';
import { withoutPrototypes } from '@/lib/own-property';
import { request } from '@/lib/request';
import type { RuleTrial } from '@/types/api';

const wouldTexts = withoutPrototypes({
  ask: 'would have needed approval',
  deny: 'would have been denied',
} as const);

/** The effect that a list of rules, as text, would have had on the calls of the last 30 days. */
export function useTrial() {
  return useMutation({
    mutationFn: (rules: string) =>
      request<RuleTrial>('POST', '/api/v1/policy/try', { body: { rules, days: 30 } }),
  });
}

export function TrialResult({ trial }: { trial: RuleTrial }) {
  const { asked, denied, calls, decisions } = trial;
  const unclear = trial.redacted + trial.cut + trial.notRecorded;
  return (
    <div role="status" className="space-y-2 text-sm">
      <p className="font-medium">{`Of ${calls === 1 ? '1 call' : `${calls.toLocaleString('en')} calls`} in the last 30 days, ${asked} would have needed approval and ${denied} would have been denied.`}</p>
      {unclear > 0 && (
        <p className="text-ink2">{`${unclear === 1 ? '1 call' : `${unclear.toLocaleString('en')} calls`} could not be evaluated, because the arguments are redacted, truncated or not recorded.`}</p>
      )}
      {trial.profileUnknown > 0 && (
        <p className="text-ink2">{`${trial.profileUnknown === 1 ? '1 call' : `${trial.profileUnknown.toLocaleString('en')} calls`} may have used a profile. The history does not record profiles, so rules for profiles were not applied to ${trial.profileUnknown === 1 ? 'this call' : 'these calls'}.`}</p>
      )}
      {!trial.complete && <p className="text-ink2">Older calls were not tested.</p>}
      {decisions.length > 0 && (
        <ul
          aria-label="Calls that would have needed approval or been denied"
          // biome-ignore lint/a11y/noNoninteractiveTabindex: scrollable content must be focusable
          tabIndex={0}
          className="scroll-area max-h-60 rounded-md border bg-sunken"
        >
          {decisions.map((one) => (
            <li key={one.id} className="border-t px-3 py-1.5 first:border-t-0">
              <Link
                to="/calls/$id"
                params={{ id: one.id }}
                className="text-accent underline underline-offset-2 [overflow-wrap:anywhere]"
              >
                {escapeControlCharacters(`${one.server} / ${one.tool}`.slice(0, 200))}
              </Link>{' '}
              <span className={one.then === 'deny' ? 'text-bad' : 'text-warn'}>
                {wouldTexts[one.then]}
              </span>
              <span className="block text-xs text-ink3 [overflow-wrap:anywhere]">
                {escapeControlCharacters(
                  `${exactTime(one.at)} · ${one.client} · ${one.why}`.slice(0, 400),
                )}
              </span>
            </li>
          ))}
        </ul>
      )}
      {asked + denied > decisions.length && (
        <p className="text-xs text-ink3">{`Showing the newest ${decisions.length}.`}</p>
      )}
    </div>
  );
}
