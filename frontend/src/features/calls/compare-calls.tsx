import { useQuery } from '@tanstack/react-query';
import { getRouteApi, Link } from '@tanstack/react-router';
import { useEffect, useMemo, useRef } from 'react';
import { Button } from '@/components/button';
import { Failure } from '@/components/failure';
import { Labelled, Section, SelectField } from '@/components/fields';
import { loadCode, MergeDiff } from '@/components/lazy-code-editor';
import { useAllQueriesAnswered } from '@/lib/all-queries-answered';
import { clock, duration, escapeControlCharacters } from '@/lib/format';
import { withOpenTexts } from '@/lib/json-edit';
import { formatJson, sortJson } from '@/lib/json-text';
import { useNow } from '@/lib/now';
import { useServerName } from '@/lib/server-lookup';
import { texts } from '@/lib/texts';
import type { Call, CallDetail } from '@/types/api';
import { callQueryOptions, sameToolQuery, useLiveCalls } from './api';
import { useArgumentLines } from './call-previews';
import { callName } from './call-row';
import { isFailure } from './filters';
import { callsTexts } from './texts';

const comparedVersions = (before: string, after: string) =>
  before === after
    ? `Both were handled by ${before}.`
    : `The other call was handled by ${before}, this one by ${after}.`;

const words = {
  compareTitle: 'Compare',
  comparePick: 'Compare with',
};

const route = getRouteApi('/calls');

/** Whether the data of Compare is loaded, if it is open: it is above the payloads. */
export function useCompared(call: Call | undefined): boolean {
  const { with: other } = route.useSearch();
  const same = useQuery({
    ...sameToolQuery(call ?? { server: '', tool: '' }),
    enabled: Boolean(call && other),
  });
  const named = other && other !== 'pick' ? other : '';
  const elsewhere = useQuery({ ...callQueryOptions(named), enabled: named !== '' });
  const code = useQuery({
    queryKey: ['code'],
    queryFn: () => loadCode().then(() => true),
    enabled: named !== '',
    staleTime: Number.POSITIVE_INFINITY,
    retry: false,
  });
  return useAllQueriesAnswered([
    { isPending: named !== '' && code.isPending },
    { isPending: Boolean(other) && same.isPending },
    { isPending: named !== '' && elsewhere.isPending },
  ]);
}

/** The version that answered a call, with its package. */
function versionName({ servedBy }: Call): string {
  if (!servedBy) return 'an unknown version';
  const { name, version, package: from } = servedBy;
  return escapeControlCharacters(
    `${name} ${version}${from ? ` (${from})` : ''}`.slice(0, 300),
  ).trim();
}

/** Compares two calls side by side. The URL contains the ID of the other one. */
export function Compare({ call }: { call: CallDetail }) {
  const { with: other } = route.useSearch();
  const navigate = route.useNavigate();
  const box = useRef<HTMLDivElement>(null);
  const picking = other === 'pick';
  // It is above the payloads, but the button that opens it can be far below.
  useEffect(() => {
    if (!picking) return;
    box.current?.scrollIntoView({ block: 'nearest' });
    box.current?.querySelector('select')?.focus({ preventScroll: true });
  }, [picking]);
  if (!other) return null;
  const choose = (id: string | undefined) =>
    navigate({
      to: '/calls/$id',
      params: { id: call.id },
      search: (old) => ({ ...old, with: id }),
      replace: true,
    });
  return (
    <div ref={box}>
      <Section
        title={words.compareTitle}
        aside={
          <Button small look="quiet" onClick={() => choose(undefined)}>
            Stop comparing
          </Button>
        }
      >
        <Pick call={call} other={other} onChange={choose} />
        {!picking && <Differences call={call} other={other} />}
      </Section>
    </div>
  );
}

function Pick({
  call,
  other,
  onChange,
}: {
  call: Call;
  other: string;
  onChange: (id: string) => void;
}) {
  const labelOf = useServerName();
  const now = useNow();
  const live = useLiveCalls();
  const { data } = useQuery(sameToolQuery(call));
  const { data: elsewhere } = useQuery({ ...callQueryOptions(other), enabled: other !== 'pick' });
  const known = new Map([...live, ...(data ?? [])].map((c) => [c.id, c]));
  const calls = [...known.values()]
    .filter(
      (c) => c.id !== call.id && c.server === call.server && c.tool === call.tool && c.outcome,
    )
    .slice(0, 100);
  const sent = useArgumentLines(calls);
  const described = (c: Call) =>
    [
      clock(c.at, now),
      texts.outcomes[c.outcome],
      duration(c.tookNs),
      escapeControlCharacters((sent.get(c.id) || c.client).slice(0, 60)),
    ].join(' · ');
  const named = (c: Call) =>
    `${escapeControlCharacters(`${labelOf(c.server)} / ${callName(c)}`.slice(0, 120))} · ${described(c)}`;
  const options = calls.map((c) => ({ value: c.id, text: described(c) }));
  if (options.length === 0)
    return <p className="text-sm text-ink3">No other calls to this tool are loaded.</p>;
  const chosen = options.some((option) => option.value === other);
  const good = other === 'pick' && isFailure(call) && calls.find(({ outcome }) => outcome === 'ok');
  return (
    <div className="@container max-w-xl">
      <p className="mb-1 text-sm font-medium" aria-hidden>
        {words.comparePick}
      </p>
      <SelectField
        label={words.comparePick}
        value={other}
        options={[
          ...(chosen
            ? []
            : [{ value: other, text: elsewhere ? named(elsewhere) : words.comparePick }]),
          ...options,
        ]}
        onChange={onChange}
      />
      {good && (
        <Button small className="mt-2" onClick={() => onChange(good.id)}>
          {`Last successful call, ${clock(good.at, now)}`}
        </Button>
      )}
    </div>
  );
}

function Differences({ call, other }: { call: CallDetail; other: string }) {
  const { data, error, isPending } = useQuery(callQueryOptions(other));
  const parts = useMemo(() => {
    if (!data) return [];
    const layout = (text: string | undefined) => formatJson(sortJson(text ?? ''));
    const results = [data, call].map(({ result, error }) => result ?? error ?? '');
    const [before = '', after = ''] =
      [results.map(withOpenTexts), results]
        .map((pair) => pair.map(layout))
        .filter(([before, after], last) => last || before !== after)[0] ?? [];
    return [
      {
        title: callsTexts.arguments,
        before: layout(data.arguments),
        after: layout(call.arguments),
      },
      {
        title: texts.calls.result,
        before,
        after,
      },
    ];
  }, [data, call]);
  if (isPending) return <p className="mt-3 text-sm text-ink3">{texts.loading}</p>;
  if (error || !data) return <Failure error={error} className="mt-3" />;
  return (
    <div className="mt-3 space-y-4 text-sm">
      <p className="flex flex-wrap gap-x-3 text-ink2">
        {/* The signs of the lines below. */}
        <span className="-mr-1.5 font-mono text-bad" aria-hidden>
          −
        </span>
        <span>
          <Link
            to="/calls/$id"
            params={{ id: other }}
            className="text-accent underline underline-offset-2"
          >
            Other call
          </Link>
          : {texts.outcomes[data.outcome]} · {duration(data.tookNs)}
        </span>
        <span className="ml-auto">
          <span className="mr-1.5 font-mono text-ok" aria-hidden>
            +
          </span>
          This call: {texts.outcomes[call.outcome]} · {duration(call.tookNs)}
        </span>
      </p>
      {(data.servedBy || call.servedBy) && (
        <p className="text-ink2 [overflow-wrap:anywhere]">
          {comparedVersions(versionName(data), versionName(call))}
        </p>
      )}
      {parts.map(({ title, before, after }) => (
        <Labelled key={title} label={title}>
          {before === after ? (
            <p className="text-ok">No differences.</p>
          ) : (
            <MergeDiff before={before} after={after} label={`${words.compareTitle}: ${title}`} />
          )}
        </Labelled>
      ))}
    </div>
  );
}
