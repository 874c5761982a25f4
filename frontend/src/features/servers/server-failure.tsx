import { useState } from 'react';
import { Button } from '@/components/button';
import { stateTone } from '@/components/state-badge';
import { classes } from '@/lib/class-names';
import { cut, escapeControlCharacters, logText, sentence } from '@/lib/format';
import type { ServerDetail } from '@/types/api';
import type { View } from './server-page-views';
import { editsConfig, hasRemedy, RemedyButton } from './server-remedy';
import { wantsLogin } from './sign-in';

const few = 3;

/** The reason for the state of a server, what to do, and the last lines of its output. */
export function ServerFailure({
  server,
  view,
  onLog,
}: {
  server: ServerDetail;
  /** The view below, which offers its own remedy, and in the log the output. */
  view: View;
  onLog: () => void;
}) {
  const [all, setAll] = useState(false);
  const wanted = view !== 'log';
  const tone = stateTone(server.state);
  const bad = tone === 'bad' || tone === 'warn';
  const lines = (bad && wanted && server.stderr) || [];
  // The line that the reason quotes says more than the end, which is a stack trace or a version.
  const quoted = lines.findLastIndex(
    (line) => line.trim().length > 8 && server.reason.includes(line.trim().slice(0, 200)),
  );
  const from = quoted < 0 ? -few : quoted;
  const remedy = hasRemedy(server, true) && !(view === 'config' && editsConfig(server));
  const log = lines.length > 0 || (wanted && server.remedy?.kind === 'see-log');
  if (!server.reason && !server.detail && lines.length === 0) return null;
  return (
    <section
      aria-label="State"
      className={classes(
        'px-4 py-3 text-sm md:px-5',
        tone === 'bad' && 'bg-bad-soft text-bad',
        tone === 'warn' && 'bg-warn-soft text-warn',
        !bad && 'bg-sunken text-ink2',
      )}
    >
      {server.reason && (
        <p className="font-medium [overflow-wrap:anywhere]">
          {escapeControlCharacters(sentence(cut(server.reason, 600)))}
        </p>
      )}
      {/* The sign-in, or the button that sets a value, follows below. */}
      {server.hint && !wantsLogin(server) && !server.remedy?.kind.startsWith('set-') && (
        <p className="mt-1 [overflow-wrap:anywhere]">
          {escapeControlCharacters(server.hint.slice(0, 1500))}
        </p>
      )}
      {server.detail && lines.length === 0 && !server.reason.includes(server.detail) && (
        <p className="mt-1 font-mono text-xs whitespace-pre-wrap [overflow-wrap:anywhere]">
          {escapeControlCharacters(server.detail.slice(0, 1500))}
        </p>
      )}
      {lines.length > 0 && <p className="mt-2 text-xs">Last output</p>}
      {lines.length > 0 && (
        <pre className="scroll-area mt-1 max-h-60 rounded-md border bg-panel px-3 py-2 font-mono text-xs whitespace-pre-wrap text-ink [overflow-wrap:anywhere]">
          {lines
            .slice(all ? 0 : from, all || from < 0 ? undefined : from + few)
            .map((line) => logText(line.slice(0, 4000)))
            .join('\n')}
        </pre>
      )}
      {(log || remedy) && (
        <div className="mt-2.5 flex flex-wrap gap-2 empty:hidden">
          {remedy && <RemedyButton server={server} own />}
          {lines.length > few && !all && (
            <Button small onClick={() => setAll(true)}>
              {`Show all ${lines.length} lines`}
            </Button>
          )}
          {log && (
            <Button small onClick={onLog}>
              Open log
            </Button>
          )}
        </div>
      )}
    </section>
  );
}
