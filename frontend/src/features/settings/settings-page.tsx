import { useMutation, useQuery, useQueryClient, useSuspenseQuery } from '@tanstack/react-query';
import {
  CircleAlert,
  CircleCheck,
  Monitor,
  Moon,
  Rows2,
  Rows4,
  Sun,
  TriangleAlert,
} from 'lucide-react';
import type { ComponentProps } from 'react';
import { type ReactNode, useEffect, useRef, useState } from 'react';
import { windowQuery } from '@/components/browse-buttons';
import { Button } from '@/components/button';
import { CopyField } from '@/components/copy-button';
import { Failure } from '@/components/failure';
import { Facts } from '@/components/fields';
import { LoadingPage, PageHeader } from '@/components/page';
import { SegmentedControl } from '@/components/segmented-control';
import { useAllQueriesAnswered } from '@/lib/all-queries-answered';
import { configQuery } from '@/lib/config-file';
import { type Density, setDensity, useDensity } from '@/lib/density';
import { age, escapeControlCharacters, exactTime, sentence } from '@/lib/format';
import { useNow } from '@/lib/now';
import { withoutPrototypes } from '@/lib/own-property';
import { requestText } from '@/lib/request';
import { statusQuery } from '@/lib/status-query';
import { texts } from '@/lib/texts';
import { setTheme, type Theme, useTheme } from '@/lib/theme';
import type { Notice, Problem, Status } from '@/types/api';
import { historyStateQuery, secretsQuery, tokensQuery } from './api';
import { BugReportPanel } from './bug-report-panel';
import { ConfigCopies } from './config-copies';
import { copiesQuery } from './config-copies-api';
import { ConfigEditor } from './config-editor';
import { DoctorPanel } from './doctor-panel';
import { GeneralPanel } from './general-panel';
import { HistoryPanel } from './history-panel';
import { SecretsPanel } from './secrets-panel';
import { TokensPanel } from './tokens-panel';

const densitiesTexts = withoutPrototypes({
  comfortable: 'Comfortable',
  compact: 'Compact',
} as const);

const t = texts.settings;

/** Scrolls to the element that the link to this page names. The router does it before the page has loaded. */
function scrollToLinked(element: HTMLElement | null) {
  if (element && window.location.hash.endsWith(`#${element.id}`)) element.scrollIntoView();
}

export function SettingsPage({
  rules,
  signIns,
}: {
  rules: ReactNode;
  /** The sign-ins of servers, if there are any. */
  signIns: ReactNode;
}) {
  const { data: status } = useSuspenseQuery(statusQuery);
  // A panel that is shown later than the others would cause a layout shift.
  const ready = useAllQueriesAnswered([
    useQuery(historyStateQuery),
    useQuery(tokensQuery),
    useQuery(secretsQuery),
    useQuery(copiesQuery),
    useQuery(windowQuery),
    useQuery(configQuery),
  ]);
  if (!ready) return <LoadingPage title={t.title} />;
  return (
    <>
      <PageHeader title={t.title} />
      <div className="scroll-area scroll-edge min-h-0 flex-1 px-4 pb-8 md:px-6">
        <div className="flex items-start gap-8">
          <div className="min-w-0 max-w-3xl flex-1 space-y-4">
            <Panel title="Appearance">
              <div className="flex flex-wrap gap-x-6 gap-y-3">
                <ThemeChoice />
                <DensityChoice />
              </div>
            </Panel>
            <Panel title="General">
              <GeneralPanel />
            </Panel>
            <Panel title="Recording">
              <HistoryPanel servers={(status.servers ?? []).map((server) => server.id)} />
            </Panel>
            <Panel title="Tokens">
              <TokensPanel />
            </Panel>
            <Panel title="Argument rules">{rules}</Panel>
            <Panel title="Secrets">
              <SecretsPanel />
            </Panel>
            {signIns && <Panel title="Sign-ins">{signIns}</Panel>}
            <Panel title={texts.configCopies.copiesTitle}>
              <ConfigCopies />
            </Panel>
            <Panel title="Diagnostics">
              <DoctorPanel />
            </Panel>
            <div id="configuration" ref={scrollToLinked}>
              <Panel title="Configuration">
                <ConfigPanel status={status} />
              </Panel>
            </div>
            {status.notices && status.notices.length > 0 && (
              <Panel title="Notices">
                <Notices notices={status.notices} />
              </Panel>
            )}
            <Panel title="About">
              <About status={status} />
            </Panel>
            <Panel title="Bug report">
              <BugReportPanel />
            </Panel>
          </div>
          <Contents />
        </div>
      </div>
    </>
  );
}

/** The table of contents of a long page, if there is space beside it. */
function Contents() {
  const [titles, setTitles] = useState<string[]>([]);
  const [at, setAt] = useState(0);
  const nav = useRef<HTMLElement>(null);
  const panels = () => [
    ...(nav.current?.parentElement?.querySelectorAll<HTMLElement>('section[data-panel]') ?? []),
  ];
  useEffect(() => {
    const now = panels().map((panel) => panel.getAttribute('aria-label') ?? '');
    if (now.join('\n') !== titles.join('\n')) setTitles(now);
  });
  // biome-ignore lint/correctness/useExhaustiveDependencies: runs again when the panels change
  useEffect(() => {
    const scroller = nav.current?.closest('.scroll-area');
    if (!scroller) return;
    const look = () => setAt(shownOf(scroller, panels()));
    look();
    scroller.addEventListener('scroll', look, { passive: true });
    return () => scroller.removeEventListener('scroll', look);
  }, [titles]);
  return (
    <nav
      ref={nav}
      aria-label="Settings sections"
      className="sticky top-0 hidden w-44 shrink-0 xl:block"
    >
      <ul className="space-y-0.5 border-l text-sm">
        {titles.map((title, index) => (
          <li key={title}>
            <button
              type="button"
              aria-current={index === at ? 'location' : undefined}
              onClick={() => {
                const panel = panels()[index];
                panel?.scrollIntoView({ block: 'start' });
                panel?.focus({ preventScroll: true });
                setAt(index);
              }}
              className="-ml-px block w-full border-l border-transparent px-3 py-1 text-left text-ink2 hover:border-accent hover:text-ink aria-[current]:border-accent aria-[current]:font-medium aria-[current]:text-ink"
            >
              {title}
            </button>
          </li>
        ))}
      </ul>
    </nav>
  );
}

/** The current panel: the focused one while its start is visible, otherwise the topmost one. */
function shownOf(scroller: Element, panels: HTMLElement[]): number {
  const { top, bottom } = scroller.getBoundingClientRect();
  const chosen = panels.indexOf(document.activeElement as HTMLElement);
  const begins = panels[chosen]?.getBoundingClientRect().top ?? Number.POSITIVE_INFINITY;
  if (begins >= top && begins < bottom) return chosen;
  const { scrollTop, scrollHeight, clientHeight } = scroller;
  if (scrollTop > 0 && scrollTop + clientHeight >= scrollHeight - 2) return panels.length - 1;
  const line = top + 96;
  const below = panels.findIndex((panel) => panel.getBoundingClientRect().top > line);
  return Math.max(0, (below < 0 ? panels.length : below) - 1);
}

function Panel({ title, children }: { title: string; children: ReactNode }) {
  return (
    <section
      aria-label={title}
      data-panel
      tabIndex={-1}
      className="scroll-mt-1 outline-none rounded-lg border bg-panel p-4 shadow-card md:p-5"
    >
      <h2 className="mb-3 font-semibold">{title}</h2>
      {children}
    </section>
  );
}

const themes: { value: Theme; icon: typeof Sun }[] = [
  { value: 'system', icon: Monitor },
  { value: 'light', icon: Sun },
  { value: 'dark', icon: Moon },
];

const densities: { value: Density; icon: typeof Sun }[] = [
  { value: 'comfortable', icon: Rows2 },
  { value: 'compact', icon: Rows4 },
];

function DensityChoice() {
  return (
    <Choice
      label="Density"
      value={useDensity()}
      options={densities.map((one) => ({ ...one, text: densitiesTexts[one.value] }))}
      onChange={setDensity}
    />
  );
}

function ThemeChoice() {
  return (
    <Choice
      label="Theme"
      value={useTheme()}
      options={themes.map((one) => ({ ...one, text: t.themes[one.value] }))}
      onChange={setTheme}
    />
  );
}

/** A segmented control below its label. */
function Choice<T extends string>(props: ComponentProps<typeof SegmentedControl<T>>) {
  return (
    <div>
      <p className="mb-1 text-sm font-medium" aria-hidden>
        {props.label}
      </p>
      <SegmentedControl {...props} />
    </div>
  );
}

function ConfigPanel({ status }: { status: Status }) {
  const [open, setOpen] = useState(false);
  const problems = status.problems ?? [];
  return (
    <div className="space-y-3">
      {status.configPath && <CopyField text={status.configPath} label="File" />}
      <p className="text-sm text-ink2">
        Changes take effect when you save. If the file has errors, the last valid configuration
        stays in use.
      </p>
      {problems.length === 0 ? (
        // The editor shows the status of its own text.
        open ? null : (
          <p className="flex items-center gap-2 text-sm text-ok">
            <CircleCheck className="size-4 shrink-0" aria-hidden />
            {t.noProblems}
          </p>
        )
      ) : (
        <ul aria-label="Problems" className="space-y-2">
          {problems.map((problem) => (
            <ProblemItem
              key={`${problem.file}:${problem.line}:${problem.column}:${problem.key}:${problem.message}`}
              problem={problem}
            />
          ))}
        </ul>
      )}
      {open ? (
        <ConfigEditor problems={problems} />
      ) : (
        <Button onClick={() => setOpen(true)}>Edit file</Button>
      )}
    </div>
  );
}

function ProblemItem({ problem }: { problem: Problem }) {
  const Icon = problem.warning ? TriangleAlert : CircleAlert;
  return (
    <li
      className={`flex gap-2 rounded-md px-3 py-2 text-sm ${problem.warning ? 'bg-warn-soft text-warn' : 'bg-bad-soft text-bad'}`}
    >
      <Icon className="mt-0.5 size-4 shrink-0" aria-hidden />
      <div className="min-w-0 flex-1 [overflow-wrap:anywhere]">
        <span className="sr-only">{problem.warning ? 'Warning' : 'Error'}: </span>
        <p className="font-medium">{sentence(escapeControlCharacters(problem.message))}</p>
        {problem.suggestion && <p>{sentence(escapeControlCharacters(problem.suggestion))}</p>}
        <p className="mt-0.5 font-mono text-xs">
          {[problem.key, problem.line > 0 && t.position(problem.line, problem.column), problem.file]
            .filter((part): part is string => Boolean(part))
            .map(escapeControlCharacters)
            .join(' · ')}
        </p>
        {problem.held && <ApplyHeld change={problem.held} />}
      </div>
    </li>
  );
}

/** Applies a change of the file that is held back because it stops all servers. */
function ApplyHeld({ change }: { change: string }) {
  const client = useQueryClient();
  const apply = useMutation({
    mutationFn: () => requestText('POST', '/api/v1/config/reload', { body: { confirm: change } }),
    onSettled: () => client.invalidateQueries({ queryKey: ['status'] }),
  });
  return (
    <div className="mt-2 space-y-2">
      <Button onClick={() => apply.mutate()} disabled={apply.isPending}>
        Apply this change
      </Button>
      <Failure error={apply.error} />
    </div>
  );
}

function Notices({ notices }: { notices: Notice[] }) {
  return (
    <ul className="space-y-1 text-sm">
      {notices.map((notice) => (
        <li key={`${notice.subject}:${notice.message}`} className="[overflow-wrap:anywhere]">
          {notice.subject && (
            <span className="font-medium">{escapeControlCharacters(notice.subject)}: </span>
          )}
          {escapeControlCharacters(notice.message)}
        </li>
      ))}
    </ul>
  );
}

function About({ status }: { status: Status }) {
  const now = useNow();
  const { recorder } = status;
  return (
    <Facts
      rows={[
        [t.version, status.version],
        [
          'URL',
          <code key="url" className="font-mono text-xs">
            {status.url}
          </code>,
        ],
        [
          'Running for',
          <span key="started" title={exactTime(status.startedAt)}>
            {age(status.startedAt, now)}
          </span>,
        ],
        [
          'Tokens',
          status.requireToken ? (
            'Required'
          ) : (
            <span key="tokens" className="font-medium text-warn">
              Disabled
            </span>
          ),
        ],
        [
          'Call history',
          `${{ recording: 'Recording', paused: 'Paused', off: 'Off' }[recorder.state]}${recorder.queued > 0 ? `, ${recorder.queued} waiting` : ''}${recorder.dropped > 0 ? `, ${recorder.dropped} not recorded` : ''}`,
        ],
      ]}
    />
  );
}
