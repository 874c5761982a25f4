import { Button } from '@/components/button';
import { Failure } from '@/components/failure';
import { Labelled } from '@/components/fields';
import { classes } from '@/lib/class-names';
import { escapeControlCharacters } from '@/lib/format';
import { useServerName } from '@/lib/server-lookup';
import { shellWords } from '@/lib/shell-words';
import type { Approval } from '@/types/api';
import { AboutServer } from './about-server';
import { useAnswerApproval } from './api';

/** A command that needs approval: all of its arguments, and the previous command. */
export function CommandCard({ approval }: { approval: Approval }) {
  const labelOf = useServerName();
  const answer = useAnswerApproval(approval);
  const label = escapeControlCharacters(labelOf(approval.server).slice(0, 200));
  const command = approval.command;
  const [firstLine = '', ...rest] = approval.message.split('\n');
  const written = command?.commandLine ?? firstLine;
  const before = command && command.previous !== written ? command.previous : '';
  const loosened = !!command?.previous && !before && command.sandbox.length > 0;
  return (
    <div className="rounded-lg border border-warn bg-panel p-4 shadow-card md:p-5">
      <h2 className="font-semibold [overflow-wrap:anywhere]">
        {loosened
          ? `The sandbox for ${label} was loosened`
          : command?.previous
            ? `${label} has a new command`
            : `${label} wants to run a command`}
      </h2>
      <p className="mt-0.5 text-sm text-ink2">
        The server will not start until you approve this command. To reject it, disable or remove
        the server instead. The command, one argument per line:
      </p>
      <div className={classes('mt-3 grid gap-3', before && 'md:grid-cols-2')}>
        {before && <ArgumentLines title="Before" text={before} other={written} tone="bad" />}
        <ArgumentLines
          title={before ? 'Now' : 'Command'}
          text={written}
          other={before}
          tone={before ? 'ok' : undefined}
        />
      </div>
      <dl className="mt-3 grid grid-cols-[auto_minmax(0,1fr)] gap-x-3 gap-y-1 text-sm">
        {command ? (
          <>
            <Fact name="Environment" value={(command.environment ?? []).join(', ')} />
            <Fact name="Working folder" value={command.cwd} />
            <Fact name="Newly allowed" value={command.sandbox.join(', ')} />
          </>
        ) : (
          rest.map((line) => (
            <dd key={line} className="col-span-2 text-ink2 [overflow-wrap:anywhere]">
              {escapeControlCharacters(line)}
            </dd>
          ))
        )}
      </dl>
      <Failure error={answer.error} className="mt-3" />
      <div className="mt-4 flex flex-wrap gap-2">
        <Button
          look="primary"
          disabled={answer.isPending}
          onClick={() => answer.mutate({ action: 'accept' })}
        >
          Approve command
        </Button>
        <AboutServer id={approval.server} />
      </div>
    </div>
  );
}

function Fact({ name, value }: { name: string; value: string }) {
  if (!value) return null;
  return (
    <>
      <dt className="text-ink3">{name}</dt>
      <dd className="font-mono text-xs leading-5 [overflow-wrap:anywhere]">
        {escapeControlCharacters(value)}
      </dd>
    </>
  );
}

/** One argument per line. Those that the other command does not have are highlighted. */
function ArgumentLines({
  title,
  text,
  other,
  tone,
}: {
  title: string;
  text: string;
  other: string;
  tone?: 'ok' | 'bad';
}) {
  const known = new Set(shellWords(other));
  return (
    <Labelled label={title}>
      <ol className="overflow-hidden rounded-md border bg-sunken py-1 font-mono text-xs leading-[1.7]">
        {shellWords(text).map((word, index) => (
          <li
            // biome-ignore lint/suspicious/noArrayIndexKey: arguments have no other identity
            key={index}
            className={classes(
              'px-3 whitespace-pre-wrap [overflow-wrap:anywhere]',
              tone === 'ok' && !known.has(word) && 'bg-ok-soft text-ok',
              tone === 'bad' && !known.has(word) && 'bg-bad-soft text-bad',
            )}
          >
            {escapeControlCharacters(word)}
          </li>
        ))}
      </ol>
    </Labelled>
  );
}
