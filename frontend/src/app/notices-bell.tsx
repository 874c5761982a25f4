import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { Bell, X } from 'lucide-react';
import { useState } from 'react';
import { IconButton } from '@/components/button';
import { Modal } from '@/components/modal';
import { ScrollArea } from '@/components/scroll-area';
import { count, escapeControlCharacters } from '@/lib/format';
import { requestText } from '@/lib/request';
import { statusQuery } from '@/lib/status-query';
import { useStored } from '@/lib/stored-preference';
import { texts } from '@/lib/texts';
import type { Notice, Status } from '@/types/api';

/** Subjects of notices that stay until they are dismissed; others disappear with their cause. */
const dismissible = /^(command:|egress:|network$)/;

/** Advice, not a problem: this browser remembers that it was read. */
const advice = /^This system has no keyring/;

/** The subject of the notice that all servers are paused, which has its own banner. */
export const pausedSubject = 'paused';

const title = 'Notices';

const textsOf = (value: unknown) =>
  Array.isArray(value) ? value.filter((one): one is string => typeof one === 'string') : [];

const droppedText = (n: number) =>
  n === 1
    ? 'One call was not recorded because the disk was too slow.'
    : `${count(n)} calls were not recorded because the disk was too slow.`;

/** Subjects of notices that are shown elsewhere: among the approvals, and in a banner. */
const elsewhere = /^(withheld\/|paused$)/;

/** What is worth knowing and needs no decision: the daemon's notices, and calls that were not recorded. */
function noticesOf(status: Status, read: string[]): Notice[] {
  const { dropped } = status.recorder;
  return [
    ...(dropped > 0 ? [{ subject: '', message: droppedText(dropped) }] : []),
    ...(status.notices ?? []).filter(
      ({ subject, message }) => !elsewhere.test(subject) && !read.includes(message),
    ),
  ];
}

/** A bell with the number of notices, while there are any; it opens their list. */
export function NoticesBell() {
  const { data: status } = useQuery(statusQuery);
  const [open, setOpen] = useState(false);
  const [read, setRead] = useStored('drawbridge.read-advice', textsOf);
  const notices = status ? noticesOf(status, read) : [];
  if (notices.length === 0 && !open) return null;
  return (
    <>
      <button
        type="button"
        title={title}
        aria-label={notices.length === 1 ? '1 notice' : `${notices.length} notices`}
        aria-haspopup="dialog"
        onClick={() => setOpen(true)}
        className="flex h-6 items-center gap-1 rounded-md px-1.5 text-xs text-ink2 hover:bg-hover"
      >
        <Bell className="size-4" aria-hidden />
        {notices.length}
      </button>
      {open && (
        <Modal label={title} onClose={() => setOpen(false)} className="max-w-xl">
          <div className="flex items-center px-5 pt-4 pb-2">
            <h2 data-first tabIndex={-1} className="flex-1 text-lg font-semibold outline-none">
              {title}
            </h2>
            <IconButton label={texts.actions.close} onClick={() => setOpen(false)}>
              <X className="size-4" aria-hidden />
            </IconButton>
          </div>
          <ScrollArea aria-label={title} className="min-h-0 px-5 pb-5">
            {notices.length === 0 && <p className="text-sm text-ink2">No notices.</p>}
            <ul className="text-sm">
              {notices.map(({ subject, message }) => (
                <li
                  key={`${subject}:${message}`}
                  className="flex items-start gap-3 border-t py-2 first:border-t-0"
                >
                  <span className="min-w-0 flex-1 [overflow-wrap:anywhere]">
                    {escapeControlCharacters(message)}
                  </span>
                  {dismissible.test(subject) ? (
                    <Dismiss subject={subject} />
                  ) : (
                    advice.test(message) && (
                      <button
                        type="button"
                        onClick={() => setRead([...read, message].slice(-20))}
                        className={dismissClasses}
                      >
                        Dismiss
                      </button>
                    )
                  )}
                </li>
              ))}
            </ul>
          </ScrollArea>
        </Modal>
      )}
    </>
  );
}

const dismissClasses = 'shrink-0 font-medium text-accent underline-offset-2 hover:underline';

function Dismiss({ subject }: { subject: string }) {
  const client = useQueryClient();
  const dismiss = useMutation({
    mutationFn: () => requestText('DELETE', `/api/v1/notices/${encodeURIComponent(subject)}`),
    onSettled: () => client.invalidateQueries({ queryKey: ['status'] }),
  });
  return (
    <button
      type="button"
      disabled={dismiss.isPending}
      onClick={() => dismiss.mutate()}
      className={dismissClasses}
    >
      Dismiss
    </button>
  );
}
