import { useMutation, useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { escapeControlCharacters, exactTime } from '@/lib/format';
import { withoutPrototypes } from '@/lib/own-property';
import { request, requestList } from '@/lib/request';
import type { CallPreview, RuleDecision, RuleTrial } from '@/types/api';

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

/** The decisions by tool, and within it by arguments, each with its newest call. */
function grouped(decisions: RuleDecision[], argumentsOf: Map<string, string>) {
  const groups = new Map<
    string,
    { newest: RuleDecision; lines: Map<string, { id: string; calls: number }> }
  >();
  for (const one of decisions) {
    const key = `${one.then} ${one.server}/${one.tool}`;
    const group = groups.get(key) ?? { newest: one, lines: new Map() };
    groups.set(key, group);
    const line = argumentsOf.get(one.id) ?? '';
    const { id = one.id, calls = 0 } = group.lines.get(line) ?? {};
    group.lines.set(line, { id, calls: calls + 1 });
  }
  return groups;
}

/** What the rules of a trial decide; with `added`, the key of a new one, only what that one does. */
export function TrialResult({ trial, added }: { trial: RuleTrial; added?: string }) {
  const { asked, denied, calls } = trial;
  const decisions = trial.decisions.filter(({ rule }) => !added || rule === added);
  const sum = (own: boolean) =>
    trial.rules.reduce((n, one) => n + ((one.rule === added) === own ? one.calls : 0), 0);
  const tested = `${calls === 1 ? '1 call' : `${calls.toLocaleString('en')} calls`} in the last 30 days`;
  const ids = decisions.slice(0, 100).map(({ id }) => id);
  const { data: previews } = useQuery({
    queryKey: ['calls', 'rule-trial', ids],
    queryFn: ({ signal }) => requestList<CallPreview>(`/api/v1/previews?ids=${ids}`, signal),
    enabled: ids.length > 0,
  });
  const groups = grouped(decisions, new Map(previews?.map((one) => [one.id, one.arguments])));
  const unclear = trial.redacted + trial.cut + trial.notRecorded;
  return (
    <div role="status" className="space-y-2 text-sm">
      <p className="font-medium">
        {added
          ? `The new rule would have decided ${sum(true)} of ${tested}.${sum(false) > 0 ? ` Other rules would have decided ${sum(false)}.` : ''}`
          : `Of ${tested}, ${asked} would have needed approval and ${denied} would have been denied.`}
      </p>
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
          {[...groups].map(([key, { newest: one, lines }]) => (
            <li key={key} className="border-t px-3 py-1.5 first:border-t-0">
              <span className="font-medium [overflow-wrap:anywhere]">
                {escapeControlCharacters(`${one.server} / ${one.tool}`.slice(0, 200))}
              </span>{' '}
              <span className={one.then === 'deny' ? 'text-bad' : 'text-warn'}>
                {wouldTexts[one.then]}
              </span>
              <ul className="font-mono text-xs">
                {[...lines].map(([line, { id, calls }]) => (
                  <li key={line} className="flex gap-2">
                    <Link
                      to="/calls/$id"
                      params={{ id }}
                      className="min-w-0 flex-1 truncate text-accent underline underline-offset-2"
                    >
                      {escapeControlCharacters(line || exactTime(one.at))}
                    </Link>
                    {calls > 1 && <span className="text-ink3">× {calls}</span>}
                  </li>
                ))}
              </ul>
            </li>
          ))}
        </ul>
      )}
      {decisions.length > 0 && (added ? sum(true) : asked + denied) > decisions.length && (
        <p className="text-xs text-ink3">{`Showing the newest ${decisions.length}.`}</p>
      )}
    </div>
  );
}
