import { useQuery, useSuspenseQuery } from '@tanstack/react-query';
import { Monitor, Moon, Sun } from 'lucide-react';
import type { ComponentProps } from 'react';
import { type ReactNode, useEffect, useRef, useState } from 'react';
import { windowQuery } from '@/components/browse-buttons';
import { Facts } from '@/components/fields';
import { LoadingPage, PageHeader } from '@/components/page';
import { SegmentedControl } from '@/components/segmented-control';
import { useAllQueriesAnswered } from '@/lib/all-queries-answered';
import { configQuery } from '@/lib/config-file';
import { age, exactTime } from '@/lib/format';
import { useNow } from '@/lib/now';
import { statusQuery } from '@/lib/status-query';
import { setTheme, themeNames, themes, useTheme } from '@/lib/theme';
import type { Status } from '@/types/api';
import { historyStateQuery, secretsQuery } from './api';
import { BugReportPanel } from './bug-report-panel';
import { DoctorPanel } from './doctor-panel';
import { GeneralPanel } from './general-panel';
import { HistoryPanel } from './history-panel';
import { Panel } from './panel';
import { SecretsPanel } from './secrets-panel';

export function SettingsPage({
  signIns,
}: {
  /** The sign-ins of servers, if there are any. */
  signIns: ReactNode;
}) {
  const { data: status } = useSuspenseQuery(statusQuery);
  // A panel that is shown later than the others would cause a layout shift.
  const ready = useAllQueriesAnswered([
    useQuery(historyStateQuery),
    useQuery(secretsQuery),
    useQuery(windowQuery),
    useQuery(configQuery),
  ]);
  if (!ready) return <LoadingPage title="Settings" />;
  return (
    <>
      <PageHeader title="Settings" />
      <div className="scroll-area scroll-edge min-h-0 flex-1 px-4 pb-8 md:px-6">
        <div className="flex items-start gap-8">
          <div className="min-w-0 max-w-3xl flex-1 space-y-4">
            <Panel title="Appearance">
              <ThemeChoice />
            </Panel>
            <Panel title="General">
              <GeneralPanel />
            </Panel>
            <Panel title="Recording">
              <HistoryPanel />
            </Panel>
            <Panel title="Secrets">
              <SecretsPanel />
            </Panel>
            {signIns && <Panel title="Sign-ins">{signIns}</Panel>}
            <Panel title="Diagnostics">
              <DoctorPanel />
            </Panel>
            <Panel title="Advanced">
              <details className="space-y-5">
                <summary className="cursor-pointer text-sm text-ink2">
                  Metrics, address, patterns to redact, and the database
                </summary>
                <GeneralPanel advanced />
                <HistoryPanel advanced />
              </details>
            </Panel>
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

const themeIcons = { system: Monitor, light: Sun, dark: Moon };

function ThemeChoice() {
  return (
    <Choice
      label="Theme"
      value={useTheme()}
      options={themes.map((value) => ({ value, icon: themeIcons[value], text: themeNames[value] }))}
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

function About({ status }: { status: Status }) {
  const now = useNow();
  const { recorder } = status;
  return (
    <Facts
      rows={[
        ['Version', status.version],
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
          'Access tokens',
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
