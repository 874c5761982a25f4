import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { Button } from '@/components/button';
import { Section } from '@/components/fields';
import { LongText } from '@/components/json-view';
import { ScrollArea } from '@/components/scroll-area';
import { bytes, clock } from '@/lib/format';
import { useNow } from '@/lib/now';
import { framesQuery } from './api';

const words = {
  messages: 'Messages',
};

const from = {
  client: 'from the client',
  server: 'from the server',
  drawbridge: 'from Drawbridge',
};

/** The raw messages of a session with direction and time, if debugging is on. */
export function SessionFrames({ session }: { session: string }) {
  const { data: frames } = useQuery(framesQuery(session));
  const [open, setOpen] = useState(false);
  const now = useNow();
  if (!frames || frames.length === 0) return null;
  return (
    <Section title={words.messages}>
      {open ? (
        <ScrollArea
          aria-label={words.messages}
          className="max-h-[32rem] rounded-md border bg-sunken p-2 font-mono text-xs"
        >
          {frames.map((frame) => (
            <div key={frame.id} className="border-t py-1.5 first:border-t-0">
              <p className="flex gap-3 text-ink3">
                <span>{clock(frame.at, now)}</span>
                <span>{from[frame.from] ?? ''}</span>
                <span className="ml-auto">{bytes(frame.bytes)}</span>
              </p>
              <p className="whitespace-pre-wrap [overflow-wrap:anywhere]">
                <LongText text={frame.text} />
              </p>
            </div>
          ))}
        </ScrollArea>
      ) : (
        <div className="flex flex-wrap items-center gap-3 text-sm text-ink2">
          <Button small onClick={() => setOpen(true)}>
            {frames.length === 1 ? 'Show one message' : `Show the newest ${frames.length} messages`}
          </Button>
          Kept in memory while debugging is enabled.
        </div>
      )}
    </Section>
  );
}
