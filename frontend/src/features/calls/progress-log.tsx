import { Section } from '@/components/fields';
import { cut, duration, escapeControlCharacters } from '@/lib/format';
import { jsonMembers, jsonString } from '@/lib/json-text';
import type { CallDetail } from '@/types/api';

/** The recorded progress notifications of a call. */
export function ProgressLog({ call }: { call: CallDetail }) {
  const log = call.progressLog ?? [];
  if (log.length === 0) return null;
  return (
    <Section title="Progress">
      <ol
        aria-label="Progress"
        // biome-ignore lint/a11y/noNoninteractiveTabindex: scrollable content must be focusable
        tabIndex={0}
        className="scroll-area max-h-60 space-y-1 text-sm"
      >
        {log.map(({ afterMs, params }, index) => {
          const { done, message } = read(params);
          return (
            // biome-ignore lint/suspicious/noArrayIndexKey: the log does not change
            <li key={index} className="flex gap-x-3">
              <span className="w-16 shrink-0 text-ink3 tabular-nums">
                {`+${afterMs > 0 ? duration(afterMs * 1e6) : '0 ms'}`}
              </span>
              <span className="shrink-0 tabular-nums">
                {escapeControlCharacters(cut(done, 60))}
              </span>
              <span className="min-w-0 text-ink2 [overflow-wrap:anywhere]">
                {escapeControlCharacters(cut(message, 1000))}
              </span>
            </li>
          );
        })}
      </ol>
      {call.progress > log.length && (
        <p className="mt-2 text-xs text-ink3">{`The first ${log.length} of ${call.progress} progress messages are recorded.`}</p>
      )}
    </Section>
  );
}

/** Numbers keep their digits. */
function read(params: string): { done: string; message: string } {
  const members = jsonMembers(params);
  const total = members?.get('total');
  return {
    done: (members?.get('progress') ?? '') + (total ? ` / ${total}` : ''),
    message: jsonString(members?.get('message')) ?? '',
  };
}
